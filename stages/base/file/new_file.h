/**
 * @file
 * Atomic file creation: written without a name (O_TMPFILE) or under a temporary one,
 * then renamed.
 */
#ifndef CRN_STAGES_BASE_FILE_NEW_FILE_H
#define CRN_STAGES_BASE_FILE_NEW_FILE_H

#include <stdio.h>

#include "stages/base/api.h"
#include "stages/base/error.h"

/** A file that does not exist yet under its path; zero-initialise. */
typedef struct crn_new_file {
    int fd;
    FILE *stream;     /**< set by crn_new_file_open_stream */
    const char *path; /**< the path to create; owned by the caller */
    char *folder;     /**< the path's folder, with its last slash */
    char *name;       /**< temporary name; NULL while the file has no name */
} crn_new_file;

/**
 * Checks that nothing is at the path but a regular file: to know before long work.
 *
 * @return 0, or negative errno with one line in *error
 */
CRN_API int crn_new_file_check(const char *path, crn_error *error);

/**
 * Creates an empty file in the folder of `path`. A symbolic link of that name is refused; links
 * in its folders are followed.
 *
 * @param path must outlive *ret_file
 * @param ret_file end it with crn_new_file_finish() or crn_new_file_drop()
 * @return 0, or negative errno with one line in *error
 */
CRN_API int crn_new_file_open(const char *path, crn_new_file *ret_file, crn_error *error);

/** The same with ret_file->stream, for text; failed writes are reported by crn_new_file_finish().
 */
CRN_API int crn_new_file_open_stream(const char *path, crn_new_file *ret_file, crn_error *error);

/**
 * Moves the file to its path, replacing what was there, and closes it.
 *
 * @return 0, or negative errno with one line in *error; there is then no new file
 */
CRN_API int crn_new_file_finish(crn_new_file *file, crn_error *error);

/** The same once the file is on the disk, and its name, too: a loss of power leaves the former file
 * or this one, whole. */
CRN_API int crn_new_file_finish_synced(crn_new_file *file, crn_error *error);

/** Makes SIGINT, SIGTERM and SIGHUP remove the unfinished file before they end the program: the
 * file that was opened last, if it has a name. Only for programs that have nothing else to do at
 * these signals and write one file at a time. */
CRN_API void crn_new_file_remove_at_signals(void);

/** Closes the file and removes it if it is not finished; a zeroed struct is allowed. */
CRN_API void crn_new_file_drop(crn_new_file *file);

#endif
