/* Common behaviour of all programs: full option names, standard streams open and checked. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cleanup.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/programs/shell.h"

#define CONFIG CRN_TEST_DATA "/../config/line.yaml"

static const char *const programs[] = {
    "cernitad",           "cernita-apply contours",
    "cernita-bench line", "cernita-record",
    "cernita-replay",     "cernita-reprocess",
    "cernita-sorter",     "cernita-synth",
    "cernita-tail",       "cernita-why",
    "cernitactl",         "cernita-calibrate",
#ifdef CRN_HAS_ARCHIVE
    "cernita-archive",
#endif
#ifdef CRN_HAS_TOP
    "cernita-top",
#endif
};
#define PROGRAMS (sizeof programs / sizeof *programs)

/* Runs a shell command with standard error redirected
 * to the file `err`; returns its exit status. */
__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char command[1400] = "exec 2>err; PATH=" CRN_BIN ":$PATH; ";
    size_t used = strlen(command);
    va_list list;
    va_start(list, format);
    vsnprintf(command + used, sizeof command - used, format, list);
    va_end(list);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_said(const char *wanted)
{
    char text[4096];
    FILE *file = fopen("err", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    if (!strstr(text, wanted))
        fail_msg("'%s' was not said, but: %s", wanted, text);
}

static void options_are_written_in_full(void **state)
{
    (void)state;
    static const struct {
        const char *command, *said;
        int status;
    } cases[] = {
        {"cernita-synth out.tif --fruit 3",
         "cernita-synth: unknown option '--fruit'; did you mean '--fruits'?\n", 2},
        {"cernita-synth out.tif --fruit=3", "unknown option '--fruit'; did you mean '--fruits'?",
         2},
        {"cernita-synth out.tif --fruits 3 --no", "did you mean '--no-photograph'?", 2},
        {"cernita-synth out.tif --frobnicate",
         "unknown option '--frobnicate'; see cernita-synth --help", 2},
        {"cernita-synth out.tif --fruits", "--fruits needs a value; see cernita-synth --help", 2},
        {"cernita-synth --no-photograph=1 out.tif", "--no-photograph takes no value", 2},
        {"cernita-synth -x out.tif", "unknown option '-x'; see cernita-synth --help", 2},
        {"cernita-apply contours --leve 1 a.png b.json", "did you mean '--level'?", 2},
        {"cernita-bench line --second 3", "did you mean '--seconds'?", 2},
        {"cernita-tail --timeuot 3 ipc://x", "did you mean '--timeout'?", 2},
        {"cernitad --conf " CONFIG, "cernitad: unknown option '--conf'; did you mean '--config'?",
         78},
        {"cernitad --config " CONFIG " --chek", "did you mean '--check'?", 78},
        {"cernitad --config", "--config needs a value", 78},
        {"cernitad -c", "-c needs a value", 78},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shell("%s", cases[i].command), cases[i].status);
        expect_said(cases[i].said);
    }
    assert_int_equal(access("out.tif", F_OK), -1);
}

/* An option's value, or an operand after `--`, may begin with a dash. */
static void values_may_look_like_options(void **state)
{
    (void)state;
    assert_int_equal(shell("cernita-synth --fruits --views o.tif"), 2);
    expect_said("--fruits '--views' is not a whole number");
    assert_int_equal(shell("cernita-synth --fruits 1 --size 8x8 -- --fruit"), 0);
    assert_int_equal(access("--fruit", F_OK), 0);
    assert_int_equal(shell("cernitad -c%s --check", CONFIG), 0);
}

/* A full disk must be reported as a failure. */
static void output_that_cannot_be_written_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < PROGRAMS; i++) {
        assert_int_equal(shell("%s --help >/dev/full", programs[i]), 1);
        expect_said("cannot write to standard output: No space left on device");
        assert_int_equal(shell("%s --version >/dev/full", programs[i]), 1);
    }
    static const char *const daemon[] = {"--check", "--print-config", "--reference"};
    for (size_t i = 0; i < sizeof daemon / sizeof *daemon; i++) {
        assert_int_equal(shell("cernitad --config %s %s >/dev/full", CONFIG, daemon[i]), 1);
        expect_said("cernitad: cannot write to standard output: ");
        assert_int_equal(shell("cernitad --config %s %s >&-", CONFIG, daemon[i]), 1);
        expect_said("cannot write to standard output: ");
    }
    assert_int_equal(shell("cernita-apply diamond-square --exponent 3 --seed 1 --threads 1 f.png "
                           "--time >/dev/full"),
                     1);
    /* Programs that print nothing need no working stdout. */
    assert_int_equal(
        shell("cernita-apply diamond-square --exponent 3 --seed 1 --threads 1 f.png >&- <&-"), 0);
}

/* Never waits for a file that does not end or has no writer. */
static void only_regular_files_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *command, *said;
        int status;
    } cases[] = {
        {"cernitad --check --config pipe",
         "pipe: cannot be read: it is a pipe, a regular file is needed\n", 78},
        {"cernitad --check --config /dev/zero", "/dev/zero: cannot be read: it is a device", 78},
        {"cernitad --check --config .", ".: cannot be read: it is a folder", 78},
        {"cernitad --check --config /proc/kmsg", "/proc/kmsg: cannot be read: ", 78},
        {"cat " CONFIG " | cernitad --check --config /dev/stdin",
         "/dev/stdin: cannot be read: it is a pipe", 78},
        {"cernitad --check --config /dev/stdin <" CONFIG " >/dev/null", "", 0},
        {"cernita-replay pipe --to ipc://x", "pipe: cannot be read: it is a pipe", 1},
        {"cernita-bench line --config " CONFIG " --recording pipe",
         "pipe: cannot be read: it is a pipe", 1},
    };
    assert_int_equal(mkfifo("pipe", 0600), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shell("%s", cases[i].command), cases[i].status);
        expect_said(cases[i].said);
    }
}

/* The benchmark finds its installed configuration from any working directory. */
static void the_benchmark_finds_its_configuration(void **state)
{
    (void)state;
    assert_int_equal(shell("cernita-bench line --recording nowhere.tif"), 1);
    expect_said("cernita-bench line: nowhere.tif: cannot be read: No such file");
    assert_int_equal(shell("cp " CRN_BIN "/cernita-bench . && ./cernita-bench line --recording x"),
                     1);
    expect_said("/share/cernita/line.yaml: does not exist; name a configuration with --config");
}

/* tools/study validates its arguments before it installs or builds anything. */
static void the_study_looks_at_its_arguments_first(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *said;
        int status;
    } cases[] = {
        {"--help", "", 0},
        {"-h", "", 0},
        {"--frobnicate", "unrecognized arguments: --frobnicate", 2},
        {"--lon", "unrecognized arguments: --lon", 2}, /* not an abbreviation of --long */
        {"contour", "'contour' is not an experiment; one of speedup, contours", 2},
        {"--seconds x", "invalid float value: 'x'", 2},
    };
    if (access("/usr/bin/python3", X_OK))
        skip();
    /* A copy of the tree whose set-up leaves a trace and fails. */
    assert_int_equal(shell("mkdir tools && cp -r %s/../tools/study %s/../tools/python tools && "
                           "printf '#!/bin/sh\ntouch built; exit 1\n' >tools/setup && "
                           "chmod +x tools/setup",
                           CRN_TEST_DATA, CRN_TEST_DATA),
                     0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shell("tools/study %s >out", cases[i].arguments), cases[i].status);
        expect_said(cases[i].said);
        assert_int_equal(access("built", F_OK), -1);
    }
    assert_int_equal(shell("tools/study -h | grep -q 'time by phase: contours scan'"), 0);
    assert_int_equal(shell("tools/study speedup"), 1);
    expect_said("tools/study: tools/setup --study failed as shown");
    assert_int_equal(access("built", F_OK), 0);
}

/* Target of a descriptor of `pid`. */
static void descriptor(pid_t pid, int fd, char target[64])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t length = readlink(path, target, 63);
    target[length > 0 ? length : 0] = '\0';
}

/* Otherwise the daemon's first sockets would be 0 to 2, and its log would be written into one. */
static void closed_descriptors_are_filled(void **state)
{
    (void)state;
    FILE *yaml = fopen("line.yaml", "w");
    assert_non_null(yaml);
    fputs("ingest: {bind: ['ipc://in']}\n"
          "publish: {grader: {bind: 'ipc://grader'}, viewers: {bind: 'ipc://viewers'}}\n"
          "classes: [{name: rot, level: 0.5}]\nchain: [contours: {}]\n"
          "run: {workers: 1, threads: 1}\n",
          yaml);
    assert_int_equal(fclose(yaml), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        execl(CRN_BIN "/cernitad", "cernitad", "--config", "line.yaml", (char *)NULL);
        _exit(127);
    }
    crn_cleanup_add_process(pid);
    crn_test_await_file(pid, "viewers"); /* all sockets exist once the last path does */
    for (int fd = 0; fd <= 2; fd++) {
        char target[64];
        descriptor(pid, fd, target);
        assert_string_equal(target, "/dev/null");
    }
    kill(pid, SIGKILL);
    assert_int_equal(crn_cleanup_wait(pid, NULL), pid);
}

/* libzmq would end the process where it cannot have a thread or a descriptor. */
static void too_low_limits_are_told(void **state)
{
    (void)state;
    static const char *const connecting[] = {
        "cernita-tail ipc:///tmp/cernita-nobody",
        "cernita-record --from ipc://in --to ipc://out --dir .",
        "cernita-replay --to ipc://out o.tif",
    };
    assert_int_equal(shell("cernita-synth --fruits 1 --size 8x8 o.tif"), 0);
    for (size_t i = 0; i < sizeof connecting / sizeof *connecting; i++) {
        assert_int_equal(shell("ulimit -n 12; exec timeout 60 %s", connecting[i]), 1);
        expect_said("cannot open 16 files more: raise the limit (ulimit -n)");
        if (geteuid() != 0)
            continue;                       /* other processes of this user count, too */
        int user = 1000000 + (int)getpid(); /* not another test's, either */
        assert_int_equal(chmod(".", 0777), 0);
        assert_int_equal(shell("exec timeout 60 setpriv --reuid=%d --regid=%d --clear-groups "
                               "prlimit --nproc=2 %s",
                               user, user, connecting[i]),
                         1);
        expect_said("cannot start 2 threads: raise the user's limit (ulimit -u)");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(options_are_written_in_full, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(values_may_look_like_options, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(output_that_cannot_be_written_fails, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(only_regular_files_are_read, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(the_benchmark_finds_its_configuration, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(the_study_looks_at_its_arguments_first, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(closed_descriptors_are_filled, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(too_low_limits_are_told, apply_setup, apply_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
