/* The log's lines of conditions: one for all lanes of which the same is told. */
#include <stdio.h>
#include <string.h>

#include "src/monitor/conditions/log.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/log_capture.h"

static crn_condition_log events;
static crn_log_capture caught;

static void add(const char *id, int64_t lane, crn_condition_event event)
{
    crn_condition_held held = {.row = crn_condition_named(id), .values = {.lane = lane}};
    assert_non_null(held.row);
    crn_condition_log_add(&events, &held, event);
}

static const char *write_log(void)
{
    crn_log_set_level(CRN_LOG_INFO);
    crn_log_capture_start(&caught);
    crn_condition_log_write(&events);
    return crn_log_capture_stop(&caught);
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void sixty_four_silent_lanes_are_one_line(void **state)
{
    (void)state;
    for (int64_t lane = 63; lane >= 0; lane--)
        add("lane_silent", lane, CRN_CONDITION_RAISED);
    const char *told = write_log();
    assert_int_equal(lines_of(told), 1);
    assert_non_null(strstr(told, "Lane 63: no pictures. Check camera and CNN of this lane. "
                                 "Likewise lanes 0-62 [lane_silent: "));
    assert_string_equal(write_log(), ""); /* told once */
}

static void others_have_lines_of_their_own(void **state)
{
    (void)state;
    add("lane_silent", 4, CRN_CONDITION_HOLDS);
    add("no_grader", -1, CRN_CONDITION_RAISED);
    add("lane_silent", 7, CRN_CONDITION_HOLDS);
    add("lane_silent", 9, CRN_CONDITION_ENDED);
    add("lane_silent", 2, CRN_CONDITION_HOLDS);
    add("lane_silent", 6, CRN_CONDITION_HOLDS);
    const char *told = write_log();
    assert_int_equal(lines_of(told), 3);
    assert_non_null(strstr(told, "still: Lane 4: no pictures. Check camera and CNN of this lane. "
                                 "Likewise lanes 2, 6-7 [lane_silent]\n"));
    assert_non_null(strstr(told, "ended: Lane 9: no pictures. Check camera and CNN of this lane. "
                                 "[lane_silent]\n"));
    assert_non_null(strstr(told, "[no_grader: "));
}

/* A condition of the line's has no lane to name. */
static void a_line_names_no_lane_that_is_none(void **state)
{
    (void)state;
    add("messages_refused", 3, CRN_CONDITION_RAISED);
    add("messages_refused", -1, CRN_CONDITION_RAISED);
    const char *text = write_log();
    assert_int_equal(lines_of(text), 1);
    assert_null(strstr(text, "Likewise"));
}

static void more_lanes_than_fit_into_a_line_are_cut(void **state)
{
    (void)state;
    for (int64_t lane = 0; lane < CRN_CONDITIONS_MAX + 1; lane++)
        add("lane_silent", 100000 * lane, CRN_CONDITION_RAISED);
    assert_int_equal(lines_of(write_log()), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixty_four_silent_lanes_are_one_line),
        cmocka_unit_test(others_have_lines_of_their_own),
        cmocka_unit_test(a_line_names_no_lane_that_is_none),
        cmocka_unit_test(more_lanes_than_fit_into_a_line_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
