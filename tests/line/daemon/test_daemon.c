/* cernitad as a process: invalid configurations, exit statuses, and that it never keeps running
 * after a thread died. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"

static void start_line(daemon_process *daemon)
{
    daemon_start_line(daemon, test_folder);
}

/* The id of the thread with that name. */
static pid_t thread_named(pid_t pid, const char *wanted)
{
    char path[300], name[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    pid_t found = 0;
    struct dirent *task;
    while ((task = readdir(tasks))) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/comm", pid, task->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        if (fgets(name, sizeof name, file) && strncmp(name, wanted, strlen(wanted)) == 0)
            found = atoi(task->d_name);
        fclose(file);
    }
    closedir(tasks);
    assert_true(found > 0);
    return found;
}

static void it_ends_with_0_on_sigterm_and_sigint(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        daemon_process daemon;
        start_line(&daemon);
        kill(daemon.pid, signals[i]);
        int status = daemon_end(&daemon);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_non_null(strstr(daemon.text, "stopped"));
        assert_non_null(strstr(daemon.text, " info since the start: 0 messages on 0 lanes, 0 "
                                            "fruits: 0 complete, 0 partial, 0 late; 0 verdicts to "
                                            "the grader\n"));
    }
}

/* The line has ended, the process not yet. */
static void asked_again_when_it_has_stopped_it_ends_with_0(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        daemon_process daemon;
        start_line(&daemon);
        kill(daemon.pid, SIGTERM);
        daemon_read_until(&daemon, "stopped");
        kill(daemon.pid, SIGTERM);
        int status = daemon_end(&daemon);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void a_worker_that_crashes_takes_it_down_with_a_message(void **state)
{
    (void)state;
    daemon_process daemon;
    start_line(&daemon);
    syscall(SYS_tgkill, daemon.pid, thread_named(daemon.pid, "worker 0"), SIGBUS);
    int status = daemon_end(&daemon);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
    assert_non_null(strstr(daemon.text, "thread 'worker 0' died of SIGBUS"));
}

static void a_second_daemon_cannot_steal_the_endpoint(void **state)
{
    (void)state;
    daemon_process first, second;
    start_line(&first);
    char path[128];
    daemon_good_config(test_folder, path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start(&second, arguments);
    int status = daemon_end(&second);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(second.text, test_folder));
    kill(first.pid, SIGTERM);
    assert_int_equal(daemon_end(&first), 0);
}

static void bad_configuration_ends_with_78(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *said;
    } cases[] = {
        {"classes: [{name: rot, level: 0.5}]\nchain: [contours: {}]\nlatency: {budget_ms: 10s}\n",
         "bad.yaml:3:22:"},
        {"classes: [{name: rot, level: 0.5}]\nchain: [contuors: {}]\n", "contours"},
        {"", "bad.yaml:1:1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128];
        daemon_write_config(test_folder, "bad.yaml", cases[i].yaml, path);
        const char *const arguments[] = {"cernitad", "--config", path, "--check", NULL};
        daemon_process daemon;
        daemon_start(&daemon, arguments);
        int status = daemon_end(&daemon);
        assert_int_equal(WEXITSTATUS(status), 78);
        if (!strstr(daemon.text, cases[i].said))
            fail_msg("'%s' is not in: %s", cases[i].said, daemon.text);
    }
}

static void a_wrong_command_line_is_one_line_with_78(void **state)
{
    (void)state;
    static const struct {
        const char *const arguments[4];
        const char *said;
    } cases[] = {
        {{"cernitad", "--bakend", "cuda"},
         "cernitad: unknown option '--bakend'; did you mean '--backend'?\n"},
        {{"cernitad", "--check=3"}, "cernitad: --check takes no value; see"},
        {{"cernitad", "--check", "-xh"}, "cernitad: unknown option '-x'; see"},
        {{"cernitad", "--check", "--config"}, "cernitad: --config needs a value; see"},
        {{"cernitad", "--check", "line.yaml"}, "cernitad: unexpected argument line.yaml"},
        {{"cernitad", "--check"}, "cernitad: --config FILE is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        daemon_process daemon;
        daemon_start(&daemon, cases[i].arguments);
        int status = daemon_end(&daemon);
        assert_int_equal(WEXITSTATUS(status), 78);
        if (strncmp(daemon.text, cases[i].said, strlen(cases[i].said)) != 0)
            fail_msg("'%s' does not begin: %s", cases[i].said, daemon.text);
        assert_ptr_equal(strchr(daemon.text, '\n'), daemon.text + strlen(daemon.text) - 1);
    }
}

static void check_and_print_config_agree(void **state)
{
    (void)state;
    char path[128];
    daemon_good_config(test_folder, path);
    daemon_process daemon;
    const char *const print[] = {"cernitad", "--config", path, "--print-config", NULL};
    daemon_start(&daemon, print);
    assert_int_equal(daemon_end(&daemon), 0);
    daemon_write_config(test_folder, "printed.yaml", daemon.text, path);
    const char *const check[] = {"cernitad", "--config", path, "--check", NULL};
    daemon_start(&daemon, check);
    assert_int_equal(daemon_end(&daemon), 0);
    assert_non_null(strstr(daemon.text, "MiB"));
}

/* As systemd does for a service. */
static void name_stderr_as_journal(void)
{
    struct stat status;
    char stream[64];
    fstat(STDERR_FILENO, &status);
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
}

static void under_the_journal_every_line_has_its_priority(void **state)
{
    (void)state;
    daemon_process daemon;
    char path[128];
    daemon_good_config(test_folder, path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start_as(&daemon, CRN_BIN "/cernitad", arguments, name_stderr_as_journal);
    daemon_read_until(&daemon, "ready: ");
    daemon_write_config(test_folder, "line.yaml", "classes: []\n", path);
    kill(daemon.pid, SIGHUP);
    daemon_read_until(&daemon, "settings refused");
    kill(daemon.pid, SIGTERM);
    assert_int_equal(daemon_end(&daemon), 0);
    assert_non_null(strstr(daemon.text, "<6>ready: "));
    assert_non_null(strstr(daemon.text, "\n<3>settings refused"));
    for (const char *line = daemon.text; line[0]; line = strchr(line, '\n') + 1)
        assert_int_equal(line[0], '<');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_with_0_on_sigterm_and_sigint),
        cmocka_unit_test(asked_again_when_it_has_stopped_it_ends_with_0),
        cmocka_unit_test(a_worker_that_crashes_takes_it_down_with_a_message),
        cmocka_unit_test(a_second_daemon_cannot_steal_the_endpoint),
        cmocka_unit_test(under_the_journal_every_line_has_its_priority),
        cmocka_unit_test(bad_configuration_ends_with_78),
        cmocka_unit_test(a_wrong_command_line_is_one_line_with_78),
        cmocka_unit_test(check_and_print_config_agree),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
