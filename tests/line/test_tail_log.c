/* cernita-tail --log: a daemon's log, shown as its verdicts are when they come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/logged.h"

#define VERDICT                                                                                    \
    "{\"v\":1,\"run\":\"%s\",\"lane\":%d,\"fruit\":%d,\"sequence\":%d,\"verdict\":\"complete\","   \
    "\"views_expected\":4,\"views_received\":4,\"views_judged\":4,\"budget_ms\":100,"              \
    "\"published_ns\":0,\"latency_ms\":{\"queue\":0.5,\"total\":12.5},"                            \
    "\"totals\":{\"rot\":{\"count\":2,\"area_px\":143.2}},\"defects\":[]}"

#define LINE                                                                                       \
    "    --:--:--  lane %-2d  fruit %6d  complete  views 4/4     12.5 of 100 ms  rot 2 (143 px)\n"

static int last_size; /* of the verdict appended last */

static void append(crn_verdict_writer *writer, const char *run, int lane, int sequence)
{
    char text[1024];
    crn_error error;
    last_size = snprintf(text, sizeof text, VERDICT, run, lane, sequence + 1000, sequence);
    if (crn_verdict_writer_append(writer, (uint32_t)lane, text, (size_t)last_size, &error) < 0)
        fail_msg("%s", error.text);
}

/* Two runs of the daemon, two verdicts a segment; one of lane 3 was dropped. */
static void write_two_runs(void)
{
    crn_verdict_writer *writer = logged_writer(800, 0);
    append(writer, "a", 3, 0);
    append(writer, "a", 4, 0);
    append(writer, "a", 3, 2);
    crn_verdict_writer_close(&writer);
    writer = logged_writer(800, 0);
    append(writer, "b", 3, 0);
    crn_verdict_writer_close(&writer);
    assert_int_equal(logged_files(), 3);
}

static FILE *start(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "TZ=UTC exec " CRN_BIN "/cernita-tail --log %s %s 2>&1",
             logged_folder, arguments);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    return out;
}

static void expect_line(FILE *out, const char *expected)
{
    char line[2048];
    assert_non_null(fgets(line, sizeof line, out));
    assert_string_equal(line, expected);
}

static void expect_verdict(FILE *out, int lane, int sequence)
{
    char expected[256];
    snprintf(expected, sizeof expected, LINE, lane, sequence + 1000);
    expect_line(out, expected);
}

static void expect_end(FILE *out, int status)
{
    assert_int_equal(fgetc(out), EOF);
    int ended = pclose(out);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), status);
}

static void a_log_is_shown_as_it_came(void **state)
{
    (void)state;
    write_two_runs();
    FILE *out = start("--table");
    expect_verdict(out, 3, 0);
    expect_verdict(out, 4, 0);
    expect_line(out, "lane 3: 1 verdict lost (sequence 1)\n");
    expect_verdict(out, 3, 2);
    expect_line(out, "the daemon was restarted (run b)\n");
    expect_verdict(out, 3, 0);
    expect_line(out, "  latency, ms          p50       p99       max p99/budget\n");
    expect_line(out, "  queue               0.50      0.50      0.50      0.5 %\n");
    expect_line(out, "  total              12.50     12.50     12.50     12.5 %  of 100 ms\n");
    expect_line(out, "verdicts: 4 (4 complete, 0 partial, 0 late), 0 over budget\n");
    expect_line(out, "sequences: 1 verdict lost (2 lanes, 2 runs of the daemon)\n");
    expect_end(out, 0);
}

static void lanes_counts_and_json_are_as_live(void **state)
{
    (void)state;
    write_two_runs();
    FILE *out = start("--lane 4");
    expect_verdict(out, 4, 0);
    expect_end(out, 0);
    out = start("--count 1");
    expect_verdict(out, 3, 0);
    expect_end(out, 0);
    char expected[1024];
    out = start("--json --lane 4 --count 1");
    snprintf(expected, sizeof expected, VERDICT "\n", "a", 4, 1000, 0);
    expect_line(out, expected);
    expect_end(out, 0);
    out = start("--lane 4 --count 2");
    expect_verdict(out, 4, 0);
    expect_end(out, 1); /* as when the line ends before the count */
}

static void what_cannot_be_read_is_a_notice(void **state)
{
    (void)state;
    char expected[256];
    write_two_runs();
    assert_int_equal(truncate(logged_path(1), 500), 0);
    FILE *out = start("");
    expect_verdict(out, 3, 0);
    snprintf(expected, sizeof expected,
             "cernita-tail: %s: no whole verdict in its last %d bytes: the daemon was killed while "
             "it wrote, or they are damaged\n",
             logged_path(1), 500 - 16 - 12 - last_size);
    expect_line(out, expected);
    expect_line(out, "lane 3: 1 verdict lost (sequence 1)\n");
    expect_verdict(out, 3, 2);
    expect_line(out, "the daemon was restarted (run b)\n");
    expect_verdict(out, 3, 0);
    expect_end(out, 0);
}

/* Unlike live ones, verdicts of a log wait until they are drawn. */
static void every_verdict_is_drawn(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    for (int i = 0; i < 40; i++)
        append(writer, "a", 1, i);
    crn_verdict_writer_close(&writer);
    char arguments[128], path[128];
    snprintf(arguments, sizeof arguments, "--draw %s/pictures", logged_folder);
    FILE *out = start(arguments);
    for (int i = 0; i < 40; i++)
        expect_verdict(out, 1, i);
    expect_end(out, 0);
    for (int i = 0; i < 40; i++) {
        snprintf(path, sizeof path, "%s/pictures/fruit_1_%d.png", logged_folder, 1000 + i);
        assert_int_equal(access(path, F_OK), 0);
    }
}

static void wrong_uses_are_named(void **state)
{
    (void)state;
    char expected[256];
    FILE *out = start("tcp://127.0.0.1:1");
    expect_line(out, "cernita-tail: --log takes no ENDPOINT, --grader or --timeout; see "
                     "cernita-tail --help\n");
    expect_end(out, 2);
    out = start("--timeout 1");
    expect_line(out, "cernita-tail: --log takes no ENDPOINT, --grader or --timeout; see "
                     "cernita-tail --help\n");
    expect_end(out, 2);
    out = start("");
    snprintf(expected, sizeof expected,
             "cernita-tail: %s: there is no verdict log (cernita-*.verdicts) in this folder\n",
             logged_folder);
    expect_line(out, expected);
    expect_end(out, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, logged_setup, logged_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_log_is_shown_as_it_came),
        TEST(lanes_counts_and_json_are_as_live),
        TEST(what_cannot_be_read_is_a_notice),
        TEST(every_verdict_is_drawn),
        TEST(wrong_uses_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
