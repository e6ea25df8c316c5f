/*
 * A fruit and its results as bytes: the verdict, in MessagePack or JSON. No sockets.
 *
 * Every message on the sockets has two parts: the topic `fruit/<lane>` and one map (MessagePack, or
 * JSON where the file says so). Units are in the keys' names; ns are on CLOCK_REALTIME.
 *
 *   v                 1
 *   run               text: this start of the daemon
 *   lane, epoch, fruit                    as its views said
 *   sequence          of the lane's verdicts, from 0 with each run: a gap is a lost verdict
 *   stale             true: sent after its deadline
 *   encoder, captured_ns                  of the lowest view received
 *   published_ns      when it was packed
 *   verdict           "complete", "partial" or "late"
 *   views_expected    what the views' header said, 0: unknown
 *   views_received, views_judged
 *   skipped           [text]: optional steps that some view went without
 *   truncated         true: a limit cut the defects
 *   budget_ms         latency.budget_ms
 *   latency_ms        {queue, a key per step (a second of a kind is "haar_2"), total}: the longest
 *                     of the judged views' each; total is from the fruit's close to the packing
 *   totals            {class: {count, area_px}} for every class with a level, over all views: count
 *                     leaves holes out, area_px takes theirs off
 *   defects           [{view, class, level, closed, hole, parent, area_px, perimeter_px,
 *                     bbox: [x0, y0, x1, y1], centroid: [x, y], mean_probability, xy, ranklet}],
 *                     view by view; stages/README.md says what each means
 *     parent          index in this list, -1: none
 *     xy              the outline: a bin of little-endian f32 x, y pairs, in JSON [[x, y], ...]
 *     ranklet         only where a ranklet step ran for that view
 *
 * Viewers also get the topic `status`, the grader `alive`: status.h. Readers pass over topics that
 * they do not know.
 *
 * Everything that packing needs is reserved when the packer is created; a verdict allocates nothing
 * once the emitter's buffer has grown to the largest one.
 */
#ifndef CRN_VERDICT_H
#define CRN_VERDICT_H

#include "src/emit.h"
#include "src/fruit.h"
#include "src/store.h"

#define CRN_VERDICT_VERSION 1

typedef struct crn_verdict crn_verdict;

/* What a verdict says beside its fruit and the results. */
typedef struct crn_verdict_facts {
    const char *run; /* id of the daemon's start */
    uint32_t lane;
    uint64_t sequence; /* of the lane's verdicts */
    crn_verdict_kind kind;
    uint64_t published_ns; /* CLOCK_REALTIME */
    int64_t now_ns;        /* the same moment on CLOCK_MONOTONIC */
    bool without_defects; /* leaves all defects out and says so (truncated, complete turns partial):
                             for when the memory for a whole verdict cannot be had */
} crn_verdict_facts;

/* A packed verdict; the bytes are the emitter's and valid until it begins again. */
typedef struct crn_verdict_bytes {
    const unsigned char *bytes;
    size_t size;
    size_t stale_at; /* where `stale` stands, false: crn_emit_set_bool turns it without repacking */
} crn_verdict_bytes;

/* `config` is resolved, the caller's, and outlives the packer. 0, -ENOMEM. */
int crn_verdict_create(const crn_config *config, crn_verdict **ret_verdict);
void crn_verdict_free(crn_verdict **verdict);

/* Packs one verdict. `fruit->views` has config->limits.views entries. 0, -ENOMEM. */
int crn_verdict_pack(crn_verdict *verdict, crn_emit *emit, const crn_fruit *fruit,
                     const crn_verdict_facts *facts, const crn_store *store,
                     crn_verdict_bytes *ret_bytes);

#endif
