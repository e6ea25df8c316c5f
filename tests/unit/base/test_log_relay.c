/* The log where standard error is a file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/log.h"
#include "stages/base/process/log_relay.h"
#include "tests/support/cmocka_prelude.h"

enum { LINES = 1000 }; /* a pipe of the usual size holds them */

static FILE *file;
static int stderr_copy;

static int set_up(void **state)
{
    (void)state;
    file = tmpfile();
    stderr_copy = dup(STDERR_FILENO);
    return file && stderr_copy >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    dup2(stderr_copy, STDERR_FILENO);
    close(stderr_copy);
    return fclose(file);
}

static void expect_lines(int end)
{
    char text[256];
    for (int i = 0; i < end; i++) {
        int number = -1;
        assert_non_null(fgets(text, sizeof text, file));
        assert_non_null(strstr(text, "line "));
        assert_int_equal(sscanf(strstr(text, "line "), "line %d", &number), 1);
        assert_int_equal(number, i);
    }
    assert_null(fgets(text, sizeof text, file));
}

static void all_lines_are_in_the_file_at_the_end(void **state)
{
    (void)state;
    crn_log_relay_start();
    for (int i = 0; i < LINES; i++)
        crn_log(CRN_LOG_INFO, "line %d", i);
    crn_log_relay_end();
    rewind(file);
    expect_lines(LINES);
    /* Lines after the end go there directly. */
    crn_log(CRN_LOG_INFO, "line %d", LINES);
    rewind(file);
    expect_lines(LINES + 1);
}

static void another_stream_has_no_thread(void **state)
{
    (void)state;
    int ends[2];
    char text[256];
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    crn_log_relay_start();
    crn_log(CRN_LOG_INFO, "line 1"); /* is there at once */
    ssize_t size = read(ends[0], text, sizeof text - 1);
    assert_true(size > 0);
    text[size] = '\0';
    assert_non_null(strstr(text, " line 1\n"));
    crn_log_relay_end();
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_lines_are_in_the_file_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_stream_has_no_thread, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
