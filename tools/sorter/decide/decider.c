#include "tools/sorter/decide/decider.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tools/common/verdicts/sequence_check.h"

#define LANES_MAX    CRN_DECIDER_LANES_MAX
#define MISSED_ALIVE 3 /* messages in a row, until the line counts as silent */
/* Of the limit of silence: the line is looked for so long before it, so that a wait that ends late
 * is within it. Who looks past it was held up. */
#define EARLY_PART 16

const char *const crn_line_state_names[] = {"waiting", "running", "silent"};

struct crn_decider {
    const crn_sorter_settings *settings;
    char run[CRN_DECODED_TEXT_BYTES]; /* of the line, heard last */
    crn_decision_use *use;
    void *context;
    crn_sequence_check *sequences;
    crn_kept_sequences *kept; /* NULL: none */
    crn_line_state state;
    int64_t heard_ns;   /* the last message */
    int64_t granted_ns; /* since then: added to the limit of silence, as this program was held up */
    int64_t alive_ns;   /* publish.grader.alive_ms of the line; 0: not told */
    bool restarted;     /* this run of the line was heard from its beginning */
    uint64_t lanes[LANES_MAX];
    int32_t lane_count;
    crn_decider_stats stats;
};

void crn_decider_free(crn_decider **decider)
{
    if (!*decider)
        return;
    crn_sequence_check_free(&(*decider)->sequences);
    free(*decider);
    *decider = NULL;
}

void crn_decider_use(crn_decider *decider, const crn_sorter_settings *settings)
{
    decider->settings = settings;
}

crn_line_state crn_decider_state(const crn_decider *decider)
{
    return decider->state;
}

int64_t crn_decider_silence_ns(const crn_decider *decider)
{
    int64_t own_ns = decider->settings->line.silence_ms * CRN_NS_PER_MS;
    return own_ns ? own_ns : MISSED_ALIVE * decider->alive_ns;
}

const crn_decider_stats *crn_decider_get_stats(const crn_decider *decider)
{
    return &decider->stats;
}

static void tell(crn_decider *decider, const crn_decision *decision)
{
    decider->stats.reason[decision->reason]++;
    if (decision->reason != CRN_DECIDED_SILENCE)
        decider->stats.outlet[decision->outlet] += decision->lost ? decision->lost : 1;
    decider->use(decider->context, decision);
}

static void tell_lost(crn_decider *decider, uint64_t lane, uint64_t first, uint64_t count)
{
    decider->stats.lost += count;
    tell(decider, &(crn_decision){.outlet = decider->settings->outlets.choice.silence,
                                  .reason = CRN_DECIDED_LOST,
                                  .rule = -1,
                                  .run = decider->run,
                                  .lane = lane,
                                  .sequence = first,
                                  .lost = count});
}

static void note_lane(crn_decider *decider, uint64_t lane)
{
    for (int32_t i = 0; i < decider->lane_count; i++)
        if (decider->lanes[i] == lane)
            return;
    if (decider->lane_count == LANES_MAX)
        decider->stats.lanes_refused++;
    else
        decider->lanes[decider->lane_count++] = lane;
}

/* Takes over what an earlier sorter decided about. */
static int resume(crn_decider *decider)
{
    uint64_t lane, next;
    int r = 0;
    for (int32_t i = 0; r == 0 && crn_kept_sequences_get(decider->kept, i, &lane, &next); i++) {
        r = crn_sequence_check_resume(decider->sequences, crn_kept_sequences_run(decider->kept),
                                      lane, next);
        note_lane(decider, lane);
    }
    return r;
}

int crn_decider_create(const crn_sorter_settings *settings, crn_decision_use *use, void *context,
                       crn_kept_sequences *kept, crn_decider **ret_decider)
{
    crn_decider *decider = calloc(1, sizeof *decider);
    if (!decider || crn_sequence_check_create(&decider->sequences) < 0) {
        free(decider);
        return -ENOMEM;
    }
    decider->settings = settings;
    decider->use = use;
    decider->context = context;
    decider->kept = kept;
    if (kept && resume(decider) < 0)
        crn_decider_free(&decider);
    else
        *ret_decider = decider;
    return decider ? 0 : -ENOMEM;
}

/* Notes that all up to `next` was told: only then, so that what a sorter is killed over is lost. */
static void keep(crn_decider *decider, uint64_t lane, uint64_t next)
{
    if (decider->kept)
        crn_kept_sequences_put(decider->kept, lane, next);
}

static void hear(crn_decider *decider, const char *run, int64_t now_ns)
{
    decider->state = CRN_LINE_HEARD;
    decider->heard_ns = now_ns;
    decider->granted_ns = 0;
    snprintf(decider->run, sizeof decider->run, "%s", run);
    if (crn_sequence_check_run(decider->sequences, run))
        decider->restarted = true;
    if (decider->kept && strcmp(crn_kept_sequences_run(decider->kept), run) != 0)
        crn_kept_sequences_begin(decider->kept, run);
}

/* True if the verdict is a new one; what is missing before it is told. Lanes begin with sequence 0
 * in a run that began while this program listened. */
static bool follow(crn_decider *decider, const crn_decoded *verdict)
{
    uint64_t first = 0, sequence = verdict->sequence;
    crn_sequence_finding found =
        crn_sequence_check_verdict(decider->sequences, verdict->lane, sequence, &first);
    if (found == CRN_FOLLOWED_OLD) {
        decider->stats.repeated++;
        return false;
    }
    if (found == CRN_FOLLOWED_GAP)
        tell_lost(decider, verdict->lane, first, sequence - first);
    else if (found == CRN_FOLLOWED_FIRST && decider->restarted && sequence)
        tell_lost(decider, verdict->lane, 0, sequence);
    return true;
}

/* True if encoder and captured_ns are those of view 0: of a fruit without it they are of a later
 * view, for which the belt had moved on. */
static bool is_located(const crn_decoded *verdict)
{
    const crn_decoded_view *first = crn_decoded_find_view(verdict, 0);
    return verdict->captured_ns && (!verdict->view_count || (first && first->captured_ns));
}

static void decide(const crn_sorter_settings *settings, const crn_decoded *verdict, int64_t utc_ns,
                   crn_decision *decision)
{
    int64_t last_ns = (int64_t)verdict->deadline_ns + settings->line.late_ms * CRN_NS_PER_MS;
    bool is_past = verdict->deadline_ns && utc_ns > last_ns;
    crn_outlet_decision decided = crn_outlets_decide(&settings->outlets, verdict, is_past);
    decision->outlet = decided.outlet;
    decision->reason = decided.reason;
    decision->rule = decided.rule;
}

void crn_decider_verdict(crn_decider *decider, const crn_decoded *verdict, int64_t now_ns,
                         int64_t utc_ns)
{
    hear(decider, verdict->run, now_ns);
    note_lane(decider, verdict->lane);
    if (!follow(decider, verdict))
        return;
    crn_decision decision = {.rule = -1,
                             .run = decider->run,
                             .lane = verdict->lane,
                             .fruit = verdict->fruit,
                             .encoder = verdict->encoder,
                             .captured_ns = verdict->captured_ns,
                             .is_located = is_located(verdict),
                             .sequence = verdict->sequence};
    decide(decider->settings, verdict, utc_ns, &decision);
    tell(decider, &decision);
    keep(decider, verdict->lane, verdict->sequence + 1);
}

void crn_decider_alive(crn_decider *decider, const crn_decoded_status *status, int64_t now_ns)
{
    hear(decider, status->run, now_ns);
    decider->alive_ns = (int64_t)status->alive_ms * CRN_NS_PER_MS;
    for (uint32_t i = 0; i < status->lane_count; i++) {
        uint64_t first, lane = status->lanes[i].lane, last = status->lanes[i].sequence;
        if (crn_sequence_check_last(decider->sequences, lane, last, &first)) {
            tell_lost(decider, lane, first, last - first + 1);
            keep(decider, lane, last + 1);
        }
    }
}

int64_t crn_decider_look(crn_decider *decider, int64_t now_ns)
{
    int64_t limit_ns = crn_decider_silence_ns(decider);
    if (decider->state != CRN_LINE_HEARD || !limit_ns)
        return CRN_NEVER_NS;
    int64_t early_ns = limit_ns / EARLY_PART, due_ns = decider->heard_ns + limit_ns - early_ns;
    int64_t late_ns = now_ns - due_ns;
    if (!decider->granted_ns && late_ns > early_ns)
        decider->granted_ns = late_ns + (late_ns < limit_ns ? late_ns : limit_ns);
    if (late_ns < decider->granted_ns || late_ns < 0)
        return due_ns + decider->granted_ns;
    decider->state = CRN_LINE_SILENT;
    decider->stats.silences++;
    for (int32_t i = 0; i < decider->lane_count; i++)
        tell(decider, &(crn_decision){.outlet = decider->settings->outlets.choice.silence,
                                      .reason = CRN_DECIDED_SILENCE,
                                      .rule = -1,
                                      .run = "",
                                      .lane = decider->lanes[i]});
    return CRN_NEVER_NS;
}
