/* cernitad as a process: bad configurations, how it ends, and that it never lives on half alive. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A running daemon and everything it has said so far. */
typedef struct process {
    pid_t pid;
    FILE *output; /* its stdout and stderr */
    char text[16384];
} process;

static char folder[64];

static void write_config(const char *name, const char *yaml, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s", yaml);
    assert_int_equal(fclose(file), 0);
}

static void good_config(char path[128])
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
             "classes: [{name: rot, level: 0.5}]\n"
             "chain: [contours: {}]\n"
             "run: {workers: 1, threads: 1}\n",
             folder, folder, folder);
    write_config("line.yaml", yaml, path);
}

static void start(process *daemon, const char *const arguments[])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    memset(daemon, 0, sizeof *daemon);
    daemon->pid = fork();
    assert_true(daemon->pid >= 0);
    if (daemon->pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(CRN_BIN "/cernitad", (char *const *)arguments);
        _exit(127);
    }
    close(ends[1]);
    daemon->output = fdopen(ends[0], "r");
    assert_non_null(daemon->output);
}

/* Reads on until `wanted` was said, or (NULL) the process has closed its output. */
static void read_until(process *daemon, const char *wanted)
{
    while (!wanted || !strstr(daemon->text, wanted)) {
        size_t used = strlen(daemon->text);
        assert_true(used + 1 < sizeof daemon->text);
        if (!fgets(daemon->text + used, (int)(sizeof daemon->text - used), daemon->output)) {
            if (wanted)
                fail_msg("never said '%s', but: %s", wanted, daemon->text);
            return;
        }
    }
}

/* The status as waitpid tells it, once the process has ended. */
static int end_of(process *daemon)
{
    int status = 0;
    read_until(daemon, NULL);
    fclose(daemon->output);
    assert_int_equal(waitpid(daemon->pid, &status, 0), daemon->pid);
    return status;
}

static void start_line(process *daemon)
{
    char path[128];
    good_config(path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    start(daemon, arguments);
    read_until(daemon, "ready:");
}

/* The number of the thread of that name. */
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
        process daemon;
        start_line(&daemon);
        kill(daemon.pid, signals[i]);
        int status = end_of(&daemon);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_non_null(strstr(daemon.text, "stopped"));
    }
}

/* Its line is gone by then; it has yet to end. */
static void asked_again_when_it_has_stopped_it_ends_with_0(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        process daemon;
        start_line(&daemon);
        kill(daemon.pid, SIGTERM);
        read_until(&daemon, "stopped");
        kill(daemon.pid, SIGTERM);
        int status = end_of(&daemon);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void a_worker_that_crashes_takes_it_down_with_a_message(void **state)
{
    (void)state;
    process daemon;
    start_line(&daemon);
    syscall(SYS_tgkill, daemon.pid, thread_named(daemon.pid, "worker 0"), SIGBUS);
    int status = end_of(&daemon);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
    assert_non_null(strstr(daemon.text, "thread 'worker 0' died of SIGBUS"));
}

static void a_second_daemon_cannot_steal_the_endpoint(void **state)
{
    (void)state;
    process first, second;
    start_line(&first);
    char path[128];
    good_config(path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    start(&second, arguments);
    int status = end_of(&second);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(second.text, folder));
    kill(first.pid, SIGTERM);
    assert_int_equal(end_of(&first), 0);
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
        write_config("bad.yaml", cases[i].yaml, path);
        const char *const arguments[] = {"cernitad", "--config", path, "--check", NULL};
        process daemon;
        start(&daemon, arguments);
        int status = end_of(&daemon);
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
        {{"cernitad", "--bakend", "cuda"}, "cernitad: --bakend is no option"},
        {{"cernitad", "--check=3"}, "cernitad: --check=3 is no option, or takes no value"},
        {{"cernitad", "--check", "-xh"}, "cernitad: -xh is no option"},
        {{"cernitad", "--check", "--config"}, "cernitad: --config needs a value; see"},
        {{"cernitad", "--check", "line.yaml"}, "cernitad: unexpected argument line.yaml"},
        {{"cernitad", "--check"}, "cernitad: --config FILE is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        process daemon;
        start(&daemon, cases[i].arguments);
        int status = end_of(&daemon);
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
    good_config(path);
    process daemon;
    const char *const print[] = {"cernitad", "--config", path, "--print-config", NULL};
    start(&daemon, print);
    assert_int_equal(end_of(&daemon), 0);
    write_config("printed.yaml", daemon.text, path);
    const char *const check[] = {"cernitad", "--config", path, "--check", NULL};
    start(&daemon, check);
    assert_int_equal(end_of(&daemon), 0);
    assert_non_null(strstr(daemon.text, "MiB"));
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/cernita-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries && (entry = readdir(entries)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_with_0_on_sigterm_and_sigint),
        cmocka_unit_test(asked_again_when_it_has_stopped_it_ends_with_0),
        cmocka_unit_test(a_worker_that_crashes_takes_it_down_with_a_message),
        cmocka_unit_test(a_second_daemon_cannot_steal_the_endpoint),
        cmocka_unit_test(bad_configuration_ends_with_78),
        cmocka_unit_test(a_wrong_command_line_is_one_line_with_78),
        cmocka_unit_test(check_and_print_config_agree),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
