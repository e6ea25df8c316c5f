/* The table of conditions: what finds each row, when they are raised and end. */
#include <errno.h>

#include "tests/unit/monitor/conditions/condition_fixture.h"

/* --- what provokes each row, called every second before the look --- */

typedef void provoke(watch_fixture *f);

#define PROVOKE(name, statement)                                                                   \
    static void name(watch_fixture *f)                                                             \
    {                                                                                              \
        statement;                                                                                 \
    }

PROVOKE(hang, f->hangs = true)
PROVOKE(no_grader, f->now->metrics.publish.graders = 0)
PROVOKE(two_graders, f->now->metrics.publish.graders = 2)
PROVOKE(slow_grader, f->now->metrics.publish.waiting += 10)
PROVOKE(nan_values, f->now->lanes[1].values.faulty[CRN_REASON_NOT_FINITE]++)
PROVOKE(mask, f->now->lanes[1].values.faulty[CRN_REASON_MASK_VALUES]++)
PROVOKE(per_cent, f->now->lanes[1].values.faulty[CRN_REASON_PER_CENT]++)
PROVOKE(frozen, f->now->lanes[1].values.frozen++)
PROVOKE(class_set, f->now->lanes[1].stats.refused.count[CRN_WIRE_CLASS_SET]++)
PROVOKE(size, f->now->metrics.refused_elsewhere.count[CRN_WIRE_TENSOR_SIZE]++)
PROVOKE(magic, f->now->metrics.refused_elsewhere.count[CRN_WIRE_MAGIC]++)
PROVOKE(strange_lane, f->now->metrics.refused_elsewhere.count[CRN_REFUSAL_LANE_NOT_LISTED]++)
PROVOKE(mixed, f->now->lanes[1].stats.mixed++)
PROVOKE(straggler, f->now->metrics.fruits.stragglers++)
PROVOKE(reused, f->now->lanes[1].stats.reused++; straggler(f))
PROVOKE(too_early, f->now->metrics.fruits.returned_early++; straggler(f))
PROVOKE(gaps, f->now->lanes[1].meters.gaps++)
PROVOKE(missing, f->now->lanes[1].meters.missing++)
PROVOKE(unfinished, f->now->metrics.fruits.unfinished++)
PROVOKE(no_slot, f->now->metrics.fruits.no_slot++)
PROVOKE(forced, f->now->metrics.fruits.forced++)
PROVOKE(failed, f->now->metrics.fruits.failed++)
PROVOKE(stale, f->now->metrics.publish.stale++)
PROVOKE(over_budget, f->now->lanes[1].meters.over_budget++; stale(f))
PROVOKE(left_out, f->now->metrics.truncated++)
PROVOKE(skipped, f->now->metrics.steps_skipped++)
PROVOKE(clock_set, f->realtime_ns += 20 * CRN_NS_PER_S)
PROVOKE(later, f->now->lanes[1].meters.captured_later++)
PROVOKE(unproven, f->now->lanes[1].is_unproven = true)
PROVOKE(senders_left, f->now->levels.senders = 0)
PROVOKE(gpu_lost, f->now->levels.devices_lost = 1)
PROVOKE(gpu_left_out, f->now->levels.devices_left_out = 1)
PROVOKE(gpu_slow, f->now->metrics.engine.device_slow++)
PROVOKE(read_only, f->now->settings.not_kept = EROFS)
PROVOKE(lot_read_only, f->now->settings.lot_not_kept = EROFS)
PROVOKE(recipe_gone, strcpy(f->now->settings.lost_recipe, "peach"))
PROVOKE(lot_gone, f->now->settings.lot.is_lost = true)
PROVOKE(changes_lost, f->now->settings.changes_not_kept = EROFS)
PROVOKE(reload, f->now->settings.last_was_refused = true)
PROVOKE(disk_hangs, f->now->metrics.recorder.quiet_ns = 9 * CRN_NS_PER_S)
PROVOKE(record_full, f->now->metrics.recorder.failed++)
PROVOKE(log_full, f->now->metrics.publish.log.dropped++)
PROVOKE(stranger, f->now->metrics.access.refused[0][CRN_ACCESS_UNKNOWN_KEY]++)
PROVOKE(cut, f->now->metrics.ingest.peers.cut[CRN_CUT_SHARE]++)
PROVOKE(viewer, f->now->metrics.publish.viewers_dropped++)

static void silent(watch_fixture *f)
{
    f->idle = 2;
}

static void never_seen(watch_fixture *f)
{
    f->now->lane_count = 2;
}

static void processor_taken(watch_fixture *f)
{
    f->now->metrics.fruits.discarded++;
    f->resources.processor = (crn_resource_processor){.cpus = 2, .own = 0.2, .others = 0.8};
    f->resources.threads[CRN_RESOURCE_WORKERS] = (crn_resource_group){2, 0.4, 0.6};
}

static void overload(watch_fixture *f)
{
    processor_taken(f);
    f->resources.processor.own = 1;
    f->resources.processor.others = 0;
    f->resources.threads[CRN_RESOURCE_LINE].ran = 0.9;
}

static void processor_stolen(watch_fixture *f)
{
    processor_taken(f);
    f->resources.processor.others = 0;
    f->resources.processor.stolen = 0.8;
}

static void disk_fills(watch_fixture *f)
{
    f->resources.disks[CRN_RESOURCE_LOG] =
        (crn_resource_disk){.on = true, .size_bytes = 1 << 30, .hours_left = 3};
}

static void disk_is_full(watch_fixture *f)
{
    f->resources.disks[CRN_RESOURCE_STATE] =
        (crn_resource_disk){.on = true, .size_bytes = 1 << 30, .hours_left = 0};
}

/* Its writer says it. */
static void log_disk_is_full(watch_fixture *f)
{
    f->now->metrics.publish.log.failed++;
    f->resources.disks[CRN_RESOURCE_LOG] =
        (crn_resource_disk){.on = true, .size_bytes = 1 << 30, .hours_left = 0};
}

PROVOKE(memory, (f->resources.memory = (crn_resource_memory){.limit_bytes = 100, .used = 0.97}))

/* The line's thread stood still for a moment. */
static void line_held(watch_fixture *f)
{
    unfinished(f);
    over_budget(f);
}

/* Clocks that are apart, or deadlines without sense. */
static void deadlines_over(watch_fixture *f)
{
    f->now->metrics.deadlines_over += 60;
    f->now->metrics.fruits.discarded += 10;
    f->now->metrics.fruits.stragglers += 50;
    f->now->lanes[1].meters.missing += 50;
    stale(f);
    f->resources.processor = (crn_resource_processor){.cpus = 2, .own = 0.2, .others = 0.8};
    f->resources.threads[CRN_RESOURCE_WORKERS] = (crn_resource_group){2, 0.4, 0.6};
}

/* Only what is recorded suffers. */
static void writers_wait(watch_fixture *f)
{
    f->now->metrics.recorder.dropped++;
    f->now->metrics.publish.log.dropped++;
    f->resources.processor = (crn_resource_processor){.cpus = 2, .own = 0.2, .others = 0.8};
    f->resources.threads[CRN_RESOURCE_WRITERS] = (crn_resource_group){2, 0.1, 0.6};
    f->resources.io = (crn_resource_pressure){0, 0, false};
}

static void drift(watch_fixture *f, int64_t lane)
{
    if (!f->drift)
        f->drift = calloc(1, crn_drift_findings_bytes(1));
    assert_non_null(f->drift);
    f->drift->count = 1;
    f->drift->at[0] =
        (crn_drift_finding){.lane = lane, .class = 0, .fruits = 400, .usual = 0.1, .share = 0.2};
}

static void lane_differs(watch_fixture *f)
{
    drift(f, 2);
}

static void fruit_differs(watch_fixture *f)
{
    drift(f, -1);
}

static const struct {
    const char *id;
    provoke *provoke;
} provoked[] = {
    {"line_hangs", hang},
    {"recipe_lost", recipe_gone},
    {"no_grader", no_grader},
    {"several_graders", two_graders},
    {"grader_slow", slow_grader},
    {"not_finite", nan_values},
    {"out_of_range", mask},
    {"wrong_scale", per_cent},
    {"frozen", frozen},
    {"wrong_class_set", class_set},
    {"wrong_size", size},
    {"messages_refused", magic},
    {"too_many_lanes", strange_lane},
    {"two_senders", mixed},
    {"epoch_reused", reused},
    {"numbers_too_early", too_early},
    {"lane_silent", silent},
    {"lane_never_seen", never_seen},
    {"views_lost", gaps},
    {"views_missing", missing},
    {"processor_taken", processor_taken},
    {"processor_limited", processor_stolen},
    {"overload", overload},
    {"no_free_slot", no_slot},
    {"views_unfinished", unfinished},
    {"too_many_fruits", forced},
    {"chain_fails", failed},
    {"budget_missed", over_budget},
    {"budget_missed", line_held},
    {"deadlines_over", deadlines_over},
    {"steps_skipped", skipped},
    {"writers_delayed", writers_wait},
    {"verdicts_lost", stale},
    {"defects_left_out", left_out},
    {"views_late", straggler},
    {"clock_jump", clock_set},
    {"clocks_apart", later},
    {"unproven", unproven},
    {"no_sender", senders_left},
    {"device_lost", gpu_lost},
    {"device_left_out", gpu_left_out},
    {"device_busy", gpu_slow},
    {"lane_drifts", lane_differs},
    {"lot_drifts", fruit_differs},
    {"reload_refused", reload},
    {"memory_short", memory},
    {"disk_hangs", disk_hangs},
    {"disk_full_soon", disk_fills},
    {"disk_full", disk_is_full},
    {"recipe_not_kept", read_only},
    {"lot_not_kept", lot_read_only},
    {"lot_lost", lot_gone},
    {"changes_not_kept", changes_lost},
    {"log_loses", log_disk_is_full},
    {"recording_loses", record_full},
    {"log_loses", log_full},
    {"keys_refused", stranger},
    {"sender_cut", cut},
    {"viewer_stuck", viewer},
};

static void each_row_is_found_by_what_it_names_alone(void **state)
{
    for (size_t i = 0; i < sizeof provoked / sizeof *provoked; i++) {
        assert_int_equal(set_up(state), 0);
        watch_fixture *f = *state;
        for (int second = 0; second < LONG_TIME / 2; second++) {
            pass_second(f);
            look(f);
        }
        const crn_condition_list *list = crn_condition_watch_list(f->watch);
        assert_int_equal(list->count, 0);
        for (int second = 0; second < LONG_TIME; second++) {
            pass_second(f);
            provoked[i].provoke(f);
            look(f);
        }
        if (list->count != 1 || strcmp(list->at[0].row->id, provoked[i].id) != 0)
            fail_msg("%s: %u held, the first %s", provoked[i].id, list->count,
                     list->count ? list->at[0].row->id : "none");
        assert_int_equal(f->told[CRN_CONDITION_RAISED], 1);
        assert_int_equal(f->told[CRN_CONDITION_ENDED], 0);
        tear_down(state);
    }
}

static void every_row_has_something_that_provokes_it(void **state)
{
    (void)state;
    for (int32_t row = 0; row < crn_condition_row_count; row++) {
        bool found = false;
        for (size_t i = 0; i < sizeof provoked / sizeof *provoked; i++)
            found = found || strcmp(provoked[i].id, crn_condition_rows[row]->id) == 0;
        if (!found)
            fail_msg("no test provokes %s", crn_condition_rows[row]->id);
    }
}

/* --- over time --- */

static void a_condition_is_told_once_a_minute_and_ends_within_ten_seconds(void **state)
{
    watch_fixture *f = *state;
    for (int second = 0; second < 150; second++) {
        pass_second(f);
        nan_values(f);
        look(f);
    }
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 1);
    assert_int_equal(f->told[CRN_CONDITION_HOLDS], 2);
    assert_true(crn_conditions_misjudged(crn_condition_watch_list(f->watch)));
    int seconds = 0;
    for (; crn_condition_watch_list(f->watch)->count > 0 && seconds < LONG_TIME; seconds++) {
        pass_second(f);
        look(f);
    }
    assert_in_range(seconds, 1, 10);
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 1);
    assert_string_equal(f->last->id, "not_finite");
}

/* Two threads of one worker, of which each does half: neither CPUs nor threads are used up. */
static void a_worker_that_is_always_busy_is_overloaded(void **state)
{
    watch_fixture *f = *state;
    for (int second = 0; second < LONG_TIME; second++) {
        pass_second(f);
        f->now->views.run[CRN_SIDE_PROCESSOR].sum_ns += CRN_NS_PER_S * 95 / 100;
        no_slot(f);
        look(f);
    }
    const crn_condition_list *list = crn_condition_watch_list(f->watch);
    assert_int_equal(list->count, 1);
    assert_string_equal(list->at[0].row->id, "overload");
}

/* Its losses stay in the window while the workers are idle again. */
static void an_overload_that_ends_is_not_told_in_other_words(void **state)
{
    watch_fixture *f = *state;
    const crn_resources idle = f->resources;
    for (int second = 0; second < LONG_TIME; second++) {
        pass_second(f);
        if (second < LONG_TIME / 2) {
            overload(f);
            no_slot(f);
        } else {
            f->resources = idle;
        }
        look(f);
        const crn_condition_list *list = crn_condition_watch_list(f->watch);
        for (uint32_t i = 0; i < list->count; i++)
            assert_string_equal(list->at[i].row->id, "overload");
    }
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 1);
}

static void the_worst_comes_first_then_the_lower_lane(void **state)
{
    watch_fixture *f = *state;
    pass_second(f);
    look(f);
    pass_second(f);
    viewer(f);
    log_full(f);
    f->now->lanes[2].values.faulty[CRN_REASON_NOT_FINITE]++;
    f->now->lanes[0].values.faulty[CRN_REASON_NOT_FINITE]++;
    look(f);
    const crn_condition_list *list = crn_condition_watch_list(f->watch);
    assert_int_equal(list->count, 4);
    assert_string_equal(list->at[0].row->id, "not_finite");
    assert_int_equal(list->at[0].values.lane, 1);
    assert_int_equal(list->at[1].values.lane, 3);
    assert_string_equal(list->at[2].row->id, "log_loses");
    assert_string_equal(list->at[3].row->id, "viewer_stuck");
    assert_string_equal(crn_conditions_level(list), "critical");
}

/* What pushes the headline down the list of a machine that is busy: its losses. */
static void a_cause_comes_before_what_follows_from_it(void **state)
{
    (void)state;
    static const struct {
        const char *cause, *follows;
    } pairs[] = {
        {"grader_slow", "verdicts_lost"},    {"deadlines_over", "views_missing"},
        {"deadlines_over", "budget_missed"}, {"processor_taken", "views_lost"},
        {"processor_taken", "lane_silent"},  {"processor_taken", "budget_missed"},
        {"processor_limited", "views_lost"}, {"overload", "views_lost"},
        {"overload", "views_missing"},       {"overload", "too_many_fruits"},
        {"no_free_slot", "views_lost"},      {"no_free_slot", "views_unfinished"},
        {"chain_fails", "views_missing"},    {"lane_silent", "views_missing"},
        {"disk_hangs", "recording_loses"},   {"disk_full", "log_loses"},
        {"disk_full", "recipe_not_kept"},    {"writers_delayed", "recording_loses"},
        {"disk_full", "changes_not_kept"},   {"budget_missed", "verdicts_lost"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        int32_t at[2] = {-1, -1};
        for (int32_t row = 0; row < crn_condition_row_count; row++) {
            if (strcmp(crn_condition_rows[row]->id, pairs[i].cause) == 0)
                at[0] = row;
            if (strcmp(crn_condition_rows[row]->id, pairs[i].follows) == 0)
                at[1] = row;
        }
        assert_true(at[0] >= 0 && at[1] >= 0);
        assert_int_equal(crn_condition_rows[at[0]]->severity, crn_condition_rows[at[1]]->severity);
        if (at[0] > at[1])
            fail_msg("%s comes after %s", pairs[i].cause, pairs[i].follows);
    }
}

/* A sender whose queue is full, as the line has no time, leaves out numbers as well. */
static void the_headline_of_a_busy_machine_is_not_its_losses(void **state)
{
    watch_fixture *f = *state;
    for (int second = 0; second < LONG_TIME; second++) {
        pass_second(f);
        overload(f);
        gaps(f);
        missing(f);
        look(f);
    }
    const crn_condition_list *list = crn_condition_watch_list(f->watch);
    assert_true(list->count > 1);
    assert_string_equal(list->at[0].row->id, "overload");
}

/* Where time is short for optional steps some views that try them again are lost. */
static void views_that_try_a_skipped_step_again_are_no_fault_of_their_own(void **state)
{
    watch_fixture *f = *state;
    for (int second = 0; second < LONG_TIME; second++) {
        pass_second(f);
        f->now->metrics.steps_skipped += 40;
        f->now->metrics.fruits.unfinished += second % 2;
        look(f);
    }
    const crn_condition_list *list = crn_condition_watch_list(f->watch);
    assert_int_equal(list->count, 1);
    assert_string_equal(list->at[0].row->id, "steps_skipped");
    for (int second = 0; second < LONG_TIME; second++) {
        pass_second(f);
        f->now->metrics.steps_skipped += 40;
        f->now->metrics.fruits.unfinished += 20;
        look(f);
    }
    assert_int_equal(list->count, 2);
    assert_string_equal(list->at[0].row->id, "views_unfinished");
}

static void lanes_that_all_fail_leave_room_for_others(void **state)
{
    watch_fixture *f = *state;
    enum { MANY = 200 };
    free(f->now);
    f->now = calloc(1, crn_snapshot_bytes(MANY));
    assert_non_null(f->now);
    crn_condition_watch_free(&f->watch);
    f->config.limits.lanes = MANY;
    assert_int_equal(crn_condition_watch_create(&f->config, f->now_ns, count_told, f, &f->watch),
                     0);
    f->now->lane_count = MANY;
    for (uint32_t i = 0; i < MANY; i++)
        f->now->lanes[i].number = i + 1;
    for (int second = 0; second < LONG_TIME; second++) {
        pass_second(f);
        for (int i = 0; i < MANY; i++)
            f->now->lanes[i].values.frozen++;
        f->now->metrics.publish.graders = f->now->levels.senders = second < 10 ? 1 : 0;
        look(f);
    }
    const crn_condition_list *list = crn_condition_watch_list(f->watch);
    assert_string_equal(list->at[0].row->id, "no_grader");
    assert_string_equal(list->at[list->count - 1].row->id, "no_sender");
}

static void more_than_fit_are_left_out(void **state)
{
    watch_fixture *f = *state;
    pass_second(f);
    look(f);
    pass_second(f);
    for (size_t i = 0; i < sizeof provoked / sizeof *provoked; i++)
        provoked[i].provoke(f);
    look(f);
    assert_in_range(crn_condition_watch_list(f->watch)->count, 10, CRN_CONDITIONS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_found_by_what_it_names_alone),
        cmocka_unit_test(every_row_has_something_that_provokes_it),
        cmocka_unit_test_setup_teardown(
            a_condition_is_told_once_a_minute_and_ends_within_ten_seconds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_worker_that_is_always_busy_is_overloaded, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_overload_that_ends_is_not_told_in_other_words, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_worst_comes_first_then_the_lower_lane, set_up,
                                        tear_down),
        cmocka_unit_test(a_cause_comes_before_what_follows_from_it),
        cmocka_unit_test_setup_teardown(the_headline_of_a_busy_machine_is_not_its_losses, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            views_that_try_a_skipped_step_again_are_no_fault_of_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lanes_that_all_fail_leave_room_for_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(more_than_fit_are_left_out, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
