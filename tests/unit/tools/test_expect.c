/* The comparison of two runs' verdict logs: which fruits are compared with which. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/formats/verdict_log/writer.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/logged.h"
#include "tools/replay/expect/expect.h"

#define RUN_EPOCH UINT64_C(1790000000000000000)

static char expected[128], got[128], told[4096];
static crn_expect *expect;
static crn_expect_result result;

static int set_up(void **state)
{
    if (logged_setup(state))
        return -1;
    snprintf(expected, sizeof expected, "%s/expected", logged_folder);
    snprintf(got, sizeof got, "%s/got", logged_folder);
    return mkdir(expected, 0700) || mkdir(got, 0700);
}

static int tear_down(void **state)
{
    crn_expect_close(&expect);
    return logged_teardown(state);
}

static void begin(void)
{
    crn_error error;
    if (crn_expect_open(expected, got, &expect, &error))
        fail_msg("%s", error.text);
}

static bool never(void *context)
{
    (void)context;
    return false;
}

static int try_run(const uint64_t *epochs, uint32_t count, bool whole, crn_error *error)
{
    crn_expect_settings settings = {.expected = expected,
                                    .got = got,
                                    .epochs = epochs,
                                    .epoch_count = count,
                                    .run_epoch = RUN_EPOCH,
                                    .all = true,
                                    .whole = whole};
    FILE *out = fmemopen(told, sizeof told, "w");
    int r = crn_expect_run(expect, &settings, never, NULL, out, &result, error);
    if (ftell(out) == 0)
        told[0] = '\0';
    fclose(out);
    return r;
}

static const char *run(const uint64_t *epochs, uint32_t count, bool whole)
{
    crn_error error;
    if (try_run(epochs, count, whole, &error))
        fail_msg("%s", error.text);
    return told;
}

/* Changes a byte of a log's first segment, counted from its end. */
static void damage(const char *dir, long from_end)
{
    char path[200];
    snprintf(path, sizeof path, "%s/cernita-0000000001.verdicts", dir);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, -from_end, SEEK_END), 0);
    fputc('#', file);
    assert_int_equal(fclose(file), 0);
}

static void sent(unsigned lane, uint64_t epoch, unsigned fruit)
{
    assert_int_equal(crn_expect_sent(expect, lane, epoch, fruit), 0);
}

/* --- tests --- */

static const uint64_t one_epoch[] = {5};

static void two_replays_are_compared(void **state)
{
    (void)state;
    logged_made_up(expected, (logged_fruit[]){{0, 99, 1, "complete", 0},
                                              {7, 99, 1, "late", 0},
                                              {0, 99, 2, "complete", 0},
                                              {0}});
    logged_made_up(got, (logged_fruit[]){{0, 99, 1, "late", 0}, {0}}); /* an earlier run */
    begin();
    sent(0, 0, 1), sent(7, 0, 1), sent(0, 0, 2);
    logged_made_up(got, (logged_fruit[]){{0, RUN_EPOCH, 2, "complete", 0},
                                         {0, RUN_EPOCH, 1, "complete", 0},
                                         {7, RUN_EPOCH, 1, "late", 0},
                                         {0}});
    assert_string_equal(run(one_epoch, 1, true), "");
    assert_int_equal(result.fruits, 3);
    assert_int_equal(result.unequal + result.unsent, 0);
}

static void the_recorded_run_itself_is_compared(void **state)
{
    (void)state;
    static const uint64_t epochs[] = {70, 5};                       /* the sender restarted */
    logged_made_up(expected, (logged_fruit[]){{0, 1, 1, "late", 0}, /* not in the recordings */
                                              {0, 70, 1, "complete", 0},
                                              {0, 5, 1, "partial", 0},
                                              {0}});
    logged_made_up(
        got,
        (logged_fruit[]){{0, RUN_EPOCH, 1, "complete", 0}, {0, RUN_EPOCH + 1, 1, "late", 0}, {0}});
    begin();
    sent(0, 0, 1), sent(0, 1, 1);
    assert_string_equal(run(epochs, 2, true), "lane 0, fruit 1: verdict late, expected partial\n");
    assert_int_equal(result.fruits, 2);
    assert_int_equal(result.unequal, 1);
    assert_int_equal(result.unsent, 1);
}

static void fruits_of_one_run_only_are_differences(void **state)
{
    (void)state;
    logged_made_up(
        expected,
        (logged_fruit[]){{0, 5, 1, "late", 0}, {0, 5, 2, "late", 0}, {0, 5, 4, "late", 0}, {0}});
    logged_made_up(
        got, (logged_fruit[]){{0, RUN_EPOCH, 1, "late", 0}, {0, RUN_EPOCH, 3, "late", 0}, {0}});
    begin();
    sent(0, 0, 1), sent(0, 0, 2), sent(0, 0, 3), sent(0, 0, 5);
    assert_string_equal(run(one_epoch, 1, true),
                        "lane 0, fruit 4: only in the recorded run\n"
                        "lane 0, fruit 2: only in the recorded run: the line gave no verdict\n"
                        "lane 0, fruit 3: only in this run\n"
                        "lane 0, fruit 5: in neither run's verdicts\n");
    assert_int_equal(result.counts.differences, 4);
    assert_int_equal(result.unequal, 4);
    assert_int_equal(result.fruits, 1);
}

static void what_was_not_sent_is_not_compared(void **state)
{
    (void)state;
    logged_made_up(
        expected,
        (logged_fruit[]){{0, 5, 1, "late", 0}, {0, 5, 2, "late", 0}, {1, 5, 1, "late", 0}, {0}});
    logged_made_up(got, (logged_fruit[]){{0, RUN_EPOCH, 2, "late", 0}, {0}});
    begin();
    sent(0, 0, 2);
    assert_string_equal(run(one_epoch, 1, false), "");
    assert_int_equal(result.fruits, 1);
    assert_int_equal(result.unsent, 2);
}

static void both_runs_may_be_in_one_log(void **state)
{
    (void)state;
    strcpy(got, expected);
    logged_made_up(expected, (logged_fruit[]){{0, 99, 1, "late", 0}, {0}});
    begin();
    sent(0, 0, 1);
    logged_made_up(expected, (logged_fruit[]){{0, RUN_EPOCH, 1, "complete", 0}, {0}});
    assert_string_equal(run(one_epoch, 1, true),
                        "lane 0, fruit 1: verdict complete, expected late\n");
    assert_int_equal(result.fruits, 1);
}

static void a_second_verdict_is_a_difference(void **state)
{
    (void)state;
    logged_made_up(expected, (logged_fruit[]){{0, 5, 1, "late", 0}, {0, 5, 1, "late", 0}, {0}});
    logged_made_up(got, (logged_fruit[]){{0, RUN_EPOCH, 1, "late", 0}, {0}});
    begin();
    sent(0, 0, 1);
    assert_string_equal(run(one_epoch, 1, true),
                        "lane 0, fruit 1: the recorded run has a second verdict\n");
}

/* Damage is not a difference: it is told as what it is. */
static void what_cannot_be_read_is_told(void **state)
{
    (void)state;
    logged_made_up(expected, (logged_fruit[]){{0, 5, 1, "late", 0}, {0, 5, 2, "late", 0}, {0}});
    damage(expected, 5);
    begin();
    sent(0, 0, 1), sent(0, 0, 2);
    logged_made_up(
        got, (logged_fruit[]){{0, RUN_EPOCH, 1, "late", 0}, {0, RUN_EPOCH, 2, "late", 0}, {0}});
    damage(got, 5);
    run(one_epoch, 1, true);
    assert_non_null(strstr(told, "/got/cernita-0000000001.verdicts: the verdict at byte "));
    assert_non_null(strstr(told, "/expected/cernita-0000000001.verdicts: the verdict at byte "));
    assert_non_null(strstr(told, "lane 0, fruit 2: in neither run's verdicts\n"));
    assert_int_equal(result.fruits, 1);
    assert_int_equal(result.counts.differences, 1);
}

/* Another folder than the line's, or a line that refuses every view. */
static void a_line_without_any_verdict_is_one_line(void **state)
{
    (void)state;
    crn_error error;
    logged_made_up(expected, (logged_fruit[]){{0, 5, 1, "late", 0}, {0, 5, 2, "late", 0}, {0}});
    begin();
    sent(0, 0, 1), sent(0, 0, 2);
    assert_int_equal(try_run(one_epoch, 1, true, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/got: the line logged no verdict of this run there: "));
    assert_string_equal(told, "");
}

static void logs_that_are_not_there_are_named(void **state)
{
    (void)state;
    crn_error error;
    assert_true(crn_expect_open(expected, got, &expect, &error) < 0);
    assert_non_null(strstr(error.text, "/expected: there is no verdict log"));
    logged_made_up(expected, (logged_fruit[]){{0, 5, 1, "late", 0}, {0}});
    assert_true(crn_expect_open(expected, "/nonexistent", &expect, &error) < 0);
    assert_non_null(strstr(error.text, "/nonexistent: cannot list this folder: "));
    assert_null(expect);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_replays_are_compared),
        TEST(the_recorded_run_itself_is_compared),
        TEST(fruits_of_one_run_only_are_differences),
        TEST(what_was_not_sent_is_not_compared),
        TEST(both_runs_may_be_in_one_log),
        TEST(a_second_verdict_is_a_difference),
        TEST(what_cannot_be_read_is_told),
        TEST(a_line_without_any_verdict_is_one_line),
        TEST(logs_that_are_not_there_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
