/* The form of log lines: by themselves, and where the systemd journal reads standard error. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/error.h"
#include "stages/base/log.h"
#include "stages/base/utf8.h"
#include "tests/support/cmocka_prelude.h"

static int reading_end, stderr_copy;

/* Standard error becomes one end of a stream, as systemd makes it. */
static int set_up(void **state)
{
    (void)state;
    int ends[2];
    stderr_copy = dup(STDERR_FILENO);
    if (stderr_copy < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ||
        dup2(ends[1], STDERR_FILENO) < 0)
        return -1;
    reading_end = ends[0];
    return close(ends[1]);
}

static int tear_down(void **state)
{
    (void)state;
    dup2(stderr_copy, STDERR_FILENO);
    close(stderr_copy);
    close(reading_end);
    unsetenv("JOURNAL_STREAM");
    crn_log_set_level(CRN_LOG_INFO);
    crn_log_find_journal();
    return 0;
}

/* Sets JOURNAL_STREAM to standard error's device and inode, plus these. */
static void set_stream(int64_t device, int64_t inode, const char *end)
{
    struct stat status;
    char text[96];
    assert_int_equal(fstat(STDERR_FILENO, &status), 0);
    snprintf(text, sizeof text, "%ju:%ju%s", (uintmax_t)status.st_dev + (uintmax_t)device,
             (uintmax_t)status.st_ino + (uintmax_t)inode, end);
    setenv("JOURNAL_STREAM", text, 1);
}

/* What has been logged so far; valid until the next call. */
static const char *logged(void)
{
    static char text[4096];
    ssize_t size = recv(reading_end, text, sizeof text - 1, MSG_DONTWAIT);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

static void the_journal_gets_the_level_as_a_prefix(void **state)
{
    (void)state;
    set_stream(0, 0, "");
    crn_log_find_journal();
    crn_log_set_level(CRN_LOG_DEBUG);
    crn_log(CRN_LOG_ERROR, "a worker is gone");
    crn_log(CRN_LOG_WARNING, "%d views are lost", 12);
    crn_log(CRN_LOG_INFO, "ready");
    crn_log(CRN_LOG_DEBUG, "detail");
    assert_string_equal(logged(),
                        "<3>a worker is gone\n<4>12 views are lost\n<6>ready\n<7>detail\n");
}

static void a_long_line_stays_one_line_there(void **state)
{
    (void)state;
    set_stream(0, 0, "");
    crn_log_find_journal();
    crn_log(CRN_LOG_INFO, "%02000d", 0);
    const char *text = logged();
    assert_true(strlen(text) > 1000);
    assert_memory_equal(text, "<6>000", 6);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

/* `2026-11-20T21:05:00.123Z info ready` */
static void expect_own_time_and_level(void)
{
    int year, month, day, hour, minute, second, thousandth, used = 0;
    crn_log_find_journal();
    crn_log(CRN_LOG_INFO, "ready");
    const char *text = logged();
    assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &year, &month, &day, &hour,
                            &minute, &second, &thousandth, &used),
                     7);
    assert_string_equal(text + used, " info ready\n");
}

static void without_the_journal_lines_have_time_and_level(void **state)
{
    (void)state;
    expect_own_time_and_level();
}

/* A program that the service started with its standard error elsewhere inherits the variable. */
static void nor_is_another_stream_the_journal(void **state)
{
    (void)state;
    set_stream(0, 1, "");
    expect_own_time_and_level();
    set_stream(1, 0, "");
    expect_own_time_and_level();
    set_stream(0, 0, "0");
    expect_own_time_and_level();
    setenv("JOURNAL_STREAM", "", 1);
    expect_own_time_and_level();
}

/* A journal on a stalled disk reads nothing: the line goes on. */
static void a_reader_that_hangs_holds_nobody_up(void **state)
{
    (void)state;
    char longer[1001];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    for (int i = 0; i < 2000; i++) /* many more than a socket holds */
        crn_log(CRN_LOG_INFO, "%s", longer);
    while (logged()[0])
        continue;
    crn_log(CRN_LOG_INFO, "again");
    const char *text = logged();
    unsigned lost = 0;
    assert_non_null(strstr(text, " lines are lost: whoever reads"));
    assert_int_equal(sscanf(strstr(text, "log: "), "log: %u", &lost), 1);
    assert_in_range(lost, 100, 2000);
    assert_non_null(strstr(text, " info again\n"));
    crn_log(CRN_LOG_INFO, "and again");
    assert_null(strstr(logged(), "lost"));
}

/* Names of files, topics and answers of others may hold what a terminal obeys. */
static void what_does_not_print_is_shown_in_digits(void **state)
{
    (void)state;
    set_stream(0, 0, "");
    crn_log_find_journal();
    crn_log(CRN_LOG_INFO, "%s: \xc3\xa4 %s", "/data/\033[2J", "\xc2\x9b\xe2\x80\xae\n<3>\xff");
    assert_string_equal(logged(), "<6>/data/\\x1b[2J: \xc3\xa4 "
                                  "\\xc2\\x9b\\xe2\\x80\\xae\\x0a<3>\\xff\n");
    crn_error error;
    crn_error_set(&error, -1, "%s: cannot be read", "/data/\033[2J\n");
    assert_string_equal(error.text, "/data/\\x1b[2J\\x0a: cannot be read");
    crn_error_set(&error, -1, "again: %s", error.text); /* its own text may be among them */
    assert_string_equal(error.text, "again: /data/\\x1b[2J\\x0a: cannot be read");
    char text[8]; /* cut before what does not fit */
    assert_int_equal(crn_utf8_show("abcd\033", 5, text, sizeof text), 4);
    assert_int_equal(crn_utf8_show("abc\033e", 5, text, sizeof text), 7);
    assert_string_equal(text, "abc\\x1b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_journal_gets_the_level_as_a_prefix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_line_stays_one_line_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_the_journal_lines_have_time_and_level, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nor_is_another_stream_the_journal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_print_is_shown_in_digits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reader_that_hangs_holds_nobody_up, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
