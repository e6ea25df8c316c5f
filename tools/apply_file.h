/* A text file that appears whole or not at all: written beside its name and renamed. */
#ifndef CRN_APPLY_FILE_H
#define CRN_APPLY_FILE_H

#include <stdio.h>

#include "src/base/error.h"

typedef struct crn_apply_file {
    FILE *stream; /* write to it; faults are told by finish */
    char *path, *beside;
} crn_apply_file;

/* 0, or negative errno with one line in *error. */
int crn_apply_file_open(const char *path, crn_apply_file *ret_file, crn_error *error);

/* Renames it into place. 0, or negative errno with one line in *error; then there is no file. */
int crn_apply_file_finish(crn_apply_file *file, crn_error *error);

/* Closes and removes it, unless it was finished; a zeroed one is fine. */
void crn_apply_file_discard(crn_apply_file *file);

#endif
