/* A file that appears whole or not at all: written
 * without a name, or beside its own, and renamed. */
#ifndef CRN_STAGES_BASE_NEW_FILE_H
#define CRN_STAGES_BASE_NEW_FILE_H

#include <stdio.h>

#include "stages/base/error.h"

typedef struct crn_new_file {
    int fd;
    FILE *stream;     /* by crn_new_file_stream */
    const char *path; /* the file to be; the caller's */
    char *target;     /* that, with links followed */
    char *folder;     /* of it, with its last slash */
    char *name;       /* what the file is called meanwhile, NULL while it has no name at all */
} crn_new_file;

/* An empty file in path's folder. 0, or negative errno with one line in *error. `path` must outlive
 * *ret_file. */
int crn_new_file_open(const char *path, crn_new_file *ret_file, crn_error *error);

/* Opens file->stream, for text; what fails to be written to it is told by finish. 0, or negative
 * errno with one line in *error. */
int crn_new_file_stream(crn_new_file *file, crn_error *error);

/* Gives it its name, in place of what was there, and drops it. 0, or negative errno with one line
 * in *error; then there is no new file. */
int crn_new_file_finish(crn_new_file *file, crn_error *error);

/*
 * From now on SIGINT, SIGTERM and SIGHUP remove the file that was opened last, where it has a name
 * and has not been finished, before they end the program as they do otherwise. Only a program that
 * has nothing else to do at these signals, and writes one file at a time, calls this.
 */
void crn_new_file_remove_at_signals(void);

/* Closes it and removes what has not been finished; a file of zeros is fine. */
void crn_new_file_drop(crn_new_file *file);

#endif
