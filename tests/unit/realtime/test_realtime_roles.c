/* Which CPUs and priorities the section gives to which thread. */
#include <stdio.h>

#include "src/realtime/realtime.h"
#include "stages/base/process/cpus.h"
#include "tests/support/cmocka_prelude.h"

static crn_config config;

static const char *cpus_of(crn_thread_role role, int32_t number)
{
    static char text[CRN_CPUS_TEXT];
    cpu_set_t cpus = crn_realtime_cpus(&config, role, number);
    return crn_cpus_text(&cpus, text);
}

static void each_worker_has_its_own_where_there_are_enough(void **state)
{
    (void)state;
    config = (crn_config){.run = {.workers = 3, .threads = 2}};
    snprintf(config.realtime.worker_cpus, CRN_TEXT_BYTES, "2-6,9");
    assert_string_equal(cpus_of(CRN_THREAD_WORKER, 0), "2-3");
    assert_string_equal(cpus_of(CRN_THREAD_WORKER, 2), "6,9");
    assert_string_equal(cpus_of(CRN_THREAD_WORKER, -1), "2-6,9");
    config.run.workers = 4;
    assert_string_equal(cpus_of(CRN_THREAD_WORKER, 3), "2-6,9");
    assert_string_equal(cpus_of(CRN_THREAD_LINE, 0), "none");
}

static void priorities_descend_from_line_to_worker(void **state)
{
    (void)state;
    config = (crn_config){.realtime = {.line_priority = 0}};
    for (int role = 0; role < CRN_THREAD_ROLES; role++)
        assert_int_equal(crn_realtime_priority(&config, (crn_thread_role)role), 0);
    config.realtime.line_priority = 20;
    assert_int_equal(crn_realtime_priority(&config, CRN_THREAD_LINE), 20);
    assert_int_equal(crn_realtime_priority(&config, CRN_THREAD_DEVICE), 19);
    assert_int_equal(crn_realtime_priority(&config, CRN_THREAD_IO), 0);
    assert_int_equal(crn_realtime_priority(&config, CRN_THREAD_WORKER), 0);
    config.realtime.worker_priority = 10;
    assert_int_equal(crn_realtime_priority(&config, CRN_THREAD_IO), 19);
    assert_int_equal(crn_realtime_priority(&config, CRN_THREAD_WORKER), 10);
    config.realtime.line_priority = 1;
    assert_int_equal(crn_realtime_priority(&config, CRN_THREAD_DEVICE), 0);
}

static void workers_are_as_many_as_their_cpus(void **state)
{
    (void)state;
    config = (crn_config){0};
    snprintf(config.realtime.worker_cpus, CRN_TEXT_BYTES, "2-7");
    crn_config_resolve(&config, 64);
    assert_int_equal(config.run.workers, 6);
    assert_int_equal(config.run.threads, 1);
    config.run.workers = 0;
    config.run.threads = 3;
    crn_config_resolve(&config, 64);
    assert_int_equal(config.run.workers, 2);
    config.run.workers = 3;
    config.run.threads = 0;
    crn_config_resolve(&config, 64);
    assert_int_equal(config.run.threads, 2);
}

static void trying_leaves_the_thread_as_it_was(void **state)
{
    (void)state;
    crn_realtime_problem problems[CRN_REALTIME_PROBLEMS_MAX];
    cpu_set_t before, after, first;
    struct sched_param param;
    config = (crn_config){.realtime = {.line_priority = 20}};
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    first = crn_cpus_slice(&before, 0, 1);
    crn_cpus_text(&first, config.realtime.line_cpus);
    for (int i = 0; i < crn_realtime_try(&config, problems); i++)
        assert_string_equal(problems[i].key, "realtime.line_priority"); /* without the right */
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    assert_int_equal(sched_getparam(0, &param), 0);

    snprintf(config.realtime.io_cpus, CRN_TEXT_BYTES, "1023");
    assert_true(crn_realtime_try(&config, problems) > 0);
    assert_string_equal(problems[0].key, "realtime.io_cpus");
    assert_true(problems[0].fatal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_worker_has_its_own_where_there_are_enough),
        cmocka_unit_test(priorities_descend_from_line_to_worker),
        cmocka_unit_test(workers_are_as_many_as_their_cpus),
        cmocka_unit_test(trying_leaves_the_thread_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
