/*
 * Producers of a machine with many lanes: threads, each with a connection and lanes of its own,
 * that send fruits on an absolute schedule, as fast as slots come back where they cannot keep it.
 */
#ifndef CRN_TOOLS_BENCH_LINE_PRODUCERS_H
#define CRN_TOOLS_BENCH_LINE_PRODUCERS_H

#include "tools/bench/line/drive.h"

typedef struct crn_bench_producers crn_bench_producers;

typedef struct crn_bench_producers_load {
    uint32_t producers, lanes; /* lanes at least as many as producers */
    double rate;               /* fruits per second of all lanes */
    double warm_up_s, seconds; /* of sending: what does not count, then what does */
} crn_bench_producers_load;

/* Of the fruits that count, those whose last view was captured from count_ns on. */
typedef struct crn_bench_producers_result {
    uint64_t sent;
    double behind_ms; /* the largest delay behind the schedule */
    double cores;     /* CPU time by time */
} crn_bench_producers_result;

/* Connects all of them and starts their threads. `peer`, `frames` and `zmq` outlive them. */
int crn_bench_producers_start(const crn_peer *peer, const crn_bench_frames *frames, void *zmq,
                              const crn_bench_producers_load *load,
                              crn_bench_producers **ret_producers);

typedef struct crn_bench_producers_times {
    int64_t count_ns, end_ns; /* crn_now_ns() */
    uint64_t counted_from_ns; /* count_ns as captured_ns of a header */
} crn_bench_producers_times;
crn_bench_producers_times crn_bench_producers_get_times(const crn_bench_producers *producers);

/* Waits for their ends. 0, or the negative errno of one; -ECHILD: the peer ended meanwhile. */
int crn_bench_producers_join(crn_bench_producers **producers,
                             crn_bench_producers_result *ret_result);

#endif
