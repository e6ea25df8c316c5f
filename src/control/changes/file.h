/*
 * The log of changes in the state folder (src/formats/changes). Only appended to: an entry is on
 * the disk when its call returns, and what a loss of power cut stays, with a new line after it.
 */
#ifndef CRN_SRC_CONTROL_CHANGES_FILE_H
#define CRN_SRC_CONTROL_CHANGES_FILE_H

#include "src/formats/changes/entry.h"

/* The log ends here: it is to be moved away to where it is kept, and a new one begins. */
#define CRN_CHANGES_BYTES_MAX (64 << 20)

typedef struct crn_change_file crn_change_file;

/*
 * Opens the file or makes it, for this process alone, and follows its chain.
 *
 * @param tell logs a line that does not fit, one that is cut, and a file that was not there
 * although the folder has texts of settings
 * @return 0, or a negative errno with *error, which names the file and the cure
 */
int crn_change_file_open(const char *dir, bool tell, crn_change_file **ret_file, crn_error *error);
void crn_change_file_close(crn_change_file **file);

/* The last entry; number 0: there is none. */
const crn_change_links *crn_change_file_last(const crn_change_file *file);

/* True if the name still leads to the file: it was not removed, moved away or replaced. */
bool crn_change_file_is_named(const crn_change_file *file);

/* Appends the entry, whose `cut` is set, and `before` to the last entry's `after` unless it
 * `continues` another. Returns 0; -EFBIG: the file is full and stays open; or another negative
 * errno: it is to be closed. *error says why. */
int crn_change_file_append(crn_change_file *file, crn_change *change, crn_error *error);

#endif
