/* Figures of made-up machines, and of this one. */
#include <math.h>

#include "tests/unit/resources/made_up_machine.h"

#define NEARLY 0.001

static void expect_share(double share, double expected)
{
    if (fabs(share - expected) > NEARLY)
        fail_msg("%.3f, expected %.3f", share, expected);
}

/* Of a share of the time: the clock also goes on by itself, by much on a busy machine. */
static void expect_timed(const crn_resources *resources, double share, double expected)
{
    assert_true(resources->window_s >= CRN_RESOURCES_WINDOW_S);
    expect_share(share * resources->window_s / CRN_RESOURCES_WINDOW_S, expected);
}

static void expect_unknown(double figure)
{
    if (crn_resource_known(figure))
        fail_msg("%.3f, expected unknown", figure);
}

typedef void write_fn(const made_up_counters *counters);

/* What every second adds to the counters, on top of `from`. */
static crn_resources after_seconds(crn_resources_reader *reader, int seconds, write_fn *write,
                                   made_up_counters *c, const made_up_counters *each)
{
    crn_resources resources;
    write(c);
    crn_resources_read(reader, &resources);
    for (int i = 0; i < seconds; i++) {
        c->busy_s += each->busy_s;
        c->idle_s += each->idle_s;
        c->interrupts_s += each->interrupts_s;
        c->stolen_s += each->stolen_s;
        c->own_s += each->own_s;
        for (int k = 0; k < 3; k++) {
            c->some_s[k] += each->some_s[k];
            c->full_s[k] += each->full_s[k];
        }
        c->periods += each->periods;
        c->throttled += each->throttled;
        c->throttled_s += each->throttled_s;
        c->swap_kib += each->swap_kib;
        for (size_t t = 0; t < sizeof c->threads / sizeof *c->threads; t++) {
            c->threads[t].ran_s += each->threads[t].ran_s;
            c->threads[t].waited_s += each->threads[t].waited_s;
        }
        write(c);
        crn_clock_move(CRN_NS_PER_S);
        crn_resources_read(reader, &resources);
    }
    return resources;
}

/* A daemon on a machine that has been up for a while. */
static made_up_counters booted(void)
{
    return (made_up_counters){
        .busy_s = 5000,
        .idle_s = 90000,
        .interrupts_s = 60,
        .stolen_s = 70,
        .own_s = 900,
        .some_s = {10, 20, 30},
        .full_s = {0, 2, 3},
        .resident_kib = 300000,
        .available_kib = 600000,
        .threads = {{CRN_MADE_UP_PROCESS, "cernitad", 100, 3},
                    {101, "worker 0", 300, 9},
                    {102, "worker 1", 300, 9},
                    {103, "recorder", 40, 1},
                    {104, "ZMQbg/IO/0", 50, 1}},
    };
}

static void write_group_of_everything(const made_up_counters *c)
{
    made_up_write(c);
    made_up_file("/proc/self/cgroup", "0::/system.slice/cernitad.service\n");
    made_up_file("/sys/fs/cgroup/system.slice/cernitad.service/cpu.max", "max 100000\n");
    made_up_pressure(c, "/proc/pressure", "");
}

static void an_idle_machine(void **state)
{
    (void)state;
    made_up_counters c = booted();
    made_up_counters each = {.busy_s = 0.20, .idle_s = 3.80, .own_s = 0.16};
    each.threads[1].ran_s = 0.10;
    write_group_of_everything(&c);
    crn_resources r = after_seconds(made_up_open(), 5, write_group_of_everything, &c, &each);
    assert_int_equal(r.processor.cpus, CRN_MADE_UP_CPUS);
    expect_share(r.processor.own, 0.04);
    expect_share(r.processor.others, 0.01);
    expect_share(r.processor.stolen, 0);
    expect_unknown(r.processor.quota_cpus);
    expect_timed(&r, r.threads[CRN_RESOURCE_WORKERS].ran, 0.10);
    assert_int_equal(r.threads[CRN_RESOURCE_WORKERS].threads, 2);
    assert_int_equal(r.threads[CRN_RESOURCE_WRITERS].threads, 1);
    assert_int_equal(r.threads[CRN_RESOURCE_LINE].threads, 1);
    assert_int_equal(r.threads[CRN_RESOURCE_REST].threads, 1);
    expect_timed(&r, r.threads[CRN_RESOURCE_WORKERS].delay, 0);
    assert_true(r.memory.resident_bytes == INT64_C(300000) * 1024);
    assert_true(r.memory.limit_bytes == INT64_C(1000000) * 1024);
    expect_share(r.memory.used, 0.4);
    assert_false(r.disks[CRN_RESOURCE_RECORD].on);
}

static void eight_burners(void **state)
{
    (void)state;
    made_up_counters c = booted();
    made_up_counters each = {.busy_s = 3.96, .idle_s = 0, .interrupts_s = 0.04, .own_s = 0.60};
    each.some_s[0] = 0.95;
    each.threads[1] = (made_up_thread){.ran_s = 0.25, .waited_s = 0.70};
    each.threads[2] = (made_up_thread){.ran_s = 0.25, .waited_s = 0.50};
    write_group_of_everything(&c);
    crn_resources_reader *reader = made_up_open();
    crn_resources r = after_seconds(reader, 5, write_group_of_everything, &c, &each);
    expect_share(r.processor.own, 0.15);
    expect_share(r.processor.others, 0.84);
    expect_share(r.processor.interrupts, 0.01);
    expect_timed(&r, r.threads[CRN_RESOURCE_WORKERS].ran, 0.50);
    expect_timed(&r, r.threads[CRN_RESOURCE_WORKERS].delay, 0.70); /* the worst, not the mean */
    expect_timed(&r, r.threads[CRN_RESOURCE_LINE].delay, 0);
    expect_timed(&r, r.cpu.some, 0.95);
    assert_false(r.cpu.of_group);
    each.threads[1].waited_s = 0.10;
    r = after_seconds(reader, 5, write_group_of_everything, &c, &each);
    expect_timed(&r, r.threads[CRN_RESOURCE_WORKERS].delay, 0.50); /* that of the other one */
}

static void a_host_that_steals(void **state)
{
    (void)state;
    made_up_counters c = booted();
    made_up_counters each = {.busy_s = 2.00, .idle_s = 1.52, .stolen_s = 0.48, .own_s = 1.96};
    write_group_of_everything(&c);
    crn_resources r = after_seconds(made_up_open(), 5, write_group_of_everything, &c, &each);
    expect_share(r.processor.stolen, 0.12);
    expect_share(r.processor.others, 0.01);
}

#define GROUP "/sys/fs/cgroup/plant/line"

static void write_group_with_limits(const made_up_counters *c)
{
    made_up_write(c);
    made_up_file("/proc/self/cgroup", "1:name=systemd:/\n0::/plant/line\n");
    made_up_file(GROUP "/cpu.max", "max 100000\n");
    made_up_file("/sys/fs/cgroup/plant/cpu.max", "150000 100000\n");
    made_up_file(GROUP "/cpu.stat",
                 "usage_usec 9\nnr_periods %d\nnr_throttled %d\nthrottled_usec %.0f\n", c->periods,
                 c->throttled, c->throttled_s * 1e6);
    made_up_file(GROUP "/memory.max", "%" PRId64 "\n", INT64_C(400000) * 1024);
    made_up_file(GROUP "/memory.current", "%" PRId64 "\n", INT64_C(390000) * 1024);
    made_up_file(GROUP "/memory.stat", "anon 5\ninactive_file %d\nactive_file 0\n", 30000 * 1024);
    made_up_pressure(c, GROUP, ".pressure");
    made_up_counters whole_machine = {.some_s = {1}};
    made_up_pressure(&whole_machine, "/proc/pressure", "");
}

static void a_group_with_limits(void **state)
{
    (void)state;
    made_up_counters c = booted();
    made_up_counters each = {.busy_s = 1.50,
                             .idle_s = 2.50,
                             .own_s = 1.46,
                             .periods = 10,
                             .throttled = 4,
                             .throttled_s = 0.40,
                             .swap_kib = 100};
    each.some_s[1] = 0.30;
    each.full_s[1] = 0.10;
    write_group_with_limits(&c);
    crn_resources r = after_seconds(made_up_open(), 5, write_group_with_limits, &c, &each);
    expect_share(r.processor.quota_cpus, 1.5); /* the parent's */
    expect_share(r.processor.periods_throttled, 0.4);
    expect_timed(&r, r.processor.throttled, 0.1);
    assert_true(r.io.of_group);
    expect_timed(&r, r.io.some, 0.30);
    expect_timed(&r, r.io.full, 0.10);
    expect_timed(&r, r.cpu.some, 0);
    assert_true(r.memory.limit_bytes == INT64_C(400000) * 1024);
    assert_true(r.memory.available_bytes == INT64_C(40000) * 1024); /* the cache is not used */
    expect_share(r.memory.used, 0.9);
    assert_true(r.memory.swap_bytes == 500 * 1024);
    assert_true(r.memory.swap_grown_bytes == 500 * 1024);
}

/* As in a container of an older kernel. */
static void a_machine_that_tells_little(void **state)
{
    (void)state;
    made_up_counters c = booted();
    crn_resources r =
        after_seconds(made_up_open(), 5, made_up_write, &c,
                      &(made_up_counters){.busy_s = 0.40, .idle_s = 3.60, .own_s = 0.20});
    expect_share(r.processor.others, 0.05);
    expect_unknown(r.processor.throttled);
    expect_unknown(r.processor.periods_throttled);
    expect_unknown(r.cpu.some);
    expect_unknown(r.io.full);
    expect_unknown(r.memory_pressure.some);
}

static void write_nothing(const made_up_counters *c)
{
    (void)c;
}

static void a_machine_that_tells_nothing(void **state)
{
    (void)state;
    made_up_counters c = {0};
    crn_resources r = after_seconds(made_up_open(), 5, write_nothing, &c, &(made_up_counters){0});
    assert_int_equal(r.processor.cpus, 0);
    expect_unknown(r.processor.own);
    expect_unknown(r.processor.others);
    expect_unknown(r.threads[CRN_RESOURCE_LINE].delay);
    expect_unknown(r.memory.used);
    expect_unknown((double)r.memory.resident_bytes);
}

static void the_first_sample_tells_levels_alone(void **state)
{
    (void)state;
    made_up_counters c = booted();
    write_group_with_limits(&c);
    crn_resources r =
        after_seconds(made_up_open(), 0, write_group_with_limits, &c, &(made_up_counters){0});
    assert_true(r.window_s == 0);
    expect_unknown(r.processor.others);
    expect_unknown(r.processor.throttled);
    expect_unknown(r.threads[CRN_RESOURCE_WORKERS].delay);
    expect_unknown(r.io.some);
    expect_unknown((double)r.memory.swap_grown_bytes);
    expect_share(r.memory.used, 0.9);
}

static void what_is_over_is_forgotten(void **state)
{
    (void)state;
    made_up_counters c = booted();
    crn_resources_reader *reader = made_up_open();
    made_up_counters busy = {.busy_s = 4, .own_s = 0.4}, idle = {.idle_s = 4};
    crn_resources r = after_seconds(reader, 5, made_up_write, &c, &busy);
    expect_share(r.processor.others, 0.9);
    r = after_seconds(reader, 4, made_up_write, &c, &idle);
    expect_share(r.processor.others, 0.18);
    r = after_seconds(reader, 1, made_up_write, &c, &idle);
    expect_share(r.processor.others, 0);
}

static void a_thread_that_ends_and_one_that_starts(void **state)
{
    (void)state;
    made_up_counters c = booted(), each = {.busy_s = 1, .idle_s = 3, .own_s = 1};
    each.threads[1].waited_s = 0.5;
    crn_resources_reader *reader = made_up_open();
    crn_resources r = after_seconds(reader, 3, made_up_write, &c, &each);
    double delay = r.threads[CRN_RESOURCE_WORKERS].delay;
    expect_share(delay * r.window_s, 1.5);
    char command[200];
    snprintf(command, sizeof command, "rm -r %s/proc/self/task/101", test_folder);
    assert_int_equal(system(command), 0);
    c.threads[1] = (made_up_thread){105, "worker 2", 0.5, 0.1};
    each.threads[1].waited_s = 0.2;
    r = after_seconds(reader, 2, made_up_write, &c, &each);
    assert_int_equal(r.threads[CRN_RESOURCE_WORKERS].threads, 2);
    delay = r.threads[CRN_RESOURCE_WORKERS].delay;
    assert_true(delay > 0 && delay < 0.2 + NEARLY);
}

/* The counters of a CPU that was away begin again. */
static void counters_that_fall(void **state)
{
    (void)state;
    made_up_counters c = booted(), each = {.busy_s = 1, .idle_s = 3, .own_s = 0.5};
    crn_resources_reader *reader = made_up_open();
    after_seconds(reader, 3, made_up_write, &c, &each);
    c.idle_s = c.busy_s = 10;
    crn_resources r = after_seconds(reader, 1, made_up_write, &c, &each);
    expect_unknown(r.processor.others);
    r = after_seconds(reader, 5, made_up_write, &c, &each);
    expect_share(r.processor.own, 0.125);
}

static void expect_a_share(double share)
{
    if (crn_resource_known(share) && !(share >= 0 && share <= 1))
        fail_msg("%.3f is not a share", share);
}

static void this_machine(void **state)
{
    (void)state;
    crn_resources_settings settings = {.folders = {[CRN_RESOURCE_LOG] = {.path = test_folder}}};
    crn_resources_reader *reader;
    crn_resources r;
    assert_int_equal(crn_resources_create(&settings, &reader), 0);
    crn_cleanup_add(made_up_free, reader);
    for (int i = 0; i < 3; i++) {
        crn_resources_read(reader, &r);
        crn_clock_move(CRN_NS_PER_S);
    }
    assert_true(r.window_s >= 2);
    assert_true(r.processor.cpus > 0);
    const double shares[] = {r.processor.own,
                             r.processor.others,
                             r.processor.interrupts,
                             r.processor.stolen,
                             r.processor.throttled,
                             r.cpu.some,
                             r.cpu.full,
                             r.io.some,
                             r.io.full,
                             r.memory.used,
                             r.memory_pressure.some};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        expect_a_share(shares[i]);
    assert_int_equal(r.threads[CRN_RESOURCE_LINE].threads, 1); /* this one */
    assert_true(r.threads[CRN_RESOURCE_REST].threads >= 1);    /* the disk's */
    assert_true(r.memory.resident_bytes > 0);
    assert_true(r.memory.limit_bytes > r.memory.available_bytes);
    assert_true(r.disks[CRN_RESOURCE_LOG].on);
    assert_true(r.disks[CRN_RESOURCE_LOG].size_bytes >= r.disks[CRN_RESOURCE_LOG].free_bytes);
    assert_false(r.disks[CRN_RESOURCE_RECORD].on);
}

int main(void)
{
#define IN_A_FOLDER(test)                                                                          \
    cmocka_unit_test_setup_teardown(test, test_folder_make, test_folder_remove)
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(an_idle_machine),
        IN_A_FOLDER(eight_burners),
        IN_A_FOLDER(a_host_that_steals),
        IN_A_FOLDER(a_group_with_limits),
        IN_A_FOLDER(a_machine_that_tells_little),
        IN_A_FOLDER(a_machine_that_tells_nothing),
        IN_A_FOLDER(the_first_sample_tells_levels_alone),
        IN_A_FOLDER(what_is_over_is_forgotten),
        IN_A_FOLDER(a_thread_that_ends_and_one_that_starts),
        IN_A_FOLDER(counters_that_fall),
        IN_A_FOLDER(this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
