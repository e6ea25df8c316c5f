/* What is blamed for losses, from figures alone. */
#include "src/monitor/resources/resources.h"
#include "tests/support/cmocka_prelude.h"

/* Four CPUs, three workers that are 40 % busy with 60 views a second of 20 ms, nothing unusual. */
static crn_resources sound(void)
{
    return (crn_resources){
        .window_s = 5,
        .processor = {.cpus = 4,
                      .quota_cpus = CRN_RESOURCE_UNKNOWN,
                      .own = 0.35,
                      .others = 0.02,
                      .periods_throttled = CRN_RESOURCE_UNKNOWN,
                      .throttled = CRN_RESOURCE_UNKNOWN},
        .threads = {[CRN_RESOURCE_LINE] = {.threads = 1, .ran = 0.10, .delay = 0},
                    [CRN_RESOURCE_WORKERS] = {.threads = 3, .ran = 1.20, .delay = 0.01},
                    [CRN_RESOURCE_DEVICES] = {.ran = CRN_RESOURCE_UNKNOWN,
                                              .delay = CRN_RESOURCE_UNKNOWN},
                    [CRN_RESOURCE_WRITERS] = {.threads = 2, .ran = 0.05, .delay = 0.01},
                    [CRN_RESOURCE_REST] = {.threads = 9, .ran = 0.05, .delay = 0.01}},
        .memory = {.swap_grown_bytes = 0, .used = 0.4},
    };
}

static const crn_resource_demand all_judged = {.seconds = 5, .views_judged = 300};

static void expect(const crn_resources *resources, const crn_resource_demand *demand,
                   unsigned causes)
{
    assert_int_equal(crn_resources_causes(resources, demand), causes);
}

static void nothing_lost_nothing_blamed(void **state)
{
    (void)state;
    crn_resources r = sound();
    expect(&r, &all_judged, CRN_RESOURCE_CAUSE_NONE);
    r.processor.others = 0.60;
    r.processor.stolen = 0.20;
    r.processor.periods_throttled = 1;
    r.memory_pressure.some = 0.5;
    r.io.some = 0.9;
    expect(&r, &all_judged, CRN_RESOURCE_CAUSE_NONE);
}

/* The workers get half a CPU of the 1.2 that they need. */
static crn_resources burdened(void)
{
    crn_resources r = sound();
    r.processor.own = 0.16;
    r.processor.others = 0.84;
    r.threads[CRN_RESOURCE_WORKERS] = (crn_resource_group){.threads = 3, .ran = 0.50, .delay = 0.7};
    return r;
}

static void eight_burners_are_other_programs(void **state)
{
    (void)state;
    crn_resources r = burdened();
    crn_resource_demand d = {
        .seconds = 5, .views_judged = 100, .views_unfinished = 50, .views_discarded = 150};
    expect(&r, &d, CRN_RESOURCE_CAUSE_PROCESSOR_TAKEN);
    d.views_judged = d.views_unfinished = 0; /* none even began */
    d.views_discarded = 300;
    expect(&r, &d, CRN_RESOURCE_CAUSE_PROCESSOR_TAKEN);
}

/* With what sends them, and reads their verdicts, on the same machine. */
static void eight_times_the_fruits_are_an_overload(void **state)
{
    (void)state;
    crn_resources r = sound();
    r.processor.own = 0.75;
    r.processor.others = 0.25;
    r.threads[CRN_RESOURCE_WORKERS] = (crn_resource_group){.threads = 3, .ran = 2.60, .delay = 0.4};
    crn_resource_demand d = {
        .seconds = 5, .views_judged = 600, .views_unfinished = 100, .views_discarded = 1700};
    expect(&r, &d, CRN_RESOURCE_CAUSE_OVERLOAD);
}

static void both_at_once_are_both(void **state)
{
    (void)state;
    crn_resources r = burdened();
    crn_resource_demand d = {
        .seconds = 5, .views_judged = 100, .views_unfinished = 50, .views_discarded = 2250};
    expect(&r, &d, CRN_RESOURCE_CAUSE_PROCESSOR_TAKEN | CRN_RESOURCE_CAUSE_OVERLOAD);
}

/* One worker on a machine of four CPUs. */
static void too_few_workers_are_an_overload(void **state)
{
    (void)state;
    crn_resources r = sound();
    r.processor.own = 0.26;
    r.threads[CRN_RESOURCE_WORKERS] = (crn_resource_group){.threads = 1, .ran = 0.97, .delay = 0};
    crn_resource_demand d = {.seconds = 5, .views_judged = 240, .views_discarded = 60};
    expect(&r, &d, CRN_RESOURCE_CAUSE_OVERLOAD);
    r.processor.others = 0.20; /* on other CPUs: no thread waits for them */
    expect(&r, &d, CRN_RESOURCE_CAUSE_OVERLOAD);
}

/* More than one thread can receive. */
static void a_busy_line_thread_is_an_overload(void **state)
{
    (void)state;
    crn_resources r = sound();
    r.threads[CRN_RESOURCE_LINE].ran = 0.95;
    crn_resource_demand d = {.seconds = 5, .views_judged = 300, .views_discarded = 30};
    expect(&r, &d, CRN_RESOURCE_CAUSE_OVERLOAD);
}

static void bursts_are_no_lack_but_of_a_device(void **state)
{
    (void)state;
    crn_resources r = sound();
    crn_resource_demand d = {.seconds = 5, .views_judged = 290, .views_discarded = 10};
    expect(&r, &d, CRN_RESOURCE_CAUSE_NONE);
    d.device_views = 290;
    expect(&r, &d, CRN_RESOURCE_CAUSE_OVERLOAD);
    d.device_views = 0;
    r.processor.own = r.processor.others = CRN_RESOURCE_UNKNOWN;
    r.threads[CRN_RESOURCE_LINE].ran = r.threads[CRN_RESOURCE_WORKERS].ran = CRN_RESOURCE_UNKNOWN;
    expect(&r, &d, CRN_RESOURCE_CAUSE_NONE);
}

/* The line's threads wait a little whenever they begin; half of the CPUs are idle. */
static void a_cnn_beside_the_line_takes_what_is_free(void **state)
{
    (void)state;
    crn_resources r = sound();
    r.processor.own = 0.2;
    r.processor.others = 0.3;
    r.threads[CRN_RESOURCE_WORKERS].delay = 0.06;
    crn_resource_demand d = {.seconds = 5, .views_judged = 290, .views_discarded = 10};
    expect(&r, &d, CRN_RESOURCE_CAUSE_NONE);
    r.processor.others = 0.7;
    expect(&r, &d, CRN_RESOURCE_CAUSE_PROCESSOR_TAKEN);
    r.processor.others = 0.3; /* all of it on the CPU that a thread is bound to */
    r.threads[CRN_RESOURCE_WORKERS].delay = 0.3;
    expect(&r, &d, CRN_RESOURCE_CAUSE_PROCESSOR_TAKEN);
}

static void the_host_and_the_quota_are_told_apart(void **state)
{
    (void)state;
    crn_resources r = sound();
    crn_resource_demand d = {.seconds = 5, .views_judged = 280, .views_discarded = 20};
    r.processor.stolen = 0.12;
    expect(&r, &d, CRN_RESOURCE_CAUSE_PROCESSOR_STOLEN);
    r.processor.stolen = 0;
    r.processor.periods_throttled = 0.4;
    expect(&r, &d, CRN_RESOURCE_CAUSE_PROCESSOR_THROTTLED);
}

static void memory_by_pressure_or_by_swapping(void **state)
{
    (void)state;
    crn_resources r = sound();
    crn_resource_demand d = {.seconds = 5, .views_judged = 280, .views_discarded = 20};
    r.memory_pressure.some = 0.3;
    expect(&r, &d, CRN_RESOURCE_CAUSE_MEMORY);
    r.memory_pressure.some = CRN_RESOURCE_UNKNOWN;
    r.memory.swap_grown_bytes = 50 << 20;
    expect(&r, &d, CRN_RESOURCE_CAUSE_MEMORY);
}

static void a_slow_disk(void **state)
{
    (void)state;
    crn_resources r = sound();
    crn_resource_demand d = all_judged;
    d.copies_dropped = 7;
    r.io.some = 0.8;
    expect(&r, &d, CRN_RESOURCE_CAUSE_DISK);
    r.io.some = CRN_RESOURCE_UNKNOWN;
    expect(&r, &d, CRN_RESOURCE_CAUSE_DISK);
    d.copies_dropped = 0;
    expect(&r, &d, CRN_RESOURCE_CAUSE_NONE);
    r.disks[CRN_RESOURCE_LOG].silent_s = 6; /* its queue is not full yet */
    expect(&r, &d, CRN_RESOURCE_CAUSE_DISK);
}

static void a_slow_disk_and_eight_burners(void **state)
{
    (void)state;
    crn_resources r = burdened();
    crn_resource_demand d = {
        .seconds = 5, .views_judged = 100, .views_discarded = 200, .copies_dropped = 7};
    r.io.some = 0.8;
    expect(&r, &d, CRN_RESOURCE_CAUSE_PROCESSOR_TAKEN | CRN_RESOURCE_CAUSE_DISK);
}

static void a_writer_without_processor_is_not_a_slow_disk(void **state)
{
    (void)state;
    crn_resources r = burdened();
    crn_resource_demand d = all_judged;
    d.copies_dropped = 7;
    r.threads[CRN_RESOURCE_WRITERS].delay = 0.6;
    expect(&r, &d, CRN_RESOURCE_CAUSE_WRITERS_DELAYED);
}

static void a_full_disk_beside_burners(void **state)
{
    (void)state;
    crn_resources r = burdened();
    crn_resource_demand d = all_judged;
    d.copies_refused = 7;
    r.threads[CRN_RESOURCE_WRITERS].delay = 0.6;
    expect(&r, &d, CRN_RESOURCE_CAUSE_DISK);
}

static void a_busy_device(void **state)
{
    (void)state;
    crn_resources r = sound();
    crn_resource_demand d = {.seconds = 5,
                             .views_judged = 200,
                             .device_views = 200,
                             .views_discarded = 100,
                             .device_batches_slow = 20};
    expect(&r, &d, CRN_RESOURCE_CAUSE_DEVICE_BUSY);
    d.device_batches_slow = 1; /* an exception */
    expect(&r, &d, CRN_RESOURCE_CAUSE_OVERLOAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_lost_nothing_blamed),
        cmocka_unit_test(eight_burners_are_other_programs),
        cmocka_unit_test(eight_times_the_fruits_are_an_overload),
        cmocka_unit_test(both_at_once_are_both),
        cmocka_unit_test(too_few_workers_are_an_overload),
        cmocka_unit_test(a_busy_line_thread_is_an_overload),
        cmocka_unit_test(bursts_are_no_lack_but_of_a_device),
        cmocka_unit_test(a_cnn_beside_the_line_takes_what_is_free),
        cmocka_unit_test(the_host_and_the_quota_are_told_apart),
        cmocka_unit_test(memory_by_pressure_or_by_swapping),
        cmocka_unit_test(a_slow_disk),
        cmocka_unit_test(a_slow_disk_and_eight_burners),
        cmocka_unit_test(a_writer_without_processor_is_not_a_slow_disk),
        cmocka_unit_test(a_full_disk_beside_burners),
        cmocka_unit_test(a_busy_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
