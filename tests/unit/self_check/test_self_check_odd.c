/* A machine whose files hold anything at all: rows stay rows. */
#include "stages/base/utf8.h"
#include "tests/unit/self_check/made_up.h"

#define CPU "/sys/devices/system/cpu"
#define PCI "/sys/bus/pci/devices/0000:01:00.0"

static const char *const paths[] = {
    CPU "/cpu0/cpufreq/scaling_governor",
    CPU "/cpu0/cpufreq/scaling_driver",
    CPU "/cpu0/cpufreq/scaling_max_freq",
    CPU "/cpu0/cpufreq/cpuinfo_max_freq",
    CPU "/cpu0/cpuidle/state0/latency",
    CPU "/cpu0/cpuidle/state0/disable",
    CPU "/cpu0/cpuidle/state0/name",
    CPU "/cpu0/topology/thread_siblings_list",
    CPU "/isolated",
    CPU "/nohz_full",
    CPU "/cpuidle/current_driver",
    "/sys/module/intel_idle/parameters/max_cstate",
    "/sys/devices/system/node/online",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/fs/cgroup/a/cpu.max",
    "/sys/fs/cgroup/a/memory.max",
    "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us",
    "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us",
    "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/self/timerslack_ns",
    PCI "/current_link_speed",
    PCI "/max_link_speed",
    PCI "/current_link_width",
    PCI "/max_link_width",
};

static int begin(void **state)
{
    (void)state;
    made_up_begin(&the);
    return 0;
}

static int end(void **state)
{
    (void)state;
    made_up_end(&the);
    return 0;
}

static int not_allowed(struct timex *state)
{
    (void)state;
    return -1;
}

static void look(void)
{
    static void (*const concerns[])(crn_self_check *) = {
        crn_self_check_frequency, crn_self_check_idle,   crn_self_check_topology,
        crn_self_check_limits,    crn_self_check_cgroup, crn_self_check_memory,
        crn_self_check_clock,     crn_self_check_network};
    the.check.count = 0;
    the.check.adjtimex = not_allowed;
    for (size_t i = 0; i < sizeof concerns / sizeof *concerns; i++)
        concerns[i](&the.check);
    assert_in_range(the.check.count, 15, CRN_FINDINGS_MAX);
    for (int i = 0; i < the.check.count; i++) {
        const crn_finding *row = &the.check.item[i];
        bool told = row->level == CRN_FINDING_NOTE || row->level == CRN_FINDING_BAD;
        assert_true(row->text[0] != '\0');
        char clean[sizeof row->text];
        strcpy(clean, row->text);
        crn_utf8_clean(clean);
        assert_string_equal(row->text, clean);
        assert_int_equal(row->cost != NULL, told);
        assert_int_equal(row->cure != NULL, told);
    }
}

/* What /proc/self and /proc/meminfo say, with `text` as every value. */
static void put_fields(const char *text)
{
    char file[6000];
    snprintf(file, sizeof file,
             "Max realtime priority %.900s %.900s\nMax locked memory %.900s %.900s bytes\n"
             "Max open files %.900s\n",
             text, text, text, text, text);
    made_up_file(&the, "/proc/self/limits", file);
    snprintf(file, sizeof file, "CapEff: %.900s\n", text);
    made_up_file(&the, "/proc/self/status", file);
    snprintf(file, sizeof file,
             "MemAvailable: %.900s kB\nSwapTotal: %.900s kB\nSwapFree: %.900s kB\n"
             "HugePages_Free: %.900s\n",
             text, text, text, text);
    made_up_file(&the, "/proc/meminfo", file);
}

static void any_value_makes_rows(void **state)
{
    (void)state;
    static char endless[8192];
    memset(endless, '7', sizeof endless - 1);
    const char *const texts[] = {"",
                                 "\n",
                                 " \n\n",
                                 "-1\n",
                                 "0\n",
                                 "0 0 0\n",
                                 "max 0\n",
                                 "9223372036854775807\n",
                                 "9223372036854775807 1\n",
                                 "9223372036854775807 9223372036854775807 9223372036854775807\n",
                                 "-9223372036854775808\n",
                                 "-9223372036854775808 1 -9223372036854775808\n",
                                 "99999999999999999999999999\n",
                                 "nan\n",
                                 "1e999\n",
                                 "0x7f\n",
                                 "[\n",
                                 "[]\n",
                                 "a [always\n",
                                 "0-4294967295\n",
                                 "1023\n",
                                 "\xff\xfe\x01\x02%s%n\n",
                                 endless};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t k = 0; k < sizeof paths / sizeof *paths; k++)
            made_up_file(&the, paths[k], texts[i]);
        made_up_file(&the, CPU "/online", i % 2 ? "0-1\n" : texts[i]);
        made_up_file(&the, "/proc/self/cgroup", i % 2 ? "0::/a\n2:memory,cpu:/a\n" : texts[i]);
        put_fields(texts[i]);
        look();
    }
}

/* Folders where files are expected: they open and cannot be read. */
static void folders_make_rows(void **state)
{
    (void)state;
    char path[200];
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        snprintf(path, sizeof path, "%s/x", paths[k]);
        made_up_file(&the, path, "");
    }
    look();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_value_makes_rows, begin, end),
        cmocka_unit_test_setup_teardown(folders_make_rows, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
