/* The chain's runner: order, times, errors, optional steps. */
#include <errno.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/chain/chain.h"
#include "stages/context.h"
#include "tests/support/cmocka_prelude.h"

/* Letters left by the stages: upper case by enqueue, lower case by finish. */
static char trace[64];

static void leave(char letter)
{
    size_t used = strlen(trace);
    trace[used] = letter;
    trace[used + 1] = '\0';
}

static int enqueue_a(const void *settings, crn_job *job)
{
    (void)settings;
    (void)job;
    leave('A');
    return 0;
}

static int finish_a(const void *settings, crn_job *job)
{
    (void)settings;
    leave('a');
    job->defects->defect_count = 3;
    job->defects->truncated = true;
    return 0;
}

static int enqueue_b(const void *settings, crn_job *job)
{
    (void)settings;
    (void)job;
    leave('B');
    int64_t until_ns = crn_now_ns() + CRN_NS_PER_MS;
    while (crn_now_ns() < until_ns)
        continue;
    return 0;
}

static int finish_b(const void *settings, crn_job *job)
{
    (void)settings;
    (void)job;
    leave('b');
    return 0;
}

static int refuse(const void *settings, crn_job *job)
{
    (void)settings;
    (void)job;
    return -EINVAL;
}

static const crn_stage stage_a = {.name = "a", .enqueue = enqueue_a, .finish = finish_a};
static const crn_stage stage_b = {.name = "b", .enqueue = enqueue_b, .finish = finish_b};
static const crn_stage stage_refusing = {.name = "refusing", .enqueue = refuse};
static const crn_stage stage_empty = {.name = "empty"};

static crn_config config;
static float maps[2 * 3 * 4];
static crn_defect defect_memory[4];
static float xy_memory[8];

static crn_chain *chain_of(const crn_stage *first, const crn_stage *second)
{
    memset(&config, 0, sizeof config);
    config.steps = 2;
    config.chain[0].stage = first;
    config.chain[1].stage = second;
    config.limits.points = 4;
    config.limits.defects = 4;
    config.run.threads = 1;
    trace[0] = '\0';
    crn_chain *chain = NULL;
    assert_int_equal(crn_chain_create(&config, NULL, &chain), 0);
    return chain;
}

static atomic_bool cancelled_view;

static int run(crn_chain *chain, int64_t left_ns, crn_judgement *judgement)
{
    crn_chain_input input = {.maps = crn_image_dense(maps, CRN_F32, CRN_HWC, 2, 3, 4),
                             .received_ns = crn_now_ns() - 5 * CRN_NS_PER_MS,
                             .deadline_ns = crn_now_ns() + left_ns,
                             .cancelled = &cancelled_view};
    crn_defects defects = {
        .defects = defect_memory, .xy = xy_memory, .defect_capacity = 4, .point_capacity = 4};
    return crn_chain_run(chain, &input, &defects, judgement);
}

static void all_enqueues_run_before_any_finish(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_a, &stage_b);
    crn_judgement judgement;
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    assert_string_equal(trace, "ABab");
    assert_int_equal(judgement.defect_count, 3);
    assert_true(judgement.truncated);
    assert_int_equal(judgement.skipped, 0);
    assert_true(judgement.queue_ns >= 5 * CRN_NS_PER_MS);
    assert_true(judgement.stage_ns[1] >= CRN_NS_PER_MS);
    assert_true(judgement.cost_ns >= judgement.stage_ns[0] + judgement.stage_ns[1]);
    crn_chain_free(&chain);
}

static void a_stage_may_lack_either_half(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_empty, &stage_a);
    crn_judgement judgement;
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    assert_string_equal(trace, "Aa");
    crn_chain_free(&chain);
}

static void a_failing_stage_fails_the_view(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_refusing, &stage_a);
    crn_judgement judgement = {.defect_count = 77};
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), -EINVAL);
    assert_string_equal(trace, "");
    assert_int_equal(judgement.defect_count, 77);
    crn_chain_free(&chain);
}

static void an_optional_step_is_skipped_when_its_recent_p99_does_not_fit(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_a, &stage_b);
    config.chain[1].optional = true;
    crn_judgement judgement;
    /* Its cost is unknown yet: it runs. */
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    assert_int_equal(judgement.skipped, 0);
    /* It took at least a millisecond; half of one is left. */
    trace[0] = '\0';
    assert_int_equal(run(chain, CRN_NS_PER_MS / 2, &judgement), 0);
    assert_int_equal(judgement.skipped, 2);
    assert_int_equal(judgement.stage_ns[1], 0);
    assert_string_equal(trace, "Aa");
    /* Enough time again. */
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    assert_int_equal(judgement.skipped, 0);
    crn_chain_free(&chain);
}

/* A step once delayed beyond any budget must not be skipped for ever. */
static void a_step_that_was_held_up_once_runs_again(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_a, &stage_b);
    config.chain[1].optional = true;
    crn_judgement judgement;
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    assert_int_equal(judgement.skipped, 0);
    int left_out = -1;
    do {
        trace[0] = '\0';
        assert_int_equal(run(chain, CRN_NS_PER_MS / 2, &judgement), 0);
        left_out++;
    } while (judgement.skipped && left_out < 10000);
    assert_int_equal(left_out, CRN_RECENT);
    /* Its cost is known again. */
    trace[0] = '\0';
    assert_int_equal(run(chain, CRN_NS_PER_MS / 2, &judgement), 0);
    assert_int_equal(judgement.skipped, 2);
    crn_chain_free(&chain);
}

static void set_cancelled(bool cancelled)
{
    atomic_store(&cancelled_view, cancelled);
}

/* The fruit is judged during the run. */
static int enqueue_and_cancel(const void *settings, crn_job *job)
{
    set_cancelled(true);
    return enqueue_a(settings, job);
}

/* Both stages check the time, as every stage does; the second runs until it is over. */
static int ask(const void *settings, crn_job *job)
{
    (void)settings;
    leave('?');
    return crn_context_expired(job->context) ? -ETIME : 0;
}

static bool works_long;

static int work_until_over(const void *settings, crn_job *job)
{
    (void)settings;
    leave('W');
    while (works_long && !crn_context_expired(job->context))
        continue;
    return crn_context_status(job->context);
}

static const crn_stage stage_cancelling = {.name = "x", .enqueue = enqueue_and_cancel};
static const crn_stage stage_asking = {.name = "?", .finish = ask};
static const crn_stage stage_working = {.name = "w", .enqueue = work_until_over};

static void a_view_is_given_up_once_its_deadline_has_passed(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_a, &stage_asking);
    crn_judgement judgement = {.defect_count = 77};
    assert_int_equal(run(chain, -1, &judgement), -ETIME);
    assert_int_equal(judgement.defect_count, 77);
    assert_string_equal(trace, "Aa?");
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    crn_chain_free(&chain);
}

static void a_view_is_given_up_once_its_fruit_is_judged(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_cancelling, &stage_asking);
    crn_judgement judgement;
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), -ETIME);
    assert_string_equal(trace, "A?");
    crn_chain_free(&chain);
    set_cancelled(false);
    /* Cancelled in the middle of a stage. */
    works_long = true;
    chain = chain_of(&stage_working, &stage_a);
    assert_int_equal(run(chain, CRN_NS_PER_MS, &judgement), -ETIME);
    assert_string_equal(trace, "W");
    crn_chain_free(&chain);
}

static void interrupt_one(crn_chain *chain)
{
    crn_judgement judgement;
    works_long = true;
    assert_int_equal(run(chain, 2 * CRN_NS_PER_MS, &judgement), -ETIME);
    works_long = false;
    trace[0] = '\0';
}

static void a_step_cut_short_costs_what_it_took_at_least(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_a, &stage_working);
    config.chain[1].optional = true;
    crn_judgement judgement;
    /* Interrupted at once, it gives no new information: its earlier cost fits. */
    works_long = false;
    set_cancelled(true);
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    works_long = true;
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), -ETIME);
    works_long = false;
    set_cancelled(false);
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    assert_int_equal(judgement.skipped, 0);
    /* Interrupted after two milliseconds, it is skipped when fewer are left: not after the first of
     * all views and not after one that stands alone, which was of another size. */
    for (int samples = 2; samples < CRN_RECENT_FEW; samples++) {
        interrupt_one(chain);
        assert_int_equal(run(chain, CRN_NS_PER_MS, &judgement), 0);
        assert_int_equal(judgement.skipped, 0);
    }
    interrupt_one(chain);
    assert_int_equal(run(chain, CRN_NS_PER_MS, &judgement), 0);
    assert_int_equal(judgement.skipped, 0);
    interrupt_one(chain);
    assert_int_equal(run(chain, CRN_NS_PER_MS, &judgement), 0);
    assert_int_equal(judgement.skipped, 2);
    assert_int_equal(run(chain, 10 * CRN_NS_PER_S, &judgement), 0);
    assert_int_equal(judgement.skipped, 0);
    crn_chain_free(&chain);
}

/* A step for which the time never suffices costs the first two views, and then one of many, which
 * tries it again: the others skip it. */
static void a_step_that_never_ends_in_time_is_skipped(void **state)
{
    (void)state;
    crn_recent recent = {0};
    crn_recent_stop(&recent, 5);
    assert_int_equal(crn_recent_p99_ns(&recent), 0);
    crn_recent_stop(&recent, 4);
    assert_int_equal(crn_recent_p99_ns(&recent), 4);
    for (int i = 0; i < CRN_RECENT; i++)
        crn_recent_skip(&recent);
    assert_int_equal(crn_recent_p99_ns(&recent), 0);
    crn_recent_stop(&recent, 3);
    assert_int_equal(crn_recent_p99_ns(&recent), 3);
    /* One that ended between two that were stopped: they say nothing. */
    crn_recent_add(&recent, 2);
    crn_recent_stop(&recent, 9);
    assert_int_equal(crn_recent_p99_ns(&recent), 3);
}

/* Records the contours that it receives. */
static uint32_t finished_contours;
static int32_t finished_planes[4];

static int enqueue_nothing(const void *settings, crn_job *job)
{
    (void)settings;
    (void)job;
    leave('C');
    return 0;
}

static int finish_contours(const void *settings, crn_job *job)
{
    (void)settings;
    leave('c');
    finished_contours = job->contours.contour_count;
    for (uint32_t i = 0; i < finished_contours; i++)
        finished_planes[i] = job->contours.contours[i].plane;
    return 0;
}

static const crn_stage stage_contours = {
    .name = "c", .enqueue = enqueue_nothing, .finish = finish_contours};

/* A device's results for a batch of three views of two classes; the second view has no contour. */
static crn_contour batch_contours[] = {{.plane = 0, .first = 0, .count = 2},
                                       {.plane = 1, .first = 2, .count = 2},
                                       {.plane = 5, .first = 4, .count = 3},
                                       {.plane = 5, .first = 7, .count = 2}};
static crn_point batch_points[9];

static int finish(crn_chain *chain, const crn_device_result *done, int64_t deadline_ns,
                  crn_judgement *judgement)
{
    crn_chain_input input = {.maps = crn_image_dense(maps, CRN_F32, CRN_HWC, 2, 3, 4),
                             .received_ns = done->begun_ns - 3000,
                             .deadline_ns = deadline_ns};
    crn_defects defects = {
        .defects = defect_memory, .xy = xy_memory, .defect_capacity = 4, .point_capacity = 4};
    return crn_chain_finish(chain, &input, done, &defects, judgement);
}

static void a_view_from_a_device_is_given_up_too(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_contours, &stage_asking);
    crn_contours batch = {.points = batch_points, .contours = batch_contours};
    crn_device_result done = {.contours = &batch, .begun_ns = crn_now_ns()};
    crn_judgement judgement;
    /* The time ran out while it was on the device. */
    assert_int_equal(finish(chain, &done, crn_now_ns() - 1, &judgement), -ETIME);
    assert_string_equal(trace, "c?");
    assert_int_equal(finish(chain, &done, CRN_NEVER_NS, &judgement), 0);
    crn_chain_free(&chain);
}

static void each_view_of_a_batch_gets_its_contours(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_contours, &stage_b);
    crn_contours batch = {
        .points = batch_points, .contours = batch_contours, .point_count = 9, .contour_count = 4};
    int64_t now_ns = crn_now_ns();
    crn_device_result done[3];
    for (int32_t i = 0; i < 3; i++) {
        done[i] = (crn_device_result){.contours = &batch,
                                      .index = i,
                                      .submitted_ns = now_ns - 2000,
                                      .begun_ns = now_ns - 1000,
                                      .stage_ns = {500}};
        crn_device_result_find(&done[i], 2);
    }
    crn_judgement judgement;
    assert_int_equal(finish(chain, &done[0], CRN_NEVER_NS, &judgement), 0);
    assert_string_equal(trace, "cb"); /* no enqueue function */
    assert_int_equal(finished_contours, 2);
    assert_int_equal(finished_planes[1], 1);
    assert_int_equal(judgement.queue_ns, 3000);
    assert_true(judgement.stage_ns[0] >= 500);
    assert_true(judgement.cost_ns >= 2000);
    assert_int_equal(finish(chain, &done[1], CRN_NEVER_NS, &judgement), 0);
    assert_int_equal(finished_contours, 0);
    /* The third view has five points, and the limit is four. */
    assert_int_equal(finish(chain, &done[2], CRN_NEVER_NS, &judgement), -EOVERFLOW);
    config.limits.points = 5;
    crn_chain_free(&chain);
    assert_int_equal(crn_chain_create(&config, NULL, &chain), 0);
    assert_int_equal(finish(chain, &done[2], CRN_NEVER_NS, &judgement), 0);
    assert_int_equal(finished_contours, 2);
    assert_int_equal(finished_planes[0], 1);
    assert_int_equal(finished_planes[1], 1);
    crn_chain_free(&chain);
}

static void a_batch_that_was_cut_serves_the_views_before_the_cut(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_contours, &stage_b);
    crn_contour contours[] = {{.plane = 0, .first = 0, .count = 2},
                              {.plane = 2, .first = 2, .count = 2}};
    crn_contours batch = {.points = batch_points,
                          .contours = contours,
                          .point_count = 4,
                          .contour_count = 2,
                          .truncated = true};
    static const int expected[] = {0, -EOVERFLOW, -EOVERFLOW};
    crn_device_result done[3];
    for (int32_t i = 0; i < 3; i++) {
        done[i] = (crn_device_result){.contours = &batch, .index = i};
        crn_device_result_find(&done[i], 2);
    }
    for (int32_t i = 0; i < 3; i++) {
        crn_judgement judgement;
        assert_int_equal(finish(chain, &done[i], CRN_NEVER_NS, &judgement), expected[i]);
    }
    crn_chain_free(&chain);
}

static void what_was_left_out_is_not_finished(void **state)
{
    (void)state;
    crn_chain *chain = chain_of(&stage_b, &stage_contours);
    crn_contours batch = {.contour_count = 0};
    crn_device_result done = {.contours = &batch, .skipped = 1};
    crn_judgement judgement;
    assert_int_equal(finish(chain, &done, CRN_NEVER_NS, &judgement), 0);
    assert_string_equal(trace, "c");
    assert_int_equal(judgement.skipped, 1);
    crn_chain_free(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_enqueues_run_before_any_finish),
        cmocka_unit_test(a_stage_may_lack_either_half),
        cmocka_unit_test(a_failing_stage_fails_the_view),
        cmocka_unit_test(an_optional_step_is_skipped_when_its_recent_p99_does_not_fit),
        cmocka_unit_test(a_step_that_was_held_up_once_runs_again),
        cmocka_unit_test(a_view_is_given_up_once_its_deadline_has_passed),
        cmocka_unit_test(a_view_is_given_up_once_its_fruit_is_judged),
        cmocka_unit_test(a_step_cut_short_costs_what_it_took_at_least),
        cmocka_unit_test(a_step_that_never_ends_in_time_is_skipped),
        cmocka_unit_test(a_view_from_a_device_is_given_up_too),
        cmocka_unit_test(each_view_of_a_batch_gets_its_contours),
        cmocka_unit_test(a_batch_that_was_cut_serves_the_views_before_the_cut),
        cmocka_unit_test(what_was_left_out_is_not_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
