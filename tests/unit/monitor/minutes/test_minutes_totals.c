/* Fruits by class for metrics: their number is bounded, and their sum is that of all. */
#include <stdio.h>
#include <string.h>

#include "src/monitor/minutes/totals.h"
#include "tests/support/cmocka_prelude.h"

static crn_minutes_totals totals;

static int set_up(void **state)
{
    (void)state;
    totals = (crn_minutes_totals){0};
    return 0;
}

/* One fruit with it for each of these classes; returns the sums. */
static crn_minutes_total add_classes(uint32_t count)
{
    crn_minutes_total sum = {.looked_for = 0};
    for (uint32_t i = 0; i < count; i++) {
        char name[CRN_CLASS_NAME_MAX];
        snprintf(name, sizeof name, "class %u", i);
        crn_minutes_totals_add(&totals, name, 3, 1);
    }
    for (int32_t i = 0; i < totals.count; i++) {
        sum.looked_for += totals.classes[i].looked_for;
        sum.fruits += totals.classes[i].fruits;
    }
    return sum;
}

static void expect_different_names(void)
{
    for (int32_t i = 0; i < totals.count; i++)
        for (int32_t k = 0; k < i; k++)
            assert_string_not_equal(totals.classes[i].name, totals.classes[k].name);
}

static void classes_without_end_are_bounded(void **state)
{
    (void)state;
    crn_minutes_total sum = add_classes(1000);
    assert_int_equal(totals.count, CRN_CLASSES_MAX + 1);
    assert_int_equal(sum.fruits, 1000);
    assert_int_equal(sum.looked_for, 3000);
    assert_int_equal(totals.classes[CRN_CLASSES_MAX].fruits, 1000 - CRN_CLASSES_MAX);
    expect_different_names();
}

/* A class of a line that has this name. */
static void a_class_named_other_has_no_second_sample(void **state)
{
    (void)state;
    crn_minutes_totals_add(&totals, CRN_MINUTES_OTHER_CLASSES, 3, 1);
    crn_minutes_total sum = add_classes(1000);
    assert_int_equal(totals.count, CRN_CLASSES_MAX);
    assert_int_equal(sum.fruits, 1001);
    expect_different_names();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(classes_without_end_are_bounded, set_up),
        cmocka_unit_test_setup(a_class_named_other_has_no_second_sample, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
