/* A verdict as rows of an archive's tables. */
#ifndef CRN_TOOLS_ARCHIVE_ROWS_VERDICT_H
#define CRN_TOOLS_ARCHIVE_ROWS_VERDICT_H

#include <stdint.h>

#include "src/formats/verdict/decode.h"
#include "tools/archive/database.h"
#include "tools/archive/destination.h"
#include "tools/archive/rows/names.h"

typedef struct crn_archive_rows {
    crn_archive *archive;
    crn_archive_names names;
    int64_t levels_id; /* settings whose levels were inserted last */
    sqlite3_stmt *last, *fruit, *view, *total, *defect, *spot, *level;
} crn_archive_rows;

/* Prepares the statements; the archive must outlive them. 0, or a negative errno with *error. */
int crn_archive_rows_init(crn_archive_rows *rows, crn_archive *archive, crn_error *error);

/* Inserts a verdict, in the transaction of the caller, unless its run, lane and sequence are there.
 * 0, or a negative errno with *error: the transaction is then to be undone. */
int crn_archive_rows_add(crn_archive_rows *rows, const crn_decoded *verdict, crn_added *ret_added,
                         crn_error *error);

#endif
