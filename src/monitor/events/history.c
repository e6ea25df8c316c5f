#include "src/monitor/events/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So many, each a step older, reach as far back as CRN_HISTORY_NS, plus the one being waited for.
 */
#define KEPT (CRN_HISTORY_NS / CRN_HISTORY_STEP_NS + 1)

struct crn_history {
    crn_snapshot *kept[KEPT];
    int64_t kept_ns; /* when the latest was kept; 0: none was */
    uint32_t oldest;
    uint64_t missed;       /* at the latest update, since the start */
    uint64_t verdicts;     /* the same */
    int64_t last_miss_ns;  /* 0: never */
    int64_t first_miss_ns; /* since when the budget has not been kept */
};

int crn_history_create(int32_t lanes, crn_history **ret_history)
{
    crn_history *history = calloc(1, sizeof *history);
    bool good = history != NULL;
    for (size_t i = 0; good && i < KEPT; i++) {
        history->kept[i] = calloc(1, crn_snapshot_bytes(lanes));
        good = history->kept[i] != NULL;
    }
    if (!good)
        crn_history_free(&history);
    *ret_history = history;
    return good ? 0 : -ENOMEM;
}

void crn_history_free(crn_history **history)
{
    if (!*history)
        return;
    for (size_t i = 0; i < KEPT; i++)
        free((*history)->kept[i]);
    free(*history);
    *history = NULL;
}

/* Fruits that missed the budget, and all. */
static void count(const crn_snapshot *snapshot, uint64_t *ret_missed, uint64_t *ret_verdicts)
{
    *ret_missed = *ret_verdicts = 0;
    for (int32_t i = -1; i < snapshot->lane_count; i++) {
        const crn_lane_meters *lane = i < 0 ? &snapshot->freed.meters : &snapshot->lanes[i].meters;
        *ret_missed += lane->missed;
        for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
            *ret_verdicts += lane->verdicts[kind];
    }
}

static uint64_t missed_before(const crn_history *history)
{
    uint64_t missed, verdicts;
    count(crn_history_before(history), &missed, &verdicts);
    return missed;
}

void crn_history_update(crn_history *history, const crn_snapshot *now, int64_t now_ns)
{
    if (history->kept_ns == 0)
        history->kept_ns = now_ns;
    if (now_ns - history->kept_ns >= CRN_HISTORY_STEP_NS) {
        memcpy(history->kept[history->oldest], now, crn_snapshot_bytes(now->lane_count));
        history->oldest = (history->oldest + 1) % KEPT;
        history->kept_ns = now_ns;
    }
    bool was_kept = history->missed == missed_before(history);
    uint64_t missed;
    count(now, &missed, &history->verdicts);
    if (missed != history->missed) {
        if (was_kept)
            history->first_miss_ns = now_ns;
        history->last_miss_ns = now_ns;
    }
    history->missed = missed;
}

const crn_snapshot *crn_history_before(const crn_history *history)
{
    return history->kept[history->oldest];
}

crn_budget_watch crn_history_budget(const crn_history *history)
{
    uint64_t missed, verdicts;
    count(crn_history_before(history), &missed, &verdicts);
    bool kept = history->missed == missed;
    return (crn_budget_watch){.kept = kept,
                              .since_ns = kept ? history->last_miss_ns : history->first_miss_ns,
                              .missed = history->missed - missed,
                              .verdicts = history->verdicts - verdicts};
}
