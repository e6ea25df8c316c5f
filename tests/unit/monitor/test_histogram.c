/* Histograms: their edges, counts and quantiles. */
#include <string.h>

#include "src/monitor/histogram.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"

static void one_edge_is_the_budget(void **state)
{
    (void)state;
    for (crn_histogram_scale scale = 0; scale < CRN_SCALES; scale++) {
        for (int64_t ms = 1; ms <= 60000; ms += ms < 2000 ? 1 : 977) {
            crn_histogram_edges edges = crn_histogram_edges_of(scale, ms * CRN_NS_PER_MS);
            int budgets = 0;
            for (int i = 0; i < CRN_HISTOGRAM_EDGES; i++) {
                budgets += edges.ns[i] == ms * CRN_NS_PER_MS;
                assert_true(edges.ns[i] > (i ? edges.ns[i - 1] : 0));
            }
            assert_int_equal(budgets, 1);
        }
    }
}

static void edges_have_three_digits(void **state)
{
    (void)state;
    crn_histogram_edges edges = crn_histogram_edges_of(CRN_SCALE_FRUIT, 100 * CRN_NS_PER_MS);
    assert_int_equal(edges.ns[0], 1460000);
    assert_int_equal(edges.ns[CRN_HISTOGRAM_EDGES - 1], 655000000);
    edges = crn_histogram_edges_of(CRN_SCALE_VIEW, 100 * CRN_NS_PER_MS);
    assert_int_equal(edges.ns[0], 24400);
    assert_int_equal(edges.ns[CRN_HISTOGRAM_EDGES - 1], 200000000);
}

/* A duration equal to an edge counts as within it, as Prometheus' `le` says. */
static void the_budget_itself_is_within(void **state)
{
    (void)state;
    int64_t budget_ns = 100 * CRN_NS_PER_MS;
    crn_histogram_edges edges = crn_histogram_edges_of(CRN_SCALE_FRUIT, budget_ns);
    crn_histogram histogram = {{0}, 0};
    crn_histogram_add(&histogram, &edges, budget_ns);
    crn_histogram_add(&histogram, &edges, budget_ns + 1);
    assert_int_equal(histogram.count[9], 1);
    assert_int_equal(histogram.count[10], 1);
    assert_int_equal(histogram.sum_ns, 2 * budget_ns + 1);
}

static void what_lies_outside_is_counted_too(void **state)
{
    (void)state;
    crn_histogram_edges edges = crn_histogram_edges_of(CRN_SCALE_FRUIT, CRN_NS_PER_MS);
    crn_histogram histogram = {{0}, 0}, sum = {{0}, 0};
    crn_histogram_add(&histogram, &edges, -5);
    crn_histogram_add(&histogram, &edges, INT64_MIN);
    crn_histogram_add(&histogram, &edges, CRN_NS_PER_S);
    assert_int_equal(histogram.count[0], 2);
    assert_int_equal(histogram.count[CRN_HISTOGRAM_EDGES], 1);
    assert_int_equal(histogram.sum_ns, CRN_NS_PER_S);
    crn_histogram_merge(&sum, &histogram);
    crn_histogram_merge(&sum, &histogram);
    assert_int_equal(crn_histogram_count(&sum), 6);
    assert_int_equal(sum.sum_ns, 2 * CRN_NS_PER_S);
}

static void quantiles_are_interpolated(void **state)
{
    (void)state;
    crn_histogram_edges edges = crn_histogram_edges_of(CRN_SCALE_VIEW, 64 * CRN_NS_PER_MS);
    crn_histogram histogram = {{0}, 0};
    assert_true(crn_histogram_quantile_ns(&histogram, &edges, 0.5) < 0);
    for (int i = 0; i < 100; i++) /* 32 to 64 ms */
        crn_histogram_add(&histogram, &edges, 50 * CRN_NS_PER_MS);
    assert_true(crn_histogram_quantile_ns(&histogram, &edges, 0.5) == 48e6);
    assert_true(crn_histogram_quantile_ns(&histogram, &edges, 1) == 64e6);
    crn_histogram_add(&histogram, &edges, CRN_NS_PER_S);
    assert_true(crn_histogram_quantile_ns(&histogram, &edges, 1) == 128e6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_edge_is_the_budget),
        cmocka_unit_test(edges_have_three_digits),
        cmocka_unit_test(the_budget_itself_is_within),
        cmocka_unit_test(what_lies_outside_is_counted_too),
        cmocka_unit_test(quantiles_are_interpolated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
