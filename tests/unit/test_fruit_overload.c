/*
 * More work than the machine can carry, in a simulated line: workers, slots and senders under a
 * simulated clock, no sleeping, the same run every time. What must hold: one verdict per fruit,
 * none after its deadline, and a good part of the fruits still complete.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "src/base/clock.h"
#include "src/fruit.h"

#define VIEWS       4
#define SLOTS_MAX   128
#define WORKERS_MAX 16

typedef struct scene {
    const char *name;
    int32_t lanes, workers, slots;
    int64_t cost_ns, budget_ns;
    double load;     /* offered work over capacity */
    int fruits;      /* per lane */
    bool even;       /* a fruit's views are spread over the time to the next fruit, else at once */
    bool in_phase;   /* all lanes at the same moments, else spread evenly */
    uint32_t jitter; /* costs vary by up to so many percent, up and down */
} scene;

typedef struct message {
    int64_t at_ns;
    uint32_t lane;
    uint64_t fruit, sequence;
    uint16_t view;
} message;

typedef struct worker {
    bool busy;
    int64_t ends_ns, cost_ns;
    uint32_t slot;
    crn_ticket ticket;
} worker;

typedef struct line {
    const scene *scene;
    crn_lanes *lanes;
    crn_fruits *fruits;
    message *messages;
    int message_count;
    worker workers[WORKERS_MAX];
    uint32_t free_slots[SLOTS_MAX];
    int free_count;
    uint64_t random;
    int64_t now_ns;
    unsigned char *verdicts;             /* per lane and fruit: how many */
    int complete, partial, late, steady; /* verdicts after the first quarter */
    int overdue;
    int64_t wasted_ns, run_ns;
} line;

static uint32_t draw(line *l)
{
    l->random = l->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(l->random >> 33);
}

static int by_time(const void *a, const void *b)
{
    const message *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void write_messages(line *l)
{
    const scene *s = l->scene;
    /* One lane's time from fruit to fruit at that load. */
    double period_ns = (double)s->cost_ns * VIEWS * s->lanes / s->workers / s->load;
    l->message_count = 0;
    l->messages = calloc((size_t)s->lanes * (size_t)s->fruits * VIEWS, sizeof *l->messages);
    assert_non_null(l->messages);
    for (int32_t lane = 0; lane < s->lanes; lane++) {
        double phase_ns = s->in_phase ? 0 : period_ns * lane / s->lanes;
        for (int fruit = 0; fruit < s->fruits; fruit++)
            for (int view = 0; view < VIEWS; view++) {
                double at = phase_ns + period_ns * fruit + (s->even ? period_ns * view / VIEWS : 0);
                l->messages[l->message_count++] = (message){
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

static void end_views(line *l)
{
    for (int w = 0; w < l->scene->workers; w++) {
        worker *one = &l->workers[w];
        if (!one->busy || one->ends_ns > l->now_ns)
            continue;
        one->busy = false;
        crn_judgement judgement = {.cost_ns = one->cost_ns};
        l->run_ns += one->cost_ns;
        if (!crn_fruits_done(l->fruits, one->ticket, &judgement))
            l->wasted_ns += one->cost_ns;
        give_slot(l, one->slot);
    }
}

static void receive(line *l, const message *m)
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
        l->verdicts[crn_lane_number(fruit->lane) * (uint32_t)l->scene->fruits + fruit->fruit]++;
        l->overdue += l->now_ns > fruit->deadline_ns;
        crn_verdict_kind verdict = crn_fruit_verdict(fruit);
        if (fruit->fruit >= (uint64_t)l->scene->fruits / 4) {
            l->steady++;
            l->complete += verdict == CRN_VERDICT_COMPLETE;
            l->partial += verdict == CRN_VERDICT_PARTIAL;
            l->late += verdict == CRN_VERDICT_LATE;
        }
        for (int v = 0; v < VIEWS; v++) {
            if (fruit->views[v].state == CRN_VIEW_QUEUED)
                give_slot(l, fruit->views[v].slot);
            if (fruit->views[v].state == CRN_VIEW_JUDGED && verdict != CRN_VERDICT_COMPLETE)
                l->wasted_ns += fruit->views[v].judgement.cost_ns;
        }
        crn_fruits_judge(l->fruits, fruit);
    }
}

static void begin_views(line *l)
{
    for (int w = 0; w < l->scene->workers; w++) {
        worker *one = &l->workers[w];
        int64_t deadline_ns;
        while (!one->busy) {
            uint32_t slot;
            crn_ticket ticket;
            crn_next next = crn_fruits_next(l->fruits, l->now_ns, &ticket, &slot, &deadline_ns);
            if (next == CRN_NEXT_NONE)
                return;
            if (next == CRN_NEXT_DISCARD) {
                give_slot(l, slot);
                continue;
            }
            int64_t cost_ns = l->scene->cost_ns;
            if (l->scene->jitter > 0) {
                int32_t percent =
                    (int32_t)(draw(l) % (2 * l->scene->jitter + 1)) - (int32_t)l->scene->jitter;
                cost_ns += cost_ns * percent / 100;
            }
            *one = (worker){true, l->now_ns + cost_ns, cost_ns, slot, ticket};
        }
    }
}

static int64_t next_event_ns(const line *l, int received)
{
    int64_t next_ns = crn_fruits_wake_ns(l->fruits);
    if (received < l->message_count && l->messages[received].at_ns < next_ns)
        next_ns = l->messages[received].at_ns;
    for (int w = 0; w < l->scene->workers; w++)
        if (l->workers[w].busy && l->workers[w].ends_ns < next_ns)
            next_ns = l->workers[w].ends_ns;
    return next_ns;
}

static void start_line(line *l, const scene *s)
{
    *l = (line){.scene = s, .random = 1};
    crn_fruit_rules rules = {.open_fruits = 256,
                             .views = VIEWS,
                             .workers = s->workers,
                             .budget_ns = s->budget_ns,
                             .assemble_ns = 400 * CRN_NS_PER_MS,
                             .guard_ns = 2 * CRN_NS_PER_MS};
    assert_int_equal(crn_lanes_create(64, &l->lanes), 0);
    assert_int_equal(crn_fruits_create(&rules, l->lanes, &l->fruits), 0);
    for (int32_t slot = s->slots; slot-- > 0;)
        give_slot(l, (uint32_t)slot);
    l->verdicts = calloc((size_t)s->lanes * (size_t)s->fruits, 1);
    assert_non_null(l->verdicts);
    write_messages(l);
}

/* Runs the scene to its end and checks what holds at any load. Returns the percentage complete. */
static double play(const scene *s, line *l)
{
    start_line(l, s);
    int received = 0;
    int64_t next_ns;
    while ((next_ns = next_event_ns(l, received)) != CRN_NEVER_NS) {
        if (next_ns > l->now_ns)
            l->now_ns = next_ns;
        end_views(l);
        for (; received < l->message_count && l->messages[received].at_ns <= l->now_ns;
             received++) {
            receive(l, &l->messages[received]);
            judge_due(l);
        }
        judge_due(l);
        begin_views(l);
    }
    for (int i = 0; i < s->lanes * s->fruits; i++)
        assert_int_equal(l->verdicts[i], 1);
    assert_int_equal(l->overdue, 0);
    assert_int_equal(l->free_count, s->slots);
    const crn_fruit_stats *stats = crn_fruits_get_stats(l->fruits);
    assert_int_equal(stats->wanted, stats->judged + stats->no_slot + stats->discarded +
                                        stats->unfinished + stats->failed);
    assert_int_equal(stats->opened, stats->complete + stats->partial + stats->late);
    double complete = 100.0 * l->complete / l->steady;
    print_message(
        "%-40s complete %5.1f %% partial %5.1f %% late %5.1f %%; wasted %4.1f %% of work; "
        "no_slot %llu discarded %llu unfinished %llu stragglers %llu\n",
        s->name, complete, 100.0 * l->partial / l->steady, 100.0 * l->late / l->steady,
        l->run_ns ? 100.0 * (double)l->wasted_ns / (double)l->run_ns : 0,
        (unsigned long long)stats->no_slot, (unsigned long long)stats->discarded,
        (unsigned long long)stats->unfinished, (unsigned long long)stats->stragglers);
    crn_fruits_free(&l->fruits);
    crn_lanes_free(&l->lanes);
    free(l->messages);
    free(l->verdicts);
    return complete;
}

static void test_matrix(void **state)
{
    (void)state;
    for (int load = 0; load < 4; load++)
        for (int kind = 0; kind < 5; kind++)
            for (int even = 0; even < 2; even++)
                for (int jitter = 0; jitter <= 50; jitter += 50)
                    for (int phase = 0; phase < 2; phase++) {
                        double loads[] = {0.8, 1.2, 2, 4};
                        scene s = {.budget_ns = 100 * CRN_NS_PER_MS,
                                   .load = loads[load],
                                   .fruits = 400,
                                   .even = even,
                                   .in_phase = phase,
                                   .jitter = (uint32_t)jitter};
                        char name[100];
                        s.name = name;
                        s.lanes = kind == 2 || kind == 3 ? 8 : kind == 4 ? 3 : 1;
                        s.workers = kind == 2 || kind == 3 ? 4 : 1;
                        s.slots = kind == 2 || kind == 3 ? 32 : 20;
                        s.cost_ns = kind == 1 || kind == 3 ? 200000 : 20000000;
                        if (s.lanes == 1 && phase)
                            continue;
                        snprintf(name, sizeof name, "x%.1f l%d w%d %gms %s %s j%d", s.load, s.lanes,
                                 s.workers, (double)s.cost_ns / 1e6, even ? "even" : "burst",
                                 phase ? "phase" : "spread", jitter);
                        line l;
                        play(&s, &l);
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_matrix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
