/* Rows about limits, control groups, memory, clocks, the network. */
#include <errno.h>

#include "tests/unit/self_check/made_up.h"

static int begin(void **state)
{
    (void)state;
    made_up_begin(&the);
    made_up_file(&the, "/sys/devices/system/cpu/online", "0-3\n");
    the.config.limits.view_mib = 16;
    the.config.limits.slots = 64; /* 1 GiB */
    the.config.limits.peers = 256;
    return 0;
}

static int end(void **state)
{
    (void)state;
    made_up_end(&the);
    return 0;
}

/* /proc/self/limits, as the kernel prints it. */
static void set_limits(const char *priority, const char *locked, const char *files)
{
    char text[512];
    snprintf(text, sizeof text,
             "Limit                     Soft Limit           Hard Limit           Units     \n"
             "Max open files            1024                 %-20s files     \n"
             "Max locked memory         %-20s %-20s bytes     \n"
             "Max realtime priority     %-20s %-20s \n",
             files, locked, locked, priority, priority);
    made_up_file(&the, "/proc/self/limits", text);
}

static void real_time_limits(void **state)
{
    (void)state;
    static const char name[] = "real-time limit";
    expect(crn_self_check_limits, name, CRN_FINDING_UNKNOWN, "no /proc/self/limits");
    set_limits("0", "8388608", "4096");
    expect(crn_self_check_limits, name, CRN_FINDING_NOTE,
           "priorities up to 0, the line asks for 10");
    the.config.realtime.line_priority = 30;
    set_limits("20", "8388608", "4096");
    expect(crn_self_check_limits, name, CRN_FINDING_BAD,
           "priorities up to 20, the line asks for 30");
    set_limits("30", "8388608", "4096");
    expect(crn_self_check_limits, name, CRN_FINDING_OK, "up to 30");
    set_limits("0", "8388608", "4096");
    made_up_file(&the, "/proc/self/status", "Name:\tcernitad\nCapEff:\t0000000000800000\n");
    expect(crn_self_check_limits, name, CRN_FINDING_OK, "CAP_SYS_NICE");
}

static void throttling(void **state)
{
    (void)state;
    static const char name[] = "real-time throttling";
    expect(crn_self_check_limits, name, CRN_FINDING_UNKNOWN, "no kernel.sched_rt_runtime_us");
    made_up_file(&the, "/proc/sys/kernel/sched_rt_runtime_us", "950000\n");
    expect(crn_self_check_limits, name, CRN_FINDING_OK, "950 of 1000 ms");
    the.config.realtime.worker_priority = 5;
    expect(crn_self_check_limits, name, CRN_FINDING_NOTE, "950 of 1000 ms");
    made_up_file(&the, "/proc/sys/kernel/sched_rt_runtime_us", "-1\n");
    expect(crn_self_check_limits, name, CRN_FINDING_OK, "off");
    made_up_file(&the, "/proc/sys/kernel/sched_rt_runtime_us", "0\n");
    expect(crn_self_check_limits, name, CRN_FINDING_BAD, "no time at all");
}

static void locked_memory(void **state)
{
    (void)state;
    static const char name[] = "locked memory";
    expect(crn_self_check_limits, name, CRN_FINDING_UNKNOWN, "no /proc/self/limits");
    set_limits("0", "8388608", "4096");
    expect(crn_self_check_limits, name, CRN_FINDING_OK, "8192 KiB; the file does not ask for it");
    the.config.realtime.lock_memory = true;
    expect(crn_self_check_limits, name, CRN_FINDING_BAD, "8192 KiB; the file needs more for it");
    set_limits("0", "unlimited", "4096");
    expect(crn_self_check_limits, name, CRN_FINDING_OK, "unlimited");
}

static void open_files(void **state)
{
    (void)state;
    static const char name[] = "open files";
    expect(crn_self_check_limits, name, CRN_FINDING_UNKNOWN, "no /proc/self/limits");
    set_limits("0", "8388608", "1024");
    expect(crn_self_check_limits, name, CRN_FINDING_NOTE, "up to 1024, limits.peers needs 1216");
    set_limits("0", "8388608", "65536");
    expect(crn_self_check_limits, name, CRN_FINDING_OK, "up to 65536");
}

static void cpu_quotas(void **state)
{
    (void)state;
    static const char name[] = "CPU quota";
    expect(crn_self_check_cgroup, name, CRN_FINDING_UNKNOWN, "no control group");
    made_up_file(&the, "/proc/self/cgroup", "0::/system.slice/cernitad.service\n");
    made_up_file(&the, "/sys/fs/cgroup/system.slice/cernitad.service/cpu.max", "max 100000\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_OK, "none");
    made_up_file(&the, "/sys/fs/cgroup/system.slice/cpu.max", "250000 100000\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_BAD, "2.50 CPUs' time, of 4");
    made_up_file(&the, "/sys/fs/cgroup/system.slice/cpu.max", "800000 100000\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_NOTE, "8.00 CPUs' time, of 4");
    made_up_file(&the, "/proc/self/cgroup", "4:cpu,cpuacct:/docker/1\n3:memory:/docker/1\n");
    made_up_file(&the, "/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "50000\n");
    made_up_file(&the, "/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_BAD, "0.50 CPUs' time");
    made_up_file(&the, "/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_OK, "none");
}

static void memory_limits(void **state)
{
    (void)state;
    static const char name[] = "memory limit";
    expect(crn_self_check_cgroup, name, CRN_FINDING_UNKNOWN, "no control group");
    made_up_file(&the, "/proc/self/cgroup", "0::/\n");
    made_up_file(&the, "/sys/fs/cgroup/memory.max", "max\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_OK, "none");
    made_up_file(&the, "/sys/fs/cgroup/memory.max", "536870912\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_BAD, "512 MiB, the line reserves");
    made_up_file(&the, "/sys/fs/cgroup/memory.max", "8589934592\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_OK, "8192 MiB");
    made_up_file(&the, "/proc/self/cgroup", "3:memory:/docker/1\n");
    made_up_file(&the, "/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes",
                 "9223372036854771712\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_OK, "none");
    made_up_file(&the, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
    expect(crn_self_check_cgroup, name, CRN_FINDING_BAD, "1 MiB, the line reserves");
}

static void memory(void **state)
{
    (void)state;
    expect(crn_self_check_memory, "free memory", CRN_FINDING_UNKNOWN, "no /proc/meminfo");
    expect(crn_self_check_memory, "swap", CRN_FINDING_UNKNOWN, "no /proc/meminfo");
    made_up_file(&the, "/proc/meminfo",
                 "MemTotal: 9 kB\nMemAvailable:  524288 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    expect(crn_self_check_memory, "free memory", CRN_FINDING_BAD, "512 MiB, the line reserves");
    assert_null(strstr(the.check.item[0].cure, "ingest.slots"));
    strcpy(the.config.ingest.slots.path, "/run/slots");
    expect(crn_self_check_memory, "free memory", CRN_FINDING_BAD, "512 MiB, the line reserves");
    assert_non_null(strstr(the.check.item[0].cure, "ingest.slots"));
    the.config.ingest.slots.path[0] = '\0';
    expect(crn_self_check_memory, "swap", CRN_FINDING_OK, "none");
    made_up_file(&the, "/proc/meminfo",
                 "MemAvailable: 33554432 kB\nSwapTotal:  2097152 kB\nSwapFree: 1048576 kB\n");
    expect(crn_self_check_memory, "free memory", CRN_FINDING_OK, "32768 MiB, the line reserves");
    expect(crn_self_check_memory, "swap", CRN_FINDING_NOTE, "1024 of 2048 MiB in use");
    the.config.realtime.lock_memory = true;
    expect(crn_self_check_memory, "swap", CRN_FINDING_OK, "memory is locked");
    the.check.config = NULL;
    expect(crn_self_check_memory, "free memory", CRN_FINDING_OK, "32768 MiB");
}

static void huge_pages(void **state)
{
    (void)state;
    static const char name[] = "huge pages";
    static const char enabled[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    expect(crn_self_check_memory, name, CRN_FINDING_UNKNOWN, "no transparent ones");
    made_up_file(&the, "/proc/meminfo", "HugePages_Free:      12\n");
    made_up_file(&the, enabled, "always [madvise] never\n");
    expect(crn_self_check_memory, name, CRN_FINDING_OK,
           "transparent: madvise, defrag: ?; reserved and free: 12");
    made_up_file(&the, enabled, "[always] madvise never\n");
    made_up_file(&the, "/sys/kernel/mm/transparent_hugepage/defrag",
                 "[always] defer defer+madvise madvise never\n");
    expect(crn_self_check_memory, name, CRN_FINDING_NOTE, "transparent: always, defrag: always");
    made_up_file(&the, enabled, "always madvise [never]\n");
    expect(crn_self_check_memory, name, CRN_FINDING_OK, "never");
    the.config.realtime.huge_pages = true;
    expect(crn_self_check_memory, name, CRN_FINDING_NOTE, "never");
}

static struct timex clock_state;
static int clock_answer;

static int made_up_adjtimex(struct timex *ret_state)
{
    *ret_state = clock_state;
    return clock_answer;
}

static void clocks(void **state)
{
    (void)state;
    static const char source[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    static const char synchronisation[] = "clock synchronisation";
    the.check.adjtimex = made_up_adjtimex;
    clock_answer = -1;
    expect(crn_self_check_clock, "clock source", CRN_FINDING_UNKNOWN, "does not say");
    expect(crn_self_check_clock, synchronisation, CRN_FINDING_UNKNOWN, "not allowed");
    expect(crn_self_check_clock, "timer slack", CRN_FINDING_UNKNOWN, "no /proc");
    made_up_file(&the, source, "tsc\n");
    expect(crn_self_check_clock, "clock source", CRN_FINDING_OK, "tsc");
    made_up_file(&the, source, "xen\n");
    expect(crn_self_check_clock, "clock source", CRN_FINDING_NOTE, "xen");
    made_up_file(&the, source, "hpet\n");
    expect(crn_self_check_clock, "clock source", CRN_FINDING_BAD, "hpet");
    clock_answer = TIME_OK;
    clock_state = (struct timex){.esterror = 900, .maxerror = 20000, .offset = 12};
    expect(crn_self_check_clock, synchronisation, CRN_FINDING_OK,
           "estimated error 900 us, at most 20000 us; offset 12 us");
    clock_state.esterror = 1100;
    expect(crn_self_check_clock, synchronisation, CRN_FINDING_NOTE, "1100 us");
    clock_state.status = STA_UNSYNC;
    /* Of a line that no other machine reaches, all times are of this clock. */
    expect(crn_self_check_clock, synchronisation, CRN_FINDING_NOTE, "this machine's own");
    the.config.ingest.bind.count = 1;
    strcpy(the.config.ingest.bind.item[0], "tcp://*:5555");
    expect(crn_self_check_clock, synchronisation, CRN_FINDING_BAD, "not synchronised");
    clock_state.status = 0;
    clock_answer = TIME_ERROR;
    expect(crn_self_check_clock, synchronisation, CRN_FINDING_BAD, "not synchronised");
    strcpy(the.config.ingest.bind.item[0], "ipc:///run/in");
    expect(crn_self_check_clock, synchronisation, CRN_FINDING_NOTE, "not synchronised");
    made_up_file(&the, "/proc/self/timerslack_ns", "50000\n");
    expect(crn_self_check_clock, "timer slack", CRN_FINDING_OK, "50 us");
    made_up_file(&the, "/proc/self/timerslack_ns", "4000000\n");
    expect(crn_self_check_clock, "timer slack", CRN_FINDING_NOTE, "4000 us");
}

static void receive_buffers(void **state)
{
    (void)state;
    static const char name[] = "receive buffers";
    the.config.ingest.bind.count = 1;
    strcpy(the.config.ingest.bind.item[0], "tcp://127.0.0.1:5555");
    expect(crn_self_check_network, name, CRN_FINDING_UNKNOWN, "no net.ipv4.tcp_rmem");
    made_up_file(&the, "/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
    made_up_file(&the, "/proc/sys/net/core/rmem_max", "212992\n");
    expect(crn_self_check_network, name, CRN_FINDING_OK, "up to 6144 KiB, rmem_max 208 KiB");
    made_up_file(&the, "/proc/sys/net/ipv4/tcp_rmem", "4096\t87380\t212992\n");
    expect(crn_self_check_network, name, CRN_FINDING_NOTE, "up to 208 KiB");
    strcpy(the.config.ingest.bind.item[0], "ipc:///run/views");
    expect(crn_self_check_network, name, CRN_FINDING_OK, "without TCP");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(real_time_limits, begin, end),
        cmocka_unit_test_setup_teardown(throttling, begin, end),
        cmocka_unit_test_setup_teardown(locked_memory, begin, end),
        cmocka_unit_test_setup_teardown(open_files, begin, end),
        cmocka_unit_test_setup_teardown(cpu_quotas, begin, end),
        cmocka_unit_test_setup_teardown(memory_limits, begin, end),
        cmocka_unit_test_setup_teardown(memory, begin, end),
        cmocka_unit_test_setup_teardown(huge_pages, begin, end),
        cmocka_unit_test_setup_teardown(clocks, begin, end),
        cmocka_unit_test_setup_teardown(receive_buffers, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
