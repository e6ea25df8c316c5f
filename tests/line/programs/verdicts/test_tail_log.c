/* cernita-tail --log: a daemon's log, shown as its verdicts are when they come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/logged.h"
#include "tests/support/programs/tail_output.h"

static size_t last_size; /* of the verdict appended last */

static void append(crn_verdict_writer *writer, const char *run, int lane, int sequence)
{
    char text[1024];
    crn_error error;
    last_size = tail_verdict(text, sizeof text, run, lane, sequence);
    if (crn_verdict_writer_append(writer, (uint32_t)lane, text, last_size, &error) < 0)
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
    char all[400];
    snprintf(all, sizeof all, "--log %s %s", logged_folder, arguments);
    return tail_start(all);
}

static void a_log_is_shown_as_it_came(void **state)
{
    (void)state;
    write_two_runs();
    FILE *out = start("--table");
    tail_expect_verdict(out, 3, 0);
    tail_expect_verdict(out, 4, 0);
    tail_expect_line(out, "lane 3: 1 verdict lost (sequence 1)\n");
    tail_expect_verdict(out, 3, 2);
    tail_expect_line(out, "the daemon was restarted (run b)\n");
    tail_expect_verdict(out, 3, 0);
    tail_expect_line(out, "  latency, ms          p50       p99       max p99/budget\n");
    tail_expect_line(out, "  queue               0.50      0.50      0.50      0.5 %\n");
    tail_expect_line(out, "  total              12.50     12.50     12.50     12.5 %  of 100 ms\n");
    tail_expect_line(out, "verdicts: 4 (4 complete, 0 partial, 0 late), 0 over budget\n");
    tail_expect_line(out, "sequences: 1 verdict lost (2 lanes, 2 runs of the daemon)\n");
    tail_expect_end(out, 0);
}

static void lanes_counts_and_json_are_as_live(void **state)
{
    (void)state;
    write_two_runs();
    FILE *out = start("--lane 4");
    tail_expect_verdict(out, 4, 0);
    tail_expect_end(out, 0);
    out = start("--count 1");
    tail_expect_verdict(out, 3, 0);
    tail_expect_end(out, 0);
    char expected[1024];
    out = start("--json --lane 4 --count 1");
    strcpy(expected + tail_verdict(expected, sizeof expected - 1, "a", 4, 0), "\n");
    tail_expect_line(out, expected);
    tail_expect_end(out, 0);
    out = start("--lane 4 --count 2");
    tail_expect_verdict(out, 4, 0);
    tail_expect_end(out, 1); /* as when the line ends before the count */
}

static void what_cannot_be_read_is_a_notice(void **state)
{
    (void)state;
    char expected[256];
    write_two_runs();
    assert_int_equal(truncate(logged_path(1), 500), 0);
    FILE *out = start("");
    tail_expect_verdict(out, 3, 0);
    snprintf(
        expected, sizeof expected,
        "cernita-tail: %s: no whole verdict in its last %zu bytes: the daemon was killed while "
        "it wrote, or they are damaged\n",
        logged_path(1), 500 - 16 - 12 - last_size);
    tail_expect_line(out, expected);
    tail_expect_line(out, "lane 3: 1 verdict lost (sequence 1)\n");
    tail_expect_verdict(out, 3, 2);
    tail_expect_line(out, "the daemon was restarted (run b)\n");
    tail_expect_verdict(out, 3, 0);
    tail_expect_end(out, 0);
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
        tail_expect_verdict(out, 1, i);
    tail_expect_end(out, 0);
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
    tail_expect_line(out, "cernita-tail: --log takes no ENDPOINT, --grader or --timeout; see "
                          "cernita-tail --help\n");
    tail_expect_end(out, 2);
    out = start("--timeout 1");
    tail_expect_line(out, "cernita-tail: --log takes no ENDPOINT, --grader or --timeout; see "
                          "cernita-tail --help\n");
    tail_expect_end(out, 2);
    out = start("");
    snprintf(expected, sizeof expected,
             "cernita-tail: %s: there is no verdict log (cernita-*.verdicts) in this folder\n",
             logged_folder);
    tail_expect_line(out, expected);
    tail_expect_end(out, 1);
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
