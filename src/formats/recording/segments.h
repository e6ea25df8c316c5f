/*
 * The segments of a recorder's folder: their names, and the removal of the oldest ones.
 *
 * A segment is a regular file named `cernita-<UTC start>-<number>.tif`, as recorder.h names it, or
 * such a name and `.part` that no recorder is writing any more (unfinished.h). Nothing else is ever
 * removed: no file that is being written, no folder, no link, no name that only looks alike.
 */
#ifndef CRN_SRC_FORMATS_RECORDING_SEGMENTS_H
#define CRN_SRC_FORMATS_RECORDING_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

/* Bytes of a recorder's UTC start time as text, with its end: "20261123T010203Z". */
#define CRN_SEGMENT_START_BYTES 24

/* Writes the path of a segment. */
void crn_segment_path(char *path, size_t size, const char *dir, const char *start, uint64_t number);

/* True for the name of a finished segment, without its folder. */
bool crn_segment_is_name(const char *name);

/* Finishes what killed recorders left in the folder (crn_recording_part_adopt); the number and sum
 * of those that are segments now are added to *adopted and *bytes. Best effort. */
void crn_segments_adopt(const char *dir, uint64_t *adopted, uint64_t *bytes);

/* What to keep. */
typedef struct crn_segment_limits {
    uint64_t keep_bytes; /* of all segments; 0: any number */
    int64_t keep_ns;     /* since a segment was last written; 0: forever */
} crn_segment_limits;

typedef struct crn_segments_removed {
    uint64_t removed, removed_bytes;
    uint64_t left, left_bytes;
} crn_segments_removed;

/*
 * Removes all segments that are older than keep_ns, and then the oldest (by the time at which they
 * were last written, then by name; first those of a time that is still to come) until the others
 * and `coming_bytes` fit into keep_bytes. Returns 0, or a negative errno with one line in *error if
 * the folder or a segment could not be read or removed; *ret_removed says in either case what was
 * removed.
 */
int crn_segments_remove(const char *dir, const crn_segment_limits *limits, uint64_t coming_bytes,
                        crn_segments_removed *ret_removed, crn_error *error);

#endif
