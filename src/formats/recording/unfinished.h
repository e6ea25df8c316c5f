/*
 * The file that a recording is written to: named NAME.part until it is complete, then NAME. Only
 * regular files are ever opened, replaced or removed, and links are not followed.
 *
 * A .part is locked (flock) while its writer lives. An unlocked one was left by a program that was
 * killed: it is removed if the caller may replace NAME; otherwise the name counts as taken, because
 * the file is a valid recording of what it contains, until crn_recording_part_adopt finishes it.
 */
#ifndef CRN_SRC_FORMATS_RECORDING_UNFINISHED_H
#define CRN_SRC_FORMATS_RECORDING_UNFINISHED_H

#include <stdbool.h>

#include "stages/base/error.h"

typedef struct crn_recording_part {
    int fd;            /* open for reading and writing; -1 for none */
    char *path, *name; /* NAME; NAME.part */
    bool replace;      /* NAME may exist already */
} crn_recording_part;

/* Creates an empty .part. Returns 0, -EEXIST if a name is taken, or another
 * negative errno, with one line in *error. */
int crn_recording_part_open(const char *path, bool replace, crn_recording_part *ret_part,
                            crn_error *error);

/* False if the file was removed, or another one has its name by now. */
bool crn_recording_part_is_there(const crn_recording_part *part);

/* Closes and renames it to NAME; if that fails it keeps its own name. Frees what *part holds in any
 * case. Returns 0 or a negative errno with one line in *error. */
int crn_recording_part_finish(crn_recording_part *part, crn_error *error);

/*
 * Finishes what a killed program left of NAME: NAME.part is renamed to NAME if it holds a view, and
 * removed if it holds nothing. Returns 1 if it has its name now, 0 if it is gone; -EBUSY if its
 * writer lives (or nobody can tell), -EINVAL if it is not a recording, -EEXIST if NAME is taken, or
 * another negative errno: then it is left as it is.
 */
int crn_recording_part_adopt(const char *path);

/* True if the regular file `name` in the folder is locked by no writer. */
bool crn_recording_part_is_left(int folder, const char *name);

/* Removes such a file. Returns 0, -EBUSY if it has a writer by now, or another negative errno. */
int crn_recording_part_remove_left(int folder, const char *name);

/* Closes it and keeps its own name. */
void crn_recording_part_keep(crn_recording_part *part);

/* Closes and removes it; a zeroed one with fd -1 is allowed. */
void crn_recording_part_drop(crn_recording_part *part);

#endif
