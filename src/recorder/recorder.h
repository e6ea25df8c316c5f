/*
 * Records views in the background of the line: a bounded queue, of copies or of views that are
 * lent, and a thread that writes segments. A slow disk costs recordings, which are counted, but
 * never time on the line.
 *
 * Disk errors (full, removed, read-only) are counted and logged at most once a second, and writing
 * is tried again with the next view. The segment of a recorder that was killed is named
 * `….tif.part` and is a valid recording of all that it wrote; the next recorder in the folder gives
 * it its name.
 *
 * Retention: the thread removes the oldest finished segments of the folder (segments.h) at the
 * start, before it begins a segment, after it has finished one, every minute, and when the disk has
 * less free space than the reserve.
 */
#ifndef CRN_SRC_RECORDER_RECORDER_H
#define CRN_SRC_RECORDER_RECORDER_H

#include "src/counts/counts.h"
#include "src/formats/recording/recording.h"
#include "src/formats/recording/segments.h"

/* Recording stops while the disk has less free space than this. */
#define CRN_RECORDER_SPARE_BYTES (UINT64_C(256) << 20)

typedef struct crn_recorder crn_recorder;

typedef struct crn_recorder_settings {
    const char *dir;
    uint64_t segment_bytes;     /* limit of a segment (one view at least) */
    uint64_t queue_bytes;       /* limit of the copies that wait */
    uint32_t lent_views;        /* limit of views that are lent at a time */
    crn_segment_limits limits;  /* what is kept of the folder's segments */
    int64_t retention_ns;       /* time between two removals; 0: a minute */
    const crn_classes *classes; /* of the views; NULL: not known; must outlive the recorder */
} crn_recorder_settings;

typedef struct crn_recorder_stats {
    CRN_RECORDER_COUNTS(CRN_COUNT_MEMBER)
    int64_t quiet_ns; /* how long the disk has not taken what waits for it */
} crn_recorder_stats;

/* Checks that a recorder can write to this folder: 0, or a negative errno with a hint in *error. */
int crn_recorder_check(const char *dir, crn_error *error);

/*
 * Reserves the queue (populated at once, so that no page fault occurs later) and starts the writer
 * thread. Segments are `<dir>/cernita-<UTC start>-<number>.tif`. Returns a negative errno with the
 * folder and a hint in *error if the folder does not exist or cannot be written, or memory is
 * short.
 */
int crn_recorder_open(const crn_recorder_settings *settings, crn_recorder **ret_recorder,
                      crn_error *error);

/* Copies the view into the queue, or counts it as dropped if that is full. Never waits, locks or
 * allocates. Single producer. */
void crn_recorder_offer(crn_recorder *recorder, const crn_recorded_view *view);

/*
 * Queues the view without a copy: its bytes must stay as they are until crn_recorder_returned gives
 * back `owner`, not NULL. False if the queue is full or lent_views are lent already: it is counted
 * as dropped. Never waits, locks or allocates. Of the thread that offers.
 */
bool crn_recorder_lend(crn_recorder *recorder, const crn_recorded_view *view, void *owner);

/* Counts a view as dropped that could not even be lent: as many are as may be. */
void crn_recorder_drop(crn_recorder *recorder);

/* The owner of the next view that is no longer lent, written or not, or NULL. Of the same thread.
 */
void *crn_recorder_returned(crn_recorder *recorder);

/* Counts views whose bytes were gone before it was known that they were to be recorded. */
void crn_recorder_miss(crn_recorder *recorder, uint64_t views);

/* Writes what is queued, closes the segment and joins the thread; the stats are
 * final then. Nothing may be offered any more. */
void crn_recorder_finish(crn_recorder *recorder);

/* Finishes, frees and sets *recorder to NULL; NULL is allowed. */
void crn_recorder_close(crn_recorder **recorder);

/* Safe from any thread. */
crn_recorder_stats crn_recorder_get_stats(const crn_recorder *recorder);

#endif
