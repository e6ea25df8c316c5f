/* Exclusive use of a socket's path among programs that start, run and end at any time: binding and
 * replacing a file that was left behind are several steps. */
#ifndef CRN_STAGES_BASE_FILE_PATH_LOCK_H
#define CRN_STAGES_BASE_FILE_PATH_LOCK_H

/* Locks PATH.lock, which it makes, until the descriptor is closed or the process ends. Returns 0;
 * -EADDRINUSE if another program holds it (*ret_holder: its process, 0 if the file does not say);
 * or another negative errno if the file cannot be made. */
int crn_path_lock(const char *path, int *ret_lock, long *ret_holder);

/* Removes the file and releases the lock; -1 is allowed. */
void crn_path_unlock(const char *path, int lock);

#endif
