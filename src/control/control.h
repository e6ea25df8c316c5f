/*
 * The control thread: reloads on SIGHUP, and answers what cernitactl asks at control.path. It reads
 * files and makes settings ready, so that the line's thread does neither.
 *
 * A request is one packet, a line of text: `status`, `status json`, `reload`, `recipe NAME`
 * (without a name: the file's own settings), `recipes`, `lot`, `lot ID --grower G --variety V`,
 * `lot --end`, `alarms`, `alarms acknowledge N` (or `all`, or `all N`), `alarms shelve N MINUTES`,
 * `trace`, `changes`. The answer is one packet: the line `ok` or `refused`, then lines of text.
 * Clients are few, requests and answers bounded, idle clients closed.
 */
#ifndef CRN_SRC_CONTROL_CONTROL_H
#define CRN_SRC_CONTROL_CONTROL_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/control/reload.h"

typedef struct crn_control crn_control;

typedef struct crn_control_settings {
    crn_reload_settings reload; /* `changes` is opened here */
    crn_lot lot;                /* the line begins with it */
    /* Called when a reload begins and when it has ended, by the control thread; NULL: nothing. */
    void (*reloading)(bool begins);
    int64_t idle_ns; /* a client that asks nothing for so long is closed; 0: 10 s */
} crn_control_settings;

/* Binds control.path, if it is set, and starts the thread. Returns 0 or a negative errno with a
 * hint in *error. */
int crn_control_open(const crn_control_settings *settings, crn_control **ret_control,
                     crn_error *error);

/* Asks for a reload, in the name of who sent the signal; async-signal-safe. */
void crn_control_hang_up(crn_control *control, uid_t user, pid_t process);

/* Ends the thread, which the line no longer keeps waiting (crn_line_run has returned), frees and
 * sets *control to NULL; NULL is allowed. */
void crn_control_close(crn_control **control);

#endif
