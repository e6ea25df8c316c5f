/* The answers of a peer to the fruits that were sent to it. */
#ifndef CRN_TOOLS_BENCH_LINE_ANSWERS_H
#define CRN_TOOLS_BENCH_LINE_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include <zmq.h>

#include "src/formats/verdict/kind.h"
#include "tools/bench/line/peer.h"

typedef struct crn_bench_answer {
    int64_t arrived_ns; /* crn_now_ns() */
    zmq_msg_t message;
} crn_bench_answer;

/* What an answer says. */
typedef struct crn_bench_verdict {
    uint64_t fruit;
    crn_verdict_kind kind; /* a receiver's bare id counts as complete */
    uint64_t captured_ns;  /* of its last view; 0: not known */
    double past_ms;        /* how far it was past the line's budget, at least 0 */
} crn_bench_verdict;

/* A socket on which the peer's answers arrive. */
void *crn_bench_answers_connect(const crn_peer *peer, void *zmq);

/* Reads one message with these flags of zmq_msg_recv(). 1: it is an answer, which the caller
 * closes; 0: another topic, such as `alive`; -EAGAIN: there is none. */
int crn_bench_answers_receive(void *socket, int flags, crn_bench_answer *ret_answer);

/* 0 or a negative errno; the caller closes the answer. */
int crn_bench_answers_read(crn_bench_answer *answer, crn_bench_verdict *ret_verdict);

/* Of sorted values: the one that this share is below; 0 of none. */
double crn_bench_quantile(const double *sorted, uint64_t count, double share);

#endif
