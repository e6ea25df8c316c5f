/* Quantiles of durations: buckets, interpolation, differences. */
#include <math.h>
#include <stdlib.h>

#include "src/monitor/quantiles.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

#define MS        INT64_C(1000000)
#define BUDGET_NS (100 * MS)

static int32_t bucket_of(int64_t reference_ns, int64_t ns)
{
    crn_quantiles quantiles = {.reference_ns = reference_ns};
    crn_quantiles_add(&quantiles, ns);
    assert_int_equal(crn_quantiles_count(&quantiles), 1);
    for (int32_t i = 0; i <= CRN_QUANTILES_EDGES; i++)
        if (quantiles.count[i])
            return i;
    return -1;
}

static void the_reference_is_an_edge(void **state)
{
    (void)state;
    static const int64_t references[] = {1, 7, MS, 33 * MS, BUDGET_NS, 10000 * MS};
    for (size_t r = 0; r < sizeof references / sizeof *references; r++) {
        int32_t at = bucket_of(references[r], references[r]);
        crn_quantiles quantiles = {.reference_ns = references[r]};
        assert_true(crn_quantiles_edge_ns(&quantiles, at) == (double)references[r]);
        assert_true(bucket_of(references[r], references[r] + 1) > at);
    }
}

static void a_duration_lies_between_the_edges_of_its_bucket(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    const crn_quantiles empty = {.reference_ns = BUDGET_NS};
    for (int round = 0; round < 20000; round++) {
        int64_t ns = (int64_t)(exp2(15 + 17 * crn_random_unit(&random)));
        int32_t at = bucket_of(BUDGET_NS, ns);
        assert_in_range(at, 1, CRN_QUANTILES_EDGES - 1);
        assert_true(crn_quantiles_edge_ns(&empty, at - 1) * (1 - 1e-12) < (double)ns);
        assert_true(crn_quantiles_edge_ns(&empty, at) * (1 + 1e-12) >= (double)ns);
    }
}

static void the_first_and_the_last_bucket_take_the_rest(void **state)
{
    (void)state;
    assert_int_equal(bucket_of(BUDGET_NS, INT64_MIN), 0);
    assert_int_equal(bucket_of(BUDGET_NS, 0), 0);
    assert_int_equal(bucket_of(BUDGET_NS, 1), 0);
    assert_int_equal(bucket_of(BUDGET_NS, BUDGET_NS << CRN_QUANTILES_ABOVE),
                     CRN_QUANTILES_EDGES - 1);
    assert_int_equal(bucket_of(BUDGET_NS, (BUDGET_NS << CRN_QUANTILES_ABOVE) + 1),
                     CRN_QUANTILES_EDGES);
    assert_int_equal(bucket_of(1, INT64_MAX), CRN_QUANTILES_EDGES);
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Against the sorted durations: quantiles are right to one bucket, 9 %. */
static void quantiles_are_right_to_a_bucket(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static int64_t all[COUNT];
    crn_random random = {crn_random_seed()};
    crn_quantiles quantiles = {.reference_ns = BUDGET_NS};
    for (int i = 0; i < COUNT; i++) {
        all[i] = (int64_t)(MS * exp2(7 * crn_random_unit(&random)));
        crn_quantiles_add(&quantiles, all[i]);
    }
    qsort(all, COUNT, sizeof *all, compare);
    for (int percent = 1; percent <= 99; percent++) {
        double found = crn_quantiles_at_ns(&quantiles, percent / 100.0);
        double exact = (double)all[COUNT * percent / 100];
        assert_true(found > exact / 1.1 && found < exact * 1.1);
    }
}

static void it_interpolates_within_a_bucket(void **state)
{
    (void)state;
    crn_quantiles quantiles = {.reference_ns = BUDGET_NS};
    for (int i = 0; i < 100; i++)
        crn_quantiles_add(&quantiles, BUDGET_NS);
    int32_t at = bucket_of(BUDGET_NS, BUDGET_NS);
    double from = crn_quantiles_edge_ns(&quantiles, at - 1);
    assert_true(crn_quantiles_at_ns(&quantiles, 1) == BUDGET_NS);
    assert_true(fabs(crn_quantiles_at_ns(&quantiles, 0.5) - (from + BUDGET_NS) / 2) < 1);
    assert_true(crn_quantiles_at_ns(&quantiles, 0) == from);
}

static void above_all_edges_the_last_one_stands(void **state)
{
    (void)state;
    crn_quantiles quantiles = {.reference_ns = BUDGET_NS};
    assert_true(crn_quantiles_at_ns(&quantiles, 0.5) == 0);
    crn_quantiles_add(&quantiles, INT64_MAX);
    assert_true(crn_quantiles_at_ns(&quantiles, 0.5) == BUDGET_NS * 64.0);
}

static void a_difference_holds_what_came_between(void **state)
{
    (void)state;
    crn_quantiles quantiles = {.reference_ns = BUDGET_NS};
    for (int i = 0; i < 1000; i++)
        crn_quantiles_add(&quantiles, 50 * MS);
    crn_quantiles before = quantiles;
    crn_quantiles_add(&quantiles, 4 * MS);
    crn_quantiles_add(&quantiles, 4 * MS);
    crn_quantiles since = crn_quantiles_since(&quantiles, &before);
    assert_int_equal(crn_quantiles_count(&since), 2);
    assert_true(fabs(crn_quantiles_at_ns(&since, 0.99) / (4 * MS) - 1) < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_an_edge),
        cmocka_unit_test(a_duration_lies_between_the_edges_of_its_bucket),
        cmocka_unit_test(the_first_and_the_last_bucket_take_the_rest),
        cmocka_unit_test(quantiles_are_right_to_a_bucket),
        cmocka_unit_test(it_interpolates_within_a_bucket),
        cmocka_unit_test(above_all_edges_the_last_one_stands),
        cmocka_unit_test(a_difference_holds_what_came_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
