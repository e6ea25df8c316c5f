/* The charts, fruit by fruit: what raises them, what ends it, and what must not. CRN_CASES is the
 * number of random lines. */
#include <math.h>

#include "src/monitor/drift/feed.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/unit/monitor/drift/drift_simulation.h"

enum { LANES = 4, KNOWN = 10000 }; /* fruits of a lane before something changes */

static void pass(simulated_line *line, int fruits)
{
    for (int i = 0; i < fruits; i++)
        pass_fruits(line);
}

static void open_line(simulated_line *line, int32_t lanes)
{
    open_simulated(line, 7, lanes, 2, CRN_DRIFT_FRUITS);
    set_shares(line, 0.1);
}

static void one_lane_that_changes_is_raised_and_ends(void **state)
{
    (void)state;
    simulated_line line;
    open_line(&line, LANES);
    pass(&line, KNOWN);
    assert_false(finds(&line, -2));
    line.shares[2][1] = 0.25;
    pass(&line, 1000);
    assert_true(finds(&line, 3));
    assert_int_equal(line.findings->count, 1);
    const crn_drift_finding *finding = &line.findings->at[0];
    assert_int_equal(finding->class, 1);
    assert_true(fabs(finding->usual - 0.1) < 0.01 && fabs(finding->share - 0.25) < 0.03);
    assert_in_range(finding->fruits, 900, 1100);
    line.shares[2][1] = 0.1;
    pass(&line, 1500);
    assert_false(finds(&line, -2));
    close_simulated(&line);
}

/* What was wrong for long has not become what is compared with. */
static void the_end_of_a_long_fault_raises_nothing(void **state)
{
    (void)state;
    for (int32_t lanes = 1; lanes <= 3; lanes++) {
        simulated_line line;
        open_line(&line, lanes);
        pass(&line, KNOWN);
        line.shares[0][0] = 0;
        pass(&line, 3 * KNOWN);
        assert_true(finds(&line, lanes > 1 ? 1 : -1));
        assert_int_equal(line.findings->count, 1);
        line.shares[0][0] = 0.1;
        pass(&line, 1500);
        for (int i = 0; i < KNOWN; i++) {
            pass(&line, 1);
            assert_false(finds(&line, -2));
        }
        close_simulated(&line);
    }
}

static void fewer_defects_are_raised_too(void **state)
{
    (void)state;
    simulated_line line;
    open_line(&line, LANES);
    pass(&line, KNOWN);
    line.shares[0][0] = 0;
    pass(&line, 1000);
    assert_true(finds(&line, 1));
    assert_true(line.findings->at[0].share < 0.01);
    close_simulated(&line);
}

/* Also from the lot's first fruit on. */
static void a_lane_that_differs_from_its_neighbours_is_raised(void **state)
{
    (void)state;
    for (int32_t lanes = 2; lanes <= 12; lanes++) {
        simulated_line line;
        open_line(&line, lanes);
        line.shares[0][0] = 0.3;
        begin_lot(&line, 1);
        for (int i = 0; i < 600; i++) {
            pass(&line, 10);
            if (finds(&line, -2))
                assert_int_equal(line.findings->count, 1);
        }
        assert_true(finds(&line, lanes > 2 ? 1 : -2)); /* two differ from each other */
        close_simulated(&line);
    }
}

/* Whatever is wrong with one lane, the others are not told for it, seldom or often defects are. */
static void the_others_are_not_told_for_one_that_differs(void **state)
{
    (void)state;
    static const double shares[][2] = {{0.6, 0.1}, {0.9, 0.2}, {0.4, 0.02}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        for (int32_t lanes = 3; lanes <= 6; lanes++) {
            simulated_line line;
            open_line(&line, lanes);
            set_shares(&line, shares[i][1]);
            line.shares[0][0] = shares[i][0];
            for (int part = 0; part < 3000; part++) {
                pass(&line, 10);
                finds(&line, -2);
                for (int32_t k = 0; k < line.findings->count; k++)
                    assert_int_equal(line.findings->at[k].lane, 1);
            }
            assert_int_equal(line.findings->count, 1);
            close_simulated(&line);
        }
}

/* Cameras are not all alike. */
static void a_lane_that_always_differs_by_little_is_not_raised(void **state)
{
    (void)state;
    simulated_line line;
    open_line(&line, LANES);
    line.shares[0][0] = 0.13;
    line.shares[1][1] = 0.087;
    for (int part = 0; part < 4000; part++) {
        pass(&line, 100);
        assert_false(finds(&line, -2));
    }
    close_simulated(&line);
}

static void a_new_lot_raises_nothing(void **state)
{
    (void)state;
    simulated_line line;
    open_line(&line, LANES);
    for (uint64_t lot = 1; lot <= 40; lot++) {
        begin_lot(&line, lot);
        set_shares(&line, lot % 2 ? 0.4 : 0.02);
        for (int part = 0; part < 50; part++) {
            pass(&line, 100);
            assert_false(finds(&line, -2));
        }
    }
    close_simulated(&line);
}

/* So do other levels. */
static void other_settings_raise_nothing(void **state)
{
    (void)state;
    simulated_line line;
    open_line(&line, LANES);
    pass(&line, KNOWN);
    line.fruit.settings = 8;
    line.fruit.looked_for = 1;
    set_shares(&line, 0.4);
    pass(&line, KNOWN);
    assert_false(finds(&line, -2));
    close_simulated(&line);
}

/* Fruits that were open when the lot changed. */
static void stragglers_do_not_begin_a_lot_again(void **state)
{
    (void)state;
    simulated_line line;
    open_line(&line, LANES);
    pass(&line, KNOWN);
    begin_lot(&line, 2);
    pass(&line, 1);
    for (int i = 0; i < 50; i++) {
        begin_lot(&line, 0);
        set_shares(&line, 1);
        pass(&line, 1);
        begin_lot(&line, 2);
        set_shares(&line, 0.1);
        pass(&line, KNOWN / 50);
    }
    line.shares[2][1] = 0.25;
    pass(&line, 1000);
    assert_true(finds(&line, 3));
    assert_true(fabs(line.findings->at[0].usual - 0.1) < 0.01);
    begin_lot(&line, 0); /* the one before, for good */
    pass(&line, 2 * KNOWN);
    line.shares[2][1] = 0.5;
    pass(&line, 1000);
    assert_true(finds(&line, 3));
    close_simulated(&line);
}

static void what_changes_on_all_lanes_is_the_lot(void **state)
{
    (void)state;
    for (int32_t lanes = 1; lanes <= 9; lanes += 4) {
        simulated_line line;
        open_line(&line, lanes);
        pass(&line, KNOWN);
        for (int32_t lane = 0; lane < lanes; lane++)
            line.shares[lane][0] = 0.2;
        bool lot = false;
        for (int i = 0; i < 3000 && !lot; i++) {
            pass(&line, 1);
            lot = finds(&line, -1);
            assert_true(lot || line.findings->count == 0);
        }
        assert_true(lot);
        assert_int_equal(line.findings->count, 1);
        close_simulated(&line);
    }
}

/* Other fruit is no fault where lots are not named. */
static void without_a_lot_lanes_are_compared_alone(void **state)
{
    (void)state;
    simulated_line line;
    open_line(&line, LANES);
    line.fruit.lot[0] = '\0';
    pass(&line, KNOWN);
    set_shares(&line, 0.2);
    for (int i = 0; i < KNOWN; i++) {
        pass(&line, 1);
        assert_false(finds(&line, -2));
    }
    line.shares[3][0] = 0.5;
    pass(&line, 1000);
    assert_true(finds(&line, 4));
    close_simulated(&line);
}

/* A lane that was freed for another leaves nothing behind. */
static void a_place_of_another_lane_begins_anew(void **state)
{
    (void)state;
    simulated_line line;
    open_line(&line, 3);
    pass(&line, KNOWN);
    line.shares[0][0] = 0.3;
    pass(&line, 1000);
    assert_true(finds(&line, 1));
    line.fruit.index = 0;
    line.fruit.lane = 99;
    crn_drift_charts_add(line.charts, &line.fruit);
    assert_false(finds(&line, 1));
    assert_false(finds(&line, 99));
    close_simulated(&line);
}

/* Whatever comes: figures are figures, of lanes and classes that there are. */
static void random_lines_make_sense(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    for (uint32_t number = crn_random_cases(20); number > 0; number--) {
        simulated_line line;
        open_simulated(&line, crn_random_next(&random), 1 + (int32_t)crn_random_below(&random, 5),
                       1 + (int32_t)crn_random_below(&random, 5),
                       1 + crn_random_below(&random, 100));
        for (int part = 0; part < 300; part++) {
            set_shares(&line, crn_random_below(&random, 5) / 4.0);
            line.shares[crn_random_below(&random, 5)][crn_random_below(&random, 5)] =
                crn_random_unit(&random);
            if (crn_random_once_in(&random, 8))
                begin_lot(&line, crn_random_below(&random, 3));
            if (crn_random_once_in(&random, 16))
                line.fruit.lot[0] = '\0';
            if (crn_random_once_in(&random, 16))
                line.fruit.settings = crn_random_below(&random, 3);
            if (crn_random_once_in(&random, 8))
                line.fruit.looked_for =
                    crn_random_once_in(&random, 2) ? crn_random_next(&random) : 0;
            pass(&line, (int)crn_random_below(&random, 2000));
            line.fruit.found = crn_random_next(&random);
            line.fruit.lane = crn_random_below(&random, 9);
            line.fruit.index = (int32_t)crn_random_below(&random, (uint32_t)line.lanes + 2) - 1;
            crn_drift_charts_add(line.charts, &line.fruit);
            finds(&line, 0);
            assert_in_range(line.findings->count, 0, line.lanes + 1);
            for (int32_t i = 0; i < line.findings->count; i++) {
                const crn_drift_finding *finding = &line.findings->at[i];
                assert_true(finding->usual > 0 && finding->usual < 1);
                assert_true(finding->share >= 0 && finding->share <= 1);
                assert_true(finding->fruits > 0 && finding->lane >= -1);
                assert_in_range(finding->class, 0, CRN_CLASSES_MAX - 1);
            }
        }
        close_simulated(&line);
    }
}

/* --- from verdicts --- */

static void verdicts_become_fruits(void **state)
{
    (void)state;
    static crn_config config;
    crn_drift *drift;
    crn_lane lanes[LANES];
    crn_class_total totals[CRN_CLASSES_MAX] = {{0}};
    crn_random random = {11};
    config.classes.count = 2;
    config.classes.level[0] = NAN;
    config.classes.level[1] = 0.5F;
    assert_int_equal(crn_drift_create(LANES, &drift), 0);
    for (int32_t i = 0; i < 3 * LANES * KNOWN; i++) {
        crn_lane *lane = &lanes[i % LANES];
        *lane = (crn_lane){.index = i % LANES, .number = 10 + (uint32_t)i % LANES};
        crn_fruit fruit = {.lane = lane, .config = &config, .lot = "4711"};
        crn_published published = {.totals = totals};
        bool is_bad = i > 2 * LANES * KNOWN && lane->index == 1;
        totals[0].count = 1; /* not looked for */
        totals[1].count = crn_random_below(&random, 10) < (is_bad ? 3 : 1);
        crn_drift_offer(drift, &fruit, &published);
        published.facts.kind = CRN_VERDICT_LATE;
        totals[1].count = 1;
        crn_drift_offer(drift, &fruit, &published);
        published = (crn_published){.totals = totals, .facts.without_defects = true};
        crn_drift_offer(drift, &fruit, &published);
        published.totals = NULL;
        crn_drift_offer(drift, &fruit, &published);
        if (i % 1000 == 0 && crn_drift_look(drift)->count > 0)
            break;
    }
    const crn_drift_findings *findings = crn_drift_look(drift);
    assert_int_equal(findings->count, 1);
    assert_int_equal(findings->at[0].lane, 11);
    assert_int_equal(findings->at[0].class, 1);
    assert_true(fabs(findings->at[0].usual - 0.1) < 0.01);
    crn_drift_free(&drift);
    crn_drift_free(&drift);
}

static void a_full_ring_loses_fruits_alone(void **state)
{
    (void)state;
    static crn_config config;
    crn_drift *drift;
    crn_lane lane = {.index = 0, .number = 1};
    crn_class_total totals[CRN_CLASSES_MAX] = {{0}};
    crn_fruit fruit = {.lane = &lane, .config = &config};
    crn_published published = {.totals = totals};
    config.classes.count = 1;
    assert_int_equal(crn_drift_create(1, &drift), 0);
    for (int i = 0; i < 100000; i++)
        crn_drift_offer(drift, &fruit, &published);
    assert_int_equal(crn_drift_look(drift)->count, 0);
    crn_drift_offer(drift, &fruit, &published);
    assert_int_equal(crn_drift_look(drift)->count, 0);
    crn_drift_free(&drift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_lane_that_changes_is_raised_and_ends),
        cmocka_unit_test(the_end_of_a_long_fault_raises_nothing),
        cmocka_unit_test(fewer_defects_are_raised_too),
        cmocka_unit_test(a_lane_that_differs_from_its_neighbours_is_raised),
        cmocka_unit_test(the_others_are_not_told_for_one_that_differs),
        cmocka_unit_test(a_lane_that_always_differs_by_little_is_not_raised),
        cmocka_unit_test(a_new_lot_raises_nothing),
        cmocka_unit_test(other_settings_raise_nothing),
        cmocka_unit_test(stragglers_do_not_begin_a_lot_again),
        cmocka_unit_test(what_changes_on_all_lanes_is_the_lot),
        cmocka_unit_test(without_a_lot_lanes_are_compared_alone),
        cmocka_unit_test(a_place_of_another_lane_begins_anew),
        cmocka_unit_test(random_lines_make_sense),
        cmocka_unit_test(verdicts_become_fruits),
        cmocka_unit_test(a_full_ring_loses_fruits_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
