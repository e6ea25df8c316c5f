/*
 * Records views in the background of the line: a bounded queue of copies and a thread that writes
 * segments. A slow disk costs recordings, which are counted, but never time on the line.
 *
 * Disk errors (full, removed, read-only) are counted and logged at most once a second, and writing
 * is tried again with the next view. The segment of a recorder that was killed is named
 * `….tif.part` and is a valid recording of all that it wrote.
 */
#ifndef CRN_SRC_RECORDING_RECORDER_H
#define CRN_SRC_RECORDING_RECORDER_H

#include "src/recording/recording.h"

/* Recording stops while the disk has less free space than this. */
#define CRN_RECORDER_SPARE_BYTES (UINT64_C(256) << 20)

typedef struct crn_recorder crn_recorder;

typedef struct crn_recorder_stats {
    uint64_t written;  /* views written to segments */
    uint64_t bytes;    /* of these */
    uint64_t dropped;  /* views dropped because the queue was full */
    uint64_t failed;   /* disk error, or the view did not match its header */
    uint64_t segments; /* finished and renamed */
    int64_t quiet_ns;  /* how long the disk has not taken what waits for it */
} crn_recorder_stats;

/* Checks that a recorder can write to this folder: 0, or a negative errno with a hint in *error. */
int crn_recorder_check(const char *dir, crn_error *error);

/*
 * Reserves the queue (populated at once, so that no page fault occurs later) and starts the writer
 * thread. Segments are `<dir>/cernita-<UTC start>-<number>.tif`, at most segment_bytes long (one
 * view at least). queue_bytes limits the waiting copies. Returns a negative errno with the folder
 * and a hint in *error if the folder does not exist or cannot be written, or memory is short.
 */
int crn_recorder_open(const char *dir, uint64_t segment_bytes, uint64_t queue_bytes,
                      crn_recorder **ret_recorder, crn_error *error);

/* Copies the view into the queue, or counts it as dropped if that is full. Never waits, locks or
 * allocates. Single producer. */
void crn_recorder_offer(crn_recorder *recorder, const crn_recorded_view *view);

/* Writes what is queued, closes the segment and joins the thread; the stats are
 * final then. Nothing may be offered any more. */
void crn_recorder_finish(crn_recorder *recorder);

/* Finishes, frees and sets *recorder to NULL; NULL is allowed. */
void crn_recorder_close(crn_recorder **recorder);

/* Safe from any thread. */
crn_recorder_stats crn_recorder_get_stats(const crn_recorder *recorder);

#endif
