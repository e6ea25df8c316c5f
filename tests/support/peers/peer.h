/* A grader or viewer for tests: messages must arrive and be as expected. */
#ifndef CRN_TESTS_SUPPORT_PEER_H
#define CRN_TESTS_SUPPORT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <msgpack.h>

#define CRN_PEER_BYTES   200000 /* size of the largest message */
#define CRN_PEER_WAIT_MS 60000  /* receive timeout; only a failing test waits so long */

/* A connected socket of ZeroMQ type `type`; the caller closes it. `little`: minimal buffers in
 * libzmq and the kernel, so that it soon blocks its sender if it does not read. */
void *crn_peer_connect(void *zmq, int type, bool little, const char *endpoint);

typedef struct crn_peer_message {
    char topic[32];
    char bytes[CRN_PEER_BYTES];
    size_t size;
    msgpack_unpacked unpacked; /* of MessagePack */
} crn_peer_message;

crn_peer_message *crn_peer_message_new(void);
void crn_peer_message_free(crn_peer_message *message);

/* Receives the next message: topic and bytes. */
void crn_peer_receive(void *socket, crn_peer_message *ret_message);

/* The same, decoded from MessagePack; the map is valid until the next call. */
const msgpack_object *crn_peer_receive_map(void *socket, crn_peer_message *into);

/* The same, as a verdict; returns its sequence. */
uint64_t crn_peer_receive_sequence(void *socket, crn_peer_message *into);

#endif
