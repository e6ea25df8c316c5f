/*
 * The least between a camera and a PLC: `cernita-bench reader-writer IN PORT` receives each view
 * and copies it, and after a fruit's last one writes the fruit into registers that a PLC polls. It
 * judges nothing and has one thread.
 */
#include <modbus.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/process/malloc_tuning.h"
#include "stages/base/process/priority.h"
#include "tools/bench/bench.h"
#include "tools/bench/line/peer.h"
#include "tools/common/window_registers.h"

/* How often to look whether to stop: a signal may come just before the wait. */
#define LOOK_MS 100

typedef struct reader_writer {
    void *zmq, *in;
    modbus_t *modbus;
    modbus_mapping_t *registers;
    int listener, client; /* -1: none */
    unsigned char *view;
} reader_writer;

static volatile sig_atomic_t stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

static int open_all(reader_writer *self, const char *in, int port)
{
    *self = (reader_writer){.listener = -1, .client = -1};
    self->zmq = zmq_ctx_new();
    self->in = zmq_socket(self->zmq, ZMQ_PULL);
    self->view = malloc(CRN_BENCH_VIEW_BYTES);
    self->modbus = modbus_new_tcp("127.0.0.1", port);
    self->registers = modbus_mapping_new(0, 0, CRN_WINDOW_DISTANCE, 0);
    if (!self->view || !self->modbus || !self->registers || zmq_bind(self->in, in) != 0)
        return -1;
    self->listener = modbus_tcp_listen(self->modbus, 1);
    return self->listener < 0 ? -1 : 0;
}

static void close_all(reader_writer *self)
{
    modbus_mapping_free(self->registers);
    if (self->client >= 0)
        modbus_close(self->modbus);
    if (self->listener >= 0)
        close(self->listener);
    modbus_free(self->modbus);
    zmq_close(self->in);
    zmq_ctx_term(self->zmq);
    free(self->view);
}

/* The fruit stands where the first decision of a window does. */
static void write_fruit(reader_writer *self, uint64_t fruit)
{
    uint16_t *decision = self->registers->tab_registers + CRN_WINDOW_HEADER;
    decision[2] = 1;
    decision[3] = (uint16_t)(fruit >> 16);
    decision[4] = (uint16_t)fruit;
}

static void answer(reader_writer *self)
{
    uint8_t query[MODBUS_TCP_MAX_ADU_LENGTH];
    int length = modbus_receive(self->modbus, query);
    if (length > 0)
        modbus_reply(self->modbus, query, length, self->registers);
    if (length >= 0)
        return;
    modbus_close(self->modbus);
    self->client = -1;
}

static void serve(reader_writer *self)
{
    bool is_connected = self->client >= 0;
    zmq_pollitem_t items[] = {
        {.socket = self->in, .events = ZMQ_POLLIN},
        {.fd = is_connected ? self->client : self->listener, .events = ZMQ_POLLIN}};
    uint64_t fruit;
    zmq_poll(items, 2, LOOK_MS);
    if (items[0].revents && crn_bench_copy_view(self->in, self->view, &fruit) > 0)
        write_fruit(self, fruit);
    if (items[1].revents && is_connected)
        answer(self);
    else if (items[1].revents)
        self->client = modbus_tcp_accept(self->modbus, &self->listener);
}

int crn_bench_reader_writer(int argc, char **argv)
{
    if (argc != 3)
        return CRN_EXIT_USAGE;
    crn_malloc_keep_pages(); /* as the daemon does */
    struct sigaction stop = {.sa_handler = request_stop};
    sigaction(SIGTERM, &stop, NULL);
    reader_writer self;
    int r = open_all(&self, argv[1], atoi(argv[2]));
    crn_priority_raise(); /* as daemon and sorter do */
    crn_priority_wake_at_once();
    while (r == 0 && !stop_requested)
        serve(&self);
    close_all(&self);
    return r < 0 ? CRN_EXIT_FAILED : 0;
}
