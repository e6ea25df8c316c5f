#include "stages/base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "stages/base/clock.h"

static crn_log_level loudest = CRN_LOG_INFO;

void crn_log_set_level(crn_log_level level)
{
    loudest = level;
}

void crn_log(crn_log_level level, const char *format, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    if (level > loudest)
        return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    char line[1400];
    int used = (int)strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
    used += snprintf(line + used, sizeof line - (size_t)used, ".%03ldZ %s ", now.tv_nsec / 1000000,
                     names[level]);
    va_list arguments;
    va_start(arguments, format);
    int text = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    int room = (int)sizeof line - used - 2;
    used += text < 0 ? 0 : text < room ? text : room;
    line[used++] = '\n';
    /* One write, so that lines of several threads never mix. A failure cannot be
     * reported anywhere. */
    if (write(STDERR_FILENO, line, (size_t)used) < 0)
        return;
}

_Bool crn_log_gate_open(crn_log_gate *gate, int64_t now_ns, uint64_t *ret_held)
{
    if (now_ns < gate->next_ns) {
        gate->held++;
        return 0;
    }
    *ret_held = gate->held;
    gate->held = 0;
    gate->next_ns = now_ns + CRN_NS_PER_S;
    return 1;
}

const char *crn_log_held(uint64_t held, char text[CRN_LOG_HELD_BYTES])
{
    text[0] = '\0';
    if (held > 0)
        snprintf(text, CRN_LOG_HELD_BYTES, "; %" PRIu64 " more like it were not logged", held);
    return text;
}
