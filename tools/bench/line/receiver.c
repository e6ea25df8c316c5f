/* The baseline of the line benchmark: receives each view and copies it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "stages/base/process/malloc_tuning.h"
#include "src/formats/view/wire.h"
#include "tools/bench/bench.h"
#include "tools/bench/line/peer.h"

/* As many buffers as the daemon has slots with one worker. */
#define BUFFERS 20

int crn_bench_copy_view(void *in, unsigned char *buffer, uint64_t *ret_fruit)
{
    zmq_msg_t header, tensor;
    zmq_msg_init(&header);
    zmq_msg_init(&tensor);
    int r = -1;
    if (zmq_msg_recv(&header, in, 0) == CRN_WIRE_HEADER_BYTES && zmq_msg_recv(&tensor, in, 0) > 0) {
        const unsigned char *bytes = zmq_msg_data(&header);
        uint16_t view, views;
        memcpy(&view, bytes + 60, sizeof view);
        memcpy(&views, bytes + 62, sizeof views);
        memcpy(ret_fruit, bytes + 24, sizeof *ret_fruit);
        memcpy(buffer, zmq_msg_data(&tensor), zmq_msg_size(&tensor));
        r = view + 1 == views;
    }
    zmq_msg_close(&header);
    zmq_msg_close(&tensor);
    return r;
}

/* Receives and copies one view; sends the fruit's id after its last view. -1: interrupted. */
static int copy_one(void *in, void *out, unsigned char *buffer)
{
    uint64_t fruit;
    int r = crn_bench_copy_view(in, buffer, &fruit);
    if (r > 0) {
        zmq_send(out, "fruit/0", 7, ZMQ_SNDMORE);
        zmq_send(out, &fruit, sizeof fruit, 0);
    }
    return r < 0 ? -1 : 0;
}

static volatile sig_atomic_t stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

int crn_bench_receiver(int argc, char **argv)
{
    if (argc != 3)
        return CRN_EXIT_USAGE;
    crn_malloc_keep_pages(); /* as the daemon does */
    struct sigaction stop = {.sa_handler = request_stop};
    sigaction(SIGTERM, &stop, NULL);
    size_t buffer_bytes = CRN_BENCH_VIEW_BYTES;
    unsigned char *buffers = malloc(buffer_bytes * BUFFERS);
    void *zmq = zmq_ctx_new();
    void *in = zmq_socket(zmq, ZMQ_PULL), *out = zmq_socket(zmq, ZMQ_PUSH);
    int high_water_mark = 16, zero = 0;
    zmq_setsockopt(in, ZMQ_RCVHWM, &high_water_mark, sizeof high_water_mark);
    zmq_setsockopt(out, ZMQ_LINGER, &zero, sizeof zero);
    if (!buffers || zmq_bind(out, argv[2]) != 0 || zmq_bind(in, argv[1]) != 0)
        return CRN_EXIT_FAILED;
    for (int next = 0; !stop_requested; next = (next + 1) % BUFFERS)
        if (copy_one(in, out, buffers + (size_t)next * buffer_bytes) != 0)
            break;
    zmq_close(in);
    zmq_close(out);
    zmq_ctx_term(zmq);
    free(buffers);
    return 0;
}
