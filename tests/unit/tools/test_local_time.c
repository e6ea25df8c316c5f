/* Times of day as users write them. */
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tools/common/local_time.h"

static void what_is_printed_is_read(void **state)
{
    (void)state;
    char text[CRN_LOCAL_TIME_BYTES];
    uint64_t time_ns, hour_ns = 3600 * (uint64_t)CRN_NS_PER_S;
    assert_true(crn_local_time_parse("2026-02-28 10:20:30", &time_ns));
    crn_local_time_print(time_ns, text);
    assert_string_equal(text, "2026-02-28 10:20:30");
    assert_true(crn_local_time_parse("2028-02-29T12:00", &time_ns));
    crn_local_time_print(time_ns + hour_ns, text);
    assert_string_equal(text, "2028-02-29 13:00:00");
}

static void what_is_no_time_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "now",
                                        "25:00",
                                        "10:60",
                                        "2026-13-01",
                                        "2026-02-29",
                                        "2026-02-30T10:00",
                                        "2026-04-31 10:00:00",
                                        "2026-11-23T10:00Z",
                                        "1790000000"};
    uint64_t time_ns;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (crn_local_time_parse(texts[i], &time_ns))
            fail_msg("'%s'", texts[i]);
}

/* Later than nanoseconds in 64 bits can say. */
static void a_time_far_ahead_is_still_ahead(void **state)
{
    (void)state;
    uint64_t now_ns, time_ns;
    assert_true(crn_local_time_parse("2500-01-01", &now_ns));
    assert_true(crn_local_time_parse("2999-01-01", &time_ns));
    assert_true(time_ns > now_ns);
    assert_true(crn_local_time_parse("1969-01-01", &time_ns));
    assert_int_equal(time_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_is_read),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(a_time_far_ahead_is_still_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
