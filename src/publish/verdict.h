/*
 * A fruit and its results as bytes: the verdict, in MessagePack or JSON. No sockets.
 *
 * Every message on the sockets has two parts: the topic `fruit/<lane>` and one map (MessagePack, or
 * JSON where the file says so). Units are in the keys' names; ns are on CLOCK_REALTIME.
 *
 *   v                 1, as long as keys are only added
 *   run               text: this start of the daemon
 *   settings          text of 16 hex digits: FNV-1a 64 of what --print-config prints, followed by
 *                     the bytes of the kernel and element files that it names
 *   recipe            "": there are none yet
 *   lane, epoch, fruit                    as its views said
 *   sequence          of the lane's verdicts, from 0 with each run: a gap is a lost verdict
 *   stale             true if past its deadline: see below
 *   encoder, captured_ns                  of the lowest view received
 *   published_ns      when it was packed
 *   deadline_ns       when it was due at the latest
 *   verdict           "complete", "partial" or "late"
 *   views_expected    what the views' header said, 0: unknown
 *   views_received, views_judged
 *   skipped           [text]: optional steps that some view went without
 *   truncated         true: a limit cut the defects
 *   budget_ms         latency.budget_ms
 *   latency_ms        {queue, a key per step (a second of a kind is "haar_2"), total}: where the
 *                     time went from the fruit's close to the packing, which is total. queue and
 *                     the steps are those of the judged view that ended last, as far as they lie
 *                     after the close, so that together they never exceed total: laid end to end
 *                     and ending when the view ended, they are its wait until it began, its waits
 *                     for a device or a worker once it had begun (which no key counts), and its
 *                     steps in the chain's order. 0 where no view was judged. view_states has whole
 *                     durations
 *   view_states       [{view, state, reason, captured_ns, encoder, received_ms, queue_ms, run_ms,
 *                     backend}]: of every view that is expected, or of those received or refused
 *                     where views_expected is 0. Numbers are null and texts "" where there is
 *                     nothing to say
 *     state           "judged"; "lost": received but not judged; "refused": what came for it was
 *                     refused; "missing": nothing came for it
 *     reason          of a lost one:
 *                       no_slot       no slot was free, or a view of higher priority took its slot
 *                       discarded     it had not begun when its fruit was judged, or could not have
 *                                     finished in time
 *                       unfinished    it was running when its time ran out
 *                       failed        the chain reported an error, which the log names
 *                       device_lost   its maps were on a device that was lost
 *                     of a refused one the fault of its first message, as `status` names it
 *                     of a judged one, the first that applies: then its fruit is at best partial
 *                       not_finite, out_of_range, mask_values   values that are no probabilities
 *                       truncated     a limit cut its defects
 *                       skipped       it went without an optional step
 *     captured_ns, encoder                  as its header said
 *     received_ms     after the fruit's first view
 *     queue_ms        from its reception until it began (a lost one: until it was handed to a
 *                     worker or a device, or was lost)
 *     run_ms          from then until it ended (a lost one: until it was lost, or until the packing
 *                     where it still runs); null: it never began
 *     backend         that judged it: "serial", "openmp", or "cuda" where a device did the steps on
 *                     the maps
 *     class, count    only with not_finite, out_of_range and mask_values: the first class that has
 *                     such values ("": all classes together), and how many it has
 *   totals            {class: {count, area_px}} for every class with a level, over all views: count
 *                     excludes holes, area_px subtracts their area
 *   defects           [{view, class, level, closed, hole, parent, area_px, perimeter_px,
 *                     bbox: [x0, y0, x1, y1], centroid: [x, y], mean_probability, xy, ranklet}],
 *                     view by view; stages/README.md says what each means
 *     parent          index in this list, -1: none
 *     xy              the outline: a bin of little-endian f32 x, y pairs, in JSON [[x, y], ...]
 *     ranklet         only where a ranklet step ran for that view
 *
 * stale is true if the deadline had passed when the verdict was packed or, for the grader, when it
 * was passed to libzmq. Causes:
 *   - no grader was connected, or the one that was did not read, and the verdict waited for it;
 *   - a view's header had a deadline that was past on its arrival (by 10 s at most; others are
 *     ignored): the view was late, or clocks disagree;
 *   - the line itself was late: the process was stopped, or had no core to run on.
 * Delays after that are not included: a verdict that then waits at the reader says false, and a
 * viewer's copy may say false where the grader's says true. Compare deadline_ns with the reader's
 * clock to know whether there is time left.
 *
 * Viewers also get the topic `status`, the grader `alive`: status.h. Readers must ignore topics
 * that they do not know.
 *
 * For authors of graders: with publish.grader.alive_ms set, a grader receives a message at least
 * that often, so after three times as long without one the line is dead or disconnected, and the
 * grader's fail-safe applies to every fruit until messages arrive again. If the sequence in `alive`
 * is above that of the last verdict received, the verdicts between are lost. A fruit whose views
 * were all lost on their way, or refused, has no verdict at all, so the fail-safe also applies to a
 * fruit that reaches the ejector without one.
 *
 * All memory for packing is reserved when the packer is created; a verdict allocates nothing once
 * the encoder's buffer has grown to the largest one.
 */
#ifndef CRN_SRC_PUBLISH_VERDICT_H
#define CRN_SRC_PUBLISH_VERDICT_H

#include "stages/base/api.h"
#include "src/publish/encoder.h"
#include "src/fruit/fruit.h"
#include "src/publish/result_store.h"

CRN_C_BEGIN

#define CRN_VERDICT_VERSION 1

typedef struct crn_verdict crn_verdict;

/* Contents of a verdict besides its fruit and the results. */
typedef struct crn_verdict_facts {
    const char *run; /* id of the daemon's start */
    uint32_t lane;
    uint64_t sequence; /* number of the lane's verdict */
    crn_verdict_kind kind;
    uint64_t published_ns; /* CLOCK_REALTIME */
    int64_t now_ns;        /* the same time on CLOCK_MONOTONIC */
    bool without_defects;  /* omits all defects and says so (truncated; complete becomes partial):
                              for when memory for a whole verdict is not available */
} crn_verdict_facts;

/* A packed verdict; the bytes belong to the encoder until its next begin. */
typedef struct crn_verdict_bytes {
    const unsigned char *bytes;
    size_t size;
    size_t
        stale_at; /* offset of `stale`, false: crn_encoder_set_bool changes it without repacking */
} crn_verdict_bytes;

/* `config` is resolved, the caller's, and must outlive the packer. Returns 0 or -ENOMEM. */
int crn_verdict_create(const crn_config *config, crn_verdict **ret_verdict);
void crn_verdict_free(crn_verdict **verdict);

/* Packs one verdict. `fruit->views` has config->limits.views entries. Returns 0 or -ENOMEM. */
int crn_verdict_pack(crn_verdict *verdict, crn_encoder *encoder, const crn_fruit *fruit,
                     const crn_verdict_facts *facts, const crn_result_store *store,
                     crn_verdict_bytes *ret_bytes);

CRN_C_END

#endif
