/*
 * The file that a recording is written to: NAME.part until it is whole, then NAME. Only regular
 * files are ever opened, replaced or removed, and links are not followed.
 *
 * A .part is locked (flock) as long as its writer lives. One that nobody locks was left by a
 * program that was killed: where the caller may replace NAME it is removed, else its name counts as
 * taken and it stays, being a good recording of what it holds.
 */
#ifndef CRN_SRC_RECORDING_UNFINISHED_H
#define CRN_SRC_RECORDING_UNFINISHED_H

#include <stdbool.h>

#include "stages/base/error.h"

typedef struct crn_recording_part {
    int fd;            /* for reading and writing; -1 without */
    char *path, *name; /* NAME; NAME.part */
    bool replace;      /* NAME may be there already */
} crn_recording_part;

/* Makes an empty .part. 0, -EEXIST where a name is taken, another negative errno; with one line. */
int crn_recording_part_open(const char *path, bool replace, crn_recording_part *ret_part,
                            crn_error *error);

/* Closes it and gives it its name; where that fails it is kept under its own. Frees what *part
 * holds in any case. 0 or negative errno with one line. */
int crn_recording_part_finish(crn_recording_part *part, crn_error *error);

/* Closes it and leaves it under its own name. */
void crn_recording_part_keep(crn_recording_part *part);

/* Closes and removes it; one of zeros with fd -1 is fine. */
void crn_recording_part_drop(crn_recording_part *part);

#endif
