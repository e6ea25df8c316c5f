/*
 * Overload in a simulated line: workers, slots and senders under a simulated clock, deterministic
 * and without sleeping. Invariants: one verdict per fruit, none after its deadline, and a fair
 * share of the fruits complete.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "src/fruit/fruit.h"
#include "tests/support/cmocka_prelude.h"

#define VIEWS       4
#define FRUITS      400 /* per lane */
#define BUDGET_NS   (100 * CRN_NS_PER_MS)
#define SLOTS_MAX   128
#define WORKERS_MAX 16
#define DEPTH_MAX   2

typedef struct scene {
    const char *name;
    int32_t lanes, workers, depth, slots;
    int64_t cost_ns; /* per view */
    int64_t load;    /* percent of the workers' capacity */
    bool even; /* a fruit's views are spread over the time to the next fruit, else simultaneous */
    bool in_phase;      /* all lanes at the same times, else spread evenly */
    uint32_t jitter;    /* costs vary by up to this percentage in both directions */
    int32_t slowness;   /* factor on the costs of the first quarter of the fruits */
    double least, most; /* percentage of complete fruits after the first quarter */
} scene;

typedef struct overload_message {
    int64_t at_ns;
    uint32_t lane;
    uint64_t fruit, sequence;
    uint16_t view;
} overload_message;

/* Runs the first of its views; a second one waits behind it, as in the daemon's workers. */
typedef struct worker {
    int count;
    int64_t begun_ns;
    struct {
        int64_t cost_ns;
        uint32_t slot;
        crn_ticket ticket;
    } views[DEPTH_MAX];
} worker;

typedef struct line {
    const scene *scene;
    crn_lanes *lanes;
    crn_fruits *fruits;
    overload_message *messages;
    int message_count;
    worker workers[WORKERS_MAX];
    uint32_t free_slots[SLOTS_MAX];
    int free_count;
    bool cancelled[SLOTS_MAX];
    uint64_t random;
    int64_t now_ns;
    unsigned char *verdicts;             /* count per lane and fruit */
    int complete, partial, late, steady; /* verdicts after the first quarter */
    int overdue, verdict_count;
} line;

static uint32_t draw(line *l)
{
    l->random = l->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(l->random >> 33);
}

static int by_time(const void *a, const void *b)
{
    const overload_message *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void write_messages(line *l)
{
    const scene *s = l->scene;
    /* A lane's time between fruits at that load. */
    double period_ns = 100.0 * (double)s->cost_ns * VIEWS * s->lanes / s->workers / (double)s->load;
    l->message_count = 0;
    l->messages = calloc((size_t)s->lanes * FRUITS * VIEWS, sizeof *l->messages);
    assert_non_null(l->messages);
    for (int32_t lane = 0; lane < s->lanes; lane++) {
        double phase_ns = s->in_phase ? 0 : period_ns * lane / s->lanes;
        for (int fruit = 0; fruit < FRUITS; fruit++)
            for (int view = 0; view < VIEWS; view++) {
                double at = phase_ns + period_ns * fruit + (s->even ? period_ns * view / VIEWS : 0);
                l->messages[l->message_count++] = (overload_message){
                    .at_ns = CRN_NS_PER_S + (int64_t)at,
                    .lane = (uint32_t)lane,
                    .fruit = (uint64_t)fruit,
                    .sequence = (uint64_t)(fruit * VIEWS + view),
                    .view = (uint16_t)view,
                };
            }
    }
    qsort(l->messages, (size_t)l->message_count, sizeof *l->messages, by_time);
}

static void give_slot(line *l, uint32_t slot)
{
    l->free_slots[l->free_count++] = slot;
    assert_true(l->free_count <= l->scene->slots);
}

static int64_t ends_ns(const worker *one)
{
    return one->count > 0 ? one->begun_ns + one->views[0].cost_ns : CRN_NEVER_NS;
}

static void drop_first(line *l, worker *one, bool judged)
{
    crn_judgement judgement = {.cost_ns = one->views[0].cost_ns};
    crn_fruits_done(l->fruits, one->views[0].ticket, judged ? &judgement : NULL, CRN_REASON_FAILED,
                    l->now_ns);
    give_slot(l, one->views[0].slot);
    one->count--;
    memmove(&one->views[0], &one->views[1], sizeof one->views - sizeof one->views[0]);
    one->begun_ns = l->now_ns;
}

/* A view whose fruit was judged while it waited behind another is returned without being run. */
static void end_views(line *l)
{
    for (int w = 0; w < l->scene->workers; w++) {
        worker *one = &l->workers[w];
        if (ends_ns(one) > l->now_ns)
            continue;
        drop_first(l, one, true);
        while (one->count > 0 && l->cancelled[one->views[0].slot])
            drop_first(l, one, false);
    }
}

static void receive(line *l, const overload_message *m)
{
    crn_view_header header = {.lane = m->lane,
                              .epoch = 7,
                              .fruit = m->fruit,
                              .sequence = m->sequence,
                              .view = m->view,
                              .views = VIEWS};
    crn_ticket ticket;
    crn_arrival arrival = crn_fruits_arrive(l->fruits, &header, CRN_NEVER_NS, l->now_ns, &ticket);
    if (arrival == CRN_ARRIVAL_STRAGGLER)
        return;
    assert_int_equal(arrival, CRN_ARRIVAL_WANTED);
    uint32_t slot;
    if (l->free_count > 0)
        slot = l->free_slots[--l->free_count];
    else if (!crn_fruits_evict(l->fruits, ticket, &slot)) {
        crn_fruits_lose(l->fruits, ticket);
        return;
    }
    assert_true(crn_fruits_queue(l->fruits, ticket, slot));
}

static void judge_due(line *l)
{
    const crn_fruit *fruit;
    while ((fruit = crn_fruits_due(l->fruits, l->now_ns))) {
        l->verdicts[fruit->lane->number * FRUITS + fruit->fruit]++;
        l->verdict_count++;
        l->overdue += l->now_ns > fruit->deadline_ns;
        crn_verdict_kind verdict = crn_fruit_verdict(fruit);
        if (fruit->fruit >= FRUITS / 4) {
            l->steady++;
            l->complete += verdict == CRN_VERDICT_COMPLETE;
            l->partial += verdict == CRN_VERDICT_PARTIAL;
            l->late += verdict == CRN_VERDICT_LATE;
        }
        for (int v = 0; v < VIEWS; v++) {
            if (fruit->views[v].state == CRN_VIEW_QUEUED)
                give_slot(l, fruit->views[v].slot);
            if (fruit->views[v].state == CRN_VIEW_RUNNING)
                l->cancelled[fruit->views[v].slot] = true;
        }
        crn_fruits_judge(l->fruits, fruit);
    }
}

static int64_t draw_cost(line *l)
{
    const scene *s = l->scene;
    bool slow = l->verdict_count < s->lanes * FRUITS / 4;
    int64_t cost_ns = s->cost_ns * (slow && s->slowness ? s->slowness : 1);
    int64_t percent = (int64_t)(draw(l) % (2 * s->jitter + 1)) - s->jitter;
    return cost_ns + cost_ns * percent / 100;
}

static worker *least_busy(line *l)
{
    worker *best = NULL;
    for (int w = 0; w < l->scene->workers; w++)
        if (l->workers[w].count < l->scene->depth && (!best || l->workers[w].count < best->count))
            best = &l->workers[w];
    return best;
}

static void begin_views(line *l)
{
    worker *one;
    while ((one = least_busy(l))) {
        int64_t deadline_ns;
        uint32_t slot;
        crn_ticket ticket;
        crn_next next = crn_fruits_next(l->fruits, l->now_ns, &ticket, &slot, &deadline_ns);
        if (next == CRN_NEXT_NONE)
            return;
        if (next == CRN_NEXT_DISCARD) {
            give_slot(l, slot);
            continue;
        }
        if (one->count == 0)
            one->begun_ns = l->now_ns;
        one->views[one->count].cost_ns = draw_cost(l);
        one->views[one->count].slot = slot;
        one->views[one->count++].ticket = ticket;
        l->cancelled[slot] = false;
    }
}

static int64_t next_event_ns(const line *l, int received)
{
    int64_t next_ns = crn_fruits_wake_ns(l->fruits);
    if (received < l->message_count && l->messages[received].at_ns < next_ns)
        next_ns = l->messages[received].at_ns;
    for (int w = 0; w < l->scene->workers; w++)
        if (ends_ns(&l->workers[w]) < next_ns)
            next_ns = ends_ns(&l->workers[w]);
    return next_ns;
}

static void start_line(line *l, const scene *s)
{
    *l = (line){.scene = s, .random = 1};
    crn_fruit_rules rules = {.open_fruits = 256,
                             .judged_fruits = 1024,
                             .views = VIEWS,
                             .workers = s->workers,
                             .budget_ns = BUDGET_NS,
                             .assemble_ns = 400 * CRN_NS_PER_MS,
                             .guard_ns = 2 * CRN_NS_PER_MS};
    assert_int_equal(crn_lanes_create(64, &l->lanes), 0);
    assert_int_equal(crn_fruits_create(&rules, l->lanes, &l->fruits), 0);
    for (int32_t slot = s->slots; slot-- > 0;)
        give_slot(l, (uint32_t)slot);
    l->verdicts = calloc((size_t)s->lanes * FRUITS, 1);
    assert_non_null(l->verdicts);
    write_messages(l);
}

/* Invariants at any load. */
static void check_line(const line *l)
{
    for (int i = 0; i < l->scene->lanes * FRUITS; i++)
        assert_int_equal(l->verdicts[i], 1);
    assert_int_equal(l->overdue, 0);
    assert_int_equal(l->free_count, l->scene->slots);
    assert_int_equal(crn_fruits_open(l->fruits), 0);
    const crn_fruit_stats *stats = crn_fruits_get_stats(l->fruits);
    assert_int_equal(stats->wanted, stats->judged + stats->no_slot + stats->discarded +
                                        stats->unfinished + stats->failed);
    assert_int_equal(stats->opened, stats->complete + stats->partial + stats->late);
    assert_int_equal(stats->opened, l->scene->lanes * FRUITS);
    assert_int_equal(l->message_count, stats->wanted + stats->stragglers);
}

static void play(const scene *s)
{
    line l;
    start_line(&l, s);
    int received = 0;
    int64_t next_ns;
    while ((next_ns = next_event_ns(&l, received)) != CRN_NEVER_NS) {
        l.now_ns = next_ns > l.now_ns ? next_ns : l.now_ns;
        end_views(&l);
        for (; received < l.message_count && l.messages[received].at_ns <= l.now_ns; received++) {
            receive(&l, &l.messages[received]);
            judge_due(&l);
        }
        judge_due(&l);
        begin_views(&l);
    }
    check_line(&l);
    double complete = 100.0 * l.complete / l.steady;
    const crn_fruit_stats *stats = crn_fruits_get_stats(l.fruits);
    print_message("%3d %% load, %-46s complete %5.1f %%, partial %4.1f %%, late %5.1f %% "
                  "(views: %llu no slot, %llu discarded, %llu unfinished)\n",
                  (int)s->load, s->name, complete, 100.0 * l.partial / l.steady,
                  100.0 * l.late / l.steady, (unsigned long long)stats->no_slot,
                  (unsigned long long)stats->discarded, (unsigned long long)stats->unfinished);
    assert_true(complete >= s->least);
    assert_true(complete <= s->most);
    crn_fruits_free(&l.fruits);
    crn_lanes_free(&l.lanes);
    free(l.messages);
    free(l.verdicts);
}

#define COUNT(scenes) (sizeof(scenes) / sizeof *(scenes))
#define BURST         .even = false
#define EVEN          .even = true
#define IN_PHASE      .in_phase = true

/* One lane; many lanes, as on a machine with several; slots as the daemon allocates them. */
#define ONE   .lanes = 1, .workers = 1, .depth = 2, .slots = 20
#define MANY  .lanes = 8, .workers = 4, .depth = 2, .slots = 32
#define LONG  .cost_ns = 20 * CRN_NS_PER_MS /* the budget just suffices for a fruit */
#define BRIEF .cost_ns = CRN_NS_PER_MS / 5  /* slots run out long before the budget does */

static void test_twice_the_load_leaves_half_complete(void **state)
{
    (void)state;
    static const scene scenes[] = {
        {"one lane, 20 ms, burst", ONE, LONG, BURST},
        {"one lane, 20 ms, even", ONE, LONG, EVEN},
        {"one lane, 0.2 ms, burst", ONE, BRIEF, BURST},
        {"one lane, 0.2 ms, even", ONE, BRIEF, EVEN},
        {"8 lanes, 20 ms, burst", MANY, LONG, BURST},
        {"8 lanes, 20 ms, even", MANY, LONG, EVEN},
        {"8 lanes, 20 ms, burst, in phase", MANY, LONG, BURST, IN_PHASE},
        {"8 lanes, 20 ms, even, in phase", MANY, LONG, EVEN, IN_PHASE},
        {"8 lanes, 0.2 ms, burst", MANY, BRIEF, BURST},
        {"8 lanes, 0.2 ms, even", MANY, BRIEF, EVEN},
        {"8 lanes, 0.2 ms, burst, in phase", MANY, BRIEF, BURST, IN_PHASE},
        {"8 lanes, 0.2 ms, even, in phase", MANY, BRIEF, EVEN, IN_PHASE},
    };
    for (size_t i = 0; i < COUNT(scenes); i++) {
        scene s = scenes[i];
        s.load = 200;
        s.least = 49;
        s.most = 53;
        play(&s);
        s.load = 400;
        s.least = 24;
        s.most = 27;
        play(&s);
    }
}

/* Varying costs reduce the accuracy of the estimates,
 * most where one fruit's work nearly fills the budget. */
static void test_twice_the_load_with_costs_that_vary(void **state)
{
    (void)state;
    static const scene scenes[] = {
        {"one lane, 20 ms, even, +-50 %", ONE, LONG, EVEN, .least = 46},
        {"one lane, 20 ms, burst, +-10 %", ONE, LONG, BURST, .jitter = 10, .least = 40},
        {"one lane, 10 ms, burst, +-50 %", ONE, .cost_ns = 10 * CRN_NS_PER_MS, BURST, .least = 44},
        {"8 lanes, 6 ms, burst, +-50 %", MANY, .cost_ns = 6 * CRN_NS_PER_MS, BURST, .least = 48},
        {"8 lanes, 6 ms, even, +-50 %", MANY, .cost_ns = 6 * CRN_NS_PER_MS, EVEN, .least = 48},
        {"one lane, 0.2 ms, burst, +-50 %", ONE, BRIEF, BURST, .least = 48},
        {"8 lanes, 20 ms, burst, +-50 %", MANY, LONG, BURST, .least = 47},
        {"8 lanes, 20 ms, even, +-50 %", MANY, LONG, EVEN, .least = 47},
        {"8 lanes, 20 ms, burst, in phase, +-50 %", MANY, LONG, BURST, IN_PHASE, .least = 41},
        {"8 lanes, 20 ms, even, in phase, +-50 %", MANY, LONG, EVEN, IN_PHASE, .least = 47},
        {"8 lanes, 0.2 ms, burst, +-50 %", MANY, BRIEF, BURST, .least = 48},
        {"8 lanes, 0.2 ms, even, +-50 %", MANY, BRIEF, EVEN, .least = 48},
    };
    for (size_t i = 0; i < COUNT(scenes); i++) {
        scene s = scenes[i];
        s.load = 200;
        s.jitter = s.jitter ? s.jitter : 50;
        s.most = 55;
        play(&s);
    }
}

static void test_what_can_be_carried_is_carried(void **state)
{
    (void)state;
    static const scene scenes[] = {
        {"one lane, 20 ms, burst", ONE, LONG, BURST},
        {"one lane, 20 ms, even, +-50 %", ONE, LONG, EVEN, .jitter = 50},
        {"one lane, 0.2 ms, burst, +-50 %", ONE, BRIEF, BURST, .jitter = 50},
        {"one lane, 0.2 ms, even, +-50 %", ONE, BRIEF, EVEN, .jitter = 50},
        {"8 lanes, 20 ms, burst, +-50 %", MANY, LONG, BURST, .jitter = 50},
        {"8 lanes, 20 ms, even, +-50 %", MANY, LONG, EVEN, .jitter = 50},
        {"8 lanes, 20 ms, even, in phase, +-50 %", MANY, LONG, EVEN, IN_PHASE, .jitter = 50},
        {"8 lanes, 0.2 ms, burst, +-50 %", MANY, BRIEF, BURST, .jitter = 50},
        {"8 lanes, 0.2 ms, even, in phase, +-50 %", MANY, BRIEF, EVEN, IN_PHASE, .jitter = 50},
    };
    for (size_t i = 0; i < COUNT(scenes); i++) {
        scene s = scenes[i];
        s.load = 80;
        s.least = 99.9;
        s.most = 100;
        play(&s);
    }
}

static void test_budget_shorter_than_one_view(void **state)
{
    (void)state;
    static const scene scenes[] = {
        {"one lane, 150 ms, burst", ONE, .cost_ns = 150 * CRN_NS_PER_MS, .load = 50, BURST},
        {"one lane, 150 ms, even", ONE, .cost_ns = 150 * CRN_NS_PER_MS, .load = 200, EVEN},
        {"8 lanes, 150 ms, even", MANY, .cost_ns = 150 * CRN_NS_PER_MS, .load = 200, EVEN},
        {"8 lanes, 99 ms, burst", MANY, .cost_ns = 99 * CRN_NS_PER_MS, .load = 200, BURST},
    };
    for (size_t i = 0; i < COUNT(scenes); i++)
        play(&scenes[i]);
}

/* Views that are many times slower for a while are abandoned;
 * afterwards the line recovers within a few fruits. */
static void test_recovers_from_a_slow_time(void **state)
{
    (void)state;
    static const scene scenes[] = {
        {"one lane, 20 ms after 200 ms, even", ONE, LONG, EVEN, .slowness = 10},
        {"8 lanes, 20 ms after 200 ms, burst", MANY, LONG, BURST, .slowness = 10},
        {"8 lanes, 0.2 ms after 2 ms, even", MANY, BRIEF, EVEN, .slowness = 10},
    };
    for (size_t i = 0; i < COUNT(scenes); i++) {
        scene s = scenes[i];
        s.load = 80;
        s.least = 97;
        s.most = 100;
        play(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice_the_load_leaves_half_complete),
        cmocka_unit_test(test_twice_the_load_with_costs_that_vary),
        cmocka_unit_test(test_what_can_be_carried_is_carried),
        cmocka_unit_test(test_budget_shorter_than_one_view),
        cmocka_unit_test(test_recovers_from_a_slow_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
