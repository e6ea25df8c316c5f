/*
 * The least between a camera and a PLC: `cernita-bench reader-writer IN PORT COILS` receives each
 * view and copies it, and after a fruit's last one writes the fruit into registers that a PLC polls
 * at PORT, and a coil of the PLC at port COILS. It judges nothing and has one thread.
 */
#include <signal.h>
#include <stdlib.h>

#include <zmq.h>

#include "stages/base/process/malloc_tuning.h"
#include "stages/base/process/priority.h"
#include "tools/bench/bench.h"
#include "tools/bench/line/outlets/modbus_peer.h"
#include "tools/bench/line/peer.h"
#include "tools/common/window_registers.h"

/* How often to look whether to stop: a signal may come just before the wait. */
#define LOOK_MS 100

typedef struct reader_writer {
    void *zmq, *in;
    crn_bench_modbus_peer registers;
    modbus_t *coils;
    unsigned char *view;
} reader_writer;

static volatile sig_atomic_t stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

static int open_all(reader_writer *self, char **argv)
{
    *self = (reader_writer){.zmq = zmq_ctx_new()};
    self->in = zmq_socket(self->zmq, ZMQ_PULL);
    self->view = malloc(CRN_BENCH_VIEW_BYTES);
    self->coils = modbus_new_tcp("127.0.0.1", atoi(argv[3]));
    int r =
        crn_bench_modbus_open(&self->registers, (uint16_t)atoi(argv[2]), 0, CRN_WINDOW_DISTANCE);
    if (r < 0 || !self->view || !self->coils || zmq_bind(self->in, argv[1]) != 0)
        return -1;
    return modbus_connect(self->coils);
}

static void close_all(reader_writer *self)
{
    crn_bench_modbus_close(&self->registers);
    modbus_close(self->coils);
    modbus_free(self->coils);
    zmq_close(self->in);
    zmq_ctx_term(self->zmq);
    free(self->view);
}

/* The fruit stands where the first decision of a window does. */
static void write_fruit(reader_writer *self, uint64_t fruit)
{
    uint16_t *decision = self->registers.mapping->tab_registers + CRN_WINDOW_HEADER;
    decision[2] = 1;
    decision[3] = (uint16_t)(fruit >> 16);
    decision[4] = (uint16_t)fruit;
}

/* The answer is not waited for: polls come meanwhile. */
static void write_coil(reader_writer *self)
{
    const uint8_t request[] = {MODBUS_TCP_SLAVE, MODBUS_FC_WRITE_SINGLE_COIL, 0, 0, 0xff, 0};
    modbus_flush(self->coils); /* the answer before */
    modbus_send_raw_request(self->coils, request, sizeof request);
}

static void serve(reader_writer *self)
{
    zmq_pollitem_t items[] = {
        {.socket = self->in, .events = ZMQ_POLLIN},
        {.fd = crn_bench_modbus_descriptor(&self->registers), .events = ZMQ_POLLIN}};
    uint8_t query[MODBUS_TCP_MAX_ADU_LENGTH];
    uint64_t fruit;
    zmq_poll(items, 2, LOOK_MS);
    if (items[0].revents && crn_bench_copy_view(self->in, self->view, &fruit) > 0) {
        write_fruit(self, fruit);
        write_coil(self);
    }
    if (items[1].revents)
        crn_bench_modbus_serve(&self->registers, query);
}

int crn_bench_reader_writer(int argc, char **argv)
{
    if (argc != 4)
        return CRN_EXIT_USAGE;
    crn_malloc_keep_pages(); /* as the daemon does */
    struct sigaction stop = {.sa_handler = request_stop};
    sigaction(SIGTERM, &stop, NULL);
    reader_writer self;
    int r = open_all(&self, argv);
    crn_priority_raise(); /* as daemon and sorter do */
    crn_priority_wake_at_once();
    while (r == 0 && !stop_requested)
        serve(&self);
    close_all(&self);
    return r < 0 ? CRN_EXIT_FAILED : 0;
}
