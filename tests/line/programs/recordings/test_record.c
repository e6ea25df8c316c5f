/* cernita-record as a program: forwards everything unchanged and records views. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "src/formats/view/wire.h"
#include "tests/support/cleanup.h"
#include "tests/support/parts/recorded.h"

#define WAIT_MS 60000 /* timeout; only a failing test waits so long */

static void *zmq, *sender, *line;
static char from[80], to[80], output[4000];
static pid_t recorder;
static int said;

static void *bound_or_connected(int type, const char *endpoint, bool binds)
{
    int wait_ms = WAIT_MS, linger_ms = 0;
    int mark = binds ? 1 : 1000; /* the line queues one message, the sender many */
    void *socket = zmq_socket(zmq, type);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &mark, sizeof mark);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &wait_ms, sizeof wait_ms);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    assert_int_equal(binds ? zmq_bind(socket, endpoint) : zmq_connect(socket, endpoint), 0);
    return socket;
}

static int set_up(void **state)
{
    if (recorded_setup(state))
        return -1;
    zmq = zmq_ctx_new();
    snprintf(from, sizeof from, "ipc://%s/from", recorded_folder);
    snprintf(to, sizeof to, "ipc://%s/to", recorded_folder);
    line = bound_or_connected(ZMQ_PULL, to, true);
    sender = bound_or_connected(ZMQ_PUSH, from, false); /* until the recorder connects */
    return 0;
}

static int tear_down(void **state)
{
    char file[160];
    zmq_close(sender);
    zmq_close(line);
    zmq_ctx_term(zmq);
    static const char *const left[] = {"from", "from.lock", "to"};
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", recorded_folder, left[i]);
        unlink(file);
    }
    return recorded_teardown(state);
}

/* Starts the program with --from, --dir and these arguments. */
static void start(const char *arguments)
{
    int ends[2];
    char command[600];
    assert_int_equal(pipe(ends), 0);
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-record --from %s --dir %s %s 2>&1",
             from, recorded_folder, arguments);
    recorder = crn_cleanup_fork();
    if (!recorder) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    said = ends[0];
}

/* Ends it with a signal (0: waits for it to end) and reads its output; returns its exit status. */
static int finish(int with)
{
    if (with)
        kill(recorder, with);
    size_t used = 0;
    ssize_t n;
    while ((n = read(said, output + used, sizeof output - 1 - used)) > 0)
        used += (size_t)n;
    output[used] = '\0';
    close(said);
    int status = 0;
    crn_cleanup_wait(recorder, &status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void send_view(const crn_recorded_view *view)
{
    unsigned char header[CRN_WIRE_HEADER_BYTES];
    crn_wire_pack(&view->header, header);
    int more = view->intensity ? ZMQ_SNDMORE : 0;
    size_t intensity = crn_wire_intensity_bytes(&view->header);
    assert_int_equal(zmq_send(sender, header, sizeof header, ZMQ_SNDMORE), sizeof header);
    assert_int_equal(zmq_send(sender, view->maps, view->header.payload_bytes, more),
                     view->header.payload_bytes);
    if (view->intensity)
        assert_int_equal(zmq_send(sender, view->intensity, intensity, 0), intensity);
}

static void receive_part(const void *bytes, size_t size, bool last)
{
    unsigned char got[4000];
    int more = 0;
    size_t more_size = sizeof more;
    assert_int_equal(zmq_recv(line, got, sizeof got, 0), size);
    if (size)
        assert_memory_equal(got, bytes, size);
    zmq_getsockopt(line, ZMQ_RCVMORE, &more, &more_size);
    assert_int_equal(more, !last);
}

static void receive_view(const crn_recorded_view *view)
{
    unsigned char header[CRN_WIRE_HEADER_BYTES];
    crn_wire_pack(&view->header, header);
    receive_part(header, sizeof header, false);
    receive_part(view->maps, view->header.payload_bytes, !view->intensity);
    if (view->intensity)
        receive_part(view->intensity, crn_wire_intensity_bytes(&view->header), true);
}

static int is_segment(const struct dirent *entry)
{
    return !strncmp(entry->d_name, "cernita-", 8);
}

/* Asserts that the one segment holds small views 0
 * to count - 1, arrived since before_ns; removes it. */
static void check_segment(uint64_t count, uint64_t before_ns)
{
    struct dirent **names;
    assert_int_equal(scandir(recorded_folder, &names, is_segment, alphasort), 1);
    char file[400];
    snprintf(file, sizeof file, "%s/%s", recorded_folder, names[0]->d_name);
    crn_recording_reader *reader = recorded_open(file);
    crn_recorded_view got;
    crn_error error;
    for (uint64_t i = 0; i < count; i++) {
        crn_recorded_view want = recorded_small(i);
        assert_int_equal(crn_recording_next(reader, &got, &error), 1);
        assert_in_range(got.arrived_ns, before_ns, (uint64_t)crn_realtime_ns());
        want.arrived_ns = got.arrived_ns;
        recorded_assert_same(&want, &got);
    }
    assert_int_equal(crn_recording_next(reader, &got, &error), 0);
    crn_recording_end(&reader);
    unlink(file);
    free(names[0]);
    free(names);
}

static void everything_passes_and_views_are_recorded(void **state)
{
    (void)state;
    enum { VIEWS = 50 };
    char arguments[200];
    uint64_t before_ns = (uint64_t)crn_realtime_ns();
    snprintf(arguments, sizeof arguments, "--to %s --queue 8", to);
    start(arguments);
    for (uint64_t i = 0; i < VIEWS; i++) {
        crn_recorded_view view = recorded_small(i);
        send_view(&view);
        receive_view(&view);
        if (i % 10 == 3) { /* unreadable messages are forwarded unchanged */
            assert_int_equal(zmq_send(sender, "not a view", 10, 0), 10);
            receive_part("not a view", 10, true);
        }
        if (i % 10 == 4) {
            for (int part = 0; part < 6; part++)
                assert_true(
                    zmq_send(sender, "part", (size_t)part % 5, part < 5 ? ZMQ_SNDMORE : 0) >= 0);
            for (int part = 0; part < 6; part++)
                receive_part("part", (size_t)part % 5, part == 5);
        }
    }
    assert_int_equal(finish(SIGTERM), 0);
    assert_non_null(strstr(output, "60 messages, 60 passed on; 50 views recorded in 1 segments; "
                                   "not recorded: 0 queue full, 0 disk refused, 10 no views\n"));
    check_segment(VIEWS, before_ns);
}

/* While the line accepts nothing, messages wait at their senders, and none is lost. */
static void a_busy_line_loses_nothing(void **state)
{
    (void)state;
    enum { VIEWS = 400 };
    char arguments[200];
    uint64_t before_ns = (uint64_t)crn_realtime_ns();
    snprintf(arguments, sizeof arguments, "--to %s --queue 8", to);
    start(arguments);
    for (uint64_t i = 0; i < VIEWS; i++) {
        crn_recorded_view view = recorded_small(i);
        send_view(&view);
    }
    for (uint64_t i = 0; i < VIEWS; i++) {
        crn_recorded_view view = recorded_small(i);
        receive_view(&view);
    }
    assert_int_equal(finish(SIGINT), 0);
    assert_non_null(strstr(output, "400 messages, 400 passed on; 400 views recorded"));
    check_segment(VIEWS, before_ns);
}

/* The names of a line's file, for views that do not say that theirs are others. */
static void class_names_of_a_line_are_recorded(void **state)
{
    (void)state;
    static const char yaml[] = "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust}]\n"
                               "chain: [contours]\n";
    char config[100], arguments[300], file[400];
    snprintf(config, sizeof config, "%s/line.yaml", recorded_folder);
    recorded_save(config, yaml, strlen(yaml));
    snprintf(arguments, sizeof arguments, "--to %s --config %s", to, config);
    start(arguments);
    for (uint64_t i = 0; i < 2; i++) {
        crn_recorded_view view = recorded_small(i), got = view;
        got.header.class_set = i ? view.header.class_set : 0;
        send_view(&got);
        receive_view(&got);
    }
    assert_int_equal(finish(SIGTERM), 0);
    struct dirent **names;
    assert_int_equal(scandir(recorded_folder, &names, is_segment, alphasort), 1);
    snprintf(file, sizeof file, "%s/%s", recorded_folder, names[0]->d_name);
    crn_recording_reader *reader = recorded_open(file);
    for (int i = 0; i < 2; i++) {
        crn_recorded_view got;
        crn_error error;
        assert_int_equal(crn_recording_skip(reader, &got, &error), 1);
        const crn_classes *classes = crn_recording_classes(reader);
        assert_int_equal(classes != NULL, i == 0);
        if (classes)
            assert_string_equal(classes->name[2], "rust");
    }
    crn_recording_end(&reader);
    unlink(file);
    free(names[0]);
    free(names);
    recorded_save(config, "classes: 5\n", 11);
    start(arguments);
    assert_int_equal(finish(0), 1);
    assert_non_null(strstr(output, "line.yaml: cannot be loaded"));
    unlink(config);
}

static void without_a_line_views_are_recorded_alone(void **state)
{
    (void)state;
    uint64_t before_ns = (uint64_t)crn_realtime_ns();
    start("--queue 8");
    for (uint64_t i = 0; i < 20; i++) {
        crn_recorded_view view = recorded_small(i);
        send_view(&view);
    }
    /* The last view can be read from the segment while it is still named .part. */
    recorded_await(recorded_folder, 20);
    assert_int_equal(finish(SIGHUP), 0);
    assert_non_null(strstr(output, "20 messages; 20 views recorded in 1 segments"));
    check_segment(20, before_ns);
}

static void what_goes_wrong_is_one_line(void **state)
{
    (void)state;
    start("--dir /nonexistent");
    assert_int_equal(finish(0), 1);
    assert_non_null(strstr(output, "/nonexistent"));
    start("--to nowhere");
    assert_int_equal(finish(0), 1);
    assert_non_null(strstr(output, "--to nowhere"));
    start("--from nowhere");
    assert_int_equal(finish(0), 1);
    assert_non_null(strstr(output, "nowhere"));
    start("--from tcp://0.0.0.0:5599 --to tcp://127.0.0.1:5599"); /* a loop */
    assert_int_equal(finish(0), 2);
    assert_non_null(strstr(output, "--to tcp://127.0.0.1:5599 is --from"));
    start("--queue 0");
    assert_int_equal(finish(0), 2);
    assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_passes_and_views_are_recorded),
        cmocka_unit_test(a_busy_line_loses_nothing),
        cmocka_unit_test(class_names_of_a_line_are_recorded),
        cmocka_unit_test(without_a_line_views_are_recorded_alone),
        cmocka_unit_test(what_goes_wrong_is_one_line),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
