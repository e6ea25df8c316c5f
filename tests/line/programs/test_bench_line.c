/* cernita-bench line as a program: each of its comparisons, with few fruits; the machine may be
 * busy. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/programs/json_lines.h"
#include "tests/support/programs/shell.h"

#define bench(...) apply_run_program(CRN_BIN "/cernita-bench", __VA_ARGS__)

static void a_daemon_that_cannot_start_is_not_waited_for(void **state)
{
    (void)state;
    apply_write_text("unable.yaml", "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                                    "chain: [contours: {border: closed}]\n"
                                    "record: {dir: /nowhere/at/all}\n");
    assert_int_equal(
        apply_run_program(CRN_BIN "/cernita-synth", "one.tif --fruits 1 --size 32x32 --classes 2"),
        0);
    assert_int_equal(bench("line --recording one.tif --config unable.yaml --seconds 1"), 1);
    assert_non_null(strstr(apply_output, "ended before it had all views"));
}

static void check_machine(yajl_val line)
{
    const char *path[] = {"daemons", NULL};
    yajl_val daemons = yajl_tree_get(line, path, yajl_t_array);
    assert_non_null(daemons);
    assert_int_equal(YAJL_GET_ARRAY(daemons)->len, 2);
    for (size_t i = 0; i < 2; i++) {
        yajl_val daemon = YAJL_GET_ARRAY(daemons)->values[i];
        assert_true(crn_json_number(daemon, "sent") > 0);
        assert_true(crn_json_number(daemon, "sent") == crn_json_number(daemon, "complete"));
        assert_true(crn_json_number(daemon, "p50_ms") > 0);
        assert_true(crn_json_number(daemon, "p50_ms") <= crn_json_number(daemon, "p999_ms"));
        assert_true(crn_json_number(daemon, "cores") > 0 &&
                    crn_json_number(daemon, "producer_cores") > 0);
        assert_true(crn_json_number(daemon, "line_us_per_view") > 0);
    }
}

static void a_machine_of_many_lanes_is_measured(void **state)
{
    (void)state;
    apply_write_text("patient.yaml", "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                                     "chain: [contours: {border: closed}]\n"
                                     "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
                                     "run: {workers: 1, threads: 1}\n");
    assert_int_equal(
        apply_run_program(CRN_BIN "/cernita-synth", "few.tif --fruits 2 --size 32x32 --classes 2"),
        0);
    assert_int_equal(bench("line --recording few.tif --config patient.yaml --lanes 5 --producers 2 "
                           "--daemons 2 --rate 50 --seconds 1 --json"),
                     0);
    assert_int_equal(crn_json_check_lines(apply_output, check_machine), 1);
}

static void check_beside(yajl_val line)
{
    static const char *const figures[] = {"p50_ms", "p99_ms", "cpu_ms_per_fruit",
                                          "line_us_per_view"};
    assert_true(crn_json_number(line, "pairs") == 2 && crn_json_number(line, "unfinished") == 0);
    for (int i = 0; i < 4; i++) {
        const char *config[] = {figures[i], "config", NULL},
                   *beside[] = {figures[i], "beside", NULL};
        const char *more[] = {figures[i], "more", NULL};
        assert_true(YAJL_GET_DOUBLE(
                        YAJL_GET_ARRAY(yajl_tree_get(line, config, yajl_t_array))->values[0]) > 0);
        assert_true(YAJL_GET_DOUBLE(
                        YAJL_GET_ARRAY(yajl_tree_get(line, beside, yajl_t_array))->values[0]) > 0);
        assert_int_equal(YAJL_GET_ARRAY(yajl_tree_get(line, more, yajl_t_array))->len, 3);
    }
}

static void two_settings_are_compared(void **state)
{
    (void)state;
#define PATIENT                                                                                    \
    "classes: [{name: ground}, {name: rot, level: 0.5}]\n"                                         \
    "chain: [contours: {border: closed}]\n"                                                        \
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"                                            \
    "limits: {slots: 128, view_mib: 1}\n"                                                          \
    "run: {workers: 1, threads: 1}\n"
    apply_write_text("one.yaml", PATIENT);
    apply_write_text("other.yaml",
                     PATIENT "geometry: {mm_per_px: 1, surface: {optional: false}}\n");
    assert_int_equal(
        apply_run_program(CRN_BIN "/cernita-synth", "few.tif --fruits 2 --size 32x32 --classes 2"),
        0);
    assert_int_equal(crn_test_shell(CRN_BIN
                                    "/cernita-bench line --recording few.tif --config one.yaml "
                                    "--beside other.yaml --pairs 2 --rate 20 --probe-seconds 0.5 "
                                    "--json",
                                    apply_output, sizeof apply_output),
                     0);
    assert_int_equal(crn_json_check_lines(apply_output, check_beside), 1);
    assert_int_equal(bench("line --recording few.tif --config one.yaml --beside other.yaml"), 1);
    assert_non_null(strstr(apply_output, "--beside goes with --pairs N"));
}

/* Writes the path of the folder that the program gave to its receiver; empty if there is none yet.
 */
static bool has_peer_folder(pid_t pid, void *folder)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "r");
    int child = 0, found = file ? fscanf(file, "%d", &child) : 0;
    if (file)
        fclose(file);
    snprintf(path, sizeof path, "/proc/%d/cmdline", child);
    file = found == 1 ? fopen(path, "r") : NULL;
    size_t length = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file)
        fclose(file);
    char *at = memmem(line, length, "/tmp/cernita-bench-", strlen("/tmp/cernita-bench-"));
    snprintf(folder, 64, "%.25s", at ? at : "");
    return at;
}

static void an_interrupted_benchmark_removes_its_folder(void **state)
{
    (void)state;
    assert_int_equal(
        apply_run_program(CRN_BIN "/cernita-synth", "one.tif --fruits 1 --size 32x32 --classes 2"),
        0);
    static const int signals[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            execl(CRN_BIN "/cernita-bench", "cernita-bench", "line", "--recording", "one.tif",
                  "--config", CRN_TEST_DATA "/../config/line.yaml", NULL);
            _exit(127);
        }
        char folder[64] = "";
        crn_cleanup_add_process(pid);
        crn_test_await(pid, has_peer_folder, folder);
        assert_int_equal(access(folder, F_OK), 0);
        assert_int_equal(kill(pid, signals[i]), 0);
        int status;
        assert_int_equal(crn_cleanup_wait(pid, &status), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        assert_int_equal(access(folder, F_OK), -1);
    }
}

static int ways;

static void check_ways(yajl_val line)
{
    static const char *const names[] = {"tcp", "ipc", "slots"};
    for (int i = 0; i < 3; i++, ways++) {
        const char *path[] = {names[i], NULL}, *steady[] = {names[i], "steady", NULL};
        yajl_val of = yajl_tree_get(line, path, yajl_t_object);
        assert_non_null(of);
        crn_json_number(of, "carries");
        assert_true(crn_json_number(yajl_tree_get(line, steady, yajl_t_object), "p50_ms") > 0);
    }
}

/* Few fruits, and no search: the machine may be busy. */
static void the_ways_of_views_are_compared(void **state)
{
    (void)state;
    assert_int_equal(
        apply_run_program(CRN_BIN "/cernita-synth", "one.tif --fruits 1 --size 32x32 --classes 12"),
        0);
    assert_int_equal(
        crn_test_shell(CRN_BIN "/cernita-bench line --recording one.tif --config " CRN_TEST_DATA
                               "/../config/line.yaml --slots --seconds 1 --probe-seconds 0.5 "
                               "--search-seconds 1 --json",
                       apply_output, sizeof apply_output),
        0);
    assert_int_equal(crn_json_check_lines(apply_output, check_ways), 1);
    assert_int_equal(ways, 3);
}

static void check_pairs(yajl_val line)
{
    static const char *const names[] = {"floor", "tcp", "ipc", "slots", "slots+zmq"};
    assert_true(crn_json_number(line, "pairs") == 1 && crn_json_number(line, "unfinished") == 0);
    for (int i = 0; i < 5; i++) {
        const char *path[] = {names[i], "full_per_s", NULL};
        yajl_val of = yajl_tree_get(line, path, yajl_t_array);
        assert_non_null(of);
        assert_true(YAJL_GET_DOUBLE(YAJL_GET_ARRAY(of)->values[0]) > 0);
    }
    const char *ratio[] = {"slots/floor", NULL};
    assert_non_null(yajl_tree_get(line, ratio, yajl_t_array));
}

/* By turns with the floor; each fruit has time enough on any machine. */
static void floor_and_ways_take_turns(void **state)
{
    (void)state;
    assert_int_equal(
        apply_run_program(CRN_BIN "/cernita-synth", "one.tif --fruits 1 --size 32x32 --classes 12"),
        0);
    assert_int_equal(crn_test_shell("sed 's/budget_ms: [0-9]*/budget_ms: 60000/; "
                                    "s/assemble_ms: [0-9]*/assemble_ms: 60000/' " CRN_TEST_DATA
                                    "/../config/line.yaml > patient.yaml && "
                                    "echo 'limits: {slots: 128}' >> patient.yaml && " CRN_BIN
                                    "/cernita-bench line --recording one.tif --config patient.yaml "
                                    "--pairs 1 --rate 20 --probe-seconds 0.5 --json",
                                    apply_output, sizeof apply_output),
                     0);
    assert_int_equal(crn_json_check_lines(apply_output, check_pairs), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_settings_are_compared, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(a_daemon_that_cannot_start_is_not_waited_for, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(an_interrupted_benchmark_removes_its_folder, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(the_ways_of_views_are_compared, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(a_machine_of_many_lanes_is_measured, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(floor_and_ways_take_turns, apply_setup, apply_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
