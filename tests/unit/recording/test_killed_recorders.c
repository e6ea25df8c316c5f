/* What killed recorders leave becomes a segment, or counts as one. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "stages/base/log.h"
#include "tests/support/line/log_capture.h"
#include "tests/unit/recording/segments_bench.h"

#define MIB (UINT64_C(1) << 20)

/* Called before each renaming, if not NULL. */
static void (*before_renaming)(void);

/* Replaces libc's. */
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    void (*call)(void) = before_renaming;
    before_renaming = NULL;
    if (call)
        call();
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

#define LEFT      "cernita-20261105T000000Z-0001.tif"
#define LEFT_PART LEFT ".part"

/* A recorder that is killed with so many views in its segment. */
static void kill_recorder(const char *name, uint64_t views)
{
    char path[160];
    path_of(name, path);
    pid_t child = fork();
    if (child == 0) {
        crn_recording_writer *writer;
        crn_error error;
        if (crn_recording_create(path, false, &writer, &error))
            _exit(1);
        for (uint64_t i = 0; i < views; i++) {
            crn_recorded_view view = recorded_small(i);
            if (crn_recording_write(writer, &view, &error))
                _exit(1);
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static uint64_t adopted(void)
{
    uint64_t count = 0, bytes = 0;
    crn_segments_adopt(recorded_folder, &count, &bytes);
    assert_int_equal(bytes > 0, count > 0);
    return count;
}

static void one_with_views_becomes_a_segment(void **state)
{
    (void)state;
    char path[160];
    int end;
    crn_error error;
    kill_recorder(LEFT, 3);
    assert_true(is_there(LEFT_PART));
    assert_int_equal(adopted(), 1);
    assert_false(is_there(LEFT_PART));
    path_of(LEFT, path);
    assert_int_equal(recorded_read_small(path, &end, &error), 3);
    assert_int_equal(end, 0);
    assert_int_equal(adopted(), 0);
    assert_int_equal(removed_by(1, 0, 0).removed, 1);
}

static void one_without_views_is_removed(void **state)
{
    (void)state;
    kill_recorder(LEFT, 0);
    put("cernita-20261105T000000Z-0002.tif.part", 0, 0); /* killed before it wrote anything */
    assert_int_equal(adopted(), 0);
    assert_false(is_there(LEFT_PART));
    assert_false(is_there("cernita-20261105T000000Z-0002.tif.part"));
}

/* A disk that lost its power may leave such a file. */
static void one_that_is_no_recording_counts_as_a_segment(void **state)
{
    (void)state;
    put(LEFT_PART, 1000, 3);
    put(CRN_OLDEST, 100, 2);
    assert_int_equal(adopted(), 0);
    crn_segments_removed removed = removed_by(1100, 0, 0);
    assert_int_equal(removed.removed, 0);
    assert_int_equal(removed.left_bytes, 1100);
    assert_int_equal(removed_by(1000, 0, 0).removed, 1);
    assert_false(is_there(LEFT_PART));
    assert_true(is_there(CRN_OLDEST));
}

/* The name may have been given to another file meanwhile. */
static void one_whose_name_is_taken_stays_and_counts(void **state)
{
    (void)state;
    kill_recorder(LEFT, 1);
    put(LEFT, 10, 0);
    assert_int_equal(adopted(), 0);
    assert_true(is_there(LEFT_PART));
    assert_int_equal(removed_by(0, 1, 0).removed, 2);
}

static void one_that_is_being_written_is_left_alone(void **state)
{
    (void)state;
    char path[160];
    crn_error error;
    crn_recording_writer *writer;
    path_of(LEFT, path);
    assert_int_equal(crn_recording_create(path, false, &writer, &error), 0);
    crn_recorded_view view = recorded_small(0);
    assert_int_equal(crn_recording_write(writer, &view, &error), 0);
    assert_int_equal(adopted(), 0);
    crn_segments_removed removed = removed_by(1, 1, 1000);
    assert_int_equal(removed.removed + removed.left, 0);
    assert_int_equal(crn_recording_close(&writer, &error), 0);
    assert_true(is_there(LEFT));
}

static void another_recorder_looks(void)
{
    assert_int_equal(adopted(), 0);
}

/* Until it has its name nobody else gives it one: its writer would find no file. */
static void one_that_is_being_finished_is_left_alone(void **state)
{
    (void)state;
    char path[160];
    crn_error error;
    crn_recording_writer *writer;
    path_of(LEFT, path);
    assert_int_equal(crn_recording_create(path, false, &writer, &error), 0);
    crn_recorded_view view = recorded_small(0);
    assert_int_equal(crn_recording_write(writer, &view, &error), 0);
    before_renaming = another_recorder_looks;
    if (crn_recording_close(&writer, &error))
        fail_msg("%s", error.text);
    assert_null(before_renaming);
    assert_true(is_there(LEFT));
}

/* With limits and without. */
static void a_recorder_finishes_what_a_killed_one_left(void **state)
{
    (void)state;
    crn_log_capture capture;
    kill_recorder(LEFT, 3);
    crn_log_set_level(CRN_LOG_INFO);
    crn_log_capture_start(&capture);
    crn_recorder *recorder = start((crn_segment_limits){0}, MIB, 0);
    crn_recorder_finish(recorder);
    const char *told = crn_log_capture_stop(&capture);
    crn_log_set_level(CRN_LOG_ERROR);
    crn_recorder_close(&recorder);
    assert_non_null(strstr(told, ": finished 1 segments, 0 MiB, of recorders that were killed\n"));
    assert_true(is_there(LEFT));
    recorder = start((crn_segment_limits){.keep_bytes = 1}, MIB, 0);
    crn_recorder_close(&recorder);
    assert_false(is_there(LEFT));
}

static int clean(void **state)
{
    (void)state;
    remove_all();
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(one_with_views_becomes_a_segment),
        TEST(one_without_views_is_removed),
        TEST(one_that_is_no_recording_counts_as_a_segment),
        TEST(one_whose_name_is_taken_stays_and_counts),
        TEST(one_that_is_being_written_is_left_alone),
        TEST(one_that_is_being_finished_is_left_alone),
        TEST(a_recorder_finishes_what_a_killed_one_left),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
