/* Regular files, told from pipes, devices and the like, which may never answer. */
#ifndef CRN_STAGES_BASE_REGULAR_FILE_H
#define CRN_STAGES_BASE_REGULAR_FILE_H

#include <sys/stat.h>

#include "stages/base/error.h"

/* What a file is, by its st_mode, with its article: "a folder", "a pipe", "a device". */
const char *crn_file_kind(mode_t mode);

/*
 * Opens a regular file for reading; nothing else is waited for or read from. A file of /proc that
 * has nothing to read fails to be read with EAGAIN. The descriptor, or negative errno with one line
 * in *error.
 */
int crn_regular_open(const char *path, crn_error *error);

#endif
