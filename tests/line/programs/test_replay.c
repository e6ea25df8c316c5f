/* cernita-replay as a program: the recorded views arrive
 * unchanged, on schedule, for as long as requested. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "src/ingest/wire.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/recorded.h"

#define WAIT_MS 20000 /* timeout; only a failing test waits so long */
#define GAP_NS  (20 * CRN_NS_PER_MS)

static void *zmq, *line;
static char endpoint[64], output[4000];
static FILE *replay;

static int set_up(void **state)
{
    int wait_ms = WAIT_MS;
    size_t size = sizeof endpoint;
    if (recorded_setup(state))
        return -1;
    zmq = zmq_ctx_new();
    line = zmq_socket(zmq, ZMQ_PULL);
    zmq_setsockopt(line, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    return zmq_bind(line, "tcp://127.0.0.1:*") ||
           zmq_getsockopt(line, ZMQ_LAST_ENDPOINT, endpoint, &size);
}

static int tear_down(void **state)
{
    zmq_close(line);
    zmq_ctx_term(zmq);
    return recorded_teardown(state);
}

/* --- recordings, and running the program --- */

/* View `number` of a recording of two alternating lanes, two views per fruit: pixels of
 * recorded_small, numbers as a sender assigns them. */
static crn_recorded_view lane_view(uint64_t number)
{
    crn_recorded_view view = recorded_small(number);
    uint64_t nth = number / 2;
    view.header.lane = (uint32_t)(number % 2) * 7;
    view.header.sequence = 100 + nth;
    view.header.epoch = 5;
    view.header.fruit = 1000 + nth / 2;
    view.header.view = (uint16_t)(nth % 2);
    view.header.views = 2;
    view.arrived_ns = UINT64_C(1790000000000000000) + number * GAP_NS;
    view.header.captured_ns = view.arrived_ns - 1000;
    view.header.deadline_ns = number % 2 ? view.arrived_ns + 12345678 : 0;
    return view;
}

static void record(uint64_t from, uint64_t to)
{
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = from; i < to; i++) {
        crn_recorded_view view = lane_view(i);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
}

static void start(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-replay %s --to %s %s 2>&1",
             recorded_path, endpoint, arguments);
    replay = popen(command, "r");
    assert_non_null(replay);
}

/* Reads the output until the program ends; returns its exit status. */
static int finish(void)
{
    output[fread(output, 1, sizeof output - 1, replay)] = '\0';
    return pclose(replay) >> 8;
}

static size_t receive_part(void *bytes, size_t room, bool *ret_more)
{
    int more = 0, size = zmq_recv(line, bytes, room, 0);
    size_t more_size = sizeof more;
    assert_in_range(size, 0, room);
    zmq_getsockopt(line, ZMQ_RCVMORE, &more, &more_size);
    *ret_more = more;
    return (size_t)size;
}

/* Receives the next message, checks its pixels against `want`, returns its header. */
static crn_view_header receive(const crn_recorded_view *want)
{
    static const crn_wire_rules anything = {.max_bytes = UINT64_MAX};
    unsigned char header[200], maps[4000], intensity[4000];
    crn_wire_part parts[3] = {{header, 0}, {maps, 0}, {intensity, 0}};
    crn_view_header got;
    size_t count = 0;
    for (bool more = true; more; count++) {
        assert_in_range(count, 0, 2);
        size_t room = count ? sizeof maps : sizeof header;
        parts[count].size = receive_part((void *)(uintptr_t)parts[count].bytes, room, &more);
    }
    assert_int_equal(crn_wire_check(parts, count, &anything, &got), CRN_WIRE_OK);
    assert_int_equal(got.payload_bytes, want->header.payload_bytes);
    assert_memory_equal(maps, want->maps, got.payload_bytes);
    assert_int_equal(got.flags, want->header.flags);
    if (want->intensity)
        assert_memory_equal(intensity, want->intensity, crn_wire_intensity_bytes(&got));
    return got;
}

static void assert_nothing_more(void)
{
    char byte;
    assert_int_equal(zmq_recv(line, &byte, 1, ZMQ_DONTWAIT), -1);
}

/* --- tests --- */

static void every_type_and_layout_arrives_as_it_was(void **state)
{
    (void)state;
    static const char *const ways[] = {"--rate max", "--rate max --preload 0"};
    for (int way = 0; way < 2; way++) {
        crn_recording_writer *writer = recorded_create();
        for (int i = 0; i < 12; i++) {
            crn_recorded_view view = recorded_view((uint64_t)i, (crn_type)(1 + i % 3),
                                                   (crn_layout)(1 + i / 3 % 2), 3, 11, 13, i / 6);
            view.header.epoch = 1;
            recorded_add(writer, &view);
        }
        recorded_finish(writer);
        start(ways[way]);
        for (int i = 0; i < 12; i++) {
            crn_recorded_view want = recorded_view((uint64_t)i, (crn_type)(1 + i % 3),
                                                   (crn_layout)(1 + i / 3 % 2), 3, 11, 13, i / 6);
            crn_view_header got = receive(&want), *h = &want.header;
            assert_true(got.sequence == h->sequence && got.fruit == h->fruit);
            assert_true(got.encoder == h->encoder && got.class_set == h->class_set);
            assert_true(got.lane == h->lane && got.view == h->view && got.views == h->views);
            assert_true(got.type == h->type && got.layout == h->layout);
        }
        assert_int_equal(finish(), 0);
        assert_non_null(strstr(output, "12 views, 12 fruits in "));
        assert_nothing_more();
    }
}

static void loops_go_on_counting_in_one_epoch(void **state)
{
    (void)state;
    enum { VIEWS = 12, LOOPS = 3 };
    record(0, VIEWS);
    for (int preload = 0; preload < 2; preload++) {
        uint64_t before_ns = (uint64_t)crn_realtime_ns(), epoch = 0;
        start(preload ? "--rate max --loop 3" : "--rate max --loop 3 --preload 0");
        for (uint64_t i = 0; i < (uint64_t)VIEWS * LOOPS; i++) {
            crn_recorded_view want = lane_view(i % VIEWS);
            crn_view_header got = receive(&want);
            epoch = i ? epoch : got.epoch;
            assert_true(got.epoch == epoch && epoch >= before_ns);
            /* What the sender would have sent next. */
            crn_recorded_view on = lane_view(i);
            assert_int_equal(got.lane, on.header.lane);
            assert_int_equal(got.sequence, on.header.sequence);
            assert_int_equal(got.fruit, on.header.fruit);
            assert_int_equal(got.view, on.header.view);
        }
        assert_int_equal(finish(), 0);
        assert_non_null(strstr(output, "36 views, 18 fruits"));
    }
}

/* A sender that restarted: its second epoch stays distinct, in each loop. */
static void restarts_stay_restarts(void **state)
{
    (void)state;
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = 0; i < 4; i++) {
        crn_recorded_view view = lane_view(i);
        view.header.epoch = i < 2 ? 50 : 49;
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
    start("--rate max --loop 2");
    uint64_t epoch[8];
    for (uint64_t i = 0; i < 8; i++) {
        crn_recorded_view want = lane_view(i % 4);
        epoch[i] = receive(&want).epoch;
        if (i % 2)
            assert_true(epoch[i] == epoch[i - 1]);
        for (uint64_t k = 0; i % 2 == 0 && k < i; k++)
            assert_true(epoch[i] != epoch[k]);
    }
    assert_int_equal(finish(), 0);
}

/* Due times come from the schedule, which is tested to the nanosecond. */
static void views_are_due_as_they_came(void **state)
{
    (void)state;
    enum { VIEWS = 8 };
    record(0, VIEWS);
    for (int rate = 1; rate <= 2; rate++) {
        int64_t before_ns = crn_now_ns();
        uint64_t captured_ns = 0;
        start(rate == 1 ? "" : "--rate 2.0");
        for (uint64_t i = 0; i < VIEWS; i++) {
            crn_recorded_view want = lane_view(i);
            crn_view_header got = receive(&want);
            captured_ns = i ? captured_ns : got.captured_ns;
            assert_int_equal(got.captured_ns - captured_ns, i * GAP_NS / (uint64_t)rate);
            if (want.header.deadline_ns)
                assert_int_equal(got.deadline_ns - got.captured_ns, 12345678);
            else
                assert_int_equal(got.deadline_ns, 0);
        }
        assert_true(crn_now_ns() - before_ns >= (VIEWS - 1) * GAP_NS / rate);
        assert_int_equal(finish(), 0);
        assert_non_null(strstr(output, "ms behind its schedule"));
    }
}

static void it_stops_after_so_many_fruits(void **state)
{
    (void)state;
    record(0, 12); /* fruits 0 to 5, two at a time */
    start("--rate max --loop 0 --fruits 9");
    for (uint64_t i = 0; i < 18; i++) {
        /* The ninth fruit is lane 0's in the second loop;
         * the other lane's views of its round are not sent. */
        uint64_t index = i < 16 ? i % 12 : 4 + (i - 16) * 2;
        crn_recorded_view want = lane_view(index);
        assert_int_equal(receive(&want).lane, want.header.lane);
    }
    assert_int_equal(finish(), 0);
    assert_non_null(strstr(output, "18 views, 9 fruits"));
    assert_nothing_more();
}

/* Which fruits are sent is decided by lane, number and the time of their first view. */
static void expect_selected(const char *options, const char *said, const int *numbers, int count)
{
    for (int way = 0; way < 2; way++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "--rate max %s %s", way ? "--preload 0" : "",
                 options);
        start(arguments);
        for (int i = 0; i < count; i++) {
            crn_recorded_view want = lane_view((uint64_t)numbers[i]);
            crn_view_header got = receive(&want);
            assert_int_equal(got.lane, want.header.lane);
            assert_int_equal(got.fruit, want.header.fruit);
            assert_int_equal(got.sequence, want.header.sequence);
        }
        assert_int_equal(finish(), 0);
        if (!strstr(output, said))
            fail_msg("not '%s': %s", said, output);
        assert_nothing_more();
    }
}

static void fruits_are_selected(void **state)
{
    (void)state;
    record(0, 12); /* views 0 2, 4 6, 8 10 of lane 0, fruits 1000 to 1002; 1 3, … of lane 7 */
    expect_selected("--lane 7", "6 of 12 views, 3 of 6 fruits are selected\n",
                    (const int[]){1, 3, 5, 7, 9, 11}, 6);
    expect_selected("--fruit 1001", "4 of 12 views, 2 of 6 fruits", (const int[]){4, 5, 6, 7}, 4);
    expect_selected("--fruit 1001-1002 --lane 3,0", "4 of 12 views, 2 of 6 fruits",
                    (const int[]){4, 6, 8, 10}, 4);
    expect_selected("--fruit 1002 --lane 0 --loop 1", "2 of 12 views, 1 of 6 fruits",
                    (const int[]){8, 10}, 2);
    start("--to-time 1970-01-01T00:00 --rate max"); /* not the same as no limit */
    assert_int_equal(finish(), 1);
    start("--fruit 2000 --rate max");
    assert_int_equal(finish(), 1);
    assert_non_null(strstr(output, ": none of 12 views is selected: there are lanes 0 to 7, fruits "
                                   "1000 to 1002, from 2026-"));
    assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
    static const char *const bad[] = {"--lane x",      "--lane 1,",    "--lane -1",  "--fruit 5-3",
                                      "--fruit 1-2-3", "--from 25:00", "--to-time x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        start(bad[i]);
        assert_int_equal(finish(), 2);
    }
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
        crn_recorded_view view = lane_view((uint64_t)i);
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

static void several_recordings_are_one_run(void **state)
{
    (void)state;
    char first[80];
    record(0, 4);
    snprintf(first, sizeof first, "%s.first", recorded_path);
    assert_int_equal(rename(recorded_path, first), 0);
    record(4, 8);
    char command[512];
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-replay %s %s --to %s --rate 4 2>&1",
             first, recorded_path, endpoint);
    replay = popen(command, "r");
    uint64_t captured_ns = 0;
    for (uint64_t i = 0; i < 8; i++) {
        crn_recorded_view want = lane_view(i);
        crn_view_header got = receive(&want);
        assert_int_equal(got.sequence, want.header.sequence);
        captured_ns = i ? captured_ns : got.captured_ns;
        assert_int_equal(got.captured_ns - captured_ns, i * GAP_NS / 4);
    }
    assert_int_equal(finish(), 0);
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
        record(4 * i, 4 * i + 4);
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
    record(12, 14);
    snprintf(command, sizeof command,
             "exec " CRN_BIN "/cernita-replay %s/ %s --to %s --rate max 2>&1", folder,
             recorded_path, endpoint);
    replay = popen(command, "r");
    for (uint64_t i = 0; i < 14; i++) {
        crn_recorded_view want = lane_view(i);
        assert_int_equal(receive(&want).sequence, want.header.sequence);
    }
    assert_int_equal(finish(), 0);
    assert_nothing_more();

    rmdir(path);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-replay %s --to %s 2>&1", folder,
             endpoint);
    replay = popen(command, "r");
    assert_int_equal(finish(), 1);
    assert_non_null(strstr(output, "views: no recording (*.tif) in this folder"));
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, others[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void an_unfinished_recording_is_told_and_replayed(void **state)
{
    (void)state;
    record(0, 3);
    FILE *file = fopen(recorded_path, "ab");
    assert_int_equal(fwrite("more", 1, 4, file), 4);
    fclose(file);
    start("--rate max");
    for (uint64_t i = 0; i < 3; i++) {
        crn_recorded_view want = lane_view(i);
        receive(&want);
    }
    assert_int_equal(finish(), 0);
    assert_non_null(strstr(output, "never finished"));
    assert_non_null(strstr(output, "3 views"));
}

static int run(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-replay %s 2>&1", arguments);
    replay = popen(command, "r");
    assert_non_null(replay);
    return finish();
}

static void what_goes_wrong_is_one_line(void **state)
{
    (void)state;
    char arguments[200];
    record(0, 2);
    snprintf(arguments, sizeof arguments, "%s --to ipc://%s/nobody --wait 0", recorded_path,
             recorded_folder);
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(output, "no line listens"));
    assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);

    recorded_save(recorded_path, "text", 4);
    snprintf(arguments, sizeof arguments, "%s --to %s", recorded_path, endpoint);
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(output, recorded_path));
    record(0, 0);
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(output, "no view"));
    assert_int_equal(run("--to tcp://127.0.0.1:1"), 2);
    assert_int_equal(run(recorded_path), 2);
    snprintf(arguments, sizeof arguments, "%s --to %s --rate 0", recorded_path, endpoint);
    assert_int_equal(run(arguments), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_layout_arrives_as_it_was),
        cmocka_unit_test(loops_go_on_counting_in_one_epoch),
        cmocka_unit_test(restarts_stay_restarts),
        cmocka_unit_test(views_are_due_as_they_came),
        cmocka_unit_test(it_stops_after_so_many_fruits),
        cmocka_unit_test(fruits_are_selected),
        cmocka_unit_test(fruits_are_selected_by_time),
        cmocka_unit_test(several_recordings_are_one_run),
        cmocka_unit_test(a_folder_is_one_run),
        cmocka_unit_test(an_unfinished_recording_is_told_and_replayed),
        cmocka_unit_test(what_goes_wrong_is_one_line),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
