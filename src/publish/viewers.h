/*
 * Verdicts and status to viewers: an XPUB socket with its own thread and ZeroMQ context, so that
 * nothing a viewer does (thousands of subscriptions, a connection that does not read) takes time of
 * the line's thread or of the I/O thread that serves senders and grader. Lossy by design.
 *
 * The line's thread passes messages through a bounded queue and never waits; messages that do not
 * fit are dropped and counted, as are those beyond limits.viewers_mib: a viewer that does not read
 * is disconnected before that. All functions are for that thread only.
 */
#ifndef CRN_SRC_PUBLISH_VIEWERS_H
#define CRN_SRC_PUBLISH_VIEWERS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <zmq.h>

#include "stages/base/error.h"
#include "stages/config/config.h"
#include "src/ingest/peers/peers.h"

/* libzmq stores up to 33 bytes inside the message struct: a topic allocates nothing. */
#define CRN_TOPIC_BYTES 32

/* The topic of a lane's verdicts. */
static inline void crn_topic_write(char topic[CRN_TOPIC_BYTES], uint32_t lane)
{
    snprintf(topic, CRN_TOPIC_BYTES, "fruit/%" PRIu32, lane);
}

typedef struct crn_viewers crn_viewers;

typedef struct crn_viewers_stats {
    uint64_t viewers;       /* connected now */
    uint64_t subscriptions; /* subscriptions to new topics since the start */
    uint64_t refused; /* connections that failed the handshake, or have the wrong socket type */
    uint64_t dropped; /* messages dropped: the queue, or what limits.viewers_mib allows, was full */
    uint64_t unread_bytes; /* of messages that some viewer has not read yet, each counted once */
    crn_peers_stats peers; /* connections cut because they exceeded a limit */
    int64_t quiet_ns;      /* how long the thread has not taken what waits for it */
} crn_viewers_stats;

/* Binds config->publish.viewers and starts the thread. Returns 0 or a negative errno with the
 * endpoint and a hint in *error. */
int crn_viewers_open(const crn_config *config, crn_viewers **ret_viewers, crn_error *error);

/* Sends what is queued, ends the thread and closes; messages that libzmq then holds are sent within
 * linger_ms. NULL is allowed. */
void crn_viewers_close(crn_viewers **viewers, int linger_ms);

/* True if a viewer is connected; otherwise no message need be built. */
bool crn_viewers_wanted(const crn_viewers *viewers);

/* Queues a message of topic and body. Takes over the body and leaves an empty message. */
void crn_viewers_send(crn_viewers *viewers, const char *topic, zmq_msg_t *body);

void crn_viewers_get_stats(const crn_viewers *viewers, crn_viewers_stats *ret_stats);

/* The endpoint as bound: a wildcard port replaced by the actual one. */
const char *crn_viewers_endpoint(const crn_viewers *viewers);

#endif
