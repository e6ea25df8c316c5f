/* Whether a file, or a folder, is another than it was. */
#ifndef CRN_TOOLS_ARCHIVE_STATE_SEEN_H
#define CRN_TOOLS_ARCHIVE_STATE_SEEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* It is zeros before the first look. */
typedef struct crn_seen {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
    int64_t looked_ns; /* CLOCK_MONOTONIC: when it was told last to be another; 0: never */
} crn_seen;

/* True if what has that name has changed since the last time, or that was a minute ago: two changes
 * may have one time. No file is one kind of file. */
bool crn_seen_has_changed(crn_seen *seen, const char *path);

#endif
