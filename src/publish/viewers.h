/*
 * Verdicts and status to viewers: an XPUB socket with a thread and a ZeroMQ context of its own, so
 * that nothing a viewer does (subscriptions by the thousand, a connection that does not read) takes
 * time of the line's thread or of the I/O thread that serves senders and grader. Lossy by design.
 *
 * The line's thread hands messages over through a bounded queue and never waits; what does not fit
 * is dropped and counted. All functions are for that one thread.
 */
#ifndef CRN_SRC_PUBLISH_VIEWERS_H
#define CRN_SRC_PUBLISH_VIEWERS_H

#include <stdbool.h>
#include <stdint.h>

#include <zmq.h>

#include "stages/base/error.h"
#include "src/config/config.h"
#include "src/ingest/socket/peers.h"

/* libzmq keeps up to 33 bytes inside the message: a topic allocates nothing. */
#define CRN_TOPIC_BYTES 32

typedef struct crn_viewers crn_viewers;

typedef struct crn_viewers_stats {
    uint64_t viewers;       /* connected now */
    uint64_t subscriptions; /* topics newly subscribed to, since the start */
    uint64_t refused;       /* connections that spoke no ZeroMQ, or the wrong kind of it */
    uint64_t dropped;       /* messages that found the queue full */
    crn_peers_stats peers;  /* connections cut because they took too much */
} crn_viewers_stats;

/* Binds config->publish.viewers and starts the thread. 0 or negative errno with the endpoint and
 * the cure in *error. */
int crn_viewers_open(const crn_config *config, crn_viewers **ret_viewers, crn_error *error);

/* Sends what is queued, ends the thread, closes; what libzmq then holds goes out within linger_ms.
 * NULL is fine. */
void crn_viewers_close(crn_viewers **viewers, int linger_ms);

/* Whether anybody is there: if not, no message need be made. */
bool crn_viewers_wanted(const crn_viewers *viewers);

/* Queues a message of topic and body. Takes the body and leaves an empty message. */
void crn_viewers_send(crn_viewers *viewers, const char *topic, zmq_msg_t *body);

void crn_viewers_get_stats(const crn_viewers *viewers, crn_viewers_stats *ret_stats);

/* The endpoint as bound: a wildcard port replaced by the real one. */
const char *crn_viewers_endpoint(const crn_viewers *viewers);

#endif
