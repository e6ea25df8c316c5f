/*
 * Records views behind the line's back: a bounded queue of copies and a thread that writes
 * segments. A slow disk costs recordings, counted, never time on the line.
 */
#ifndef CRN_RECORDER_H
#define CRN_RECORDER_H

#include "src/recording.h"

typedef struct crn_recorder crn_recorder;

typedef struct crn_recorder_stats {
    uint64_t written, dropped, failed, segments;
} crn_recorder_stats;

/*
 * Starts the writer thread (it returns when the thread is ready). Segments are
 * `<dir>/cernita-<UTC start>-<number>.tif`, at most segment_bytes long. queue_bytes bounds the
 * copies that wait.
 */
int crn_recorder_open(const char *dir, uint64_t segment_bytes, uint64_t queue_bytes,
                      crn_recorder **ret_recorder, crn_error *error);

/* Copies the view into the queue, or counts it as dropped when that is full. Never waits. */
void crn_recorder_offer(crn_recorder *recorder, const crn_recorded_view *view);

/* Writes what is queued, closes the segment, joins the thread, nulls; NULL is fine. */
void crn_recorder_close(crn_recorder **recorder);

crn_recorder_stats crn_recorder_get_stats(const crn_recorder *recorder);

#endif
