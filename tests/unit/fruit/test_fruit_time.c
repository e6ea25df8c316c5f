/* Fruits and time: closing, deadlines, due verdicts, and a full table. */
#include "tests/unit/fruit/fruit_bench.h"

/* Advances the clock to the time that wake names, which must be `at_ns`. */
static void wake_at(int64_t at_ns)
{
    assert_int_equal(crn_fruits_wake_ns(fruits), at_ns);
    now_ns = at_ns - 1;
    expect_not_due();
    now_ns = at_ns;
}

static void test_nothing_open_never_wakes(void **state)
{
    (void)state;
    assert_int_equal(crn_fruits_wake_ns(fruits), CRN_FRUIT_NEVER);
    expect_not_due();
    arrive(1, 0, 1, CRN_FRUIT_NEVER);
    run_all();
    assert_true(crn_fruits_wake_ns(fruits) <= now_ns);
    judge(1, CRN_VERDICT_COMPLETE);
    assert_int_equal(crn_fruits_wake_ns(fruits), CRN_FRUIT_NEVER);
}

static void test_last_expected_view_closes(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    now_ns += 30 * CRN_FRUIT_MS;
    arrive(1, 1, 2, CRN_FRUIT_NEVER);
    wake_at(CRN_FRUIT_START + 30 * CRN_FRUIT_MS + CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD);
    const crn_fruit *due = expect_due(1);
    assert_int_equal(due->closed_ns, CRN_FRUIT_START + 30 * CRN_FRUIT_MS);
    assert_int_equal(due->deadline_ns, CRN_FRUIT_START + 30 * CRN_FRUIT_MS + CRN_FRUIT_BUDGET);
    judge(1, CRN_VERDICT_LATE);
}

static void test_time_closes_as_of_its_time(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    run_all();
    assert_int_equal(crn_fruits_wake_ns(fruits), CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE);
    now_ns = CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE + 50 * CRN_FRUIT_MS; /* the caller was delayed */
    const crn_fruit *due = expect_due(1);
    assert_int_equal(due->closed_ns, CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE);
    assert_int_equal(due->deadline_ns, CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE + CRN_FRUIT_BUDGET);
    judge(1, CRN_VERDICT_PARTIAL);
}

static void test_closed_by_time_waits_for_what_runs(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    crn_ticket running = begin();
    now_ns = CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE;
    expect_not_due();
    wake_at(CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE + CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD);
    now_ns--;
    assert_true(end(running));
    judge(1, CRN_VERDICT_PARTIAL);
}

static void test_view_between_close_and_verdict_is_credited(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    crn_ticket running = begin();
    now_ns = CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE + 10 * CRN_FRUIT_MS; /* no due query since */
    arrive(1, 1, 2, CRN_FRUIT_NEVER);
    crn_ticket late = begin();
    assert_true(end(running));
    expect_not_due();
    assert_int_equal(crn_fruits_wake_ns(fruits),
                     CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE + CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD);
    assert_true(end(late));
    assert_int_equal(expect_due(1)->closed_ns, CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE);
    judge(1, CRN_VERDICT_COMPLETE);
}

static void test_unknown_count_closes_by_time_alone(void **state)
{
    (void)state;
    for (uint16_t view = 0; view < 8; view++) {
        arrive(1, (uint16_t)(7 - view), 0, CRN_FRUIT_NEVER);
        run_all();
        expect_not_due();
        now_ns += 5 * CRN_FRUIT_MS;
    }
    wake_at(CRN_FRUIT_START + CRN_FRUIT_ASSEMBLE);
    assert_int_equal(expect_due(1)->received, 8);
    assert_int_equal(expect_due(1)->expected, 0);
    judge(1, CRN_VERDICT_COMPLETE);
}

static void test_unknown_count_with_a_loss_is_partial(void **state)
{
    (void)state;
    crn_ticket ticket;
    arrive(1, 0, 0, CRN_FRUIT_NEVER);
    run_all();
    arrive_as(header_of(1, 1, 1, 1, 0), CRN_FRUIT_NEVER, &ticket);
    crn_fruits_lose(fruits, ticket);
    now_ns += CRN_FRUIT_ASSEMBLE;
    judge(1, CRN_VERDICT_PARTIAL);
}

static void test_a_fruit_that_is_set_aside_waits_until_its_deadline(void **state)
{
    (void)state;
    int64_t end_ns, due_ns = CRN_FRUIT_START + CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD;
    arrive(1, 0, 1, CRN_FRUIT_NEVER);
    run_all();
    const crn_fruit *fruit = expect_due(1);
    assert_true(crn_fruits_set_aside(fruits, fruit, &end_ns));
    assert_int_equal(end_ns, due_ns);
    expect_not_due();
    crn_fruits_resume(fruits, fruit);
    assert_ptr_equal(expect_due(1), fruit);
    assert_true(crn_fruits_set_aside(fruits, fruit, &end_ns));
    wake_at(due_ns);
    assert_ptr_equal(expect_due(1), fruit);
    assert_false(crn_fruits_set_aside(fruits, fruit, &end_ns));
    crn_fruits_set_surface(fruits, fruit, NULL, true);
    judge(1, CRN_VERDICT_PARTIAL);
    arrive(2, 0, 1, CRN_FRUIT_NEVER); /* in the same entry */
    run_all();
    judge(2, CRN_VERDICT_COMPLETE);
}

static void test_earlier_header_deadline_wins(void **state)
{
    (void)state;
    arrive(1, 0, 1, CRN_FRUIT_START + 50 * CRN_FRUIT_MS);
    wake_at(CRN_FRUIT_START + 50 * CRN_FRUIT_MS - CRN_FRUIT_GUARD);
    assert_int_equal(expect_due(1)->closed_ns, CRN_FRUIT_START);
    assert_int_equal(expect_due(1)->deadline_ns, CRN_FRUIT_START + 50 * CRN_FRUIT_MS);
    judge(1, CRN_VERDICT_LATE);
}

static void test_later_header_deadline_changes_nothing(void **state)
{
    (void)state;
    arrive(1, 0, 1, CRN_FRUIT_START + CRN_FRUIT_BUDGET + 1);
    wake_at(CRN_FRUIT_START + CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD);
    assert_int_equal(expect_due(1)->deadline_ns, CRN_FRUIT_START + CRN_FRUIT_BUDGET);
}

static void test_earliest_of_several_header_deadlines_counts(void **state)
{
    (void)state;
    arrive(1, 0, 4, CRN_FRUIT_START + 90 * CRN_FRUIT_MS);
    arrive(1, 1, 4, CRN_FRUIT_START + 70 * CRN_FRUIT_MS);
    arrive(1, 2, 4, CRN_FRUIT_START + 80 * CRN_FRUIT_MS);
    arrive(1, 3, 4, CRN_FRUIT_NEVER);
    wake_at(CRN_FRUIT_START + 70 * CRN_FRUIT_MS - CRN_FRUIT_GUARD);
    assert_int_equal(expect_due(1)->deadline_ns, CRN_FRUIT_START + 70 * CRN_FRUIT_MS);
}

static void test_header_deadline_before_the_close(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_START + 50 * CRN_FRUIT_MS);
    run_all();
    wake_at(CRN_FRUIT_START + 50 * CRN_FRUIT_MS - CRN_FRUIT_GUARD);
    assert_int_equal(expect_due(1)->closed_ns,
                     CRN_FRUIT_START + 50 * CRN_FRUIT_MS - CRN_FRUIT_GUARD);
    assert_int_equal(expect_due(1)->deadline_ns, CRN_FRUIT_START + 50 * CRN_FRUIT_MS);
    judge(1, CRN_VERDICT_PARTIAL);

    /* Nor can it wait for a view that still runs. */
    now_ns = CRN_FRUIT_START;
    arrive(2, 0, 2, CRN_FRUIT_START + 50 * CRN_FRUIT_MS);
    crn_ticket running = begin();
    wake_at(CRN_FRUIT_START + 50 * CRN_FRUIT_MS - CRN_FRUIT_GUARD);
    judge(2, CRN_VERDICT_LATE);
    assert_false(end(running));
}

static void test_header_deadline_past_closes_and_is_due_at_once(void **state)
{
    (void)state;
    static const int64_t ahead[] = {-1000 * CRN_FRUIT_MS, 0, CRN_FRUIT_GUARD};
    for (uint64_t fruit = 0; fruit < 3; fruit++) {
        arrive(fruit, 0, 4, now_ns + ahead[fruit]);
        assert_int_equal(expect_due(fruit)->closed_ns, now_ns);
        assert_int_equal(expect_due(fruit)->deadline_ns, now_ns + ahead[fruit]);
        judge(fruit, CRN_VERDICT_LATE);
    }
    arrive(5, 0, 4, now_ns + CRN_FRUIT_GUARD + 1);
    wake_at(now_ns + 1);
    judge(5, CRN_VERDICT_LATE);
}

static void test_later_view_with_a_deadline_past_closes_its_fruit(void **state)
{
    (void)state;
    arrive(1, 0, 4, CRN_FRUIT_NEVER);
    run_all();
    now_ns += 10 * CRN_FRUIT_MS;
    arrive(1, 1, 4, CRN_FRUIT_START);
    assert_int_equal(expect_due(1)->closed_ns, CRN_FRUIT_START + 10 * CRN_FRUIT_MS);
    judge(1, CRN_VERDICT_PARTIAL);
}

static void test_views_of_a_due_fruit_are_not_run(void **state)
{
    (void)state;
    arrive(10, 0, 4, CRN_FRUIT_START);
    crn_ticket ticket;
    uint32_t slot;
    int64_t deadline_ns;
    assert_int_equal(crn_fruits_next(fruits, now_ns, &ticket, &slot, &deadline_ns),
                     CRN_NEXT_DISCARD);
    assert_int_equal(expect_due(10)->views[0].state, CRN_VIEW_LOST);
    judge(10, CRN_VERDICT_LATE);
    for (uint64_t fruit = 0; fruit < 9; fruit++)
        arrive(fruit, 0, 2, CRN_FRUIT_NEVER);
    assert_int_equal(crn_fruits_next(fruits, now_ns, &ticket, &slot, &deadline_ns),
                     CRN_NEXT_DISCARD);
    assert_int_equal(slot, 101); /* that of the fruit forced out */
}

static void test_next_hands_out_slot_and_deadline(void **state)
{
    (void)state;
    arrive(1, 0, 1, CRN_FRUIT_START + 60 * CRN_FRUIT_MS);
    crn_ticket ticket;
    uint32_t slot;
    int64_t deadline_ns;
    assert_int_equal(crn_fruits_next(fruits, now_ns, &ticket, &slot, &deadline_ns), CRN_NEXT_RUN);
    assert_int_equal(slot, 100);
    assert_int_equal(deadline_ns, CRN_FRUIT_START + 60 * CRN_FRUIT_MS - CRN_FRUIT_GUARD);
    assert_true(end(ticket));
    judge(1, CRN_VERDICT_COMPLETE);

    /* Less time is left than the 1 ms that a view takes: it is discarded, and the fruit has no
     * other view to wait for. */
    arrive(2, 0, 1, CRN_FRUIT_START + 60 * CRN_FRUIT_MS);
    now_ns = CRN_FRUIT_START + 60 * CRN_FRUIT_MS - CRN_FRUIT_GUARD - 1 * CRN_FRUIT_MS + 1;
    expect_not_due();
    assert_int_equal(crn_fruits_next(fruits, now_ns, &ticket, &slot, &deadline_ns),
                     CRN_NEXT_DISCARD);
    assert_int_equal(slot, 101);
    judge(2, CRN_VERDICT_LATE);
    assert_int_equal(crn_fruits_get_stats(fruits)->discarded, 1);
    assert_int_equal(crn_fruits_next(fruits, now_ns, &ticket, &slot, &deadline_ns), CRN_NEXT_NONE);
    expect_sums(0);
}

static void test_due_comes_earliest_deadline_first(void **state)
{
    (void)state;
    arrive(1, 0, 1, CRN_FRUIT_NEVER);
    arrive(2, 0, 1, CRN_FRUIT_START + 80 * CRN_FRUIT_MS);
    arrive(3, 0, 1, CRN_FRUIT_START + 90 * CRN_FRUIT_MS);
    arrive(4, 0, 2, CRN_FRUIT_START + 85 * CRN_FRUIT_MS);
    crn_ticket first = begin();
    assert_int_equal(first.fruit, 1); /* table index of fruit 2 */
    assert_true(end(first));
    crn_ticket second = begin(), third = begin();
    assert_true(end(third));
    now_ns = CRN_FRUIT_START + 85 * CRN_FRUIT_MS - CRN_FRUIT_GUARD;
    judge(2, CRN_VERDICT_COMPLETE); /* done, deadline at 80 */
    judge(4, CRN_VERDICT_LATE);     /* its deadline - guard is now */
    judge(3, CRN_VERDICT_COMPLETE); /* done, deadline at 90 */
    expect_not_due();
    assert_false(end(second));
    run_all();
    judge(1, CRN_VERDICT_COMPLETE);
}

static void test_oldest_is_forced_when_the_table_is_full(void **state)
{
    (void)state;
    crn_ticket ticket;
    for (uint64_t fruit = 0; fruit < 8; fruit++) {
        now_ns += 1 * CRN_FRUIT_MS;
        arrive(fruit, 0, 2, CRN_FRUIT_NEVER);
    }
    assert_int_equal(arrive_as(header_of(1, 1, 0, 1, 2), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_WANTED);
    expect_not_due(); /* a view of an open fruit forces none out */
    for (uint64_t fruit = 8; fruit < 40; fruit++) {
        now_ns += 1 * CRN_FRUIT_MS;
        arrive(fruit, 0, 2, CRN_FRUIT_NEVER);
        const crn_fruit *due = expect_due(fruit - 8);
        assert_true(due->closed_ns == now_ns || fruit == 8);
        judge(fruit - 8, CRN_VERDICT_LATE);
        expect_not_due();
        assert_int_equal(crn_fruits_open(fruits), 8);
    }
    assert_int_equal(crn_fruits_get_stats(fruits)->forced, 32);
}

static void test_forced_fruit_is_judged_with_what_it_has(void **state)
{
    (void)state;
    arrive(0, 0, 2, CRN_FRUIT_NEVER);
    run_all();
    arrive(0, 1, 2, CRN_FRUIT_NEVER);
    for (uint64_t fruit = 1; fruit < 9; fruit++)
        arrive(fruit, 0, 2, CRN_FRUIT_NEVER);
    assert_int_equal(expect_due(0)->views[1].state, CRN_VIEW_QUEUED);
    judge(0, CRN_VERDICT_PARTIAL);
    assert_int_equal(crn_fruits_get_stats(fruits)->discarded, 1);
    expect_sums(8);
}

static void test_a_due_fruit_makes_room_without_force(void **state)
{
    (void)state;
    for (uint64_t fruit = 0; fruit < 8; fruit++)
        arrive(fruit, 0, 1, CRN_FRUIT_NEVER);
    crn_ticket running = begin();
    assert_true(end(running));
    arrive(8, 0, 2, CRN_FRUIT_NEVER);
    judge(0, CRN_VERDICT_COMPLETE);
    expect_not_due();
    assert_int_equal(crn_fruits_get_stats(fruits)->forced, 0);
    assert_int_equal(crn_fruits_open(fruits), 8);
}

static void test_without_judging_there_is_no_place(void **state)
{
    (void)state;
    crn_ticket ticket;
    for (uint64_t fruit = 0; fruit < 9; fruit++)
        arrive(fruit, 0, 2, CRN_FRUIT_NEVER);
    assert_int_equal(arrive_as(header_of(1, 1, 9, 0, 2), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_TABLE_FULL);
    assert_int_equal(crn_fruits_get_stats(fruits)->table_full, 1);
    judge(0, CRN_VERDICT_LATE);
    arrive(9, 0, 2, CRN_FRUIT_NEVER);
    judge(1, CRN_VERDICT_LATE);
    expect_sums(8);
}

static int short_budget(void **state)
{
    (void)state;
    return bench_start(&(crn_fruit_rules){.open_fruits = 4,
                                          .judged_fruits = 1024,
                                          .views = 4,
                                          .workers = 1,
                                          .budget_ns = CRN_FRUIT_GUARD / 2,
                                          .assemble_ns = 10 * CRN_FRUIT_MS,
                                          .guard_ns = CRN_FRUIT_GUARD});
}

static void test_guard_beyond_the_budget_is_due_at_close(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    wake_at(CRN_FRUIT_START + 10 * CRN_FRUIT_MS);
    assert_int_equal(expect_due(1)->closed_ns, CRN_FRUIT_START + 10 * CRN_FRUIT_MS);
    judge(1, CRN_VERDICT_LATE);
    arrive(2, 0, 1, CRN_FRUIT_NEVER);
    judge(2, CRN_VERDICT_LATE);
}

static int no_assembly(void **state)
{
    (void)state;
    return bench_start(&(crn_fruit_rules){.open_fruits = 4,
                                          .judged_fruits = 1024,
                                          .views = 4,
                                          .workers = 1,
                                          .budget_ns = CRN_FRUIT_BUDGET,
                                          .guard_ns = CRN_FRUIT_GUARD});
}

static void test_no_time_to_assemble_closes_with_the_first_view(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    assert_int_equal(crn_fruits_wake_ns(fruits),
                     CRN_FRUIT_START + CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD);
    run_all();
    assert_int_equal(expect_due(1)->closed_ns, CRN_FRUIT_START);
    judge(1, CRN_VERDICT_PARTIAL);
}

static void test_end_closes_all_and_caps_deadlines(void **state)
{
    (void)state;
    arrive(1, 0, 1, CRN_FRUIT_NEVER);
    begin();
    now_ns += 10 * CRN_FRUIT_MS;
    arrive(2, 0, 2, CRN_FRUIT_NEVER);
    arrive(3, 0, 4, CRN_FRUIT_NEVER);
    crn_ticket second = begin();
    assert_true(end(second));
    now_ns += 10 * CRN_FRUIT_MS;
    crn_fruits_end(fruits, now_ns, now_ns + 50 * CRN_FRUIT_MS);
    assert_int_equal(expect_due(2)->closed_ns, now_ns);
    assert_int_equal(expect_due(2)->closed_by, CRN_CLOSE_STOP);
    judge(2, CRN_VERDICT_PARTIAL);
    wake_at(CRN_FRUIT_START + 70 * CRN_FRUIT_MS - CRN_FRUIT_GUARD);
    assert_int_equal(expect_due(1)->closed_ns, CRN_FRUIT_START);
    assert_int_equal(expect_due(1)->deadline_ns, CRN_FRUIT_START + 70 * CRN_FRUIT_MS);
    judge(1, CRN_VERDICT_LATE);
    assert_int_equal(expect_due(3)->closed_ns, CRN_FRUIT_START + 20 * CRN_FRUIT_MS);
    judge(3, CRN_VERDICT_LATE);
    assert_int_equal(crn_fruits_wake_ns(fruits), CRN_FRUIT_NEVER);

    now_ns = CRN_FRUIT_START + 30 * CRN_FRUIT_MS;
    arrive(4, 0, 4, CRN_FRUIT_NEVER); /* was in flight: closes at once */
    run_all();
    assert_int_equal(expect_due(4)->closed_by, CRN_CLOSE_STOP);
    judge(4, CRN_VERDICT_PARTIAL);
}

static void test_end_later_than_the_deadlines_leaves_them(void **state)
{
    (void)state;
    arrive(1, 0, 1, CRN_FRUIT_NEVER);
    begin();
    arrive(2, 0, 2, CRN_FRUIT_START + 40 * CRN_FRUIT_MS);
    now_ns += 20 * CRN_FRUIT_MS;
    crn_fruits_end(fruits, now_ns, now_ns + 1000 * CRN_FRUIT_MS);
    wake_at(CRN_FRUIT_START + 40 * CRN_FRUIT_MS - CRN_FRUIT_GUARD);
    judge(2, CRN_VERDICT_LATE);
    wake_at(CRN_FRUIT_START + CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD);
    judge(1, CRN_VERDICT_LATE);
}

static void test_end_already_past_makes_all_due(void **state)
{
    (void)state;
    for (uint64_t fruit = 0; fruit < 5; fruit++)
        arrive(fruit, 0, 2, CRN_FRUIT_NEVER);
    crn_fruits_end(fruits, now_ns, now_ns);
    for (uint64_t fruit = 0; fruit < 5; fruit++)
        judge(fruit, CRN_VERDICT_LATE);
    expect_not_due();
    expect_sums(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRN_ON_BENCH(test_nothing_open_never_wakes),
        CRN_ON_BENCH(test_last_expected_view_closes),
        CRN_ON_BENCH(test_time_closes_as_of_its_time),
        CRN_ON_BENCH(test_closed_by_time_waits_for_what_runs),
        CRN_ON_BENCH(test_view_between_close_and_verdict_is_credited),
        CRN_ON_BENCH(test_unknown_count_closes_by_time_alone),
        CRN_ON_BENCH(test_a_fruit_that_is_set_aside_waits_until_its_deadline),
        CRN_ON_BENCH(test_unknown_count_with_a_loss_is_partial),
        CRN_ON_BENCH(test_earlier_header_deadline_wins),
        CRN_ON_BENCH(test_later_header_deadline_changes_nothing),
        CRN_ON_BENCH(test_earliest_of_several_header_deadlines_counts),
        CRN_ON_BENCH(test_header_deadline_before_the_close),
        CRN_ON_BENCH(test_header_deadline_past_closes_and_is_due_at_once),
        CRN_ON_BENCH(test_later_view_with_a_deadline_past_closes_its_fruit),
        CRN_ON_BENCH(test_views_of_a_due_fruit_are_not_run),
        CRN_ON_BENCH(test_next_hands_out_slot_and_deadline),
        CRN_ON_BENCH(test_due_comes_earliest_deadline_first),
        CRN_ON_BENCH(test_oldest_is_forced_when_the_table_is_full),
        CRN_ON_BENCH(test_forced_fruit_is_judged_with_what_it_has),
        CRN_ON_BENCH(test_a_due_fruit_makes_room_without_force),
        CRN_ON_BENCH(test_without_judging_there_is_no_place),
        cmocka_unit_test_setup_teardown(test_guard_beyond_the_budget_is_due_at_close, short_budget,
                                        bench_tear_down),
        cmocka_unit_test_setup_teardown(test_no_time_to_assemble_closes_with_the_first_view,
                                        no_assembly, bench_tear_down),
        CRN_ON_BENCH(test_end_closes_all_and_caps_deadlines),
        CRN_ON_BENCH(test_end_later_than_the_deadlines_leaves_them),
        CRN_ON_BENCH(test_end_already_past_makes_all_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
