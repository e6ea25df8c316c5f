/* Texts that repeat, as numbers: rows of the small tables, made when a text is first met. */
#ifndef CRN_TOOLS_ARCHIVE_ROWS_NAMES_H
#define CRN_TOOLS_ARCHIVE_ROWS_NAMES_H

#include "src/formats/verdict/decode.h"
#include "tools/archive/database.h"

typedef enum crn_archive_table {
    CRN_ARCHIVE_RUNS,
    CRN_ARCHIVE_SETTINGS,
    CRN_ARCHIVE_LOTS,
    CRN_ARCHIVE_NAMES, /* classes, recipes, kinds, states, reasons */
    CRN_ARCHIVE_TABLES,
} crn_archive_table;

#define CRN_ARCHIVE_CACHED 512 /* a power of two */

typedef struct crn_archive_names {
    crn_archive *archive;
    struct {
        sqlite3_stmt *insert, *find;
    } tables[CRN_ARCHIVE_TABLES];
    struct {
        crn_archive_table table;
        char text[CRN_DECODED_TEXT_BYTES];
        int64_t id; /* 0: unused */
    } cache[CRN_ARCHIVE_CACHED];
} crn_archive_names;

/* Both: 0, or a negative errno with *error. After a transaction that was undone, whose new rows are
 * gone, names are initialised again. */
int crn_archive_names_init(crn_archive_names *names, crn_archive *archive, crn_error *error);
int crn_archive_names_id(crn_archive_names *names, crn_archive_table table, const char *text,
                         int64_t *ret_id, crn_error *error);

#endif
