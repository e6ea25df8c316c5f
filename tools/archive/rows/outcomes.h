/* What a sorter decided about fruits, and how it ended with them, as rows of an archive's table. */
#ifndef CRN_TOOLS_ARCHIVE_ROWS_OUTCOMES_H
#define CRN_TOOLS_ARCHIVE_ROWS_OUTCOMES_H

#include <stdbool.h>

#include "src/formats/outcomes/outcome.h"
#include "tools/archive/database.h"
#include "tools/archive/destination.h"
#include "tools/archive/rows/names.h"

typedef struct crn_archive_outcomes {
    crn_archive *archive;
    crn_archive_names names;
    sqlite3_stmt *before, *after, *insert, *set_result, *result;
} crn_archive_outcomes;

/* Prepares the statements; the archive must outlive them. 0, or a negative errno with *error. */
int crn_archive_outcomes_init(crn_archive_outcomes *outcomes, crn_archive *archive,
                              crn_error *error);

/*
 * Inserts an outcome, in the transaction of the caller, for those of its fruits that have none:
 * what was decided first was done. *ret_is_new: false if all have one. 0, or a negative errno with
 * *error: the transaction is then to be undone.
 */
int crn_archive_outcomes_add(crn_archive_outcomes *outcomes, const crn_outcome *outcome,
                             bool *ret_is_new, crn_error *error);

/* Sets how it ended with a fruit that has an outcome, in the transaction of the caller. 0, or a
 * negative errno with *error: the transaction is then to be undone. */
int crn_archive_outcomes_set_result(crn_archive_outcomes *outcomes,
                                    const crn_firing_outcome *firing, crn_added_result *ret_result,
                                    crn_error *error);

#endif
