/*
 * Fruits that are being measured: a thread of its own, as the union needs all views of a fruit, and
 * the line's thread must not wait for it, nor it for views of other fruits that workers have.
 *
 * All functions but those of the thread are the line's thread's. Nothing is allocated, locked or
 * logged per fruit once the encoders' buffers have grown.
 */
#ifndef CRN_SRC_SURFACE_SURFACES_H
#define CRN_SRC_SURFACE_SURFACES_H

#include "src/counts/counts.h"
#include "src/surface/measurement.h"

CRN_C_BEGIN

/* Fruits at once; of more, verdicts leave without measures. */
#define CRN_SURFACES_MAX 32

typedef struct crn_surfaces crn_surfaces;

typedef struct crn_surfaces_stats {
    CRN_SURFACES_COUNTS(CRN_COUNT_MEMBER) /* fruits */
    uint64_t poses[CRN_POSE_SOURCES];     /* views, by what told their pose */
    uint64_t rolls[CRN_POSE_SOURCES];     /* views but the first, by what told their roll */
    double confidence;                    /* sum, of the poses that were found in pictures */
    double coverage;                      /* sum, of the measured fruits */
    uint64_t busy_ns;                     /* of the thread */
} crn_surfaces_stats;

/*
 * `config` is resolved; it and `store` are the caller's and must outlive it. `done_descriptor`: an
 * eventfd that is signalled for every measured fruit. By any thread, once. Returns 0 or a negative
 * errno.
 */
int crn_surfaces_open(const crn_config *config, const crn_result_store *store, int done_descriptor,
                      crn_surfaces **ret_surfaces);

/* Ends the thread; what it still has is forgotten. NULL is allowed. */
void crn_surfaces_close(crn_surfaces **surfaces);

/* Bytes that it reserves; 0 where nothing is measured. */
size_t crn_surfaces_bytes(const crn_config *config);

/* Submits a fruit that has judged views; they keep their results until it is collected. False: it
 * has as many as it can, or the time until `end_ns` is shorter than this usually takes and the
 * settings allow to skip it. */
bool crn_surfaces_begin(crn_surfaces *surfaces, const crn_fruit *fruit, int64_t end_ns,
                        int64_t now_ns);

/* That of an open fruit, not left; NULL: there is none. */
crn_measurement *crn_surfaces_find(crn_surfaces *surfaces, const crn_fruit *fruit);

/* The next one that is done, or NULL; the caller's until crn_surfaces_release. */
crn_measurement *crn_surfaces_collect(crn_surfaces *surfaces, int64_t now_ns);
void crn_surfaces_release(crn_surfaces *surfaces, crn_measurement *measurement);

/* Counts a fruit that was published without, for want of time. */
void crn_surfaces_skip(crn_surfaces *surfaces);

const crn_surfaces_stats *crn_surfaces_get_stats(const crn_surfaces *surfaces);

CRN_C_END

#endif
