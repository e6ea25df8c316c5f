/*
 * The chain of stages on one view: all enqueues, then all finishes, each timed and counted here and
 * nowhere else. A chain is one worker's: scratch memory, the operators' results, what each step
 * cost of late. Where a device has run the enqueues (device.h), the finishes alone.
 */
#ifndef CRN_SRC_CHAIN_CHAIN_H
#define CRN_SRC_CHAIN_CHAIN_H

#include <stdatomic.h>

#include "src/chain/judgement.h"
#include "src/config/config.h"
#include "stages/image.h"

typedef struct crn_chain crn_chain;

/* A view as the chain sees it; the memory stays the caller's. */
typedef struct crn_chain_input {
    crn_image maps;               /* as they came, dense */
    crn_image intensity;          /* one plane of u8 of the same size; data NULL: there is none */
    int64_t received_ns;          /* CLOCK_MONOTONIC */
    int64_t deadline_ns;          /* CLOCK_MONOTONIC; CRN_NEVER_NS: none */
    const atomic_bool *cancelled; /* set once nobody waits for it any more; NULL: that never is */
} crn_chain_input;

/* So many of a step's latest durations stand for "recent". */
#define CRN_RECENT 128

/* What a step cost of late; starts zeroed. */
typedef struct crn_recent {
    uint32_t count;    /* ever, or since they were forgotten */
    uint32_t left_out; /* how often in a row */
    int64_t ns[CRN_RECENT];
} crn_recent;

void crn_recent_add(crn_recent *recent, int64_t ns);

/* The step was left out for what it cost of late. After CRN_RECENT times in a row that is
 * forgotten, so that it runs and is measured: an estimate that nothing could correct any more, made
 * while the machine was held up, would leave the step out for good. */
void crn_recent_skip(crn_recent *recent);

/* The 99th percentile: with fewer than 200 of them, the second largest at most. */
int64_t crn_recent_p99_ns(const crn_recent *recent);

/* What a device made of a view: its chain's enqueue halves are done. */
typedef struct crn_device_result {
    crn_contours *contours; /* of all views that ran with it, a view's planes behind those of the
                               view before: plane view * channels + channel; the device's */
    int32_t index;          /* which of these views it is */
    uint32_t first, count;  /* its contours among them: crn_device_result_find */
    uint32_t skipped;       /* bit per step of the chain */
    int64_t submitted_ns, begun_ns;
    int64_t stage_ns[CRN_STAGES_MAX];
} crn_device_result;

/* `config` (resolved) and `ops` outlive the chain. 0 or negative errno. */
int crn_chain_create(const crn_config *config, const crn_ops *ops, crn_chain **ret_chain);
void crn_chain_free(crn_chain **chain);

/*
 * Runs every step. `defects` (the caller's arrays) is written from the start; *ret_judgement gets
 * times, skipped steps, defect count and truncation; its `result` is left at CRN_RESULT_NONE. A
 * step marked optional is skipped when the time to input->deadline_ns is less than its recent p99.
 * 0, the negative errno of the step that failed, or -ETIME: input->deadline_ns passed or
 * *input->cancelled was set while a step ran, and it ended within a few milliseconds of work.
 */
int crn_chain_run(crn_chain *chain, const crn_chain_input *input, crn_defects *defects,
                  crn_judgement *ret_judgement);

/*
 * The same where a device has done the enqueue halves: their contours, the finish halves here, on
 * the view's maps in the process's memory. The planes of the view's contours are renumbered from 0
 * where they lie, so each view of `done` is finished once. -EOVERFLOW: the contours are not all
 * there (they or their points are more than the limits allow): the view is to be run whole.
 */
int crn_chain_finish(crn_chain *chain, const crn_chain_input *input, const crn_device_result *done,
                     crn_defects *defects, crn_judgement *ret_judgement);

/* How long the enqueue halves take on this view: what a device would take over. 0 or the errno of
 * the step that failed. */
int crn_chain_measure(crn_chain *chain, const crn_chain_input *input, int64_t *ret_ns);

/* Finds the view's contours by their planes; before any of its batch is finished. */
void crn_device_result_find(crn_device_result *done, int32_t channels);

/* Bytes that one chain reserves for results, for the memory that --check tells. */
size_t crn_chain_bytes(const crn_config *config);

/* Bytes of the results that the limits allow one view: defects, points, textures. */
size_t crn_chain_view_bytes(const crn_config *config);

#endif
