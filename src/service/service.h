/*
 * The daemon as a service: a thread that tells the service manager how it does, and feeds its
 * watchdog while every thread makes progress. One per process. The functions that the line's thread
 * calls only leave a note for that thread.
 *
 * A thread on which the line depends and that has not moved for the watchdog's whole interval is
 * named in the log, and the manager is asked to restart the daemon at once. If this thread itself
 * stops, the manager misses it after the same interval.
 */
#ifndef CRN_SRC_SERVICE_SERVICE_H
#define CRN_SRC_SERVICE_SERVICE_H

#include <stddef.h>

#include "src/service/watchdog.h"

/* Longest status, with its end. */
#define CRN_SERVICE_STATUS_BYTES 1024

/* Writes the status as one sentence. */
typedef void crn_service_status(void *context, char text[CRN_SERVICE_STATUS_BYTES]);

/* Starts the thread; `status` is the sentence until crn_service_ask. Returns 0 or a negative errno.
 */
int crn_service_start(const char *status);

/* From now on the thread asks for the status once a second; NULL: no more. */
void crn_service_ask(crn_service_status *status, void *context);

/* Sends what was noted and, unless it is empty, a last status, and ends the thread; one that hangs,
 * because the manager does, is left behind. */
void crn_service_stop(const char *status);

/* --- from any thread; none waits --- */

/* Views are accepted: at the start, and again after a reload, successful or not. */
void crn_service_ready(void);

/* The settings are being read again. */
void crn_service_reloading(void);

/* No more views are accepted. From here on nobody is stuck: the manager limits the stop. */
void crn_service_stopping(void);

#endif
