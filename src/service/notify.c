#include "src/service/notify.h"

#include <stddef.h>
#include <stdlib.h>

#ifdef CRN_SYSTEMD
#include <systemd/sd-daemon.h>

#include "stages/base/clock.h"

bool crn_notify_is_wanted(void)
{
    return getenv("NOTIFY_SOCKET") != NULL;
}

int64_t crn_notify_watchdog_ns(void)
{
    uint64_t interval_us;
    return sd_watchdog_enabled(0, &interval_us) > 0 ? (int64_t)interval_us * CRN_NS_PER_US : 0;
}

void crn_notify_send(const char *message)
{
    /* A manager that is gone cannot be told, and the line does without it. */
    (void)sd_notify(0, message);
}

#else

bool crn_notify_is_wanted(void)
{
    return false;
}

int64_t crn_notify_watchdog_ns(void)
{
    return 0;
}

void crn_notify_send(const char *message)
{
    (void)message;
}

#endif
