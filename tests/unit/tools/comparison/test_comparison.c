/* Two runs, fruit by fruit: sums and confusion tables of random verdicts counted in two ways, and
 * the fruits that changed most. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/made_verdict.h"
#include "tools/common/comparison/changes.h"

#define FRUITS 60

static crn_random random_numbers;

/* --- sums --- */

static void expect_sums(const crn_run_changes *changes, const crn_made_sums *sums)
{
    uint64_t late[CRN_COMPARED_RUNS] = {0, 0};
    for (int kind = 0; kind < CRN_CHANGED_KINDS; kind++) {
        late[CRN_BEFORE] += changes->kinds[CRN_VERDICT_LATE][kind];
        late[CRN_AFTER] += changes->kinds[kind][CRN_VERDICT_LATE];
    }
    assert_int_equal(changes->fruits, FRUITS);
    for (int run = 0; run < CRN_COMPARED_RUNS; run++) {
        assert_int_equal(late[run], sums[run].late);
        for (uint32_t i = 0; i < changes->class_count; i++) {
            const crn_class_changes *class = &changes->classes[i];
            int made = 0;
            while (strcmp(crn_made_classes[made], class->name) != 0)
                made++;
            uint64_t found = class->fruits[1][1] + class->fruits[!run][run];
            assert_int_equal(found, sums[run].found[made]);
            assert_true(fabs(class->area_px[run] - sums[run].area_px[made]) <= 0);
        }
    }
}

/* The fruit of the largest change among those left, the first of equal ones; FRUITS: there is none.
 */
static size_t find_most(const crn_fruit_change *change, const bool *is_taken, bool any_kind,
                        bool kind_differs)
{
    size_t most = FRUITS;
    for (size_t i = 0; i < FRUITS; i++)
        if (!is_taken[i] && (any_kind || change[i].kind_differs == kind_differs) &&
            (most == FRUITS || change[i].changed_px > change[most].changed_px))
            most = i;
    return most;
}

/* Ten with another kind of verdict, and then the largest changes of all; among equal changes it is
 * not said here which. */
static void expect_worst(const crn_run_changes *changes, const crn_fruit_change *change)
{
    bool is_taken[FRUITS] = {false};
    double sum = 0, expected = 0;
    for (int i = 0; i < CRN_WORST_MAX; i++) {
        size_t most = find_most(change, is_taken, i >= CRN_WORST_OF_KIND, true);
        if (most == FRUITS)
            most = find_most(change, is_taken, true, true);
        is_taken[most] = true;
        expected += change[most].changed_px;
    }
    assert_int_equal(changes->worst_count, CRN_WORST_MAX);
    for (uint32_t i = 0; i < CRN_WORST_MAX; i++) {
        const crn_worst_fruit *worst = changes->worst[i];
        assert_int_equal(worst->order, worst->fruit);
        sum += change[worst->fruit].changed_px;
        if (i == 0)
            continue;
        const crn_worst_fruit *before = changes->worst[i - 1];
        assert_true(before->change.kind_differs >= worst->change.kind_differs);
        if (before->change.kind_differs != worst->change.kind_differs)
            continue;
        assert_true(before->change.changed_px >= worst->change.changed_px);
        if (before->change.changed_px <= worst->change.changed_px)
            assert_true(before->order < worst->order);
    }
    assert_true(fabs(sum - expected) < 1e-6);
}

static double changed_px(const crn_verdict_pair *p)
{
    double sum = 0;
    for (int class = 0; class < CRN_MADE_CLASSES; class ++) {
        double area[CRN_COMPARED_RUNS] = {0, 0};
        for (int run = 0; run < CRN_COMPARED_RUNS; run++)
            for (uint32_t i = 0; i < p->verdict[run]->defect_count; i++)
                if (!strcmp(p->verdict[run]->defects[i].name, crn_made_classes[class]))
                    area[run] += p->verdict[run]->defects[i].area_px;
        sum += fabs(area[CRN_AFTER] - area[CRN_BEFORE]);
    }
    return sum;
}

static void sums_are_those_of_the_verdicts(void **state)
{
    (void)state;
    random_numbers = (crn_random){crn_random_seed()};
    for (uint32_t round = 0; round < crn_random_cases(50); round++) {
        crn_made_sums sums[CRN_COMPARED_RUNS] = {{0}, {0}};
        crn_run_changes *changes = crn_run_changes_create();
        static crn_fruit_change changed[FRUITS];
        for (uint64_t i = 0; i < FRUITS; i++) {
            crn_verdict_pair p = {0};
            crn_fruit_change change;
            crn_worst_fruit *worst;
            crn_verdict_pair_make(&p, &random_numbers, i, sums);
            crn_fruit_change_find(p.verdict[0], p.verdict[1], 0, &change);
            double px = changed_px(&p);
            assert_true(fabs(change.changed_px - px) <= 0);
            assert_int_equal(change.areas_differ, px > 0);
            assert_int_equal(change.kind_differs, p.verdict[0]->kind != p.verdict[1]->kind);
            if (i % 7 == 0) /* some are equal */
                change.changed_px = 1e6;
            changed[i] = change;
            crn_compared_fruit fruit = {3, 0, i, 1, &change};
            assert_int_equal(crn_run_changes_add(changes, &fruit, &worst), 0);
            crn_verdict_pair_drop(&p);
        }
        expect_sums(changes, sums);
        expect_worst(changes, changed);
        crn_run_changes_free(&changes);
    }
}

static uint32_t add_made(crn_run_changes *changes, uint64_t number, bool kind_differs, double px)
{
    crn_fruit_change change = {.kind_differs = kind_differs, .changed_px = px};
    crn_compared_fruit fruit = {0, 0, number, 1, &change};
    crn_worst_fruit *worst;
    change.kind[CRN_AFTER] = kind_differs ? CRN_VERDICT_PARTIAL : CRN_VERDICT_COMPLETE;
    assert_int_equal(crn_run_changes_add(changes, &fruit, &worst), 0);
    return worst != NULL;
}

/* Whatever its area; of many a part, so that there is room for others. */
static void another_verdict_is_among_the_worst(void **state)
{
    (void)state;
    crn_run_changes *changes = crn_run_changes_create();
    for (uint64_t i = 0; i < 30; i++)
        add_made(changes, i, false, 100 + (double)i);
    assert_int_equal(add_made(changes, 30, true, 0), 1);
    assert_int_equal(changes->worst_count, CRN_WORST_MAX);
    assert_int_equal(changes->worst[0]->fruit, 30);
    assert_int_equal(changes->worst[1]->fruit, 29);
    assert_int_equal(changes->worst[CRN_WORST_MAX - 1]->fruit, 11);
    for (uint64_t i = 31; i < 60; i++)
        add_made(changes, i, true, 0);
    assert_int_equal(changes->worst[CRN_WORST_OF_KIND - 1]->fruit, 39);
    assert_int_equal(changes->worst[CRN_WORST_OF_KIND]->fruit, 29);
    assert_int_equal(add_made(changes, 60, true, 1000), 1); /* instead of one of its own kind */
    assert_int_equal(changes->worst[0]->fruit, 60);
    assert_int_equal(changes->worst[CRN_WORST_OF_KIND]->fruit, 29);
    assert_int_equal(changes->worst[CRN_WORST_MAX - 1]->fruit, 20);
    crn_run_changes_free(&changes);
}

/* Whatever its area, as one of another verdict. */
static void another_outlet_is_among_the_worst(void **state)
{
    (void)state;
    crn_run_changes *changes = crn_run_changes_create();
    crn_fruit_change change = {.outlet = {0, 1}, .outlet_differs = true};
    crn_compared_fruit fruit = {0, 0, 99, 1, &change};
    crn_worst_fruit *worst;
    for (uint64_t i = 0; i < CRN_WORST_MAX; i++)
        add_made(changes, i, false, 100);
    assert_int_equal(crn_run_changes_add(changes, &fruit, &worst), 0);
    assert_int_equal(changes->worst[0]->fruit, 99);
    assert_int_equal(changes->outlets.fruits[0][1], 1);
    assert_int_equal(changes->outlets.fruits[0][0], CRN_WORST_MAX);
    assert_int_equal(changes->moved[0].fruit, 99);
    crn_run_changes_free(&changes);
}

/* --- one fruit --- */

static crn_decoded *measured(const char *class, double area_mm2)
{
    crn_decoded *verdict = calloc(1, sizeof *verdict);
    verdict->surface.is_measured = true;
    verdict->surface.measure_count = class != NULL;
    if (class) {
        crn_decoded_measure *measure = &verdict->surface.measures[0];
        *measure = (crn_decoded_measure){.count = 2, .area_mm2 = area_mm2, .longest_mm = 7};
        strcpy(measure->name, class);
    }
    return verdict;
}

static void what_was_measured_and_not_found_is_zero(void **state)
{
    (void)state;
    crn_decoded *before = measured("rot", 12.5), *after = measured(NULL, 0);
    crn_fruit_change change;
    crn_fruit_change_find(before, after, 0, &change);
    assert_int_equal(change.class_count, 1);
    assert_true(fabs(change.classes[0].run[CRN_BEFORE].area_mm2 - 12.5) <= 0);
    assert_true(fabs(change.classes[0].run[CRN_BEFORE].longest_mm - 7) <= 0);
    assert_true(fabs(change.classes[0].run[CRN_AFTER].area_mm2) <= 0);
    assert_true(fabs(change.classes[0].run[CRN_AFTER].spots) <= 0);
    after->surface.is_measured = false;
    crn_fruit_change_find(before, after, 0, &change);
    assert_true(isnan(change.classes[0].run[CRN_AFTER].area_mm2));
    crn_decoded_free(&before);
    crn_decoded_free(&after);
}

/* A verdict that is not there, classes that only one run has, areas within the tolerance. */
static void one_run_may_lack_what_the_other_has(void **state)
{
    (void)state;
    crn_decoded *verdict = calloc(1, sizeof *verdict), *other = calloc(1, sizeof *other);
    crn_fruit_change change;
    verdict->total_count = other->total_count = 1;
    verdict->totals[0] = (crn_decoded_total){"rot", 1, 10, NAN};
    other->totals[0] = (crn_decoded_total){"rust", 1, 10, NAN};
    crn_fruit_change_find(NULL, verdict, 0, &change);
    assert_string_equal(crn_changed_kind_name(change.kind[CRN_BEFORE]), "none");
    assert_true(change.kind_differs);
    crn_fruit_change_find(verdict, other, 0, &change);
    assert_int_equal(change.class_count, 2);
    assert_true(change.classes_differ && !change.kind_differs);
    assert_true(fabs(change.changed_px - 20) <= 0);
    other->totals[0] = (crn_decoded_total){"rot", 1, 10.25, NAN};
    crn_fruit_change_find(verdict, other, 0.25, &change);
    assert_false(change.areas_differ);
    crn_fruit_change_find(verdict, other, 0.2, &change);
    assert_true(change.areas_differ && !change.classes_differ);
    other->totals[0].area_px = NAN;
    crn_fruit_change_find(verdict, other, 1000, &change);
    assert_true(change.areas_differ && fabs(change.changed_px) <= 0);
    verdict->total_count = other->total_count = 2; /* too large to be added */
    verdict->totals[0] = (crn_decoded_total){"rot", 1, 1e308, NAN};
    verdict->totals[1] = (crn_decoded_total){"rust", 1, 1e308, NAN};
    other->totals[0] = (crn_decoded_total){"rot", 1, 0, NAN};
    other->totals[1] = (crn_decoded_total){"rust", 1, 0, NAN};
    crn_fruit_change_find(verdict, other, 0, &change);
    assert_true(fabs(change.changed_px - 1e308) <= 0);
    crn_decoded_free(&verdict);
    crn_decoded_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_verdicts),
        cmocka_unit_test(another_verdict_is_among_the_worst),
        cmocka_unit_test(another_outlet_is_among_the_worst),
        cmocka_unit_test(what_was_measured_and_not_found_is_zero),
        cmocka_unit_test(one_run_may_lack_what_the_other_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
