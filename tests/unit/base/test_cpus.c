/* Lists of CPUs in the kernel's notation. */
#include <errno.h>
#include <string.h>

#include "stages/base/process/cpus.h"
#include "tests/support/cmocka_prelude.h"

static void lists_are_read_and_written(void **state)
{
    static const struct {
        const char *text, *same;
        int count;
    } lists[] = {{"", "none", 0},       {"0", "0", 1},       {"0-3,8", "0-3,8", 5},
                 {"8,1,2", "1-2,8", 3}, {"1023", "1023", 1}, {"0-1023", "0-1023", 1024},
                 {"3,3,2-4", "2-4", 3}, {"5-5", "5", 1},     {"0,2,4,6", "0,2,4,6", 4}};
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cpu_set_t cpus;
        char text[CRN_CPUS_TEXT];
        assert_int_equal(crn_cpus_parse(lists[i].text, &cpus), 0);
        assert_int_equal(CPU_COUNT(&cpus), lists[i].count);
        assert_string_equal(crn_cpus_text(&cpus, text), lists[i].same);
    }
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {",",
                                        "1,",
                                        ",1",
                                        "1,,2",
                                        "-1",
                                        "1-",
                                        "3-1",
                                        "a",
                                        "1a",
                                        " 1",
                                        "1024",
                                        "0-1024",
                                        "1 2",
                                        "0x1",
                                        "+1",
                                        "1-2-3",
                                        "99999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(7, &cpus);
        assert_int_equal(crn_cpus_parse(texts[i], &cpus), -EINVAL);
        assert_true(CPU_COUNT(&cpus) == 1 && CPU_ISSET(7, &cpus));
    }
}

static void a_long_list_is_cut(void **state)
{
    (void)state;
    cpu_set_t cpus;
    char text[CRN_CPUS_TEXT];
    CPU_ZERO(&cpus);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu += 2)
        CPU_SET(cpu, &cpus);
    crn_cpus_text(&cpus, text);
    assert_true(strlen(text) < CRN_CPUS_TEXT);
    assert_string_equal(text + strlen(text) - 3, "...");
}

static void a_slice_is_a_share(void **state)
{
    (void)state;
    cpu_set_t cpus, slice;
    char text[CRN_CPUS_TEXT];
    assert_int_equal(crn_cpus_parse("2-4,8-10", &cpus), 0);
    slice = crn_cpus_slice(&cpus, 2, 2);
    assert_string_equal(crn_cpus_text(&slice, text), "4,8");
    slice = crn_cpus_slice(&cpus, 6, 2);
    assert_string_equal(crn_cpus_text(&slice, text), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_and_written),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(a_long_list_is_cut),
        cmocka_unit_test(a_slice_is_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
