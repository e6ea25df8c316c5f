/* The recordings that a user names: files, and folders of them. */
#ifndef CRN_TOOLS_COMMON_RECORDINGS_H
#define CRN_TOOLS_COMMON_RECORDINGS_H

#include "stages/base/error.h"

typedef struct crn_recordings {
    char **paths; /* `count` of them; own memory */
    int count;
} crn_recordings;

/*
 * The given paths in their order, each folder replaced by the *.tif in it, by name with numbers by
 * value (a recorder's names begin with its start, so that is the order of time). Segments that are
 * still being written (.part), hidden files and folders in it are passed over. 0, or negative errno
 * with one line in *error: -ENOENT for a folder without recordings. A path that is no folder is
 * taken as it is, whether it exists or not.
 */
int crn_recordings_list(const char *const given[], int count, crn_recordings *ret_recordings,
                        crn_error *error);

/* One of zeros is fine. */
void crn_recordings_free(crn_recordings *recordings);

#endif
