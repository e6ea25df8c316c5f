/* A new file appears completely or not at all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/file/new_file.h"
#include "tests/support/cmocka_prelude.h"

static char folder[64], path[96];

/* Simulates a file system without O_TMPFILE if set: replaces libc's function. */
static bool names_needed;

int open(const char *name, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
    va_end(list);
    if (names_needed && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/crn_new_file_XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/it.txt", folder);
    return 0;
}

/* Number of entries in the folder, excluding . and .. */
static int entries(void)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = -2;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void expect_text(const char *text)
{
    char got[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    got[fread(got, 1, sizeof got - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(got, text);
}

static void write_text(const char *text, bool finish)
{
    crn_error error = {""};
    crn_new_file file = {0};
    assert_int_equal(crn_new_file_open_stream(path, &file, &error), 0);
    fputs(text, file.stream);
    if (finish)
        assert_int_equal(crn_new_file_finish(&file, &error), 0);
    crn_new_file_drop(&file);
    assert_string_equal(error.text, "");
}

static void it_appears_when_it_is_finished(void **state)
{
    (void)state;
    write_text("one", true);
    expect_text("one");
    assert_int_equal(entries(), 1);
    write_text("two", true);
    expect_text("two");
    assert_int_equal(entries(), 1);
}

static void what_is_dropped_leaves_nothing(void **state)
{
    (void)state;
    write_text("one", false);
    assert_int_equal(entries(), 0);
    write_text("one", true);
    write_text("two", false);
    expect_text("one");
    assert_int_equal(entries(), 1);
}

static void a_write_that_fails_is_told(void **state)
{
    (void)state;
    crn_error error = {""};
    crn_new_file file = {0};
    assert_int_equal(crn_new_file_open_stream(path, &file, &error), 0);
    fclose(file.stream);
    file.stream = fopen("/dev/full", "w"); /* a full disk */
    assert_non_null(file.stream);
    fputs("text", file.stream);
    assert_int_equal(crn_new_file_finish(&file, &error), -ENOSPC);
    assert_non_null(strstr(error.text, path));
    assert_int_equal(entries(), 0);
}

/* A program terminated by a signal leaves no file, even where it needs a temporary name. */
static void a_signal_removes_what_is_unfinished(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            crn_new_file file = {0};
            names_needed = true;
            crn_new_file_remove_at_signals();
            if (crn_new_file_open(path, &file, NULL) < 0 || !file.name || entries() != 1)
                _exit(1);
            raise(signals[i]);
            _exit(2);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_int_equal(entries(), 0);
    }
    names_needed = true; /* a finished file is kept */
    write_text("one", true);
    expect_text("one");
    assert_int_equal(entries(), 1);
    names_needed = false;
}

static void places_without_files_are_refused(void **state)
{
    (void)state;
    crn_error error = {""};
    crn_new_file file = {0};
    assert_int_equal(crn_new_file_open(folder, &file, &error), -EISDIR);
    assert_non_null(strstr(error.text, folder));
    char lost[128];
    snprintf(lost, sizeof lost, "%s/nowhere/it.txt", folder);
    assert_int_equal(crn_new_file_open(lost, &file, &error), -ENOENT);
    assert_non_null(strstr(error.text, lost));
    assert_int_equal(crn_new_file_open("/dev/null", &file, &error), -EEXIST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_appears_when_it_is_finished, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_dropped_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_write_that_fails_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_signal_removes_what_is_unfinished, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places_without_files_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
