/* The requests of control.h about the lot. Used by one thread, the control thread. */
#ifndef CRN_SRC_CONTROL_LOTS_H
#define CRN_SRC_CONTROL_LOTS_H

#include <stdbool.h>
#include <stdio.h>

#include "src/control/reload.h"

typedef struct crn_lots {
    const crn_reload_settings *from; /* outlives it */
    crn_lot lot;                     /* in force */
    int64_t keep_again_ns;           /* when to try again to keep it; 0: it is kept */
} crn_lots;

/* True if the request begins or ends a lot. */
bool crn_lots_request_changes(const char *request);

/*
 * Begins the lot of `lot ID [--grower G] [--variety V]`, or ends it (`lot --end`): what that
 * changed goes to `out` and to the log. Returns 0, -EINVAL for texts that a lot cannot have, or
 * another negative errno; then nothing has changed, and `out` has one line that says why.
 * Either is an entry of the log of changes.
 */
int crn_lots_change(crn_lots *lots, const char *request, const crn_changed_by *by, FILE *out);

/* The lot in force, a line each of what it has. */
void crn_lot_print(const crn_lot *lot, FILE *out);

/* Where the lot in force could not be kept over restarts: tries it again, once a second. */
void crn_lots_keep_again(crn_lots *lots);

#endif
