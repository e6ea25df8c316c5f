/*
 * A file of fixed size in the state folder: made whole with its space reserved, then written in
 * place. No thread, no lock: whoever calls may have to wait for the disk.
 */
#ifndef CRN_SRC_MONITOR_STATE_FILE_H
#define CRN_SRC_MONITOR_STATE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "stages/base/error.h"

CRN_C_BEGIN

typedef struct crn_state_file {
    const char *name;          /* in the folder, and in the log */
    off_t bytes;               /* its size; what is not written yet is 0 */
    const unsigned char *head; /* its first bytes, which say of which version it is */
    size_t head_bytes;
} crn_state_file;

/*
 * Opens the file for this process alone, and makes it where there is none. One of another size or
 * with another head becomes NAME.damaged, or NAME.damaged.2 to .9 beside such a one, which the log
 * says, and a new one is made. Returns the descriptor, or a negative errno with *error: the folder
 * cannot be written to, another process has the file (-EWOULDBLOCK), or all these names are taken
 * (-EEXIST).
 */
int crn_state_file_open(const char *dir, const crn_state_file *kind, crn_error *error);

/* All the bytes, or a negative errno. */
int crn_state_file_write(int descriptor, const void *bytes, size_t size, off_t offset);

CRN_C_END

#endif
