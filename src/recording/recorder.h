/*
 * Records views behind the line's back: a bounded queue of copies and a thread that writes
 * segments. A slow disk costs recordings, counted, never time on the line.
 *
 * What the disk refuses (full, gone, read-only) is counted and told in at most one log line a
 * second, and tried again with the next view. A segment of a recorder that was killed is called
 * `….tif.part` and is a good recording of all it wrote.
 */
#ifndef CRN_SRC_RECORDING_RECORDER_H
#define CRN_SRC_RECORDING_RECORDER_H

#include "src/recording/recording.h"

/* Nothing is recorded while the disk has less room than this for others. */
#define CRN_RECORDER_SPARE_BYTES (UINT64_C(256) << 20)

typedef struct crn_recorder crn_recorder;

typedef struct crn_recorder_stats {
    uint64_t written;  /* views in segments */
    uint64_t dropped;  /* the queue was full */
    uint64_t failed;   /* the disk refused, or a view did not fit its header */
    uint64_t segments; /* finished and renamed */
} crn_recorder_stats;

/* Whether a recorder can work in this folder: negative errno with the cure in *error where not. */
int crn_recorder_check(const char *dir, crn_error *error);

/*
 * Reserves the queue (touched at once, so that no page is missing later) and starts the writer
 * thread. Segments are `<dir>/cernita-<UTC start>-<number>.tif`, at most segment_bytes long (one
 * view at least). queue_bytes bounds the copies that wait. Negative errno with the folder and the
 * cure in *error when there is no such folder, it cannot be written, or memory is short.
 */
int crn_recorder_open(const char *dir, uint64_t segment_bytes, uint64_t queue_bytes,
                      crn_recorder **ret_recorder, crn_error *error);

/*
 * Copies the view into the queue, or counts it as dropped when that is full. Never waits, locks or
 * allocates. One thread offers.
 */
void crn_recorder_offer(crn_recorder *recorder, const crn_recorded_view *view);

/* Writes what is queued, closes the segment and joins the thread; the stats are then final. Nothing
 * may be offered any more. */
void crn_recorder_finish(crn_recorder *recorder);

/* Finishes, frees, nulls; NULL is fine. */
void crn_recorder_close(crn_recorder **recorder);

/* Safe from any thread. */
crn_recorder_stats crn_recorder_get_stats(const crn_recorder *recorder);

#endif
