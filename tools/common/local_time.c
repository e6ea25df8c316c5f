#include "tools/common/local_time.h"

#include <string.h>
#include <time.h>

#include "stages/base/clock.h"

static uint64_t to_ns(time_t seconds)
{
    uint64_t ns;
    if (seconds <= 0)
        return 0;
    return __builtin_mul_overflow((uint64_t)seconds, (uint64_t)CRN_NS_PER_S, &ns) ? UINT64_MAX : ns;
}

bool crn_local_time_parse(const char *text, uint64_t *ret_ns)
{
    static const char *const formats[] = {
        "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
        "%Y-%m-%d",          "%H:%M:%S",          "%H:%M"};
    time_t now = time(NULL);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct tm when;
        bool has_date = formats[i][1] == 'Y';
        localtime_r(&now, &when);
        when.tm_sec = when.tm_min = when.tm_hour = 0;
        const char *end = strptime(text, formats[i], &when);
        if (!end || *end)
            continue;
        when.tm_isdst = -1;
        struct tm yesterday = when;
        time_t seconds = mktime(&when);
        if (when.tm_mon != yesterday.tm_mon)
            return false; /* such as 30 February, which strptime takes */
        if (!has_date && seconds > now) {
            yesterday.tm_mday--;
            seconds = mktime(&yesterday);
        }
        *ret_ns = to_ns(seconds);
        return true;
    }
    return false;
}

void crn_local_time_print(uint64_t realtime_ns, char text[CRN_LOCAL_TIME_BYTES])
{
    time_t seconds = (time_t)(realtime_ns / (uint64_t)CRN_NS_PER_S);
    struct tm local;
    if (!localtime_r(&seconds, &local) || !strftime(text, CRN_LOCAL_TIME_BYTES, "%F %T", &local))
        strcpy(text, "-");
}
