/*
 * Messages to the service manager (sd_notify(3)); the only user of libsystemd. Without a service
 * manager, or built without libsystemd, nothing happens. A call may wait while the manager does not
 * read: never made by the line's thread.
 */
#ifndef CRN_SRC_SERVICE_NOTIFY_H
#define CRN_SRC_SERVICE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* True if a service manager waits for messages. */
bool crn_notify_is_wanted(void);

/* Within what time it wants to hear WATCHDOG=1 (WatchdogSec=); 0: it does not watch. */
int64_t crn_notify_watchdog_ns(void);

/* Sends a message: lines of KEY=VALUE. */
void crn_notify_send(const char *message);

#endif
