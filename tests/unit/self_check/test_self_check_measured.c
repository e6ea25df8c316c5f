/* Rows that are measured or asked for: wake-ups, disks, GPUs; and both forms of the report. */
#include <dirent.h>
#include <errno.h>
#include <yajl/yajl_tree.h>

#include "tests/support/free_space.h"
#include "tests/support/gpu/fake_gpu.h"

#include "src/formats/verdict_log/writer.h"
#include "tests/unit/self_check/made_up.h"

static int begin(void **state)
{
    (void)state;
    made_up_begin(&the);
    the.check.wake_ups = 10;
    the.check.disk_bytes = 3 << 20;
    atomic_store(&free_bytes, UINT64_C(1) << 40);
    return 0;
}

static int end(void **state)
{
    (void)state;
    made_up_end(&the);
    return 0;
}

static const crn_finding *row(const char *name)
{
    for (int i = 0; i < the.check.count; i++)
        if (strcmp(the.check.item[i].name, name) == 0)
            return &the.check.item[i];
    return NULL;
}

static void wake_ups_are_measured(void **state)
{
    (void)state;
    struct sched_param none;
    crn_self_check_wake_up(&the.check);
    assert_non_null(strstr(row("wake-up, normal")->text, "of 10, 1 ms apart"));
    assert_non_null(row("wake-up, real time"));
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER); /* nothing of it stays */
    assert_int_equal(sched_getparam(0, &none), 0);
}

static int count_files(const char *folder)
{
    int count = 0;
    struct dirent *entry;
    DIR *files = opendir(folder);
    assert_non_null(files);
    while ((entry = readdir(files)))
        count += entry->d_name[0] != '.' || entry->d_name[1] == 'c';
    closedir(files);
    return count;
}

static void disks_are_measured_and_left_clean(void **state)
{
    (void)state;
    crn_self_check_disk(&the.check);
    assert_int_equal(the.check.count, 0); /* nothing is written by this line */
    snprintf(the.config.record.dir, CRN_TEXT_BYTES, "%s", the.root);
    snprintf(the.config.publish.log.dir, CRN_TEXT_BYTES, "%s/none", the.root);
    crn_self_check_disk(&the.check);
    assert_non_null(strstr(row("record.dir")->text, "MiB/s written and synced"));
    assert_int_not_equal(row("record.dir")->level, CRN_FINDING_BAD);
    assert_int_equal(row("publish.log.dir")->level, CRN_FINDING_BAD);
    assert_non_null(strstr(row("publish.log.dir")->text, "No such file"));
    assert_int_equal(count_files(the.root), 0);
}

static void a_disk_without_room_is_told(void **state)
{
    (void)state;
    snprintf(the.config.record.dir, CRN_TEXT_BYTES, "%s", the.root);
    the.config.record.segment_mib = INT64_C(1) << 40;
    expect(crn_self_check_disk, "record.dir", CRN_FINDING_NOTE, "MiB free");
    assert_non_null(strstr(row("record.dir")->cost, "full"));
    the.config.record.dir[0] = '\0';
    snprintf(the.config.publish.log.dir, CRN_TEXT_BYTES, "%s", the.root);
    the.config.publish.log.segment_mib = 64;
    atomic_store(&free_bytes,
                 CRN_VERDICT_LOG_SPARE_BYTES + (UINT64_C(63) << 20)); /* the log leaves 128 MiB */
    expect(crn_self_check_disk, "publish.log.dir", CRN_FINDING_NOTE, "191 MiB free");
    assert_non_null(strstr(row("publish.log.dir")->cost, "full"));
}

#define DEVICE "/sys/bus/pci/devices/0000:01:00.0"

static void links_are_read(void **state)
{
    (void)state;
    crn_self_check_pcie(&the.check);
    assert_int_equal(the.check.count, 0);
    made_up_file(&the, "/sys/bus/pci/devices/0000:02:00.0/vendor", "0x8086\n");
    made_up_file(&the, "/sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n");
    made_up_file(&the, DEVICE "/vendor", "0x10de\n");
    made_up_file(&the, DEVICE "/class", "0x030200\n");
    expect(crn_self_check_pcie, "PCIe link", CRN_FINDING_UNKNOWN, "0000:01:00.0");
    made_up_file(&the, DEVICE "/current_link_speed", "16.0 GT/s PCIe\n");
    made_up_file(&the, DEVICE "/max_link_speed", "16.0 GT/s PCIe\n");
    made_up_file(&the, DEVICE "/current_link_width", "16\n");
    made_up_file(&the, DEVICE "/max_link_width", "16\n");
    expect(crn_self_check_pcie, "PCIe link", CRN_FINDING_OK, "generation 4 of 4, 16 of 16 lanes");
    made_up_file(&the, DEVICE "/current_link_speed", "2.5 GT/s PCIe\n");
    expect(crn_self_check_pcie, "PCIe link", CRN_FINDING_NOTE, "generation 1 of 4");
    made_up_file(&the, DEVICE "/current_link_width", "8\n");
    expect(crn_self_check_pcie, "PCIe link", CRN_FINDING_NOTE, "8 of 16 lanes");
}

/* A program of that name that prints this, first in PATH. */
static void set_nvidia_smi(const char *text)
{
    char path[128], script[128];
    snprintf(path, sizeof path, "%s/nvidia-smi", the.root);
    snprintf(script, sizeof script, "#!/bin/sh\n%s\n", text);
    made_up_file(&the, "/nvidia-smi", script);
    assert_int_equal(chmod(path, 0755), 0);
}

static void persistence_is_asked_for(void **state)
{
    (void)state;
    char before[4096], path[4200];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    snprintf(path, sizeof path, "%s:%s", the.root, before);
    setenv("PATH", path, 1);
    made_up_file(&the, DEVICE "/vendor", "0x10de\n");
    made_up_file(&the, DEVICE "/class", "0x030200\n");
    set_nvidia_smi("echo Enabled");
    expect(crn_self_check_pcie, "persistence mode", CRN_FINDING_OK, "Enabled");
    set_nvidia_smi("echo Disabled");
    expect(crn_self_check_pcie, "persistence mode", CRN_FINDING_NOTE, "Disabled");
    set_nvidia_smi("echo no driver; exit 9");
    expect(crn_self_check_pcie, "persistence mode", CRN_FINDING_UNKNOWN, "no nvidia-smi");
    setenv("PATH", before, 1);
}

static void copies_are_measured(void **state)
{
    (void)state;
    the.check.no_gpu = "this build has none";
    expect(crn_self_check_gpu, "GPU", CRN_FINDING_OK, "none: this build has none");
    the.config.run.backend = 3; /* cuda */
    expect(crn_self_check_gpu, "GPU", CRN_FINDING_BAD, "none: this build has none");
    the.check.gpu = crn_fake_gpu(2, false);
    crn_self_check_gpu(&the.check);
    the.check.count = 0;
    crn_self_check_gpu(&the.check);
    assert_int_equal(the.check.count, 4);
    assert_non_null(strstr(row("GPU copies")->text, "GB/s to it"));
    assert_int_not_equal(row("GPU copies")->level, CRN_FINDING_BAD);
    assert_int_equal(crn_fake_gpu_used.contexts, 0);
    assert_int_equal(crn_fake_gpu_used.pinned, 0);
    crn_fake_gpu_limit(1 << 20);
    expect(crn_self_check_gpu, "GPU copies", CRN_FINDING_BAD, "memory");
    assert_int_equal(crn_fake_gpu_used.contexts, 0);
    assert_int_equal(crn_fake_gpu_used.pinned, 0);
}

static void other_processes_on_a_gpu_are_told(void **state)
{
    (void)state;
    the.check.gpu = crn_fake_gpu(1, false);
    expect(crn_self_check_gpu, "GPU sharing", CRN_FINDING_OK, "0: 0 other processes");
    crn_fake_gpu_others = 1;
    crn_fake_gpu_mps = false;
    expect(crn_self_check_gpu, "GPU sharing", CRN_FINDING_NOTE,
           "0: 1 other process computes on it");
    assert_non_null(strstr(row("GPU sharing")->cost, "take turns"));
    crn_fake_gpu_others = 2;
    crn_fake_gpu_mps = true;
    expect(crn_self_check_gpu, "GPU sharing", CRN_FINDING_NOTE, "through an MPS server");
    assert_non_null(strstr(row("GPU sharing")->cost, "waits for kernels"));
    assert_non_null(strstr(row("GPU sharing")->cure, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=80"));
    crn_fake_gpu_others = -2;
    crn_fake_gpu_mps = true;
    expect(crn_self_check_gpu, "GPU sharing", CRN_FINDING_UNKNOWN, "an MPS server is active");
}

static void both_forms_say_the_same(void **state)
{
    (void)state;
    char *text, fault[256];
    size_t size;
    crn_self_check_add(&the.check, "one", CRN_FINDING_OK, "cost", "cure", "all \"well\"");
    crn_self_check_add(&the.check, "two", CRN_FINDING_BAD, "it costs", "do it", "%d of %d", 1, 2);
    FILE *out = open_memstream(&text, &size);
    crn_self_check_print(&the.check, out);
    fclose(out);
    assert_string_equal(text, "ok      one                     all \"well\"\n"
                              "bad     two                     1 of 2\n"
                              "        cost: it costs\n"
                              "        cure: do it\n"
                              "\n1 ok, 0 note, 1 bad, 0 unknown\n");
    free(text);
    out = open_memstream(&text, &size);
    crn_self_check_print_json(&the.check, out);
    fclose(out);
    yajl_val tree = yajl_tree_parse(text, fault, sizeof fault);
    assert_non_null(tree);
    const char *rows[] = {"rows", NULL}, *bad[] = {"bad", NULL}, *cure[] = {"cure", NULL},
               *finding[] = {"finding", NULL};
    yajl_val list = yajl_tree_get(tree, rows, yajl_t_array);
    assert_int_equal(YAJL_GET_INTEGER(yajl_tree_get(tree, bad, yajl_t_number)), 1);
    assert_int_equal(list->u.array.len, 2);
    assert_string_equal(
        YAJL_GET_STRING(yajl_tree_get(list->u.array.values[0], finding, yajl_t_string)),
        "all \"well\"");
    assert_non_null(yajl_tree_get(list->u.array.values[0], cure, yajl_t_null));
    assert_string_equal(
        YAJL_GET_STRING(yajl_tree_get(list->u.array.values[1], cure, yajl_t_string)), "do it");
    yajl_tree_free(tree);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wake_ups_are_measured, begin, end),
        cmocka_unit_test_setup_teardown(disks_are_measured_and_left_clean, begin, end),
        cmocka_unit_test_setup_teardown(a_disk_without_room_is_told, begin, end),
        cmocka_unit_test_setup_teardown(links_are_read, begin, end),
        cmocka_unit_test_setup_teardown(persistence_is_asked_for, begin, end),
        cmocka_unit_test_setup_teardown(copies_are_measured, begin, end),
        cmocka_unit_test_setup_teardown(other_processes_on_a_gpu_are_told, begin, end),
        cmocka_unit_test_setup_teardown(both_forms_say_the_same, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
