/* The log of changes of a line and the texts of its settings, read from its state folder: with and
 * without a daemon. */
#ifndef CRN_TOOLS_CTL_CHANGES_H
#define CRN_TOOLS_CTL_CHANGES_H

#include <stdbool.h>

typedef struct crn_ctl_changes {
    const char *path; /* the folder, or the log's file */
    const char *from; /* as crn_ctl_from_is_valid; NULL: all */
    bool verify;      /* no table, and the settings' texts are compared, too */
} crn_ctl_changes;

/* True of an entry's number, and of a time in UTC: YYYY-MM-DD[THH:MM[:SS[.mmm]]][Z]. */
bool crn_ctl_from_is_valid(const char *from);

/* Prints the entries, and whether the chain holds. Returns the exit status: 1 if it does not. */
int crn_ctl_changes_print(const crn_ctl_changes *given);

/* Prints the text of the settings of that hash. Returns the exit status. */
int crn_ctl_settings_print(const char *dir, const char *hash);

#endif
