/* Per-view records of a fruit: times of arrival, start and loss, and the reason. */
#include "tests/unit/fruit/fruit_bench.h"

static const crn_fruit_view *view_of(crn_ticket ticket)
{
    const crn_fruit *fruit = crn_fruits_due(fruits, now_ns);
    assert_non_null(fruit);
    return &fruit->views[ticket.view];
}

static void expect_lost(crn_ticket ticket, crn_view_reason reason, int64_t received_ns,
                        int64_t begun_ns, int64_t lost_ns)
{
    const crn_fruit_view *view = view_of(ticket);
    assert_int_equal(view->state, CRN_VIEW_LOST);
    assert_int_equal(view->reason, reason);
    assert_int_equal(view->received_ns, received_ns);
    assert_int_equal(view->begun_ns, begun_ns);
    assert_int_equal(view->lost_ns, lost_ns);
    assert_int_equal(view->captured_ns, 2000 + ticket.view);
    assert_int_equal(view->encoder, 1000 + ticket.view);
}

static void test_a_judged_view(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    now_ns += 3 * CRN_FRUIT_MS;
    crn_ticket ticket = arrive(1, 1, 2, CRN_FRUIT_NEVER);
    now_ns += 4 * CRN_FRUIT_MS;
    run_all();
    const crn_fruit_view *view = view_of(ticket);
    assert_int_equal(view->state, CRN_VIEW_JUDGED);
    assert_int_equal(view->reason, CRN_REASON_NONE);
    assert_int_equal(view->received_ns, CRN_FRUIT_START + 3 * CRN_FRUIT_MS);
    assert_int_equal(view->begun_ns, CRN_FRUIT_START + 7 * CRN_FRUIT_MS);
    assert_int_equal(view->lost_ns, 0);
    assert_int_equal(view->captured_ns, 2001);
    assert_int_equal(view->encoder, 1001);
    judge(1, CRN_VERDICT_COMPLETE);
}

static void test_views_without_a_slot(void **state)
{
    (void)state;
    crn_ticket first = arrive(1, 0, 2, CRN_FRUIT_NEVER), second;
    now_ns += 5 * CRN_FRUIT_MS;
    uint32_t slot;
    crn_ticket whole = arrive(2, 0, 2, CRN_FRUIT_NEVER);
    now_ns += 1 * CRN_FRUIT_MS;
    arrive_as(header_of(1, 1, 1, 1, 2), CRN_FRUIT_NEVER, &second);
    /* A view of the younger fruit is evicted in favour of the older one's. */
    assert_true(crn_fruits_evict(fruits, second, &slot));
    assert_true(crn_fruits_queue(fruits, second, slot));
    crn_ticket none;
    now_ns += 1 * CRN_FRUIT_MS;
    arrive_as(header_of(1, 1, 2, 1, 2), CRN_FRUIT_NEVER, &none);
    crn_fruits_lose(fruits, none);
    expect_lost(whole, CRN_REASON_NO_SLOT, CRN_FRUIT_START + 5 * CRN_FRUIT_MS, 0,
                CRN_FRUIT_START + 6 * CRN_FRUIT_MS);
    expect_lost(none, CRN_REASON_NO_SLOT, CRN_FRUIT_START + 7 * CRN_FRUIT_MS, 0,
                CRN_FRUIT_START + 7 * CRN_FRUIT_MS);
    judge(2, CRN_VERDICT_LATE);
    run_all();
    assert_int_equal(view_of(first)->state, CRN_VIEW_JUDGED);
    judge(1, CRN_VERDICT_COMPLETE);
}

static void test_views_that_the_engine_gives_back(void **state)
{
    (void)state;
    static const crn_view_reason reasons[] = {CRN_REASON_UNFINISHED, CRN_REASON_FAILED,
                                              CRN_REASON_DEVICE_LOST};
    for (uint64_t i = 0; i < 3; i++) {
        int64_t received_ns = now_ns;
        arrive(i, 0, 1, CRN_FRUIT_NEVER);
        now_ns += 2 * CRN_FRUIT_MS;
        crn_ticket running = begin();
        now_ns += 30 * CRN_FRUIT_MS;
        assert_true(crn_fruits_done(fruits, running, NULL, reasons[i], now_ns));
        expect_lost(running, reasons[i], received_ns, received_ns + 2 * CRN_FRUIT_MS, now_ns);
        judge(i, CRN_VERDICT_LATE);
    }
    assert_int_equal(crn_fruits_get_stats(fruits)->unfinished, 1);
    assert_int_equal(crn_fruits_get_stats(fruits)->failed, 1);
    assert_int_equal(crn_fruits_get_stats(fruits)->device_lost, 1);
    expect_sums(0);
}

static void test_a_view_that_cannot_end_in_time(void **state)
{
    (void)state;
    arrive(1, 0, 1, CRN_FRUIT_NEVER);
    crn_judgement slow = {.cost_ns = 90 * CRN_FRUIT_MS};
    assert_true(crn_fruits_done(fruits, begin(), &slow, CRN_REASON_NONE, now_ns));
    judge(1, CRN_VERDICT_COMPLETE);
    crn_ticket hopeless = arrive(2, 0, 1, CRN_FRUIT_NEVER), given_up;
    int64_t received_ns = now_ns, deadline_ns;
    now_ns += 20 * CRN_FRUIT_MS;
    uint32_t slot;
    assert_int_equal(crn_fruits_next(fruits, now_ns, &given_up, &slot, &deadline_ns),
                     CRN_NEXT_DISCARD);
    expect_lost(hopeless, CRN_REASON_DISCARDED, received_ns, 0, now_ns);
    judge(2, CRN_VERDICT_LATE);
}

static int senders_slots_from_101(void **state)
{
    (void)state;
    crn_fruit_rules rules = bench_rules;
    rules.ring_slots = 101;
    return bench_start(&rules);
}

/* It would not become free for a view that lies elsewhere, and the maps would be gone. */
static void test_a_senders_slot_is_held_until_the_verdict(void **state)
{
    (void)state;
    uint32_t slot = 0;
    crn_ticket of_sender, own;
    own = arrive(1, 0, 2, CRN_FRUIT_NEVER);
    of_sender = arrive(1, 1, 2, CRN_FRUIT_NEVER);
    run_all();
    assert_true(crn_fruits_hold_slot(fruits, of_sender));
    assert_false(crn_fruits_take_slot(fruits, &slot));
    assert_true(crn_fruits_hold_slot(fruits, own));
    assert_true(crn_fruits_take_slot(fruits, &slot));
    assert_int_equal(slot, 100);
    assert_false(crn_fruits_take_slot(fruits, &slot));
    assert_false(view_of(own)->holds_slot);
    assert_true(view_of(of_sender)->holds_slot);
    judge(1, CRN_VERDICT_COMPLETE);
    assert_false(crn_fruits_take_slot(fruits, &slot));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRN_ON_BENCH(test_a_judged_view),
        CRN_ON_BENCH(test_views_without_a_slot),
        CRN_ON_BENCH(test_views_that_the_engine_gives_back),
        CRN_ON_BENCH(test_a_view_that_cannot_end_in_time),
        cmocka_unit_test_setup_teardown(test_a_senders_slot_is_held_until_the_verdict,
                                        senders_slots_from_101, bench_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
