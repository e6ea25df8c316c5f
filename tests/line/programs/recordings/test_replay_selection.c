/* cernita-replay: which fruits of a recording are sent. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/logged.h"
#include "tests/support/programs/replay_program.h"

/* Which fruits are sent is decided by lane, number and the time of their first view. */
static void expect_selected(const char *options, const char *said, const int *numbers, int count)
{
    for (int way = 0; way < 2; way++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "--rate max --unwatched %s %s",
                 way ? "--preload 0" : "", options);
        replay_start(arguments);
        for (int i = 0; i < count; i++) {
            crn_recorded_view want = replay_lane_view((uint64_t)numbers[i]);
            crn_view_header got = replay_receive(&want);
            assert_int_equal(got.lane, want.header.lane);
            assert_int_equal(got.fruit, want.header.fruit);
            assert_int_equal(got.sequence, want.header.sequence);
        }
        assert_int_equal(replay_finish(), 0);
        if (!strstr(replay_output, said))
            fail_msg("not '%s': %s", said, replay_output);
        replay_assert_nothing_more();
    }
}

static void fruits_are_selected(void **state)
{
    (void)state;
    replay_record(0,
                  12); /* views 0 2, 4 6, 8 10 of lane 0, fruits 1000 to 1002; 1 3, … of lane 7 */
    expect_selected("--lane 7", "6 of 12 views, 3 of 6 fruits are selected\n",
                    (const int[]){1, 3, 5, 7, 9, 11}, 6);
    expect_selected("--fruit 1001", "4 of 12 views, 2 of 6 fruits", (const int[]){4, 5, 6, 7}, 4);
    expect_selected("--fruit 1001-1002 --lane 3,0", "4 of 12 views, 2 of 6 fruits",
                    (const int[]){4, 6, 8, 10}, 4);
    expect_selected("--fruit 1002 --lane 0 --loop 1", "2 of 12 views, 1 of 6 fruits",
                    (const int[]){8, 10}, 2);
    expect_selected("--fruit 1000,1002", "8 of 12 views, 4 of 6 fruits",
                    (const int[]){0, 1, 2, 3, 8, 9, 10, 11}, 8);
    expect_selected("--fruit 7/1000,0/5/1001-1002", "6 of 12 views, 3 of 6 fruits",
                    (const int[]){1, 3, 4, 6, 8, 10}, 6);
    replay_start(
        "--to-time 1970-01-01T00:00 --rate max --unwatched"); /* not the same as no limit */
    assert_int_equal(replay_finish(), 1);
    assert_non_null(strstr(replay_output,
                           ": none of 12 views is selected: there are lanes 0 to 7, fruits "
                           "1000 to 1002, from 2026-"));
    replay_start("--fruit 1000,0/6/1000 --rate max --unwatched");
    assert_int_equal(replay_finish(), 1);
    assert_non_null(strstr(
        replay_output, ": no fruit 0/6/1000 is there; the fruits are 1000 to 1002; of epochs 5\n"));
    replay_start("--fruit 1000,7/999-1000,8/1000 --rate max --unwatched");
    assert_int_equal(replay_finish(), 1);
    assert_non_null(
        strstr(replay_output, ": no fruit 8/1000 is there; the fruits are none of these"));
    replay_start("--fruit 2000 --rate max --unwatched");
    assert_int_equal(replay_finish(), 1);
    assert_non_null(
        strstr(replay_output, ": no fruit 2000 is there; the fruits are 1000 to 1002\n"));
    assert_ptr_equal(strchr(replay_output, '\n'), replay_output + strlen(replay_output) - 1);
    static const char *const bad[] = {
        "--lane x",     "--lane 1,",       "--lane -1",  "--fruit 5-3", "--fruit 1-2-3",
        "--fruit 1,,2", "--fruit 1/2/3/4", "--fruit 1,", "--only late", "--only good --from /tmp",
        "--from 25:00", "--to-time x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        replay_start(bad[i]);
        assert_int_equal(replay_finish(), 2);
    }
}

/* --- by their verdicts --- */

static void fruits_are_selected_by_their_verdicts(void **state)
{
    (void)state;
    char dir[64], options[160], command[80];
    replay_record(0, 12); /* epoch 5; fruits 1000 to 1002 of lanes 0 and 7 */
    snprintf(dir, sizeof dir, "%s/log", recorded_folder);
    assert_int_equal(mkdir(dir, 0700), 0);
    /* Two replays of it: the last one counts. */
    logged_made_up(dir,
                   (logged_fruit[]){{0, 80, 1000, "late", 100}, {7, 80, 1000, "late", 100}, {0}});
    logged_made_up(dir, (logged_fruit[]){{0, 90, 1001, "late", 90},
                                         {7, 90, 1000, "partial", 90},
                                         {7, 90, 1001, "complete", 99},
                                         {7, 90, 1002, "complete", 101},
                                         {0}});
    snprintf(options, sizeof options, "--only late --from %s", dir);
    expect_selected(options, "2 of 12 views, 1 of 6 fruits", (const int[]){4, 6}, 2);
    snprintf(options, sizeof options, "--from %s --only partial,over_budget --from 1970-01-01",
             dir);
    expect_selected(options, "4 of 12 views, 2 of 6 fruits", (const int[]){1, 3, 9, 11}, 4);
    snprintf(options, sizeof options, "--only late --from %s --lane 7", dir);
    replay_start(options);
    assert_int_equal(replay_finish(), 1);
    assert_non_null(strstr(replay_output, "none of the 1 fruits that "));
    /* The recorded run itself: its epoch is the recording's. */
    logged_made_up(dir, (logged_fruit[]){{0, 5, 1002, "late", 100}, {0}});
    snprintf(options, sizeof options, "--only late --from %s", dir);
    expect_selected(options, "2 of 12 views, 1 of 6 fruits", (const int[]){8, 10}, 2);
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    logged_made_up(dir, (logged_fruit[]){{0, 5, 1002, "complete", 1}, {0}});
    replay_start(options);
    assert_int_equal(replay_finish(), 1);
    assert_non_null(strstr(replay_output, "/log: none of its verdicts is late\n"));
    assert_int_equal(system(command), 0);
}

/* Whole fruits, by the time of their first view; the second is one of a minute earlier. */
static void fruits_are_selected_by_time(void **state)
{
    (void)state;
    static const int64_t minutes[] = {0, 10, 10, 25}; /* of each fruit's first view */
    struct tm local;
    time_t noon = 1790000000;
    localtime_r(&noon, &local);
    local.tm_hour = 12;
    local.tm_min = local.tm_sec = 0;
    noon = mktime(&local);
    crn_recording_writer *writer = recorded_create();
    for (int i = 0; i < 8; i++) { /* the second view of each comes 5 minutes later */
        crn_recorded_view view = replay_lane_view((uint64_t)i);
        view.arrived_ns = (uint64_t)(noon + (minutes[i / 4 * 2 + i % 2] + i % 4 / 2 * 5) * 60) *
                          (uint64_t)CRN_NS_PER_S;
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
    char options[128], day[16];
    strftime(day, sizeof day, "%Y-%m-%d", &local);
    snprintf(options, sizeof options, "--from %sT12:10 --to-time %sT12:25", day, day);
    expect_selected(options, "4 of 8 views, 2 of 4 fruits", (const int[]){1, 3, 4, 6}, 4);
    snprintf(options, sizeof options, "--to-time '%s 12:10:00'", day);
    expect_selected(options, "2 of 8 views, 1 of 4 fruits", (const int[]){0, 2}, 2);
    snprintf(options, sizeof options, "--from %sT12:10:01", day);
    expect_selected(options, "2 of 8 views, 1 of 4 fruits", (const int[]){5, 7}, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fruits_are_selected),
        cmocka_unit_test(fruits_are_selected_by_time),
        cmocka_unit_test(fruits_are_selected_by_their_verdicts),
    };
    return cmocka_run_group_tests(tests, replay_setup, replay_teardown);
}
