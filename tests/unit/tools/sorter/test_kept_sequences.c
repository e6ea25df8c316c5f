/* What a sorter that was killed leaves to the next one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/programs/rule_fruit.h"
#include "tools/sorter/decide/decider.h"

static crn_kept_sequences *kept;
static crn_decider *decider;
static crn_sorter_settings settings;
static crn_decision last;
static int told;
static char path[128];

static void note(void *context, const crn_decision *decision)
{
    (void)context;
    last = *decision;
    told++;
}

static void open_both(void)
{
    crn_error error = {""};
    if (crn_kept_sequences_open(path, &kept, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(crn_decider_create(&settings, note, NULL, kept, &decider), 0);
}

static void close_both(void)
{
    crn_decider_free(&decider);
    crn_kept_sequences_close(&kept);
}

static int set_up(void **state)
{
    memset(&settings, 0, sizeof settings);
    settings.outlets.choice.silence = 1;
    if (crn_rules_create(&settings.outlets.rules) < 0 || test_folder_make(state) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/sequences", test_folder);
    open_both();
    return 0;
}

static int tear_down(void **state)
{
    close_both();
    crn_rules_free(&settings.outlets.rules);
    return test_folder_remove(state);
}

/* Hands a verdict over; returns how many decisions that made. */
static int give(const char *run, uint64_t lane, uint64_t sequence)
{
    crn_rule_fruit fruit;
    crn_rule_fruit_init(&fruit);
    snprintf(fruit.verdict.run, sizeof fruit.verdict.run, "%s", run);
    fruit.verdict.lane = lane;
    fruit.verdict.sequence = sequence;
    told = 0;
    crn_decider_verdict(decider, &fruit.verdict, 0, 0);
    return told;
}

static void the_next_one_tells_what_was_lost_meanwhile(void **state)
{
    (void)state;
    crn_decoded_status status = {.run = "a", .lane_count = 2, .lanes = {{3, 9}, {4, 7}}};
    assert_int_equal(give("a", 3, 5), 1);
    assert_int_equal(give("a", 4, 7), 1);
    close_both();
    open_both();
    assert_int_equal(give("a", 3, 5), 0); /* it was decided about */
    assert_int_equal(give("a", 3, 8), 2);
    assert_int_equal(crn_decider_get_stats(decider)->lost, 2);
    close_both();
    open_both();
    told = 0;
    crn_decider_alive(decider, &status, 0);
    assert_int_equal(told, 1);
    assert_int_equal(last.lane, 3);
    assert_int_equal(last.sequence, 9);
    assert_int_equal(last.lost, 1);
    assert_int_equal(last.outlet, 1);
    close_both();
    open_both();
    told = 0;
    crn_decider_alive(decider, &status, 0);
    assert_int_equal(told, 0);
}

static void a_line_that_restarted_meanwhile_counts_from_zero(void **state)
{
    (void)state;
    give("a", 3, 5);
    close_both();
    open_both();
    assert_int_equal(give("b", 3, 2), 2);
    assert_int_equal(crn_decider_get_stats(decider)->lost, 2);
    close_both();
    open_both();
    assert_int_equal(give("b", 3, 3), 1);
}

static void lanes_that_were_heard_before_fall_silent_too(void **state)
{
    (void)state;
    settings.line.silence_ms = 1;
    give("a", 3, 5);
    close_both();
    open_both();
    give("a", 4, 1);
    told = 0;
    crn_decider_look(decider, 1000000);
    assert_int_equal(told, 2);
}

static void a_file_of_something_else_is_empty(void **state)
{
    (void)state;
    close_both();
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 30000; i++)
        fputc('x', file);
    fclose(file);
    open_both();
    assert_string_equal(crn_kept_sequences_run(kept), "");
    assert_int_equal(give("a", 3, 5), 1);
}

static void one_sorter_has_it_at_a_time(void **state)
{
    (void)state;
    crn_error error = {""};
    crn_kept_sequences *other = NULL;
    assert_int_equal(crn_kept_sequences_open(path, &other, &error), -EBUSY);
    assert_non_null(strstr(error.text, "another sorter has it"));
    assert_int_equal(crn_kept_sequences_open("/nowhere/sequences", &other, &error), -ENOENT);
    assert_string_equal(error.text, "state.file: /nowhere/sequences: No such file or directory");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_next_one_tells_what_was_lost_meanwhile),
        TEST(a_line_that_restarted_meanwhile_counts_from_zero),
        TEST(lanes_that_were_heard_before_fall_silent_too),
        TEST(a_file_of_something_else_is_empty),
        TEST(one_sorter_has_it_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
