#include "tools/sorter/firing/firing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"

#define WAITING_MAX 512                 /* of an ejector: fruits between the camera and it */
#define FIRED_MAX   64                  /* of an ejector: whose pulse or confirmation is not over */
#define ROUNDS      32                  /* round trips that the lead is learnt from */
#define SILENCE_NS  (10 * CRN_NS_PER_S) /* past the age of the last reading: fruits have passed */
#define OFF_WAITS_NS                                                                               \
    (5 * CRN_NS_PER_MS) /* so long a coil is written off later if another is due                   \
                         */

const char *const crn_firing_result_names[CRN_FIRING_RESULTS] = {
    [CRN_FIRING_FIRED] = "fired",   [CRN_FIRING_CONFIRMED] = "confirmed",
    [CRN_FIRING_MISSED] = "missed", [CRN_FIRING_TOO_LATE] = "too_late",
    [CRN_FIRING_LOST] = "lost",
};

/* A fruit on its way. */
typedef struct awaited_fruit {
    crn_firing_key key;
    int64_t target; /* the belt's position at which it is at the ejector */
    uint64_t epoch;
} awaited_fruit;

/* A fruit that a coil was written for. */
typedef struct fired_fruit {
    crn_firing_key key;
    int64_t until_ns; /* end of the time in which it is confirmed */
    bool is_unsure;   /* the PLC may not have done it */
    bool is_resolved; /* confirmed, or its time is over */
} fired_fruit;

/* What one ejector has to do. Both lists ascend; entries leave at the front. */
typedef struct ejector_state {
    awaited_fruit waiting[WAITING_MAX];
    fired_fruit fired[FIRED_MAX];
    uint32_t waiting_first, waiting_count, fired_first, fired_count;
    bool is_on, must_clear;
    int64_t off_ns; /* while is_on */
    crn_firing_counts counts;
} ejector_state;

struct crn_firing {
    crn_firing_plan plan;
    crn_belt belt;
    int64_t round_ns[ROUNDS];
    uint32_t rounds;
    int64_t lead_ns;
    uint64_t unplaced;     /* of the lost fruits */
    ejector_state state[]; /* of each ejector */
};

int crn_firing_create(const crn_firing_plan *plan, crn_firing **ret_firing)
{
    crn_firing *firing =
        calloc(1, sizeof *firing + (size_t)plan->ejectors->count * sizeof *firing->state);
    if (!firing)
        return -ENOMEM;
    firing->plan = *plan;
    crn_belt_init(&firing->belt, &plan->belt);
    *ret_firing = firing;
    return 0;
}

void crn_firing_free(crn_firing **firing)
{
    free(*firing);
    *firing = NULL;
}

void crn_firing_read(crn_firing *firing, const crn_belt_reading *reading)
{
    crn_belt_read(&firing->belt, reading);
}

/* How it ended: counts all but fired fruits, which are counted as their coil is written. */
static void end_fruit(const crn_firing *firing, crn_firing_counts *counts,
                      const crn_firing_key *key, crn_firing_result result)
{
    counts->confirmed += result == CRN_FIRING_CONFIRMED;
    counts->missed += result == CRN_FIRING_MISSED;
    counts->too_late += result == CRN_FIRING_TOO_LATE;
    counts->lost += result == CRN_FIRING_LOST;
    if (firing->plan.use)
        firing->plan.use(firing->plan.context, key, result);
}

/* --- fruits on their way ---------------------------------------------------------------------- */

static awaited_fruit *waiting_at(ejector_state *state, uint32_t index)
{
    return &state->waiting[(state->waiting_first + index) % WAITING_MAX];
}

static bool is_before(const awaited_fruit *a, const awaited_fruit *b)
{
    return a->epoch != b->epoch ? a->epoch < b->epoch : a->target < b->target;
}

static void insert(const crn_firing *firing, ejector_state *state, const awaited_fruit *fruit)
{
    if (state->waiting_count == WAITING_MAX) {
        end_fruit(firing, &state->counts, &fruit->key, CRN_FIRING_LOST);
        return;
    }
    uint32_t index = state->waiting_count++;
    for (; index > 0 && is_before(fruit, waiting_at(state, index - 1)); index--)
        *waiting_at(state, index) = *waiting_at(state, index - 1);
    *waiting_at(state, index) = *fruit;
}

static void remove_first(ejector_state *state)
{
    state->waiting_first = (state->waiting_first + 1) % WAITING_MAX;
    state->waiting_count--;
}

/* Counts a fruit as lost because the belt's position is not known. */
static void lose_place(crn_firing *firing, ejector_state *state, const crn_firing_key *key)
{
    end_fruit(firing, &state->counts, key, CRN_FIRING_LOST);
    firing->unplaced++;
}

void crn_firing_add(crn_firing *firing, const crn_firing_fruit *fruit)
{
    const crn_ejectors *ejectors = firing->plan.ejectors;
    int32_t i = 0;
    while (i < ejectors->count && (ejectors->item[i].outlet != fruit->outlet ||
                                   (uint64_t)ejectors->item[i].lane != fruit->key.lane))
        i++;
    if (i == ejectors->count)
        return;
    int64_t position;
    ejector_state *state = &firing->state[i];
    if (fruit->captured_ns == CRN_NEVER_NS)
        end_fruit(firing, &state->counts, &fruit->key, CRN_FIRING_LOST);
    else if (!crn_belt_locate(&firing->belt, fruit->encoder, fruit->captured_ns, &position))
        lose_place(firing, state, &fruit->key);
    else
        insert(firing, state,
               &(awaited_fruit){.key = fruit->key,
                                .target = position + ejectors->item[i].distance,
                                .epoch = firing->belt.epoch});
}

/* --- fired fruits ----------------------------------------------------------------------------- */

static fired_fruit *fired_at(ejector_state *state, uint32_t index)
{
    return &state->fired[(state->fired_first + index) % FIRED_MAX];
}

static void resolve(const crn_firing *firing, ejector_state *state, fired_fruit *fruit,
                    bool is_confirmed)
{
    fruit->is_resolved = true;
    state->counts.fired += fruit->is_unsure && is_confirmed;
    end_fruit(firing, &state->counts, &fruit->key,
              is_confirmed       ? CRN_FIRING_CONFIRMED
              : fruit->is_unsure ? CRN_FIRING_LOST
                                 : CRN_FIRING_MISSED);
}

/* Ends the wait for confirmations whose time is over. Returns when the next is. */
static int64_t expire(const crn_firing *firing, ejector_state *state, int64_t now_ns)
{
    while (state->fired_count) {
        fired_fruit *first = fired_at(state, 0);
        if (!first->is_resolved && now_ns <= first->until_ns)
            return first->until_ns + 1;
        if (!first->is_resolved)
            resolve(firing, state, first, false);
        state->fired_first = (state->fired_first + 1) % FIRED_MAX;
        state->fired_count--;
    }
    return CRN_NEVER_NS;
}

void crn_firing_confirm(crn_firing *firing, int32_t ejector, int64_t time_ns)
{
    ejector_state *state = &firing->state[ejector];
    expire(firing, state, time_ns);
    for (uint32_t i = 0; i < state->fired_count; i++)
        if (!fired_at(state, i)->is_resolved) {
            resolve(firing, state, fired_at(state, i), true);
            return;
        }
    state->counts.unexpected++;
}

/* Appends a fruit that a coil was written for; without a confirming input nothing is awaited. */
static void note_fired(crn_firing *firing, int32_t i, const crn_firing_key *key, int r,
                       int64_t now_ns)
{
    ejector_state *state = &firing->state[i];
    const crn_ejector *ejector = &firing->plan.ejectors->item[i];
    bool is_unsure = r == -EIO, is_awaited = ejector->confirm_ms > 0;
    if (state->fired_count == FIRED_MAX)
        is_awaited = false;
    state->counts.fired += r == 0;
    if (r < 0 && (!is_unsure || !is_awaited))
        end_fruit(firing, &state->counts, key, CRN_FIRING_LOST);
    else if (!is_awaited)
        end_fruit(firing, &state->counts, key, CRN_FIRING_FIRED);
    else
        *fired_at(state, state->fired_count++) = (fired_fruit){
            .key = *key,
            .until_ns = now_ns + (ejector->delay_ms + ejector->confirm_ms) * CRN_NS_PER_MS,
            .is_unsure = is_unsure};
}

/* --- the output ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The coil is written somewhere between the request and its answer: half the median. */
static void learn_lead(crn_firing *firing, int64_t round_ns)
{
    int64_t sorted[ROUNDS];
    firing->round_ns[firing->rounds++ % ROUNDS] = round_ns;
    uint32_t count = firing->rounds < ROUNDS ? firing->rounds : ROUNDS;
    memcpy(sorted, firing->round_ns, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    firing->lead_ns = sorted[count / 2] / 2;
}

static int write_coil(crn_firing *firing, int32_t i, bool on)
{
    int64_t round_ns = 0;
    int r = firing->plan.write(firing->plan.context, i, on, &round_ns);
    if (r == 0)
        learn_lead(firing, round_ns);
    return r;
}

static void fire(crn_firing *firing, int32_t i, const crn_firing_key *key, int64_t now_ns)
{
    ejector_state *state = &firing->state[i];
    const crn_ejector *ejector = &firing->plan.ejectors->item[i];
    int r = write_coil(firing, i, true);
    note_fired(firing, i, key, r, now_ns);
    if (r == 0 && ejector->pulse_ms) {
        state->is_on = true;
        state->off_ns = now_ns + ejector->pulse_ms * CRN_NS_PER_MS;
    }
}

/* Writes a coil off that is due, unless that would delay the next one that is due. True if it was
 * written. */
static bool end_pulse(crn_firing *firing, int32_t i, int64_t due_ns, int64_t now_ns)
{
    ejector_state *state = &firing->state[i];
    if (!state->must_clear && (!state->is_on || now_ns < state->off_ns))
        return false;
    if (due_ns - now_ns < crn_firing_guard_ns(firing) && now_ns < state->off_ns + OFF_WAITS_NS)
        return false;
    write_coil(firing, i, false); /* if the PLC is gone: with the next connection */
    state->is_on = state->must_clear = false;
    return true;
}

/* When the ejector's first fruit is due; at most now_ns if it is. Those that passed or whose place
 * is not known any more are removed and counted. */
static int64_t next_fire(crn_firing *firing, int32_t i, int64_t now_ns)
{
    ejector_state *state = &firing->state[i];
    int64_t ahead_ns = firing->lead_ns + firing->plan.ejectors->item[i].delay_ms * CRN_NS_PER_MS;
    crn_belt_motion motion;
    bool is_known = crn_belt_get_motion(&firing->belt, now_ns, &motion);
    bool is_silent = crn_belt_is_silent(&firing->belt, now_ns - SILENCE_NS);
    while (state->waiting_count) {
        const awaited_fruit *first = waiting_at(state, 0);
        double there = is_known ? crn_belt_at(&motion, now_ns + ahead_ns) : 0;
        if (first->epoch != firing->belt.epoch || is_silent) {
            lose_place(firing, state, &first->key);
        } else if (!is_known) {
            return CRN_NEVER_NS;
        } else if (there > (double)(first->target + firing->plan.tolerance)) {
            end_fruit(firing, &state->counts, &first->key, CRN_FIRING_TOO_LATE);
        } else if (there >= (double)first->target) {
            return now_ns;
        } else {
            double s = ((double)first->target - there) / motion.speed;
            /* Readings come more often than once a minute, or the position is not known. */
            return motion.speed > 0 && s < 60 ? now_ns + (int64_t)ceil(s * CRN_NS_PER_S)
                                              : CRN_NEVER_NS;
        }
        remove_first(state);
    }
    return CRN_NEVER_NS;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t crn_firing_run(crn_firing *firing, int64_t now_ns)
{
    int64_t next_ns = CRN_NEVER_NS, due_ns = CRN_NEVER_NS;
    int32_t due = 0;
    for (int32_t i = 0; i < firing->plan.ejectors->count; i++) {
        int64_t fire_ns = next_fire(firing, i, now_ns);
        if (fire_ns < due_ns) {
            due_ns = fire_ns;
            due = i;
        }
        next_ns = earlier(next_ns, expire(firing, &firing->state[i], now_ns));
    }
    if (due_ns <= now_ns) {
        crn_firing_key key = waiting_at(&firing->state[due], 0)->key;
        remove_first(&firing->state[due]);
        fire(firing, due, &key, now_ns);
        return now_ns;
    }
    for (int32_t i = 0; i < firing->plan.ejectors->count; i++) {
        if (end_pulse(firing, i, due_ns, now_ns))
            return now_ns;
        if (firing->state[i].is_on && firing->state[i].off_ns > now_ns)
            next_ns = earlier(next_ns, firing->state[i].off_ns);
    }
    return earlier(next_ns, due_ns);
}

void crn_firing_reconnected(crn_firing *firing)
{
    for (int32_t i = 0; i < firing->plan.ejectors->count; i++)
        if (firing->plan.ejectors->item[i].pulse_ms && !firing->state[i].is_on)
            firing->state[i].must_clear = true;
}

/* Their confirmation is not awaited any more; of those that the PLC may not have fired it is not
 * known how it ended. */
static void end_fired(const crn_firing *firing, ejector_state *state)
{
    for (uint32_t i = 0; i < state->fired_count; i++) {
        const fired_fruit *fruit = fired_at(state, i);
        if (!fruit->is_resolved && !fruit->is_unsure)
            end_fruit(firing, &state->counts, &fruit->key, CRN_FIRING_FIRED);
    }
    state->fired_count = 0;
}

void crn_firing_end(crn_firing *firing)
{
    for (int32_t i = 0; i < firing->plan.ejectors->count; i++) {
        end_fired(firing, &firing->state[i]);
        if (firing->state[i].is_on || firing->state[i].must_clear) {
            write_coil(firing, i, false);
            firing->state[i].is_on = firing->state[i].must_clear = false;
        }
    }
}

/* --- counts ----------------------------------------------------------------------------------- */

crn_firing_counts crn_firing_get_counts(const crn_firing *firing, int32_t outlet)
{
    crn_firing_counts sum = {.fired = 0};
    for (int32_t i = 0; i < firing->plan.ejectors->count; i++) {
        const crn_firing_counts *one = &firing->state[i].counts;
        if (firing->plan.ejectors->item[i].outlet != outlet)
            continue;
        sum.fired += one->fired;
        sum.confirmed += one->confirmed;
        sum.missed += one->missed;
        sum.too_late += one->too_late;
        sum.lost += one->lost;
        sum.unexpected += one->unexpected;
    }
    return sum;
}

uint64_t crn_firing_waiting(const crn_firing *firing)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < firing->plan.ejectors->count; i++)
        sum += firing->state[i].waiting_count;
    return sum;
}

uint64_t crn_firing_unplaced(const crn_firing *firing)
{
    return firing->unplaced;
}

int64_t crn_firing_lead_ns(const crn_firing *firing)
{
    return firing->lead_ns;
}

int64_t crn_firing_guard_ns(const crn_firing *firing)
{
    return 4 * firing->lead_ns;
}

const crn_belt *crn_firing_belt(const crn_firing *firing)
{
    return &firing->belt;
}
