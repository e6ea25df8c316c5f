/* Lists of lanes, as ingest.lanes has them. */
#include <errno.h>
#include <string.h>

#include "stages/config/config.h"
#include "tests/support/cmocka_prelude.h"

static void test_numbers_and_ranges(void **state)
{
    (void)state;
    static crn_lane_ranges lanes;
    static const crn_texts texts = {.count = 4, .item = {"0", "7", "40-49", "50 , 60-4294967295"}};
    assert_int_equal(crn_lane_ranges_parse(&texts, &lanes), 0);
    assert_int_equal(lanes.count, 5);
    static const uint32_t listed[] = {0, 7, 40, 45, 49, 50, 60, UINT32_MAX};
    static const uint32_t others[] = {1, 6, 8, 39, 51, 59};
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        assert_true(crn_lane_ranges_have(&lanes, listed[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(crn_lane_ranges_have(&lanes, others[i]));
}

static void test_what_is_no_list(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",    "-1",         "1-", "1,",           ",1", "1-2-3", "2-1", "0x1",
        "1 2", "4294967296", "a",  "1-4294967296", "+1", " ",     "1;2", "18446744073709551616"};
    static crn_texts texts;
    static crn_lane_ranges ranges;
    assert_int_equal(crn_lane_ranges_parse(&texts, &ranges), 0);
    assert_true(crn_lane_ranges_have(&ranges, 0)); /* no list: any */
    texts.count = 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        strcpy(texts.item[0], bad[i]);
        assert_int_equal(crn_lane_ranges_parse(&texts, &ranges), -EINVAL);
    }
    texts.count = 3;
    for (int i = 0; i < 3; i++) /* 100 each */
        for (int j = 0; j < 100; j++)
            strcpy(texts.item[i] + 2 * j, j < 99 ? "1," : "1");
    assert_int_equal(crn_lane_ranges_parse(&texts, &ranges), -EINVAL);
    texts.count = 2;
    assert_int_equal(crn_lane_ranges_parse(&texts, &ranges), 0);
    assert_int_equal(ranges.count, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_and_ranges),
        cmocka_unit_test(test_what_is_no_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
