/**
 * @file
 * Folders that a program writes to for long, and that are made by whoever sets it up.
 */
#ifndef CRN_STAGES_BASE_FILE_FOLDER_H
#define CRN_STAGES_BASE_FILE_FOLDER_H

#include "stages/base/api.h"
#include "stages/base/error.h"

/**
 * Checks that it is a folder that this process may use.
 *
 * @param rights R_OK, W_OK and X_OK of unistd.h
 * @param use what the program would do there, for the message: "record"
 * @return 0; or a negative errno with one line in *error, which names the folder, the user who must
 * own it and the command that makes it so
 */
CRN_API int crn_folder_check(const char *dir, int rights, const char *use, crn_error *error);

/** Names that were given, changed or removed in it are on the disk when it returns 0; or a negative
 * errno. */
CRN_API int crn_folder_sync(const char *dir);

#endif
