/* The recordings that a user names: files, and folders of them. */
#ifndef CRN_TOOLS_COMMON_RECORDINGS_H
#define CRN_TOOLS_COMMON_RECORDINGS_H

#include "stages/base/error.h"

typedef struct crn_recordings {
    char **paths; /* `count` paths, owned */
    int count;
} crn_recordings;

/*
 * The given paths in order, each folder replaced by its *.tif files in natural order (numbers by
 * value), which for a recorder's files is the order of time. Unfinished segments (.part), hidden
 * files and subfolders are skipped. A path that is not a folder is taken as it is, whether it
 * exists or not. 0, or negative errno with one line in *error: -ENOENT for a folder without
 * recordings.
 */
int crn_recordings_list(const char *const given[], int count, crn_recordings *ret_recordings,
                        crn_error *error);

/* A zeroed one is fine. */
void crn_recordings_free(crn_recordings *recordings);

#endif
