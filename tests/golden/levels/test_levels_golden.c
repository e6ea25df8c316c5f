/* Precision, recall and suggested levels against numpy's: make_levels.py. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/workbench/levels/curve.h"

static crn_curve read_items(FILE *file, int items)
{
    crn_curve curve = {0};
    for (int i = 0; i < items; i++) {
        int highest, has_defect;
        assert_int_equal(fscanf(file, "%d %d", &highest, &has_defect), 2);
        crn_curve_label(&curve, has_defect);
        for (int at = 0; at <= highest; at++)
            crn_curve_find(&curve, at, has_defect);
    }
    return curve;
}

static void expect_share(double share, double wanted, double tolerance, const char *what, int at)
{
    if (isnan(share) != isnan(wanted) || (!isnan(wanted) && fabs(share - wanted) > tolerance))
        fail_msg("%s at %d: %.17g, not %.17g", what, at, share, wanted);
}

static void expect_case(FILE *file, int items)
{
    crn_curve curve = read_items(file, items);
    for (int at = 0; at < CRN_LEVEL_COUNT; at++) {
        double precision, recall, f1;
        assert_int_equal(fscanf(file, "%lf %lf %lf", &precision, &recall, &f1), 3);
        expect_share(crn_curve_precision(&curve, at), precision, 0, "precision", at);
        expect_share(crn_curve_recall(&curve, at), recall, 0, "recall", at);
        expect_share(crn_curve_f1(&curve, at), f1, 1e-15, "F1", at); /* in another order */
    }
    int wanted;
    assert_int_equal(fscanf(file, " best %d at_recall", &wanted), 1);
    assert_int_equal(crn_curve_best(&curve), wanted);
    for (int at = 0; at < CRN_LEVEL_COUNT; at++) {
        assert_int_equal(fscanf(file, "%d", &wanted), 1);
        if (crn_curve_at_recall(&curve, crn_level_at(at)) != wanted)
            fail_msg("recall %d %%: %d, not %d", at, crn_curve_at_recall(&curve, crn_level_at(at)),
                     wanted);
    }
}

static void curves_are_numpys(void **state)
{
    (void)state;
    FILE *file = fopen(CRN_TEST_DATA "/golden/levels/levels.txt", "r");
    assert_non_null(file);
    int items, cases = 0;
    for (; fscanf(file, " case %d", &items) == 1; cases++)
        expect_case(file, items);
    assert_true(feof(file));
    assert_int_equal(cases, 7);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(curves_are_numpys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
