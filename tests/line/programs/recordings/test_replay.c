/* cernita-replay as a program: the recorded views arrive
 * unchanged, on schedule, for as long as requested. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/replay_program.h"

/* --- tests --- */

static void every_type_and_layout_arrives_as_it_was(void **state)
{
    (void)state;
    static const char *const ways[] = {"--rate max --unwatched",
                                       "--rate max --unwatched --preload 0"};
    for (int way = 0; way < 2; way++) {
        crn_recording_writer *writer = recorded_create();
        for (int i = 0; i < 12; i++) {
            crn_recorded_view view = recorded_view((uint64_t)i, (crn_type)(1 + i % 3),
                                                   (crn_layout)(1 + i / 3 % 2), 3, 11, 13, i / 6);
            view.header.epoch = 1;
            recorded_add(writer, &view);
        }
        recorded_finish(writer);
        replay_start(ways[way]);
        for (int i = 0; i < 12; i++) {
            crn_recorded_view want = recorded_view((uint64_t)i, (crn_type)(1 + i % 3),
                                                   (crn_layout)(1 + i / 3 % 2), 3, 11, 13, i / 6);
            crn_view_header got = replay_receive(&want), *h = &want.header;
            assert_true(got.sequence == h->sequence && got.fruit == h->fruit);
            assert_true(got.encoder == h->encoder && got.class_set == h->class_set);
            assert_true(got.lane == h->lane && got.view == h->view && got.views == h->views);
            assert_true(got.type == h->type && got.layout == h->layout);
        }
        assert_int_equal(replay_finish(), 0);
        assert_non_null(strstr(replay_output, "12 views, 12 fruits in "));
        replay_assert_nothing_more();
    }
}

static void loops_go_on_counting_in_one_epoch(void **state)
{
    (void)state;
    enum { VIEWS = 12, LOOPS = 3 };
    replay_record(0, VIEWS);
    for (int preload = 0; preload < 2; preload++) {
        uint64_t before_ns = (uint64_t)crn_realtime_ns(), epoch = 0;
        replay_start(preload ? "--rate max --unwatched --loop 3"
                             : "--rate max --unwatched --loop 3 --preload 0");
        for (uint64_t i = 0; i < (uint64_t)VIEWS * LOOPS; i++) {
            crn_recorded_view want = replay_lane_view(i % VIEWS);
            crn_view_header got = replay_receive(&want);
            epoch = i ? epoch : got.epoch;
            assert_true(got.epoch == epoch && epoch >= before_ns);
            /* What the sender would have sent next. */
            crn_recorded_view on = replay_lane_view(i);
            assert_int_equal(got.lane, on.header.lane);
            assert_int_equal(got.sequence, on.header.sequence);
            assert_int_equal(got.fruit, on.header.fruit);
            assert_int_equal(got.view, on.header.view);
        }
        assert_int_equal(replay_finish(), 0);
        assert_non_null(strstr(replay_output, "36 views, 18 fruits"));
    }
}

/* A sender that restarted: its second epoch stays distinct, in each loop. */
static void restarts_stay_restarts(void **state)
{
    (void)state;
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = 0; i < 4; i++) {
        crn_recorded_view view = replay_lane_view(i);
        view.header.epoch = i < 2 ? 50 : 49;
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
    replay_start("--rate max --unwatched --loop 2");
    uint64_t epoch[8];
    for (uint64_t i = 0; i < 8; i++) {
        crn_recorded_view want = replay_lane_view(i % 4);
        epoch[i] = replay_receive(&want).epoch;
        if (i % 2)
            assert_true(epoch[i] == epoch[i - 1]);
        for (uint64_t k = 0; i % 2 == 0 && k < i; k++)
            assert_true(epoch[i] != epoch[k]);
    }
    assert_int_equal(replay_finish(), 0);
}

/* Due times come from the schedule, which is tested to the nanosecond. */
static void views_are_due_as_they_came(void **state)
{
    (void)state;
    enum { VIEWS = 8 };
    replay_record(0, VIEWS);
    for (int rate = 1; rate <= 2; rate++) {
        int64_t before_ns = crn_now_ns();
        uint64_t captured_ns = 0;
        replay_start(rate == 1 ? "" : "--rate 2.0");
        for (uint64_t i = 0; i < VIEWS; i++) {
            crn_recorded_view want = replay_lane_view(i);
            crn_view_header got = replay_receive(&want);
            captured_ns = i ? captured_ns : got.captured_ns;
            assert_int_equal(got.captured_ns - captured_ns, i * CRN_REPLAY_GAP_NS / (uint64_t)rate);
            if (want.header.deadline_ns)
                assert_int_equal(got.deadline_ns - got.captured_ns, 12345678);
            else
                assert_int_equal(got.deadline_ns, 0);
        }
        assert_true(crn_now_ns() - before_ns >= (VIEWS - 1) * CRN_REPLAY_GAP_NS / rate);
        assert_int_equal(replay_finish(), 0);
        assert_non_null(strstr(replay_output, "ms behind its schedule"));
    }
}

static void it_stops_after_so_many_fruits(void **state)
{
    (void)state;
    replay_record(0, 12); /* fruits 0 to 5, two at a time */
    replay_start("--rate max --unwatched --loop 0 --fruits 9");
    for (uint64_t i = 0; i < 18; i++) {
        /* The ninth fruit is lane 0's in the second loop;
         * the other lane's views of its round are not sent. */
        uint64_t index = i < 16 ? i % 12 : 4 + (i - 16) * 2;
        crn_recorded_view want = replay_lane_view(index);
        assert_int_equal(replay_receive(&want).lane, want.header.lane);
    }
    assert_int_equal(replay_finish(), 0);
    assert_non_null(strstr(replay_output, "18 views, 9 fruits"));
    replay_assert_nothing_more();
}

static void several_recordings_are_one_run(void **state)
{
    (void)state;
    char first[80];
    replay_record(0, 4);
    snprintf(first, sizeof first, "%s.first", recorded_path);
    assert_int_equal(rename(recorded_path, first), 0);
    replay_record(4, 8);
    char command[512];
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-replay %s %s --to %s --rate 4 2>&1",
             first, recorded_path, replay_endpoint);
    replay_program = popen(command, "r");
    uint64_t captured_ns = 0;
    for (uint64_t i = 0; i < 8; i++) {
        crn_recorded_view want = replay_lane_view(i);
        crn_view_header got = replay_receive(&want);
        assert_int_equal(got.sequence, want.header.sequence);
        captured_ns = i ? captured_ns : got.captured_ns;
        assert_int_equal(got.captured_ns - captured_ns, i * CRN_REPLAY_GAP_NS / 4);
    }
    assert_int_equal(replay_finish(), 0);
    unlink(first);
}

/* A folder stands for its recordings, later segments after earlier ones. */
static void a_folder_is_one_run(void **state)
{
    (void)state;
    static const char *const names[] = {"cernita-2-9.tif", "cernita-2-10.tif", "cernita-10-1.tif"};
    char folder[64], path[128], command[512];
    snprintf(folder, sizeof folder, "%s/views", recorded_folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (uint64_t i = 0; i < 3; i++) {
        replay_record(4 * i, 4 * i + 4);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(rename(recorded_path, path), 0);
    }
    static const char *const others[] = {"cernita-2-11.tif.part", ".hidden.tif", "notes.txt"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, others[i]);
        recorded_save(path, "text", 4);
    }
    snprintf(path, sizeof path, "%s/folder.tif", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    replay_record(12, 14);
    snprintf(command, sizeof command,
             "exec " CRN_BIN "/cernita-replay %s/ %s --to %s --rate max --unwatched 2>&1", folder,
             recorded_path, replay_endpoint);
    replay_program = popen(command, "r");
    for (uint64_t i = 0; i < 14; i++) {
        crn_recorded_view want = replay_lane_view(i);
        assert_int_equal(replay_receive(&want).sequence, want.header.sequence);
    }
    assert_int_equal(replay_finish(), 0);
    replay_assert_nothing_more();

    rmdir(path);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-replay %s --to %s 2>&1", folder,
             replay_endpoint);
    replay_program = popen(command, "r");
    assert_int_equal(replay_finish(), 1);
    assert_non_null(strstr(replay_output, "views: no recording (*.tif) in this folder"));
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, others[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void an_unfinished_recording_is_told_and_replayed(void **state)
{
    (void)state;
    replay_record(0, 3);
    FILE *file = fopen(recorded_path, "ab");
    assert_int_equal(fwrite("more", 1, 4, file), 4);
    fclose(file);
    replay_start("--rate max --unwatched");
    for (uint64_t i = 0; i < 3; i++) {
        crn_recorded_view want = replay_lane_view(i);
        replay_receive(&want);
    }
    assert_int_equal(replay_finish(), 0);
    assert_non_null(strstr(replay_output, "never finished"));
    assert_non_null(strstr(replay_output, "3 views"));
}

static int run(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-replay %s 2>&1", arguments);
    replay_program = popen(command, "r");
    assert_non_null(replay_program);
    return replay_finish();
}

static void what_goes_wrong_is_one_line(void **state)
{
    (void)state;
    char arguments[200];
    replay_record(0, 2);
    snprintf(arguments, sizeof arguments, "%s --to ipc://%s/nobody --wait 0", recorded_path,
             recorded_folder);
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(replay_output, "no line listens"));
    assert_ptr_equal(strchr(replay_output, '\n'), replay_output + strlen(replay_output) - 1);

    recorded_save(recorded_path, "text", 4);
    snprintf(arguments, sizeof arguments, "%s --to %s", recorded_path, replay_endpoint);
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(replay_output, recorded_path));
    replay_record(0, 0);
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(replay_output, "no view"));
    assert_int_equal(run("--to tcp://127.0.0.1:1"), 2);
    assert_int_equal(run(recorded_path), 2);
    snprintf(arguments, sizeof arguments, "%s --to %s --rate 0", recorded_path, replay_endpoint);
    assert_int_equal(run(arguments), 2);
}

/* Nothing told whether the line kept up: no success, unless that was meant. */
static void an_unwatched_run_is_no_success(void **state)
{
    (void)state;
    static const char *const ways[] = {"--rate max", "--rate max --unwatched", "--rate 1000"};
    for (int way = 0; way < 3; way++) {
        replay_record(0, 2);
        replay_start(ways[way]);
        for (uint64_t i = 0; i < 2; i++) {
            crn_recorded_view want = replay_lane_view(i);
            replay_receive(&want);
        }
        assert_int_equal(replay_finish(), way == 0);
        assert_true((way == 0) == (strstr(replay_output, "--verdicts ENDPOINT") != NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_layout_arrives_as_it_was),
        cmocka_unit_test(loops_go_on_counting_in_one_epoch),
        cmocka_unit_test(restarts_stay_restarts),
        cmocka_unit_test(views_are_due_as_they_came),
        cmocka_unit_test(it_stops_after_so_many_fruits),
        cmocka_unit_test(several_recordings_are_one_run),
        cmocka_unit_test(a_folder_is_one_run),
        cmocka_unit_test(an_unfinished_recording_is_told_and_replayed),
        cmocka_unit_test(what_goes_wrong_is_one_line),
        cmocka_unit_test(an_unwatched_run_is_no_success),
    };
    return cmocka_run_group_tests(tests, replay_setup, replay_teardown);
}
