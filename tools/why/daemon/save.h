/* The maps that a running daemon keeps of fruits, as a recording. */
#ifndef CRN_TOOLS_WHY_DAEMON_SAVE_H
#define CRN_TOOLS_WHY_DAEMON_SAVE_H

#include "tools/why/selection.h"

typedef struct crn_saved {
    uint64_t views, fruits; /* written */
    uint64_t received;      /* views that the daemon received of these fruits */
    uint64_t not_kept;      /* fruits of which the daemon keeps nothing */
} crn_saved;

/*
 * Writes the maps of the fruits chosen to `path`, a file that may be replaced; no file if the
 * daemon keeps none of them. `endpoint` is its monitor.http. Returns 0, or a negative errno with
 * one line in *error.
 */
int crn_save_maps(const char *endpoint, const crn_selection *selection, const char *path,
                  crn_saved *ret_saved, crn_error *error);

#endif
