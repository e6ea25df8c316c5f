/* How the load generator's views reach the process under test: through ZeroMQ, in its slots, or
 * through iceoryx. */
#ifndef CRN_TOOLS_BENCH_LINE_SENDER_H
#define CRN_TOOLS_BENCH_LINE_SENDER_H

#include "src/formats/view/wire.h"
#include "stages/producer/cernita_producer.h"
#include "tools/bench/line/senders/gpu_sender.h"
#include "tools/bench/line/senders/iceoryx.h"
#include "tools/bench/line/peer.h"

typedef struct crn_bench_sender {
    const crn_peer *peer;
    void *socket;                /* NULL with slots, unless headers go through ZeroMQ */
    crn_producer *producer;      /* NULL without */
    crn_iceoryx_writer *iceoryx; /* NULL without */
    crn_bench_gpu_sender *gpu;   /* NULL unless the slots are on a GPU */
} crn_bench_sender;

/* Connects to the peer, as it has its inputs; with slots it waits until they are there.
 * `view_bytes`: of the largest tensor. 0; -ECHILD: the peer has ended; another negative errno. */
int crn_bench_sender_open(const crn_peer *peer, void *zmq, uint64_t view_bytes,
                          crn_bench_sender *ret_sender);

/* Sends a view: the tensor as it lies, or a copy of it in a slot. Waits while the peer is busy. 0;
 * -ECHILD; another negative errno. */
int crn_bench_sender_send(crn_bench_sender *sender, const crn_view_header *header,
                          const void *maps);

void crn_bench_sender_close(crn_bench_sender *sender);

#endif
