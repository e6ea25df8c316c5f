/**
 * @file
 * Opening of regular files only: pipes, devices and the like may block forever.
 */
#ifndef CRN_STAGES_BASE_FILE_REGULAR_FILE_H
#define CRN_STAGES_BASE_FILE_REGULAR_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "stages/base/api.h"
#include "stages/base/error.h"

/** The kind of a file by its st_mode, with article: "a folder", "a pipe", "a device". */
CRN_API const char *crn_file_kind(mode_t mode);

/**
 * Opens a regular file for reading, without blocking on any other kind. A /proc file that has no
 * data fails to be read with EAGAIN.
 *
 * @return the descriptor, or negative errno with one line in *error
 */
CRN_API int crn_regular_open(const char *path, crn_error *error);

/** True if the name still refers to the open file; `folder` as of fstatat(). Links are not
 * followed. */
CRN_API bool crn_file_is_named(int folder, int fd, const char *name);

#endif
