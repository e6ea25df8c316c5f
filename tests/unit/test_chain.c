/* The runner of stages: order, times, failures, optional steps. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/clock.h"
#include "src/chain.h"

/* Letters that the stages leave: upper case by enqueue, lower case by finish. */
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

static int run(crn_chain *chain, int64_t left_ns, crn_judgement *judgement)
{
    static crn_view view;
    view.header = (crn_view_header){
        .height = 3, .width = 4, .channels = 2, .type = CRN_F32, .layout = CRN_HWC};
    view.maps = (unsigned char *)maps;
    view.received_ns = crn_now_ns() - 5 * CRN_NS_PER_MS;
    view.deadline_ns = crn_now_ns() + left_ns;
    crn_defects defects = {
        .defects = defect_memory, .xy = xy_memory, .defect_capacity = 4, .point_capacity = 4};
    return crn_chain_run(chain, &view, &defects, judgement);
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
    /* Nothing is known of its cost yet: it runs. */
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    assert_int_equal(judgement.skipped, 0);
    /* It took a millisecond at least; half of one is left. */
    trace[0] = '\0';
    assert_int_equal(run(chain, CRN_NS_PER_MS / 2, &judgement), 0);
    assert_int_equal(judgement.skipped, 2);
    assert_int_equal(judgement.stage_ns[1], 0);
    assert_string_equal(trace, "Aa");
    /* Time enough again. */
    assert_int_equal(run(chain, CRN_NS_PER_S, &judgement), 0);
    assert_int_equal(judgement.skipped, 0);
    crn_chain_free(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_enqueues_run_before_any_finish),
        cmocka_unit_test(a_stage_may_lack_either_half),
        cmocka_unit_test(a_failing_stage_fails_the_view),
        cmocka_unit_test(an_optional_step_is_skipped_when_its_recent_p99_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
