/* When batches are polled. */
#include "src/engine/poll_times.h"

#include "tests/support/cmocka_prelude.h"

#define BEGUN (1000 * CRN_NS_PER_S)

static void a_usual_batch_is_polled_when_it_is_nearly_done(void **state)
{
    (void)state;
    int64_t poll_ns = crn_poll_first_ns(BEGUN, 800 * CRN_NS_PER_US);
    assert_int_equal(poll_ns - BEGUN, 700 * CRN_NS_PER_US);
    assert_int_equal(crn_poll_next_ns(BEGUN, poll_ns) - poll_ns, 20 * CRN_NS_PER_US);
}

/* Polled at these times, a batch is seen to end at most 1/60 of its duration after it did, however
 * long the batches before it took, and after few polls. */
static void a_stall_before_it_does_not_delay_a_batch(void **state)
{
    (void)state;
    for (int64_t took_ns = CRN_NS_PER_MS; took_ns < 100 * CRN_NS_PER_S; took_ns *= 3) {
        int64_t poll_ns = crn_poll_first_ns(BEGUN, 20 * CRN_NS_PER_S);
        int polls = 1;
        for (; poll_ns < BEGUN + took_ns; polls++)
            poll_ns = crn_poll_next_ns(BEGUN, poll_ns);
        int64_t latest_ns = took_ns + took_ns / 60;
        assert_true(poll_ns - BEGUN <=
                    (latest_ns > CRN_POLL_LATEST_NS ? latest_ns : CRN_POLL_LATEST_NS));
        assert_in_range(polls, 1, 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_usual_batch_is_polled_when_it_is_nearly_done),
        cmocka_unit_test(a_stall_before_it_does_not_delay_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
