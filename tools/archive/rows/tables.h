/* The tables of an archive as a destination of verdicts and outcomes. */
#ifndef CRN_TOOLS_ARCHIVE_ROWS_TABLES_H
#define CRN_TOOLS_ARCHIVE_ROWS_TABLES_H

#include "tools/archive/database.h"
#include "tools/archive/destination.h"
#include "tools/archive/rows/outcomes.h"
#include "tools/archive/rows/verdict.h"

typedef struct crn_archive_tables {
    crn_destination destination;
    crn_archive *archive;
    crn_archive_rows rows;
    crn_archive_outcomes outcomes;
} crn_archive_tables;

/* Prepares the statements; the archive must outlive them. 0, or a negative errno with *error. After
 * a transaction that was undone it is of no more use. */
int crn_archive_tables_init(crn_archive_tables *tables, crn_archive *archive, crn_error *error);

#endif
