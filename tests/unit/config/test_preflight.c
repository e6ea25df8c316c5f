/* The preflight's check of devices; tests/line/test_daemon_check.c tests the rest, as a process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/preflight.h"
#include "stages/backend.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"

static char *faults, *notes;

/* Preflight of a line on this backend that requests devices 1 and 5 where there are 2. */
static int check(const char *backend)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc:///tmp/cernita-test-in']}\n"
             "publish:\n"
             "  grader: {bind: 'ipc:///tmp/cernita-test-grader'}\n"
             "  viewers: {bind: 'ipc:///tmp/cernita-test-viewers'}\n"
             "classes: [{name: rot, level: 0.5}]\n"
             "chain: [contours: {}]\n"
             "run: {backend: %s, devices: [1, 5], workers: 1, threads: 1}\n"
             "monitor: {http: ''}\n",
             backend);
    crn_config config = {.file = "line.yaml"};
    assert_int_equal(crn_config_parse("line.yaml", yaml, strlen(yaml), stderr, &config), 0);
    crn_config_resolve(&config, 2);
    config.file = "line.yaml";
    size_t sizes[2];
    FILE *fault_file = open_memstream(&faults, &sizes[0]);
    FILE *note_file = open_memstream(&notes, &sizes[1]);
    int r = crn_preflight(&config, crn_fake_gpu(2, false), fault_file, note_file);
    fclose(fault_file);
    fclose(note_file);
    assert_int_equal(crn_preflight(&config, crn_fake_gpu(2, false), NULL, NULL), r);
    crn_config_done(&config);
    return r;
}

static int tear_down(void **state)
{
    (void)state;
    free(faults);
    free(notes);
    faults = notes = NULL;
    return 0;
}

static void a_device_that_cuda_asks_for_must_be_there(void **state)
{
    (void)state;
    assert_int_equal(check("cuda"), -EINVAL);
    assert_string_equal(faults, "line.yaml: run.devices: there is no device 5; this machine has 2, "
                                "numbered from 0\n");
    assert_string_equal(notes, "");
}

static void auto_does_without(void **state)
{
    (void)state;
    assert_int_equal(check("auto"), 0);
    assert_string_equal(faults, "");
    assert_string_equal(notes, "note: run.devices: there is no device 5; this machine has 2, "
                               "numbered from 0; it is left out\n");
}

static void openmp_needs_none(void **state)
{
    (void)state;
    assert_int_equal(check("openmp"), 0);
    assert_string_equal(faults, "");
    assert_string_equal(notes, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_device_that_cuda_asks_for_must_be_there, tear_down),
        cmocka_unit_test_teardown(auto_does_without, tear_down),
        cmocka_unit_test_teardown(openmp_needs_none, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
