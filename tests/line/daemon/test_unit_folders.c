/* cernitad in the folders that systemd makes for a unit: what a file leaves out has its place
 * there. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"
#include "tests/support/programs/shell.h"

static daemon_process line;
static char run_folder[96], state_folder[96];

/* As systemd does; a drop-in may add folders of its own behind. */
static void name_folders(void)
{
    char folders[128];
    snprintf(folders, sizeof folders, "%s:/run/another", run_folder);
    setenv("RUNTIME_DIRECTORY", folders, 1);
    setenv("STATE_DIRECTORY", state_folder, 1);
}

/* `log`: of the section publish. */
static void write_line(const char *log, const char *more)
{
    char yaml[1024], path[128];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}%s}\n"
             "classes: [{name: rot, level: 0.5}]\n"
             "chain: [contours: {}]\n"
             "run: {backend: openmp, workers: 1, threads: 1}\n"
             "monitor: {http: ''}\n"
             "%s",
             test_folder, test_folder, test_folder, log, more);
    daemon_write_config(test_folder, "line.yaml", yaml, path);
}

static void start(const char *log, const char *more)
{
    char path[128];
    snprintf(path, sizeof path, "%s/line.yaml", test_folder);
    write_line(log, more);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start_as(&line, CRN_BIN "/cernitad", arguments, name_folders);
}

static void end(void)
{
    kill(line.pid, SIGKILL);
    daemon_end(&line);
}

static void expect_answer(int status, const char *request, const char *said)
{
    char command[256], output[4096];
    snprintf(command, sizeof command, CRN_BIN "/cernitactl --socket %s/control %s 2>&1", run_folder,
             request);
    int got = crn_test_shell(command, output, sizeof output);
    if (got != status || !strstr(output, said))
        fail_msg("%s: %d, %s", command, got, output);
}

static void a_file_without_a_socket_gets_one(void **state)
{
    (void)state;
    start("", "control: {path: ''}\n");
    daemon_read_until(&line, "/control, of the folder that systemd gave");
    daemon_read_until(&line, "ready: ");
    expect_answer(0, "reload", "settings ");
    write_line("", "limits: {lanes: 3}\n");
    expect_answer(1, "reload", "limits.lanes is 3 in the file and 64 in the running daemon");
    end();
}

static void a_socket_elsewhere_is_found_there_too(void **state)
{
    (void)state;
    char more[160], path[128];
    snprintf(path, sizeof path, "%s/elsewhere", test_folder);
    snprintf(more, sizeof more, "control: {path: '%s'}\n", path);
    for (int round = 0; round < 2; round++) { /* the link of one that was killed is replaced */
        start("", more);
        daemon_read_until(&line, "elsewhere, and by the link ");
        daemon_read_until(&line, "ready: ");
        expect_answer(0, "status", "state     ready");
        assert_int_equal(access(path, F_OK), 0);
        end();
    }
}

static void a_file_that_says_nothing_of_the_log_gets_one(void **state)
{
    (void)state;
    char path[128];
    struct stat about;
    start("", "");
    daemon_read_until(&line, "/state/log, of the folder that systemd gave: 7 days, at most ");
    daemon_read_until(&line, "ready: ");
    end();
    snprintf(path, sizeof path, "%s/log", state_folder);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0750);
}

static void a_file_that_wants_no_log_gets_none(void **state)
{
    (void)state;
    char path[128];
    start(", log: {dir: ''}", "");
    daemon_read_until(&line, "ready: ");
    end();
    snprintf(path, sizeof path, "%s/log", state_folder);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_recipe_is_kept_over_restarts(void **state)
{
    (void)state;
    start("", "recipes: {peach: {classes: {rot: 0.3}}}\n");
    daemon_read_until(&line, "ready: ");
    expect_answer(0, "recipe peach", "settings ");
    end();
    start("", "recipes: {peach: {classes: {rot: 0.3}}}\n");
    daemon_read_until(&line, "recipe: 'peach' is in force, as before the start");
    daemon_read_until(&line, "ready: ");
    end();
}

static void a_log_that_nobody_asked_for_keeps_no_line_from_its_start(void **state)
{
    (void)state;
    assert_int_equal(rmdir(state_folder), 0);
    start("", "");
    daemon_read_until(&line, "publish.log: no verdict is logged: ");
    daemon_read_until(&line, "ready: ");
    end();
}

static int set_up(void **state)
{
    int r = test_folder_make(state);
    snprintf(run_folder, sizeof run_folder, "%s/run", test_folder);
    snprintf(state_folder, sizeof state_folder, "%s/state", test_folder);
    return r < 0 ? r : mkdir(run_folder, 0755) + mkdir(state_folder, 0755);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, test_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_without_a_socket_gets_one),
        TEST(a_socket_elsewhere_is_found_there_too),
        TEST(a_file_that_says_nothing_of_the_log_gets_one),
        TEST(a_file_that_wants_no_log_gets_none),
        TEST(a_recipe_is_kept_over_restarts),
        TEST(a_log_that_nobody_asked_for_keeps_no_line_from_its_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
