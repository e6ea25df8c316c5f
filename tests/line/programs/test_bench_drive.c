/* The load generator of cernita-bench line against a peer played by this test. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "src/formats/view/wire.h"
#include "tests/support/cmocka_prelude.h"
#include "tools/bench/line/drive.h"

#define FRUITS 20

/* Answers the last view of every fruit with its id, and sends `alive` before and after. */
static void *answer_and_be_alive(void *argument)
{
    const crn_peer *peer = argument;
    void *zmq = zmq_ctx_new();
    void *in = zmq_socket(zmq, ZMQ_PULL), *out = zmq_socket(zmq, ZMQ_PUSH);
    zmq_bind(in, peer->in);
    zmq_bind(out, peer->out);
    static const char alive[] = "{\"v\":1}";
    for (int fruit = 0; fruit < FRUITS + CRN_DRIVE_WARM_UP; fruit++) {
        unsigned char header[CRN_WIRE_HEADER_BYTES];
        char tensor[8];
        zmq_recv(in, header, sizeof header, 0);
        zmq_recv(in, tensor, sizeof tensor, 0);
        for (int i = 0; i < 3; i++) {
            zmq_send(out, i == 1 ? "fruit/0" : "alive", i == 1 ? 7 : 5, ZMQ_SNDMORE);
            zmq_send(out, i == 1 ? (void *)(header + 24) : alive, i == 1 ? 8 : sizeof alive - 1, 0);
        }
    }
    zmq_close(in);
    zmq_close(out);
    zmq_ctx_term(zmq);
    return NULL;
}

static void what_is_no_verdict_is_no_answer(void **state)
{
    (void)state;
    crn_peer peer = {.pid = getpid()};
    snprintf(peer.in, sizeof peer.in, "ipc:///tmp/cernita-drive-in-%ld", (long)getpid());
    snprintf(peer.out, sizeof peer.out, "ipc:///tmp/cernita-drive-out-%ld", (long)getpid());
    static const unsigned char maps[4];
    crn_recorded_view view = {.header = {.height = 2,
                                         .width = 2,
                                         .channels = 1,
                                         .type = CRN_U8,
                                         .layout = CRN_HWC,
                                         .payload_bytes = sizeof maps},
                              .maps = maps};
    crn_bench_frames frames = {.view = &view, .count = 1, .views = 1};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_and_be_alive, &peer), 0);
    crn_drive_result result;
    int r = crn_drive(&peer, &frames, &(crn_drive_load){.fruits = FRUITS}, &result);
    pthread_join(thread, NULL);
    unlink(peer.in + strlen("ipc://"));
    unlink(peer.out + strlen("ipc://"));
    assert_int_equal(r, 0);
    assert_int_equal(result.answered, FRUITS);
    assert_int_equal(result.complete, FRUITS);
    assert_int_equal(result.repeated, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_verdict_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
