/* Conditions of lanes: belts that pause, lanes that come and go, and what one hides of others. */
#include "tests/unit/monitor/conditions/condition_fixture.h"

static void pass_seconds(watch_fixture *f, int seconds)
{
    for (int second = 0; second < seconds; second++) {
        pass_second(f);
        look(f);
    }
}

/* The condition of that lane (CRN_NO_LANE: of the line), or NULL. */
static const crn_condition_held *find_held(const watch_fixture *f, const char *id, int64_t lane)
{
    const crn_condition_list *list = crn_condition_watch_list(f->watch);
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->at[i].row->id, id) == 0 && list->at[i].values.lane == lane)
            return &list->at[i];
    return NULL;
}

/* A line of so many lanes that none has listed. */
static void use_lanes(watch_fixture *f, int32_t lanes)
{
    free(f->now);
    f->now = calloc(1, crn_snapshot_bytes(lanes));
    assert_non_null(f->now);
    crn_condition_watch_free(&f->watch);
    f->config.limits.lanes = lanes;
    assert_int_equal(crn_condition_watch_create(&f->config, f->now_ns, count_told, f, &f->watch),
                     0);
    f->now->levels.senders = f->now->metrics.publish.graders = 1;
    f->now->lane_count = lanes;
    for (int32_t i = 0; i < lanes; i++) {
        f->now->lanes[i].number = (uint32_t)i + 1;
        f->now->lanes[i].meters.serial = (uint64_t)i + 1;
    }
}

/* --- silence --- */

static void a_belt_that_stands_raises_nothing(void **state)
{
    watch_fixture *f = *state;
    for (int second = 0; second < 600; second++) {
        f->belt_stands = second / 60 % 2 == 1;
        pass_seconds(f, 1);
        assert_int_equal(crn_condition_watch_list(f->watch)->count, 0);
    }
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 0);
    assert_string_equal(crn_conditions_level(crn_condition_watch_list(f->watch)), "good");
}

/* The first fruit after a pause comes on one lane; the others' come some seconds later. */
static void lanes_that_resume_one_after_another_are_not_silent(void **state)
{
    watch_fixture *f = *state;
    for (int pause_s = 3; pause_s <= 3000; pause_s *= 10) {
        pass_seconds(f, LONG_TIME);
        f->idle = 7;
        pass_seconds(f, pause_s);
        f->idle = 6;
        pass_seconds(f, 2);
        f->idle = 4;
        pass_seconds(f, 2);
        f->idle = 0;
    }
    pass_seconds(f, LONG_TIME);
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 0);
}

static void a_lane_that_stays_away_after_a_pause_is_silent_within_ten_seconds(void **state)
{
    watch_fixture *f = *state;
    pass_seconds(f, LONG_TIME);
    f->idle = 7;
    pass_seconds(f, 600);
    f->idle = 2;
    pass_seconds(f, 10);
    assert_non_null(find_held(f, "lane_silent", 2));
    f->idle = 0;
    pass_seconds(f, 10);
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 1);
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 1);
}

/* A start three hours before the shift. */
static void a_long_wait_does_not_make_silence_usual(void **state)
{
    watch_fixture *f = *state;
    f->now->lane_count = 0;
    pass_seconds(f, 3 * 3600);
    f->now->lane_count = LANES;
    pass_seconds(f, LONG_TIME);
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 0);
    f->idle = 2;
    pass_seconds(f, 10);
    assert_non_null(find_held(f, "lane_silent", 2));
}

/* Fruits come in groups, with pauses that are shorter than what counts as silence. */
static void a_silent_lane_is_told_although_the_belt_pauses_often(void **state)
{
    watch_fixture *f = *state;
    pass_seconds(f, LONG_TIME);
    for (int round = 0; round < 10; round++) {
        f->idle = 2;
        pass_seconds(f, 3);
        f->idle = 7;
        pass_seconds(f, 3);
    }
    assert_non_null(find_held(f, "lane_silent", 2));
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 1);
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 0);
}

/* Lane 2 is dead; the belt moves for so long, then stands. */
static void move_and_stand(watch_fixture *f, int moves_s, int stands_s)
{
    f->idle = 2;
    pass_seconds(f, moves_s);
    f->idle = 7;
    pass_seconds(f, stands_s);
}

static void a_lane_that_is_silent_stays_so_while_the_belt_stands(void **state)
{
    watch_fixture *f = *state;
    pass_seconds(f, LONG_TIME);
    for (int round = 0; round < 20; round++)
        move_and_stand(f, 20, 10);
    assert_non_null(find_held(f, "lane_silent", 2));
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 1);
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 0);
    f->idle = 0;
    pass_seconds(f, 10);
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 1);
}

/* As at the end of a shift, where it ran empty first. */
static void a_silent_lane_is_over_once_the_belt_rests(void **state)
{
    watch_fixture *f = *state;
    pass_seconds(f, LONG_TIME);
    move_and_stand(f, 20, LONG_TIME - 10);
    assert_non_null(find_held(f, "lane_silent", 2));
    pass_seconds(f, 20);
    assert_null(find_held(f, "lane_silent", 2));
    move_and_stand(f, 20, 0);
    assert_non_null(find_held(f, "lane_silent", 2));
}

static void a_dead_lane_of_a_belt_that_moves_for_seconds_only_is_silent(void **state)
{
    watch_fixture *f = *state;
    pass_seconds(f, LONG_TIME);
    for (int round = 0; round < 4; round++)
        move_and_stand(f, 4, 10);
    assert_non_null(find_held(f, "lane_silent", 2));
    for (int round = 0; round < 20; round++)
        move_and_stand(f, 4, 10);
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 1);
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 0);
}

/* Of each lot the last fruits are on lane 1, and the first ones of the next, too. */
static void lanes_that_empty_and_fill_one_after_another_are_not_silent(void **state)
{
    watch_fixture *f = *state;
    for (int lot = 0; lot < 10; lot++) {
        f->idle = 6;
        pass_seconds(f, 4);
        f->idle = 0;
        pass_seconds(f, LONG_TIME);
        f->idle = 6;
        pass_seconds(f, 4);
        f->idle = 7;
        pass_seconds(f, LONG_TIME);
    }
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 0);
}

/* The last fruit before a pause, and the first after it, are on a lane that has few. */
static void a_pause_between_fruits_of_a_sparse_lane_does_not_accuse_the_others(void **state)
{
    watch_fixture *f = *state;
    f->pause_ns[1] = 7 * CRN_NS_PER_S;
    for (int round = 0; round < 5; round++) {
        pass_seconds(f, LONG_TIME);
        f->idle = 5;
        pass_seconds(f, 1);
        f->idle = 7;
        pass_seconds(f, 30);
        f->idle = 5;
        pass_seconds(f, 1);
        f->idle = 0;
    }
    pass_seconds(f, LONG_TIME);
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 0);
}

/* --- lanes that are listed --- */

/* A reload with other lanes in ingest.lanes. */
static void list_lanes(watch_fixture *f, uint32_t first, uint32_t last)
{
    f->now->settings.lanes = (crn_lane_ranges){.count = 1, .at = {{first, last}}};
}

static void a_lane_that_is_taken_off_the_list_is_not_missed(void **state)
{
    watch_fixture *f = *state;
    f->now->lane_count = 2; /* lane 3 was never seen */
    f->idle = 2;
    pass_seconds(f, 20);
    assert_non_null(find_held(f, "lane_never_seen", 3));
    list_lanes(f, 1, 2);
    pass_seconds(f, 2);
    assert_null(find_held(f, "lane_never_seen", 3));
}

static void a_lane_that_was_seen_and_is_taken_off_the_list_is_not_silent(void **state)
{
    watch_fixture *f = *state;
    pass_seconds(f, LONG_TIME);
    f->idle = 4;
    pass_seconds(f, 20);
    assert_non_null(find_held(f, "lane_silent", 3));
    list_lanes(f, 1, 2);
    pass_seconds(f, 2);
    assert_null(find_held(f, "lane_silent", 3));
    pass_seconds(f, LONG_TIME);
    list_lanes(f, 1, 3);
    pass_seconds(f, 4);
    assert_null(find_held(f, "lane_silent", 3));
    pass_seconds(f, 6);
    assert_non_null(find_held(f, "lane_silent", 3));
}

static void a_lane_that_a_reload_lists_is_missed(void **state)
{
    watch_fixture *f = *state;
    pass_seconds(f, LONG_TIME);
    list_lanes(f, 1, 4);
    pass_seconds(f, 7);
    assert_null(find_held(f, "lane_never_seen", 4));
    pass_seconds(f, 3);
    assert_non_null(find_held(f, "lane_never_seen", 4));
}

/* A fruit on one lane before the belt stops, and the next ones after it. */
static void a_belt_that_stands_after_the_first_fruit_misses_no_lane(void **state)
{
    watch_fixture *f = *state;
    f->now->lane_count = 1;
    pass_seconds(f, 1);
    for (int stop = 0; stop < 3; stop++) {
        f->idle = 1;
        pass_seconds(f, LONG_TIME);
        f->idle = 0;
        pass_seconds(f, 2);
    }
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 0);
    pass_seconds(f, 8);
    assert_non_null(find_held(f, "lane_never_seen", 2));
    assert_non_null(find_held(f, "lane_never_seen", 3));
    f->idle = 1;
    pass_seconds(f, LONG_TIME); /* of those that are missed, nothing says that they are not */
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 2);
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 0);
}

/* --- one lane does not hide another --- */

static void late_views_of_one_lane_do_not_hide_the_missing_ones_of_another(void **state)
{
    watch_fixture *f = *state;
    for (int second = 0; second < LONG_TIME; second++) {
        f->now->lanes[0].meters.missing++;
        f->now->metrics.fruits.stragglers++;
        f->now->lanes[1].meters.missing += 10;
        pass_seconds(f, 1);
    }
    assert_non_null(find_held(f, "views_late", CRN_NO_LANE));
    assert_non_null(find_held(f, "views_missing", 2));
    assert_null(find_held(f, "views_missing", 1));
}

/* When the CNN of one is proven, that of the other is said as before, and not anew. */
static void each_unproven_lane_is_said(void **state)
{
    watch_fixture *f = *state;
    f->now->lanes[0].is_unproven = f->now->lanes[2].is_unproven = true;
    pass_seconds(f, 10);
    assert_non_null(find_held(f, "unproven", 1));
    assert_null(find_held(f, "unproven", 2));
    assert_non_null(find_held(f, "unproven", 3));
    f->now->lanes[0].is_unproven = false;
    pass_seconds(f, 10);
    assert_null(find_held(f, "unproven", 1));
    assert_non_null(find_held(f, "unproven", 3));
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 2);
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 1);
}

static void lanes_with_two_faults_leave_room_for_what_is_worse(void **state)
{
    watch_fixture *f = *state;
    enum { MANY = 64 };
    use_lanes(f, MANY);
    for (int second = 0; second < LONG_TIME; second++) {
        for (int i = 0; i < MANY; i++) {
            f->now->lanes[i].values.frozen++;
            f->now->lanes[i].meters.gaps++;
        }
        f->now->metrics.publish.graders = second < LONG_TIME / 2;
        pass_seconds(f, 1);
    }
    assert_string_equal(crn_condition_watch_list(f->watch)->at[0].row->id, "no_grader");
}

/* --- lanes that come and go --- */

/* What was refused of a lane counts among other lanes' once the lane is freed; it is long past. */
static void a_lane_that_is_freed_leaves_nothing_that_was_refused(void **state)
{
    watch_fixture *f = *state;
    f->now->lanes[1].stats.refused.count[CRN_WIRE_CLASS_SET] = 500;
    pass_seconds(f, LONG_TIME);
    const int raised = f->told[CRN_CONDITION_RAISED];
    f->now->metrics.refused_elsewhere.count[CRN_WIRE_CLASS_SET] = 500;
    f->now->lanes[1] = (crn_lane_snapshot){.number = 2, .meters.serial = 77};
    f->now->metrics.lanes_freed = 1;
    pass_seconds(f, LONG_TIME);
    assert_int_equal(f->told[CRN_CONDITION_RAISED], raised);
    f->now->metrics.refused_elsewhere.count[CRN_WIRE_CLASS_SET]++;
    pass_seconds(f, 1);
    const crn_condition_held *held = find_held(f, "wrong_class_set", CRN_NO_LANE);
    assert_non_null(held);
    assert_int_equal((int)held->values.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_belt_that_stands_raises_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lanes_that_resume_one_after_another_are_not_silent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_lane_that_stays_away_after_a_pause_is_silent_within_ten_seconds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_wait_does_not_make_silence_usual, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_lane_is_told_although_the_belt_pauses_often,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lane_that_is_silent_stays_so_while_the_belt_stands,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_lane_is_over_once_the_belt_rests, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_dead_lane_of_a_belt_that_moves_for_seconds_only_is_silent,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(lanes_that_empty_and_fill_one_after_another_are_not_silent,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_pause_between_fruits_of_a_sparse_lane_does_not_accuse_the_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lane_that_is_taken_off_the_list_is_not_missed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_lane_that_was_seen_and_is_taken_off_the_list_is_not_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lane_that_a_reload_lists_is_missed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_belt_that_stands_after_the_first_fruit_misses_no_lane,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            late_views_of_one_lane_do_not_hide_the_missing_ones_of_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_unproven_lane_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lanes_with_two_faults_leave_room_for_what_is_worse, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_lane_that_is_freed_leaves_nothing_that_was_refused,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
