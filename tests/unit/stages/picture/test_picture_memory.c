/* Available memory, on machines simulated by files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "stages/picture/internal.h"
#include "tests/support/cmocka_prelude.h"

static char root[64];

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/crn_machine_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

/* Writes a file of the simulated machine, creating its folders. */
static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

#define MEMINFO "MemTotal:  24684092 kB\nMemFree:  100 kB\nMemAvailable:   1000 kB\nBuffers: 7 kB\n"

static void the_kernel_tells(void **state)
{
    (void)state;
    assert_true(crn_memory_available_under(root) == UINT64_MAX);
    put("/proc/meminfo", MEMINFO);
    assert_int_equal(crn_memory_available_under(root), 1000 * 1024);
}

static void groups_leave_less(void **state)
{
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/line/daemon\n");
    assert_int_equal(crn_memory_available_under(root), 1000 * 1024);
    put("/sys/fs/cgroup/line/daemon/memory.max", "max\n");
    put("/sys/fs/cgroup/line/daemon/memory.current", "5000\n");
    assert_int_equal(crn_memory_available_under(root), 1000 * 1024);
    put("/sys/fs/cgroup/line/memory.max", "90000\n");
    put("/sys/fs/cgroup/line/memory.current", "50000\n");
    assert_int_equal(crn_memory_available_under(root), 40000);
    put("/sys/fs/cgroup/line/memory.stat", "anon 1\ninactive_file 300\nactive_file 50\n");
    assert_int_equal(crn_memory_available_under(root), 40350);
    put("/sys/fs/cgroup/line/daemon/memory.max", "6000\n");
    assert_int_equal(crn_memory_available_under(root), 1000);
    put("/sys/fs/cgroup/line/memory.max", "50500\n"); /* the enclosing group leaves even less */
    assert_int_equal(crn_memory_available_under(root), 850);
    put("/sys/fs/cgroup/line/daemon/memory.max", "4000\n");
    assert_int_equal(crn_memory_available_under(root), 0);
    put("/proc/self/cgroup", "0::/\n"); /* as seen from within a container */
    assert_int_equal(crn_memory_available_under(root), 1000 * 1024);
    put("/sys/fs/cgroup/memory.max", "70000\n");
    put("/sys/fs/cgroup/memory.current", "10000\n");
    assert_int_equal(crn_memory_available_under(root), 60000);
}

static void groups_of_the_first_generation_do_too(void **state)
{
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/job\n1:cpu:/x\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "5000\n");
    assert_int_equal(crn_memory_available_under(root), 1000 * 1024);
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "8000\n");
    put("/sys/fs/cgroup/memory/job/memory.stat", "cache 9\ntotal_inactive_file 500\n");
    assert_int_equal(crn_memory_available_under(root), 3500);
}

static void this_machine_has_some(void **state)
{
    (void)state;
    assert_true(crn_memory_available_bytes() > 1 << 20);
}

static void sizes_are_said_as_people_do(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 bytes"},
        {1023, "1023 bytes"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {10188, "9.9 KiB"},
        {10189, "10 KiB"},
        {1023 * 1024, "1023 KiB"},
        {1048575, "1.0 MiB"},
        {UINT64_C(24684092) * 1024, "24 GiB"},
        {UINT64_C(4000000000000000000), "3.5 EiB"},
        {UINT64_MAX, "16 EiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CRN_BYTES_TEXT];
        assert_string_equal(crn_bytes_format(cases[i].bytes, text), cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_kernel_tells, make_root, remove_root),
        cmocka_unit_test_setup_teardown(groups_leave_less, make_root, remove_root),
        cmocka_unit_test_setup_teardown(groups_of_the_first_generation_do_too, make_root,
                                        remove_root),
        cmocka_unit_test(this_machine_has_some),
        cmocka_unit_test(sizes_are_said_as_people_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
