/* A line's changes, who changed what and when, as rows of an archive; the texts of its settings;
 * the growers and varieties of its lots. */
#ifndef CRN_TOOLS_ARCHIVE_ROWS_CHANGES_H
#define CRN_TOOLS_ARCHIVE_ROWS_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/formats/changes/entry.h"
#include "tools/archive/database.h"
#include "tools/archive/rows/names.h"

typedef struct crn_archive_changes {
    crn_archive *archive;
    crn_archive_names names;
    sqlite3_stmt *known, *change, *lot, *kept_text, *named_text, *text;
} crn_archive_changes;

/* Prepares the statements; the archive must outlive them. 0, or a negative errno with *error. */
int crn_archive_changes_init(crn_archive_changes *changes, crn_archive *archive, crn_error *error);

/* A whole entry of a log of changes. */
typedef struct crn_archive_entry {
    const char *source; /* the state folder */
    const crn_change_links *links;
    const char *line; /* without its end */
    size_t length;
} crn_archive_entry;

typedef struct crn_archive_entry_added {
    bool is_new;          /* false: its hash was there already */
    bool is_unreadable;   /* it is whole, but not as this version writes entries: not inserted */
    bool is_text_dropped; /* the archive had another text of its settings than entries name */
    bool is_cut_off;      /* it goes on where another file ended, and that end is not there */
} crn_archive_entry_added;

/* Inserts an entry, in the transaction of the caller, unless its hash is there. 0, or a negative
 * errno with *error. */
int crn_archive_changes_add(crn_archive_changes *changes, const crn_archive_entry *entry,
                            crn_archive_entry_added *ret_added, crn_error *error);

/* True in *ret_lacks if the archive has no text of these settings. 0, or a negative errno. */
int crn_archive_changes_lack_text(crn_archive_changes *changes, const char *hash, bool *ret_lacks,
                                  crn_error *error);

/* Sets the text of settings. *ret_is_named is false, and nothing is set, if entries of the archive
 * name other texts of them and not this one. 0, or a negative errno with *error. */
int crn_archive_changes_set_text(crn_archive_changes *changes, const char *hash, const char *text,
                                 size_t size, bool *ret_is_named, crn_error *error);

#endif
