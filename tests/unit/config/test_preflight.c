/* The preflight: devices, and what the unit makes; tests/line/daemon/test_daemon_check.c tests the
 * rest, as a process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/preflight/preflight.h"
#include "stages/backend.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"

static char *faults, *notes;
static const char *file = "line.yaml";

/* Preflight as at the start, which has no notes. */
static int at_start;

/* Preflight of a line on this backend that requests devices 1 and 5 where there are 2. */
static const char *slots = ""; /* of the section ingest */
static const char *token_file = "";

static int check_with(const char *backend, const char *more)
{
    char yaml[2048];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc:///tmp/cernita-test-in']%s}\n"
             "publish:\n"
             "  grader: {bind: 'ipc:///tmp/cernita-test-grader'}\n"
             "  viewers: {bind: 'ipc:///tmp/cernita-test-viewers'}\n"
             "classes: [{name: rot, level: 0.5}]\n"
             "chain: [contours: {}]\n"
             "run: {backend: %s, devices: [1, 5], workers: 1, threads: 1}\n"
             "monitor: {http: '', token_file: '%s'}\n%s",
             slots, backend, token_file, more);
    crn_config config = {.file = file};
    assert_int_equal(crn_config_parse(file, yaml, strlen(yaml), stderr, &config), 0);
    crn_config_resolve(&config, 2);
    config.file = file;
    crn_config_use_unit_folders(&config, true);
    free(faults); /* of the check before */
    free(notes);
    size_t sizes[2];
    FILE *fault_file = open_memstream(&faults, &sizes[0]);
    FILE *note_file = open_memstream(&notes, &sizes[1]);
    int r = crn_preflight(&config, crn_fake_gpu(2, false), fault_file, note_file);
    fclose(fault_file);
    fclose(note_file);
    at_start = crn_preflight(&config, crn_fake_gpu(2, false), NULL, NULL);
    crn_config_done(&config);
    return r;
}

static void what_measuring_needs_is_noted(void **state)
{
    (void)state;
    static const struct {
        const char *geometry, *there, *absent;
    } cases[] = {
        {"geometry: {mm_per_px: 1}\n", "geometry.fruit: fruits are measured where views bring a",
         "estimate_roll"},
        {"geometry: {mm_per_px: 1}\n", "geometry.distance_mm: 0 is a camera far away", "null"},
        {"geometry: {mm_per_px: 1, distance_mm: 500, roll_deg: 0, fruit: {class: rot}}\n",
         "geometry.estimate_roll: needs views with a photograph (intensity part); without one "
         "roll_deg is taken, and that is 0: unknown",
         "distance_mm"},
        {"", "", "geometry"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(check_with("serial", cases[i].geometry), 0);
        if (!strstr(notes, cases[i].there) || strstr(notes, cases[i].absent))
            fail_msg("%s gave %s", cases[i].geometry, notes);
    }
}

static int check(const char *backend)
{
    int r = check_with(backend, "");
    assert_int_equal(at_start, r);
    return r;
}

static int tear_down(void **state)
{
    (void)state;
    free(faults);
    free(notes);
    faults = notes = NULL;
    file = "line.yaml";
    slots = "";
    token_file = "";
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

/* cernitad --check before the first start of cernitad@NAME. */
static void folders_that_the_unit_makes_are_a_note(void **state)
{
    (void)state;
    int r = check_with("openmp", "control: {path: '/run/cernita/no such line/control'}\n"
                                 "record: {dir: '/var/lib/cernita/no such line'}\n"
                                 "access: {keys: '/run/credentials/cernitad@no such.service'}\n");
    assert_string_equal(faults, "");
    assert_int_equal(r, 0);
    assert_string_equal(notes,
                        "note: access.keys: /run/credentials/cernitad@no such.service is not "
                        "there yet: the unit makes it when it starts the line\n"
                        "note: control.path: /run/cernita/no such line is not there yet: the "
                        "unit makes it when it starts the line\n"
                        "note: record.dir: /var/lib/cernita/no such line is not there yet: "
                        "the unit makes it when it starts the line\n");
    assert_int_equal(at_start, -EINVAL);
}

/* Its folders belong to the daemon's user, who runs it perhaps: they are told, not tried. */
static void what_a_service_has_beside_its_file_is_a_note(void **state)
{
    (void)state;
    file = "/etc/cernita/no such line.yaml";
    assert_int_equal(check_with("openmp", ""), 0);
    assert_string_equal(faults, "");
    assert_string_equal(notes,
                        "note: control.path: the service has /run/cernita/no such "
                        "line/control\n"
                        "note: publish.log.dir: the service logs verdicts in "
                        "/var/lib/cernita/no such line/log, for 7 days; \"\" in the file: "
                        "it logs none\n"
                        "note: state.dir: the service keeps recipe and lot in force, the "
                        "alarm list, the log of changes and the statistics of each minute in "
                        "/var/lib/cernita/no such line\n");
}

static void a_token_file_is_read(void **state)
{
    (void)state;
    token_file = "/nowhere/token";
    assert_int_equal(check("openmp"), -EINVAL);
    assert_string_equal(faults, "line.yaml: monitor.token_file: /nowhere/token: cannot be read: No "
                                "such file or directory\n");
    tear_down(NULL);
    token_file = "/dev/null";
    assert_int_equal(check("openmp"), -EINVAL);
    assert_string_equal(faults, "line.yaml: monitor.token_file: /dev/null: needs a line of 16 to "
                                "128 letters and digits\n");
    tear_down(NULL);
    token_file = "/run/credentials/cernitad@no such.service/token";
    assert_int_equal(check_with("openmp", ""), 0);
    assert_string_equal(notes,
                        "note: monitor.token_file: /run/credentials/cernitad@no such.service "
                        "is not there yet: the unit makes it when it starts the line\n");
}

static void a_folder_for_the_recipe_that_is_not_there_is_a_fault(void **state)
{
    (void)state;
    assert_int_equal(check_with("openmp", "state: {dir: /nowhere/state}\n"), -EINVAL);
    assert_non_null(strstr(faults, "state.dir: /nowhere/state: cannot keep the recipe there"));
}

static void a_file_that_names_them_has_its_own(void **state)
{
    (void)state;
    file = "/etc/cernita/no such line.yaml";
    assert_int_equal(check_with("openmp", "control: {path: '/tmp/cernita-test-control'}\n"), 0);
    assert_null(strstr(notes, "control.path"));
}

static void folders_within_them_must_be_there(void **state)
{
    (void)state;
    assert_int_equal(check_with("openmp", "record: {dir: '/var/lib/cernita/no such line/views'}\n"),
                     -EINVAL);
    assert_string_equal(notes, "");
    assert_non_null(strstr(faults, "record.dir: "));
}

static void slots_tell_their_memory_and_need_their_folder(void **state)
{
    (void)state;
    slots = ", slots: {path: '/tmp/cernita-test-slots', slots: 8, producers: 2}";
    assert_int_equal(check_with("openmp", ""), 0);
    assert_string_equal(notes, "note: ingest.slots: programs that connect may take 256 MiB of "
                               "memory: 2 (producers) x 8 (slots) x 16 MiB (limits.view_mib)\n");
    slots = ", slots: {path: '/nowhere/slots'}";
    assert_int_equal(check_with("openmp", ""), -EINVAL);
    assert_non_null(strstr(faults, "ingest.slots.path: cannot make '/nowhere/slots': "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_measuring_needs_is_noted, tear_down),
        cmocka_unit_test_teardown(a_device_that_cuda_asks_for_must_be_there, tear_down),
        cmocka_unit_test_teardown(auto_does_without, tear_down),
        cmocka_unit_test_teardown(openmp_needs_none, tear_down),
        cmocka_unit_test_teardown(folders_that_the_unit_makes_are_a_note, tear_down),
        cmocka_unit_test_teardown(what_a_service_has_beside_its_file_is_a_note, tear_down),
        cmocka_unit_test_teardown(a_token_file_is_read, tear_down),
        cmocka_unit_test_teardown(a_folder_for_the_recipe_that_is_not_there_is_a_fault, tear_down),
        cmocka_unit_test_teardown(a_file_that_names_them_has_its_own, tear_down),
        cmocka_unit_test_teardown(folders_within_them_must_be_there, tear_down),
        cmocka_unit_test_teardown(slots_tell_their_memory_and_need_their_folder, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
