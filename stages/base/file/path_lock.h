/**
 * @file
 * Exclusive use of a path among programs that start, run and end at any time, as of a socket:
 * binding it and replacing a file that was left behind are several steps.
 */
#ifndef CRN_STAGES_BASE_FILE_PATH_LOCK_H
#define CRN_STAGES_BASE_FILE_PATH_LOCK_H

#include "stages/base/api.h"

/**
 * Locks PATH.lock, which it makes, until crn_path_unlock() or the process's end.
 *
 * @param ret_lock a descriptor
 * @param ret_holder the process that has it; 0 if the file does not say
 * @return 0; -EADDRINUSE if another program holds it; another negative errno if the file cannot be
 *         made
 */
CRN_API int crn_path_lock(const char *path, int *ret_lock, long *ret_holder);

/** Removes the file and releases the lock; -1 is allowed. */
CRN_API void crn_path_unlock(const char *path, int lock);

#endif
