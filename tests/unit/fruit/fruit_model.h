/*
 * Reference model of the fruits for randomised tests: every open fruit in a list, all properties
 * recomputed from their definitions each time.
 */
#ifndef CRN_TESTS_UNIT_FRUIT_MODEL_H
#define CRN_TESTS_UNIT_FRUIT_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "src/fruit/fruit.h"
#include "tests/support/cmocka_prelude.h"

#define CRN_MODEL_LANES     4
#define CRN_MODEL_VIEWS     4
#define CRN_MODEL_SLOTS     10
#define CRN_MODEL_EVENTS    60000
#define CRN_MODEL_OPEN_MAX  32
#define CRN_MODEL_MS        CRN_NS_PER_MS
#define CRN_MODEL_NO_FRUIT  SIZE_MAX
#define CRN_MODEL_STRAGGLER (600000 * CRN_MODEL_MS) /* no number returns */

typedef struct known {
    uint32_t lane;
    uint64_t epoch, fruit, order;
    uint16_t expected;
    int64_t opened_ns, closed_ns, header_ns;
    crn_fruit_close closed_by;
    bool forced, lost;
    crn_view_state states[CRN_MODEL_VIEWS];
    uint32_t slots[CRN_MODEL_VIEWS];
    bool spoiled[CRN_MODEL_VIEWS]; /* judged with a stage skipped */
    bool holds[CRN_MODEL_VIEWS];   /* ended, and holds its slot */
} known;

typedef struct running {
    crn_ticket ticket;
    uint32_t slot;
    uint64_t order; /* order of opening of its fruit */
} running;

typedef struct name {
    uint64_t epoch, fruit;
} name;

typedef struct refused {
    uint32_t lane;
    uint64_t epoch, fruit;
    uint16_t view;
} refused;

typedef struct world {
    crn_fruit_rules rules;
    crn_lanes *lanes;
    crn_fruits *fruits;
    crn_fruit_stats stats; /* the model's counts */
    uint64_t random;
    int64_t now_ns, latest_ns;
    bool drained; /* no event since the last due query returned NULL */

    known open[CRN_MODEL_OPEN_MAX];
    size_t open_count;
    running running[CRN_MODEL_SLOTS];
    size_t running_count;
    bool held[CRN_MODEL_SLOTS];
    refused refused[CRN_REFUSED_KEPT]; /* refused views of fruits not open, oldest first */
    size_t refused_count;
    struct {
        uint64_t epoch, sequence, next_fruit;
        uint64_t epoch_before, last_before;
        name *judged;
        size_t judged_count;
    } senders[CRN_MODEL_LANES + 1];
} world;

static inline uint32_t draw(world *w, uint32_t below)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(w->random >> 33) % below;
}

static inline int64_t cap_of(const world *w, const known *k)
{
    return k->header_ns < w->latest_ns ? k->header_ns : w->latest_ns;
}

static inline int64_t closes_at(const world *w, const known *k)
{
    int64_t by_rule = k->opened_ns + w->rules.assemble_ns;
    int64_t by_cap = cap_of(w, k) - w->rules.guard_ns;
    return by_rule < by_cap ? by_rule : by_cap;
}

static inline int64_t deadline_of(const world *w, const known *k)
{
    int64_t close =
        k->closed_ns != CRN_NEVER_NS ? k->closed_ns : k->opened_ns + w->rules.assemble_ns;
    int64_t by_rule = close + w->rules.budget_ns;
    return by_rule < cap_of(w, k) ? by_rule : cap_of(w, k);
}

static inline int count_states(const known *k, crn_view_state from, crn_view_state to)
{
    int count = 0;
    for (int v = 0; v < CRN_MODEL_VIEWS; v++)
        count += k->states[v] >= from && k->states[v] <= to;
    return count;
}

static inline bool is_due(const world *w, const known *k)
{
    if (k->closed_ns == CRN_NEVER_NS)
        return false;
    return k->forced || count_states(k, CRN_VIEW_ARRIVED, CRN_VIEW_RUNNING) == 0 ||
           w->now_ns >= deadline_of(w, k) - w->rules.guard_ns;
}

static inline crn_verdict_kind verdict_of(const known *k)
{
    int received = count_states(k, CRN_VIEW_ARRIVED, CRN_VIEW_LOST);
    int judged = count_states(k, CRN_VIEW_JUDGED, CRN_VIEW_JUDGED);
    bool whole = judged == received && received >= k->expected &&
                 count_states(k, CRN_VIEW_REFUSED, CRN_VIEW_REFUSED) == 0;
    for (int v = 0; v < CRN_MODEL_VIEWS; v++)
        whole = whole && !(k->states[v] == CRN_VIEW_JUDGED && k->spoiled[v]);
    return judged == 0 ? CRN_VERDICT_LATE : whole ? CRN_VERDICT_COMPLETE : CRN_VERDICT_PARTIAL;
}

static inline void let_time_close(world *w)
{
    for (size_t i = 0; i < w->open_count; i++) {
        known *k = &w->open[i];
        if (k->closed_ns == CRN_NEVER_NS && closes_at(w, k) <= w->now_ns) {
            k->closed_ns = closes_at(w, k);
            k->closed_by = k->closed_ns == k->opened_ns + w->rules.assemble_ns ? CRN_CLOSE_TIME
                                                                               : CRN_CLOSE_DEADLINE;
        }
    }
}

static inline size_t find_open(const world *w, uint32_t lane, uint64_t epoch, uint64_t fruit)
{
    for (size_t i = 0; i < w->open_count; i++)
        if (w->open[i].lane == lane && w->open[i].epoch == epoch && w->open[i].fruit == fruit)
            return i;
    return CRN_MODEL_NO_FRUIT;
}

static inline size_t find_order(const world *w, uint64_t order)
{
    for (size_t i = 0; i < w->open_count; i++)
        if (w->open[i].order == order)
            return i;
    return CRN_MODEL_NO_FRUIT;
}

static inline bool was_judged(const world *w, uint32_t lane, uint64_t epoch, uint64_t fruit)
{
    size_t count = w->senders[lane].judged_count;
    for (size_t i = count; i > 0; i--)
        if (w->senders[lane].judged[i - 1].epoch == epoch &&
            w->senders[lane].judged[i - 1].fruit == fruit)
            return true;
    return false;
}

static inline uint64_t count_verdicts(const world *w, uint32_t lane, uint64_t epoch, uint64_t fruit)
{
    uint64_t count = 0;
    size_t known_names = w->senders[lane].judged_count;
    for (size_t i = known_names > 200 ? known_names - 200 : 0; i < known_names; i++)
        count +=
            w->senders[lane].judged[i].epoch == epoch && w->senders[lane].judged[i].fruit == fruit;
    return count;
}

static inline void mark_refused(world *w, known *k, uint16_t view)
{
    if (k->states[view] != CRN_VIEW_ABSENT || (k->expected > 0 && view >= k->expected))
        return;
    k->states[view] = CRN_VIEW_REFUSED;
    w->stats.refused++;
}

/* A view was refused; its fruit may be open, at `at`, or not. */
static inline void model_refuse(world *w, const crn_view_header *header, size_t at)
{
    if (at != CRN_MODEL_NO_FRUIT) {
        mark_refused(w, &w->open[at], header->view);
        return;
    }
    if (header->lane < CRN_MODEL_LANES && was_judged(w, header->lane, header->epoch, header->fruit))
        return;
    if (w->refused_count == CRN_REFUSED_KEPT)
        memmove(w->refused, w->refused + 1, --w->refused_count * sizeof *w->refused);
    w->refused[w->refused_count++] =
        (refused){header->lane, header->epoch, header->fruit, header->view};
}

/* Moves the refused views of a fruit that has just opened to it. */
static inline void model_recall(world *w, known *k)
{
    for (size_t i = 0; i < w->refused_count; i++) {
        refused *entry = &w->refused[i];
        if (entry->lane != k->lane || entry->epoch != k->epoch || entry->fruit != k->fruit)
            continue;
        mark_refused(w, k, entry->view);
        entry->lane = UINT32_MAX; /* stays, to be dropped first from a full list */
    }
}

/* The fruit and view that hold a slot. */
static inline known *find_slot(world *w, uint32_t slot, int *ret_view)
{
    *ret_view = 0;
    for (size_t i = 0; i < w->open_count; i++)
        for (int v = 0; v < CRN_MODEL_VIEWS; v++)
            if (w->open[i].states[v] == CRN_VIEW_QUEUED && w->open[i].slots[v] == slot) {
                *ret_view = v;
                return &w->open[i];
            }
    fail_msg("slot %u is nobody's", slot);
    return NULL;
}

static inline void take_slot(world *w, uint32_t slot)
{
    assert_false(w->held[slot]);
    w->held[slot] = true;
}

static inline void give_slot(world *w, uint32_t slot)
{
    assert_true(slot < CRN_MODEL_SLOTS);
    assert_true(w->held[slot]);
    w->held[slot] = false;
}

#endif
