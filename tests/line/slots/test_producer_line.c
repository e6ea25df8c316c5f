/* The producer of stages/producer against cernitad itself: views are judged, both may be killed,
 * and what the daemon refuses is said in one line. */
#include "stages/producer/cernita_producer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/line/daemon.h"
#include "tests/support/programs/shell.h"

#define PATIENCE_MS 60000
#define VIEWS       2

typedef struct line_of_slots {
    char folder[64], yaml[128], socket[96];
    daemon_process daemon;
    void *zmq, *grader, *views;
    crn_producer *producer;
    crn_producer_view view;
    uint64_t sequence;
} line_of_slots;

static void *connect_to(line_of_slots *f, int type, const char *name)
{
    char endpoint[128];
    int patience_ms = PATIENCE_MS, linger_ms = 0;
    void *socket = zmq_socket(f->zmq, type);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/%s", f->folder, name);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience_ms, sizeof patience_ms);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    assert_int_equal(zmq_connect(socket, endpoint), 0);
    return socket;
}

static void start(line_of_slots *f)
{
    const char *arguments[] = {"cernitad", "--config", f->yaml, NULL};
    daemon_start(&f->daemon, arguments);
    daemon_read_until(&f->daemon, " ready: ");
}

static int set_up(void **state)
{
    char yaml[1024];
    line_of_slots *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || daemon_make_folder(f->folder) != 0)
        return -1;
    snprintf(f->socket, sizeof f->socket, "%s/slots", f->folder);
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in'], slots: {path: %s, slots: 3, producers: 1}}\n"
             "publish: {grader: {bind: 'ipc://%s/grader', format: json},\n"
             "          viewers: {bind: 'ipc://%s/viewers'}}\n"
             "classes: [{name: background}, {name: rot, level: 0.5}]\n"
             "chain: [contours: {}]\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "limits: {view_mib: 1}\n"
             "run: {backend: openmp, workers: 1, threads: 1}\n"
             "monitor: {http: ''}\n",
             f->folder, f->socket, f->folder, f->folder);
    daemon_write_config(f->folder, "line.yaml", yaml, f->yaml);
    f->zmq = zmq_ctx_new();
    f->grader = connect_to(f, ZMQ_PULL, "grader");
    f->view = (crn_producer_view){.epoch = 1,
                                  .views = VIEWS,
                                  .height = 95,
                                  .width = 511,
                                  .channels = 2,
                                  .type = CRN_PRODUCER_F32,
                                  .layout = CRN_PRODUCER_HWC,
                                  .has_intensity = 1};
    const crn_producer_settings settings = {.path = f->socket,
                                            .view_bytes = crn_producer_view_bytes(&f->view)};
    start(f);
    return crn_producer_create(&settings, &f->producer);
}

static int tear_down(void **state)
{
    line_of_slots *f = *state;
    crn_producer_free(&f->producer);
    kill(f->daemon.pid, SIGKILL);
    daemon_end(&f->daemon);
    if (f->views)
        zmq_close(f->views);
    zmq_close(f->grader);
    zmq_ctx_term(f->zmq);
    int result = daemon_remove_folder(f->folder);
    free(f);
    return result;
}

static void await(line_of_slots *f)
{
    int result = crn_producer_connect(f->producer, PATIENCE_MS);
    if (result < 0)
        fail_msg("%s", crn_producer_error(f->producer));
}

static void write_maps(const crn_producer_slot *slot, uint64_t fruit)
{
    float *maps = slot->tensor;
    for (uint32_t i = 0; i < 95 * 511; i++) {
        maps[2 * i + 1] = i / 511 >= 40 && i / 511 < 50 && i % 511 >= 60 + fruit && i % 511 < 70;
        maps[2 * i] = 1 - maps[2 * i + 1];
    }
    memset(slot->intensity, 77, 95 * 511);
}

static void take(line_of_slots *f, uint64_t fruit, uint16_t view, crn_producer_slot *ret_slot)
{
    f->view.fruit = fruit;
    f->view.view = view;
    f->view.sequence = f->sequence++;
    if (crn_producer_take(f->producer, &f->view, PATIENCE_MS, ret_slot) < 0)
        fail_msg("%s", crn_producer_error(f->producer));
    write_maps(ret_slot, fruit);
}

static void send_view(line_of_slots *f, uint64_t fruit, uint16_t view)
{
    crn_producer_slot slot;
    take(f, fruit, view, &slot);
    if (crn_producer_send(f->producer, &f->view, &slot) < 0)
        fail_msg("%s", crn_producer_error(f->producer));
}

/* The next verdict, which must have both texts. */
static void expect(line_of_slots *f, const char *first, const char *second)
{
    char text[65536];
    for (int part = 0; part < 2; part++) {
        int size = zmq_recv(f->grader, text, sizeof text - 1, 0);
        assert_true(size > 0 && (size_t)size < sizeof text);
        text[size] = '\0';
    }
    if (!strstr(text, first) || !strstr(text, second))
        fail_msg("expected %s and %s in %s", first, second, text);
}

static void fruits_are_judged_and_slots_come_back(void **state)
{
    line_of_slots *f = *state;
    char totals[64];
    await(f);
    for (uint64_t fruit = 0; fruit < 9; fruit++) {
        for (uint16_t view = 0; view < VIEWS; view++)
            send_view(f, fruit, view);
        /* 10 rows of 10 - fruit pixels, without their corners, in both views */
        snprintf(totals, sizeof totals, "\"rot\":{\"count\":2,\"area_px\":%d,",
                 199 - 20 * (int)fruit);
        expect(f, totals, "\"verdict\":\"complete\"");
    }
}

static void headers_may_come_through_zeromq(void **state)
{
    line_of_slots *f = *state;
    await(f);
    f->views = connect_to(f, ZMQ_PUSH, "in");
    for (uint64_t fruit = 0; fruit < 5; fruit++) {
        for (uint16_t view = 0; view < VIEWS; view++) {
            unsigned char message[CRN_PRODUCER_MESSAGE_BYTES];
            crn_producer_slot slot;
            take(f, fruit, view, &slot);
            assert_int_equal(crn_producer_pack(f->producer, &f->view, &slot, message), 0);
            assert_int_equal(zmq_send(f->views, message, 128, ZMQ_SNDMORE), 128);
            assert_int_equal(zmq_send(f->views, message + 128, 24, 0), 24);
        }
        expect(f, "\"verdict\":\"complete\"", "rot");
    }
}

static void a_view_without_a_slot_is_told(void **state)
{
    line_of_slots *f = *state;
    crn_producer_slot slots[3], none;
    await(f);
    for (uint16_t i = 0; i < 3; i++)
        take(f, 1, 0, slots + i);
    f->sequence = 1;
    f->view.sequence = 0;
    assert_int_equal(crn_producer_take(f->producer, &f->view, 0, &none), -EAGAIN);
    assert_int_equal(crn_producer_send_without(f->producer, &f->view), 0);
    for (uint16_t i = 0; i < 3; i++)
        crn_producer_drop(f->producer, slots + i);
    send_view(f, 1, 1);
    expect(f, "\"verdict\":\"partial\"", "\"no_slot\"");
}

static void a_killed_daemon_is_connected_to_again(void **state)
{
    line_of_slots *f = *state;
    crn_producer_slot slot;
    await(f);
    for (uint64_t fruit = 0; fruit < 3; fruit++) {
        for (uint16_t view = 0; view < VIEWS; view++)
            send_view(f, fruit, view);
        expect(f, "\"verdict\":\"complete\"", "rot");
        take(f, fruit + 1, 0, &slot);
        kill(f->daemon.pid, SIGKILL);
        daemon_end(&f->daemon);
        write_maps(&slot, fruit);
        assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), -ENOTCONN);
        start(f);
        await(f);
    }
}

static void it_leaves_though_a_forked_child_lives(void **state)
{
    line_of_slots *f = *state;
    await(f);
    if (crn_cleanup_fork() == 0) {
        pause();
        _exit(1);
    }
    crn_producer_free(&f->producer);
    daemon_read_until(&f->daemon, "a producer left");
}

static void refuses(line_of_slots *f, const crn_producer_settings *settings, int code,
                    const char *key)
{
    crn_producer *other = NULL;
    assert_int_equal(crn_producer_create(settings, &other), 0);
    assert_int_equal(crn_producer_connect(other, PATIENCE_MS), -code);
    const char *said = crn_producer_error(other);
    if (!strstr(said, f->socket) || !strstr(said, key) || strchr(said, '\n'))
        fail_msg("expected a line with %s, not: %s", key, said);
    crn_producer_free(&other);
}

static void what_it_refuses_has_a_cure(void **state)
{
    line_of_slots *f = *state;
    refuses(f, &(crn_producer_settings){f->socket, 5 << 20, 0}, EMSGSIZE, "limits.view_mib");
    refuses(f, &(crn_producer_settings){f->socket, 0, 0}, EINVAL, "slot_bytes");
    await(f);
    refuses(f, &(crn_producer_settings){f->socket, 4096, 0}, EUSERS, "ingest.slots.producers");
}

/* Runs a program of tools/examples, by a command to which the socket's path is added; skips the
 * test unless the shell has what it needs. */
static void run_example(line_of_slots *f, const char *needed, const char *command)
{
    char line[1024], output[4096];
    snprintf(line, sizeof line, "{ %s; } >/dev/null 2>&1", needed);
    if (crn_test_shell(line, output, sizeof output) != 0)
        skip();
    snprintf(line, sizeof line, "cd %s && %s %s 2>&1", f->folder, command, f->socket);
    if (crn_test_shell(line, output, sizeof output) != 0)
        fail_msg("%s", output);
    /* In both views a spot of rot. */
    expect(f, "\"verdict\":\"complete\"", "\"rot\":{\"count\":2,");
}

#define EXAMPLES CRN_TEST_DATA "/../tools/examples"

/* check_library builds producer.c and runs it. */
static void the_python_example_sends_a_fruit(void **state)
{
    run_example(*state, "/usr/bin/python3 -c 'import numpy'",
                "PYTHONPATH=" CRN_TEST_DATA "/../tools/python exec /usr/bin/python3 -B " EXAMPLES
                "/producer.py");
}

/* These two are written from the document of the protocol, src/ingest/slots/README.md. */
static void the_go_example_sends_a_fruit(void **state)
{
    run_example(*state, "command -v go",
                "go build -o go_producer " EXAMPLES "/producer.go && "
                "exec ./go_producer");
}

static void the_csharp_example_sends_a_fruit(void **state)
{
    run_example(*state, "command -v mcs && command -v mono",
                "mcs -unsafe -warnaserror -out:producer.exe " EXAMPLES "/producer.cs && "
                "exec mono producer.exe");
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(fruits_are_judged_and_slots_come_back),
        cmocka_unit_test(headers_may_come_through_zeromq),
        cmocka_unit_test(a_view_without_a_slot_is_told),
        cmocka_unit_test(a_killed_daemon_is_connected_to_again),
        cmocka_unit_test(it_leaves_though_a_forked_child_lives),
        cmocka_unit_test(what_it_refuses_has_a_cure),
        cmocka_unit_test(the_python_example_sends_a_fruit),
        cmocka_unit_test(the_go_example_sends_a_fruit),
        cmocka_unit_test(the_csharp_example_sends_a_fruit),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
