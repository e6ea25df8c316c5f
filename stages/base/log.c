#include "stages/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/utf8.h"

/* How long the first line waits for a reader that hangs; those after it do not. */
#define PATIENCE_MS 20

static atomic_int loudest = CRN_LOG_INFO; /* a crn_log_level */
static atomic_uint lost;                  /* lines, since the last one that was written */
static atomic_int output = STDERR_FILENO;
static bool to_journal;

void crn_log_set_level(crn_log_level level)
{
    atomic_store_explicit(&loudest, (int)level, memory_order_relaxed);
}

void crn_log_set_output(int descriptor)
{
    atomic_store(&output, descriptor);
}

void crn_log_find_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat status;
    to_journal = false;
    if (!stream || fstat(STDERR_FILENO, &status) < 0)
        return;
    char ours[64];
    snprintf(ours, sizeof ours, "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    to_journal = strcmp(stream, ours) == 0;
}

const char *const crn_log_level_names[] = {"error", "warning", "info", "debug", NULL};

/* Writes what precedes the text of a line; returns its length. */
static int begin_line(crn_log_level level, char *line, size_t size)
{
    static const char priorities[] = {'3', '4', '6', '7'}; /* as in sd-daemon(3) */
    if (to_journal)
        return snprintf(line, size, "<%c>", priorities[level]);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    int used = (int)strftime(line, size, "%Y-%m-%dT%H:%M:%S", &utc);
    return used + snprintf(line + used, size - (size_t)used, ".%03ldZ %s ", now.tv_nsec / 1000000,
                           crn_log_level_names[level]);
}

/* True if a line can be written without waiting for whoever reads it. */
static bool has_room(int patience_ms)
{
    struct pollfd polled = {.fd = atomic_load(&output), .events = POLLOUT};
    int r = poll(&polled, 1, patience_ms);
    if (r < 0 && errno == EINTR)
        r = poll(&polled, 1, 0);
    return r != 0; /* a broken stream fails the write at once */
}

/* One write, so that lines of several threads never mix. A failure cannot be reported anywhere. */
static void write_line(const char *line, int size)
{
    if (write(atomic_load(&output), line, (size_t)size) < 0)
        return;
}

static void tell_lost(unsigned lines)
{
    char line[160];
    int used = begin_line(CRN_LOG_WARNING, line, sizeof line);
    used += snprintf(line + used, sizeof line - (size_t)used,
                     "log: %u line%s lost: whoever reads or stores them did not\n", lines,
                     lines == 1 ? " is" : "s are");
    write_line(line, used);
}

/* Logs one line; `held`: how many like it were not logged. */
__attribute__((format(printf, 2, 0))) static void log_line(crn_log_level level, const char *format,
                                                           va_list arguments, uint64_t held)
{
    if ((int)level > atomic_load_explicit(&loudest, memory_order_relaxed))
        return;
    char line[1400];
    int used = begin_line(level, line, sizeof line);
    char text[sizeof line] = "";
    vsnprintf(text, sizeof text, format, arguments);
    size_t length = strlen(text);
    if (held > 0)
        snprintf(text + length, sizeof text - length, "; %" PRIu64 " more like it %s not logged",
                 held, held == 1 ? "was" : "were");
    used += (int)crn_utf8_show(text, strlen(text), line + used, sizeof line - (size_t)used - 1);
    line[used++] = '\n';
    /* A reader that hangs, a journal on a stalled disk say, must not hold up the line. */
    if (!has_room(atomic_load_explicit(&lost, memory_order_relaxed) ? 0 : PATIENCE_MS)) {
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
        return;
    }
    unsigned before = atomic_exchange_explicit(&lost, 0, memory_order_relaxed);
    if (before > 0)
        tell_lost(before);
    write_line(line, used);
}

void crn_log(crn_log_level level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line(level, format, arguments, 0);
    va_end(arguments);
}

_Bool crn_log_gate_open(crn_log_gate *gate, int64_t now_ns)
{
    bool opens = now_ns >= gate->next_ns;
    if (opens)
        gate->next_ns = now_ns + CRN_NS_PER_S;
    else
        gate->held++;
    return opens;
}

__attribute__((format(printf, 3, 0))) static void
log_through(crn_log_gate *gate, crn_log_level level, const char *format, va_list arguments)
{
    log_line(level, format, arguments, gate->held);
    gate->held = 0;
}

void crn_log_through(crn_log_gate *gate, crn_log_level level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_through(gate, level, format, arguments);
    va_end(arguments);
}

void crn_log_gated(crn_log_gate *gate, int64_t now_ns, crn_log_level level, const char *format, ...)
{
    if (!crn_log_gate_open(gate, now_ns))
        return;
    va_list arguments;
    va_start(arguments, format);
    log_through(gate, level, format, arguments);
    va_end(arguments);
}
