/* Fruits: which views belong to one, its verdict, and that nothing is counted twice or lost. */
#include "tests/unit/fruit/fruit_bench.h"

#include <errno.h>
#include <string.h>

/* Writes the index-th permutation of 0, 1, 2, 3. */
static void permute(int index, uint16_t order[4])
{
    uint16_t left[4] = {0, 1, 2, 3};
    static const int radix[4] = {6, 2, 1, 1};
    for (int i = 0; i < 4; i++) {
        int pick = index / radix[i];
        index %= radix[i];
        order[i] = left[pick];
        memmove(&left[pick], &left[pick + 1], sizeof left[0] * (size_t)(3 - pick));
    }
}

static void test_every_order_of_arrival_and_of_ending(void **state)
{
    (void)state;
    for (int pair = 0; pair < 24 * 24; pair++) {
        uint16_t arriving[4], ending[4];
        permute(pair / 24, arriving);
        permute(pair % 24, ending);
        crn_ticket tickets[4];
        for (int i = 0; i < 4; i++) {
            now_ns += 1 * CRN_FRUIT_MS;
            expect_not_due();
            tickets[arriving[i]] = arrive((uint64_t)pair, arriving[i], 4, CRN_FRUIT_NEVER);
        }
        for (int i = 0; i < 4; i++)
            assert_int_equal(begin().view, i);
        int64_t closed_ns = now_ns;
        for (int i = 0; i < 4; i++) {
            now_ns += 1 * CRN_FRUIT_MS;
            expect_not_due();
            assert_true(end(tickets[ending[i]]));
        }
        const crn_fruit *due = expect_due((uint64_t)pair);
        assert_int_equal(due->received, 4);
        assert_int_equal(due->judged, 4);
        assert_int_equal(due->expected, 4);
        assert_int_equal(due->encoder, 1000);
        assert_int_equal(due->captured_ns, 2000);
        assert_int_equal(due->opened_ns, closed_ns - 3 * CRN_FRUIT_MS);
        assert_int_equal(due->closed_ns, closed_ns);
        assert_int_equal(due->deadline_ns, closed_ns + CRN_FRUIT_BUDGET);
        judge((uint64_t)pair, CRN_VERDICT_COMPLETE);
        expect_not_due();
        assert_int_equal(crn_fruits_open(fruits), 0);
    }
    expect_sums(0);
    assert_int_equal(crn_fruits_get_stats(fruits)->complete, 24 * 24);
}

static void test_views_run_while_others_are_still_to_come(void **state)
{
    (void)state;
    for (uint16_t i = 0; i < 4; i++) {
        expect_not_due();
        arrive(1, (uint16_t)(3 - i), 4, CRN_FRUIT_NEVER);
        run_all();
    }
    judge(1, CRN_VERDICT_COMPLETE);
}

static void test_encoder_is_of_the_lowest_view_received(void **state)
{
    (void)state;
    arrive(1, 2, 4, CRN_FRUIT_NEVER);
    arrive(1, 3, 4, CRN_FRUIT_NEVER);
    arrive(1, 1, 4, CRN_FRUIT_NEVER);
    run_all();
    now_ns += CRN_FRUIT_ASSEMBLE;
    const crn_fruit *due = expect_due(1);
    assert_int_equal(due->encoder, 1001);
    assert_int_equal(due->captured_ns, 2001);
}

static void test_a_missing_view_makes_it_partial(void **state)
{
    (void)state;
    for (uint16_t missing = 0; missing < 4; missing++) {
        for (uint16_t view = 0; view < 4; view++)
            if (view != missing)
                arrive(missing, view, 4, CRN_FRUIT_NEVER);
        run_all();
        expect_not_due();
        now_ns += CRN_FRUIT_ASSEMBLE;
        judge(missing, CRN_VERDICT_PARTIAL);
    }
    expect_sums(0);
}

static void test_duplicate_view_counts_once(void **state)
{
    (void)state;
    crn_ticket ticket, other = {7, 7, 7};
    assert_int_equal(arrive_as(header_of(1, 1, 1, 0, 2), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_WANTED);
    for (int step = 0; step < 4; step++) {
        assert_int_equal(arrive_as(header_of(1, 1, 1, 0, 2), CRN_FRUIT_NEVER, &other),
                         CRN_ARRIVAL_DUPLICATE);
        assert_int_equal(other.fruit, 7);
        if (step == 0)
            assert_true(crn_fruits_queue(fruits, ticket, 0));
        if (step == 1)
            begin();
        if (step == 2)
            assert_true(end(ticket));
    }
    expect_not_due();
    arrive(1, 1, 2, CRN_FRUIT_NEVER);
    run_all();
    assert_int_equal(expect_due(1)->received, 2);
    judge(1, CRN_VERDICT_COMPLETE);
    assert_int_equal(crn_fruits_get_stats(fruits)->duplicates, 4);
    expect_sums(0);
}

static void test_duplicate_of_a_lost_view_is_a_duplicate(void **state)
{
    (void)state;
    crn_ticket ticket;
    assert_int_equal(arrive_as(header_of(1, 1, 1, 0, 1), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_WANTED);
    crn_fruits_lose(fruits, ticket);
    assert_int_equal(arrive_as(header_of(1, 1, 1, 0, 1), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_DUPLICATE);
    judge(1, CRN_VERDICT_LATE);
    expect_sums(0);
}

static void test_views_that_disagree_are_dropped(void **state)
{
    (void)state;
    crn_ticket ticket;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    assert_int_equal(arrive_as(header_of(1, 1, 1, 1, 3), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_VIEWS_MISMATCH);
    assert_int_equal(arrive_as(header_of(1, 1, 1, 1, 0), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_VIEWS_MISMATCH);
    arrive(1, 1, 2, CRN_FRUIT_NEVER);
    run_all();
    judge(1, CRN_VERDICT_COMPLETE);
    assert_int_equal(crn_fruits_get_stats(fruits)->views_mismatch, 2);
}

static void test_impossible_views_open_nothing(void **state)
{
    (void)state;
    crn_ticket ticket;
    static const uint16_t pairs[][2] = {{8, 0}, {2, 2}, {0, 9}, {65535, 0}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            arrive_as(header_of(1, 1, 1, pairs[i][0], pairs[i][1]), CRN_FRUIT_NEVER, &ticket),
            CRN_ARRIVAL_VIEWS_MISMATCH);
    assert_int_equal(crn_fruits_open(fruits), 0);
    arrive(1, 7, 8, CRN_FRUIT_NEVER);
}

static void test_lanes_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    crn_ticket ticket;
    for (uint32_t lane = 0; lane < 8; lane++)
        assert_int_equal(arrive_as(header_of(lane, 1, 1, 0, 2), CRN_FRUIT_NEVER, &ticket),
                         CRN_ARRIVAL_WANTED);
    assert_int_equal(arrive_as(header_of(8, 1, 1, 0, 2), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_NO_LANE);
    assert_int_equal(crn_fruits_get_stats(fruits)->lanes, 1);
    assert_int_equal(crn_fruits_open(fruits), 8);
}

static void test_messages_are_counted_on_their_lane_whatever_becomes_of_them(void **state)
{
    (void)state;
    crn_ticket ticket;
    arrive(1, 0, 1, CRN_FRUIT_NEVER);
    arrive_as(header_of(1, 1, 1, 0, 1), CRN_FRUIT_NEVER, &ticket);
    run_all();
    judge(1, CRN_VERDICT_COMPLETE);
    next_sequence++;
    arrive_as(header_of(1, 1, 1, 0, 1), CRN_FRUIT_NEVER, &ticket);
    const crn_lane_stats *stats = &crn_lanes_find(lanes, 1)->stats;
    assert_int_equal(stats->views, 3);
    assert_int_equal(stats->missing, 1);
}

static void test_interleaved_lanes_do_not_mix(void **state)
{
    (void)state;
    crn_ticket ticket;
    for (uint16_t view = 0; view < 4; view++)
        for (uint32_t lane = 1; lane <= 3; lane++) {
            assert_int_equal(arrive_as(header_of(lane, 1, 5, view, 4), CRN_FRUIT_NEVER, &ticket),
                             CRN_ARRIVAL_WANTED);
            assert_true(crn_fruits_queue(fruits, ticket, next_slot++));
        }
    assert_int_equal(crn_fruits_open(fruits), 3);
    run_all();
    for (uint32_t lane = 1; lane <= 3; lane++) {
        assert_int_equal(expect_due(5)->lane->number, lane);
        judge(5, CRN_VERDICT_COMPLETE);
    }
    expect_not_due();
}

static void test_restarted_sender_opens_its_fruits_anew(void **state)
{
    (void)state;
    crn_ticket ticket;
    arrive(5, 0, 2, CRN_FRUIT_NEVER);
    run_all();
    now_ns += 10 * CRN_FRUIT_MS;
    for (uint16_t view = 0; view < 2; view++) {
        assert_int_equal(arrive_as(header_of(1, 2, 5, view, 2), CRN_FRUIT_NEVER, &ticket),
                         CRN_ARRIVAL_WANTED);
        assert_true(crn_fruits_queue(fruits, ticket, next_slot++));
    }
    run_all();
    assert_int_equal(expect_due(5)->epoch, 2);
    judge(5, CRN_VERDICT_COMPLETE);
    expect_not_due();
    now_ns = CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE - 1;
    expect_not_due();
    now_ns++;
    assert_int_equal(expect_due(5)->epoch, 1);
    judge(5, CRN_VERDICT_PARTIAL);
    assert_int_equal(arrive_as(header_of(1, 1, 5, 1, 2), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_STRAGGLER);
    assert_int_equal(crn_lanes_find(lanes, 1)->stats.restarts, 1);
}

static void test_names_that_share_parts_are_told_apart(void **state)
{
    (void)state;
    crn_ticket ticket;
    for (uint64_t round = 0; round < 300; round++) {
        /* Eight fruits at a time: two lanes, two epochs, two ids. */
        for (uint16_t view = 0; view < 2; view++)
            for (uint32_t i = 0; i < 8; i++)
                assert_int_equal(arrive_as(header_of(i & 1, round * 2 + (i >> 1 & 1),
                                                     round * 2 + (i >> 2), view, 2),
                                           CRN_FRUIT_NEVER, &ticket),
                                 CRN_ARRIVAL_WANTED);
        assert_int_equal(crn_fruits_open(fruits), 8);
        now_ns += CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD;
        for (int i = 0; i < 8; i++)
            crn_fruits_judge(fruits, crn_fruits_due(fruits, now_ns));
    }
    expect_sums(300 * 16);
}

static void test_stragglers_never_reopen_their_fruit(void **state)
{
    (void)state;
    crn_ticket ticket;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    now_ns += CRN_FRUIT_ASSEMBLE + CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD;
    judge(1, CRN_VERDICT_LATE);
    for (uint16_t view = 0; view < 2; view++)
        assert_int_equal(arrive_as(header_of(1, 1, 1, view, 2), CRN_FRUIT_NEVER, &ticket),
                         CRN_ARRIVAL_STRAGGLER);
    assert_int_equal(crn_fruits_open(fruits), 0);
    assert_int_equal(crn_fruits_get_stats(fruits)->stragglers, 2);
    for (uint64_t fruit = 2; fruit < 301; fruit++) {
        arrive(fruit, 0, 1, CRN_FRUIT_NEVER);
        run_all();
        judge(fruit, CRN_VERDICT_COMPLETE);
    }
    assert_int_equal(arrive_as(header_of(1, 1, 1, 1, 2), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_STRAGGLER);
    expect_sums(0);
}

static void test_what_makes_a_verdict(void **state)
{
    (void)state;
    static const struct {
        crn_judgement judgement;
        crn_verdict_kind verdict;
    } cases[] = {
        {{.cost_ns = CRN_FRUIT_MS, .defect_count = 9}, CRN_VERDICT_COMPLETE},
        {{.cost_ns = CRN_FRUIT_MS, .skipped = 4}, CRN_VERDICT_PARTIAL},
        {{.cost_ns = CRN_FRUIT_MS, .truncated = true}, CRN_VERDICT_PARTIAL},
    };
    for (uint64_t i = 0; i < 3; i++) {
        arrive(i, 0, 2, CRN_FRUIT_NEVER);
        arrive(i, 1, 2, CRN_FRUIT_NEVER);
        assert_true(end(begin()));
        crn_ticket last = begin();
        assert_true(crn_fruits_done(fruits, last, &cases[i].judgement, CRN_REASON_NONE, now_ns));
        assert_int_equal(expect_due(i)->views[1].judgement.defect_count,
                         cases[i].judgement.defect_count);
        judge(i, cases[i].verdict);
    }
    assert_string_equal(crn_verdict_kind_names[CRN_VERDICT_COMPLETE], "complete");
    assert_string_equal(crn_verdict_kind_names[CRN_VERDICT_PARTIAL], "partial");
    assert_string_equal(crn_verdict_kind_names[CRN_VERDICT_LATE], "late");
}

static void test_failed_and_lost_views_make_it_partial_or_late(void **state)
{
    (void)state;
    crn_ticket ticket;
    for (uint64_t fruit = 0; fruit < 4; fruit++) {
        bool lose = fruit & 1, one_is_judged = fruit & 2;
        if (one_is_judged) {
            arrive(fruit, 0, 2, CRN_FRUIT_NEVER);
            run_all();
        } else {
            arrive(fruit, 0, 2, CRN_FRUIT_NEVER);
            assert_true(crn_fruits_done(fruits, begin(), NULL, CRN_REASON_FAILED, now_ns));
        }
        assert_int_equal(arrive_as(header_of(1, 1, fruit, 1, 2), CRN_FRUIT_NEVER, &ticket),
                         CRN_ARRIVAL_WANTED);
        expect_not_due();
        if (lose) {
            crn_fruits_lose(fruits, ticket);
        } else {
            assert_true(crn_fruits_queue(fruits, ticket, 0));
            assert_true(crn_fruits_done(fruits, begin(), NULL, CRN_REASON_FAILED, now_ns));
        }
        judge(fruit, one_is_judged ? CRN_VERDICT_PARTIAL : CRN_VERDICT_LATE);
    }
    assert_int_equal(crn_fruits_get_stats(fruits)->failed, 4);
    assert_int_equal(crn_fruits_get_stats(fruits)->no_slot, 2);
    expect_sums(0);
}

static void test_ticket_is_stale_once_its_fruit_was_judged(void **state)
{
    (void)state;
    crn_ticket queued = arrive(1, 0, 4, CRN_FRUIT_NEVER), arrived;
    crn_ticket running = begin();
    assert_memory_equal(&queued, &running, sizeof queued);
    queued = arrive(1, 1, 4, CRN_FRUIT_NEVER);
    arrive_as(header_of(1, 1, 1, 2, 4), CRN_FRUIT_NEVER, &arrived);
    now_ns += CRN_FRUIT_ASSEMBLE + CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD;
    const crn_fruit *due = expect_due(1);
    assert_int_equal(due->views[0].state, CRN_VIEW_RUNNING);
    assert_int_equal(due->views[1].state, CRN_VIEW_QUEUED);
    assert_int_equal(due->views[1].slot, 101);
    judge(1, CRN_VERDICT_LATE);
    expect_sums(2); /* one still runs, one has arrived */

    crn_ticket other = arrive(2, 0, 4, CRN_FRUIT_NEVER); /* reuses the table entry */
    assert_int_equal(other.fruit, running.fruit);
    crn_ticket other_running = begin();
    assert_false(end(running));
    assert_false(crn_fruits_queue(fruits, arrived, 5));
    crn_fruits_lose(fruits, queued);
    uint32_t slot;
    assert_false(crn_fruits_evict(fruits, arrived, &slot));
    assert_true(end(other_running));
    assert_int_equal(crn_fruits_get_stats(fruits)->unfinished, 1);
    now_ns += CRN_FRUIT_ASSEMBLE;
    due = expect_due(2);
    assert_int_equal(due->received, 1);
    assert_int_equal(due->judged, 1);
    for (int view = 1; view < 4; view++)
        assert_int_equal(due->views[view].state, CRN_VIEW_ABSENT);
    judge(2, CRN_VERDICT_PARTIAL);
}

static void test_a_failure_after_the_verdict_is_unfinished(void **state)
{
    (void)state;
    arrive(1, 0, 1, CRN_FRUIT_NEVER);
    crn_ticket running = begin();
    now_ns += CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD;
    judge(1, CRN_VERDICT_LATE);
    expect_sums(1);
    assert_false(crn_fruits_done(fruits, running, NULL, CRN_REASON_FAILED, now_ns));
    assert_int_equal(crn_fruits_get_stats(fruits)->unfinished, 1);
    assert_int_equal(crn_fruits_get_stats(fruits)->failed, 0);
    expect_sums(0);
}

static void test_tickets_of_nowhere_are_harmless(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    crn_ticket nowhere = {1000, 0, 0}, no_view = {0, 0, 1000};
    assert_false(crn_fruits_queue(fruits, nowhere, 0));
    assert_false(crn_fruits_queue(fruits, no_view, 0));
    assert_false(end(nowhere));
    assert_false(end(no_view));
    run_all();
}

static void test_eviction_gives_the_slot_and_breaks_the_fruit(void **state)
{
    (void)state;
    crn_ticket ticket;
    uint32_t slot = 7;
    arrive(1, 0, 2, CRN_FRUIT_NEVER); /* slot 100 */
    arrive(2, 0, 2, CRN_FRUIT_NEVER); /* slot 101 */
    assert_int_equal(arrive_as(header_of(1, 1, 3, 0, 2), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_WANTED);
    assert_false(crn_fruits_evict(fruits, ticket, &slot)); /* the younger one yields */
    assert_int_equal(slot, 7);
    crn_fruits_lose(fruits, ticket);
    assert_int_equal(arrive_as(header_of(1, 1, 1, 1, 2), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_WANTED);
    assert_true(crn_fruits_evict(fruits, ticket, &slot));
    assert_int_equal(slot, 101);
    assert_true(crn_fruits_queue(fruits, ticket, slot));
    assert_int_equal(crn_fruits_get_stats(fruits)->no_slot, 2);
    run_all();
    judge(1, CRN_VERDICT_COMPLETE);
    now_ns += CRN_FRUIT_ASSEMBLE;
    judge(2, CRN_VERDICT_LATE);
    judge(3, CRN_VERDICT_LATE);
    expect_sums(0);
}

static void test_evicting_the_last_view_makes_a_closed_fruit_due(void **state)
{
    (void)state;
    crn_ticket ticket;
    uint32_t slot;
    assert_int_equal(arrive_as(header_of(1, 1, 1, 0, 1), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_WANTED);
    arrive(2, 0, 1, CRN_FRUIT_NEVER);
    expect_not_due();
    assert_true(crn_fruits_evict(fruits, ticket, &slot));
    judge(2, CRN_VERDICT_LATE);
    expect_not_due();
}

static void test_create_refuses_nonsense(void **state)
{
    (void)state;
    const crn_fruit_rules good = {.open_fruits = 1,
                                  .judged_fruits = 1024,
                                  .views = CRN_FRUIT_VIEWS_MAX,
                                  .workers = 1,
                                  .budget_ns = 1};
    crn_fruit_rules bad[9] = {good, good, good, good, good, good, good, good, good};
    bad[0].open_fruits = 0;
    bad[1].views = CRN_FRUIT_VIEWS_MAX + 1;
    bad[2].views = 0;
    bad[3].workers = 0;
    bad[4].budget_ns = -1;
    bad[5].assemble_ns = CRN_NEVER_NS;
    bad[6].guard_ns = -1;
    bad[7].judged_fruits = 0;
    bad[8].straggler_ns = -1;
    crn_lanes *few = NULL;
    crn_fruits *none = NULL;
    assert_int_equal(crn_lanes_create(1, &few), 0);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(crn_fruits_create(&bad[i], few, &none), -EINVAL);
        assert_null(none);
    }
    assert_int_equal(crn_fruits_create(&good, NULL, &none), -EINVAL);
    assert_int_equal(crn_fruits_create(&good, few, &none), 0);
    crn_fruits_free(&none);
    crn_fruits_free(&none);
    crn_fruits_free(NULL);
    crn_lanes_free(&few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRN_ON_BENCH(test_every_order_of_arrival_and_of_ending),
        CRN_ON_BENCH(test_views_run_while_others_are_still_to_come),
        CRN_ON_BENCH(test_encoder_is_of_the_lowest_view_received),
        CRN_ON_BENCH(test_a_missing_view_makes_it_partial),
        CRN_ON_BENCH(test_duplicate_view_counts_once),
        CRN_ON_BENCH(test_duplicate_of_a_lost_view_is_a_duplicate),
        CRN_ON_BENCH(test_views_that_disagree_are_dropped),
        CRN_ON_BENCH(test_impossible_views_open_nothing),
        CRN_ON_BENCH(test_lanes_beyond_the_limit_are_refused),
        CRN_ON_BENCH(test_messages_are_counted_on_their_lane_whatever_becomes_of_them),
        CRN_ON_BENCH(test_interleaved_lanes_do_not_mix),
        CRN_ON_BENCH(test_restarted_sender_opens_its_fruits_anew),
        CRN_ON_BENCH(test_names_that_share_parts_are_told_apart),
        CRN_ON_BENCH(test_stragglers_never_reopen_their_fruit),
        CRN_ON_BENCH(test_what_makes_a_verdict),
        CRN_ON_BENCH(test_failed_and_lost_views_make_it_partial_or_late),
        CRN_ON_BENCH(test_ticket_is_stale_once_its_fruit_was_judged),
        CRN_ON_BENCH(test_a_failure_after_the_verdict_is_unfinished),
        CRN_ON_BENCH(test_tickets_of_nowhere_are_harmless),
        CRN_ON_BENCH(test_eviction_gives_the_slot_and_breaks_the_fruit),
        CRN_ON_BENCH(test_evicting_the_last_view_makes_a_closed_fruit_due),
        cmocka_unit_test(test_create_refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
