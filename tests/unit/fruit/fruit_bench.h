/*
 * Fixture of the tests of fruits: a simulated clock, counted slots, and views that start and end on
 * request. One per program.
 */
#ifndef CRN_TESTS_UNIT_FRUIT_BENCH_H
#define CRN_TESTS_UNIT_FRUIT_BENCH_H

#include "stages/base/clock.h"
#include "src/fruit/fruit.h"
#include "tests/support/cmocka_prelude.h"

#define CRN_FRUIT_MS    CRN_NS_PER_MS
#define CRN_FRUIT_START (1000 * CRN_FRUIT_MS) /* the clock's initial value */
#define CRN_FRUIT_NEVER CRN_NEVER_NS

#define CRN_FRUIT_BUDGET   (100 * CRN_FRUIT_MS)
#define CRN_FRUIT_ASSEMBLE (400 * CRN_FRUIT_MS)
#define CRN_FRUIT_GUARD    (2 * CRN_FRUIT_MS)

static crn_lanes *lanes;
static crn_fruits *fruits;
static int64_t now_ns;
static uint32_t next_slot;
static uint64_t next_sequence;

static inline int bench_start(const crn_fruit_rules *rules)
{
    now_ns = CRN_FRUIT_START;
    next_slot = 100;
    next_sequence = 0;
    int r = crn_lanes_create(8, &lanes);
    return r < 0 ? r : crn_fruits_create(rules, lanes, &fruits);
}

static const crn_fruit_rules bench_rules = {.open_fruits = 8,
                                            .judged_fruits = 1024,
                                            .views = 8,
                                            .workers = 4,
                                            .budget_ns = CRN_FRUIT_BUDGET,
                                            .assemble_ns = CRN_FRUIT_ASSEMBLE,
                                            .guard_ns = CRN_FRUIT_GUARD};

static inline int bench_set_up(void **state)
{
    (void)state;
    return bench_start(&bench_rules);
}

static inline int bench_tear_down(void **state)
{
    (void)state;
    crn_fruits_free(&fruits);
    crn_lanes_free(&lanes);
    return fruits || lanes ? -1 : 0;
}

static inline crn_view_header header_of(uint32_t lane, uint64_t epoch, uint64_t fruit,
                                        uint16_t view, uint16_t views)
{
    return (crn_view_header){.sequence = next_sequence++,
                             .epoch = epoch,
                             .fruit = fruit,
                             .lane = lane,
                             .view = view,
                             .views = views,
                             .encoder = 1000 + view,
                             .captured_ns = 2000 + view};
}

static inline crn_arrival arrive_as(crn_view_header header, int64_t deadline_ns,
                                    crn_ticket *ret_ticket)
{
    return crn_fruits_arrive(fruits, &header, deadline_ns, now_ns, ret_ticket);
}

/* Adds a view of lane 1, epoch 1; it must be accepted and is queued. */
static inline crn_ticket arrive(uint64_t fruit, uint16_t view, uint16_t views, int64_t deadline_ns)
{
    crn_ticket ticket;
    assert_int_equal(arrive_as(header_of(1, 1, fruit, view, views), deadline_ns, &ticket),
                     CRN_ARRIVAL_WANTED);
    assert_int_equal(ticket.view, view);
    assert_true(crn_fruits_queue(fruits, ticket, next_slot++));
    return ticket;
}

/* Starts the next view. */
static inline crn_ticket begin(void)
{
    crn_ticket ticket;
    uint32_t slot;
    int64_t deadline_ns;
    assert_int_equal(crn_fruits_next(fruits, now_ns, &ticket, &slot, &deadline_ns), CRN_NEXT_RUN);
    return ticket;
}

static inline bool end(crn_ticket ticket)
{
    return crn_fruits_done(fruits, ticket, &(crn_judgement){.cost_ns = 1 * CRN_FRUIT_MS},
                           CRN_REASON_NONE, now_ns);
}

/* Runs all queued views to their end. */
static inline void run_all(void)
{
    crn_ticket ticket;
    uint32_t slot;
    int64_t deadline_ns;
    while (crn_fruits_next(fruits, now_ns, &ticket, &slot, &deadline_ns) == CRN_NEXT_RUN)
        assert_true(end(ticket));
}

static inline void expect_not_due(void)
{
    assert_null(crn_fruits_due(fruits, now_ns));
}

/* Expects the fruit to be due now; it stays open. */
static inline const crn_fruit *expect_due(uint64_t fruit)
{
    const crn_fruit *due = crn_fruits_due(fruits, now_ns);
    assert_non_null(due);
    assert_int_equal(due->fruit, fruit);
    return due;
}

static inline void judge(uint64_t fruit, crn_verdict_kind verdict)
{
    const crn_fruit *due = expect_due(fruit);
    assert_int_equal(crn_fruit_verdict(due), verdict);
    crn_fruits_judge(fruits, due);
}

/* Checks that the counts add up; `pending`: views arrived, queued or running now. */
static inline void expect_sums(uint64_t pending)
{
    const crn_fruit_stats *stats = crn_fruits_get_stats(fruits);
    assert_int_equal(stats->wanted, stats->judged + stats->no_slot + stats->discarded +
                                        stats->unfinished + stats->failed + stats->device_lost +
                                        pending);
    assert_int_equal(stats->opened, stats->complete + stats->partial + stats->late +
                                        (uint64_t)crn_fruits_open(fruits));
}

#define CRN_ON_BENCH(test) cmocka_unit_test_setup_teardown(test, bench_set_up, bench_tear_down)

#endif
