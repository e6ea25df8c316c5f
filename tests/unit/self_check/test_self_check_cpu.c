/* Rows about CPUs: governor, frequency, idle states, isolation, hyper-threads, nodes. */
#include "tests/unit/self_check/made_up.h"

#define CPU "/sys/devices/system/cpu"

static int begin(void **state)
{
    (void)state;
    made_up_begin(&the);
    made_up_file(&the, CPU "/online", "0-1\n");
    return 0;
}

static int end(void **state)
{
    (void)state;
    made_up_end(&the);
    return 0;
}

static void governors(void **state)
{
    (void)state;
    static const char name[] = "CPU governor";
    expect(crn_self_check_frequency, name, CRN_FINDING_UNKNOWN, "no cpufreq");
    made_up_file(&the, CPU "/cpu0/cpufreq/scaling_governor", "performance\n");
    made_up_file(&the, CPU "/cpu1/cpufreq/scaling_governor", "performance\n");
    expect(crn_self_check_frequency, name, CRN_FINDING_OK, "performance on 2 CPUs");
    made_up_file(&the, CPU "/cpu1/cpufreq/scaling_governor", "powersave\n");
    made_up_file(&the, CPU "/cpu1/cpufreq/scaling_driver", "intel_pstate\n");
    expect(crn_self_check_frequency, name, CRN_FINDING_NOTE,
           "powersave on 1 of 2 CPUs (intel_pstate)");
    made_up_file(&the, CPU "/cpu1/cpufreq/scaling_driver", "acpi-cpufreq\n");
    expect(crn_self_check_frequency, name, CRN_FINDING_BAD, "acpi-cpufreq");
    strcpy(the.config.realtime.line_cpus, "0"); /* only the line's own CPUs count */
    expect(crn_self_check_frequency, name, CRN_FINDING_OK, "performance on 1 CPUs");
}

static void frequency_limits(void **state)
{
    (void)state;
    static const char name[] = "CPU frequency limit";
    expect(crn_self_check_frequency, name, CRN_FINDING_UNKNOWN, "no cpufreq");
    made_up_file(&the, CPU "/cpu0/cpufreq/scaling_max_freq", "4000000\n");
    made_up_file(&the, CPU "/cpu0/cpufreq/cpuinfo_max_freq", "4000000\n");
    expect(crn_self_check_frequency, name, CRN_FINDING_OK, "4000 of 4000 MHz");
    made_up_file(&the, CPU "/cpu1/cpufreq/cpuinfo_max_freq", "4000000\n");
    made_up_file(&the, CPU "/cpu1/cpufreq/scaling_max_freq", "3000000\n");
    expect(crn_self_check_frequency, name, CRN_FINDING_NOTE, "CPU 1: 3000 of 4000 MHz");
    made_up_file(&the, CPU "/cpu1/cpufreq/scaling_max_freq", "800000\n");
    expect(crn_self_check_frequency, name, CRN_FINDING_BAD, "CPU 1: 800 of 4000 MHz");
}

static void idle_states(void **state)
{
    (void)state;
    static const char name[] = "C-states";
    expect(crn_self_check_idle, name, CRN_FINDING_UNKNOWN, "no cpuidle");
    made_up_file(&the, CPU "/cpuidle/current_driver", "none\n");
    expect(crn_self_check_idle, name, CRN_FINDING_OK, "uses none");
    made_up_file(&the, CPU "/cpu0/cpuidle/state0/latency", "0\n");
    made_up_file(&the, CPU "/cpu0/cpuidle/state0/name", "POLL\n");
    made_up_file(&the, CPU "/cpu0/cpuidle/state1/latency", "133\n");
    made_up_file(&the, CPU "/cpu0/cpuidle/state1/name", "C6\n");
    made_up_file(&the, "/sys/module/intel_idle/parameters/max_cstate", "9\n");
    expect(crn_self_check_idle, name, CRN_FINDING_NOTE,
           "C6, 133 us to wake, intel_idle.max_cstate=9");
    made_up_file(&the, CPU "/cpu0/cpuidle/state1/disable", "1\n");
    expect(crn_self_check_idle, name, CRN_FINDING_OK, "POLL, 0 us");
}

static void isolated_cpus(void **state)
{
    (void)state;
    static const char name[] = "isolated CPUs";
    expect(crn_self_check_topology, name, CRN_FINDING_OK, "isolcpus none");
    made_up_file(&the, CPU "/isolated", "1-3\n");
    made_up_file(&the, CPU "/nohz_full", "1-3\n");
    expect(crn_self_check_topology, name, CRN_FINDING_NOTE, "the line is pinned to none");
    strcpy(the.config.realtime.line_cpus, "1");
    strcpy(the.config.realtime.worker_cpus, "2-3");
    expect(crn_self_check_topology, name, CRN_FINDING_OK, "isolcpus 1-3, nohz_full 1-3");
    strcpy(the.config.realtime.worker_cpus, "2-4");
    expect(crn_self_check_topology, name, CRN_FINDING_NOTE, "the line also uses 4");
    the.check.config = NULL;
    made_up_file(&the, CPU "/isolated", "\n");
    expect(crn_self_check_topology, name, CRN_FINDING_OK, "isolcpus none");
}

static void hyper_threads(void **state)
{
    (void)state;
    static const char name[] = "hyper-threads";
    expect(crn_self_check_topology, name, CRN_FINDING_UNKNOWN, "does not say");
    made_up_file(&the, CPU "/cpu0/topology/thread_siblings_list", "0\n");
    expect(crn_self_check_topology, name, CRN_FINDING_OK, "each CPU is a core");
    made_up_file(&the, CPU "/cpu0/topology/thread_siblings_list", "0,2\n");
    expect(crn_self_check_topology, name, CRN_FINDING_NOTE, "on:");
    strcpy(the.config.realtime.line_cpus, "0");
    strcpy(the.config.realtime.worker_cpus, "1,2");
    expect(crn_self_check_topology, name, CRN_FINDING_NOTE, "CPUs 2 share the core");
    strcpy(the.config.realtime.worker_cpus, "1,3");
    expect(crn_self_check_topology, name, CRN_FINDING_OK, "shares its core with no worker");
}

static void nodes(void **state)
{
    (void)state;
    static const char name[] = "NUMA nodes";
    expect(crn_self_check_topology, name, CRN_FINDING_UNKNOWN, "does not say");
    made_up_file(&the, "/sys/devices/system/node/online", "0-1\n");
    made_up_file(&the, "/sys/devices/system/node/node0/cpulist", "0\n");
    made_up_file(&the, "/sys/devices/system/node/node1/cpulist", "1\n");
    expect(crn_self_check_topology, name, CRN_FINDING_NOTE, "2, the line uses 2");
    strcpy(the.config.realtime.line_cpus, "1");
    expect(crn_self_check_topology, name, CRN_FINDING_OK, "2, the line uses 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(governors, begin, end),
        cmocka_unit_test_setup_teardown(frequency_limits, begin, end),
        cmocka_unit_test_setup_teardown(idle_states, begin, end),
        cmocka_unit_test_setup_teardown(isolated_cpus, begin, end),
        cmocka_unit_test_setup_teardown(hyper_threads, begin, end),
        cmocka_unit_test_setup_teardown(nodes, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
