#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "tests/support/peers/decode.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/peer.h"

void *crn_peer_connect(void *zmq, int type, bool little, const char *endpoint)
{
    void *socket = zmq_socket(zmq, type);
    assert_non_null(socket);
    int wait_ms = CRN_PEER_WAIT_MS, none = 0;
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    if (little) {
        int one = 1, few_bytes = 4096;
        zmq_setsockopt(socket, ZMQ_RCVHWM, &one, sizeof one);
        zmq_setsockopt(socket, ZMQ_RCVBUF, &few_bytes, sizeof few_bytes);
    }
    assert_int_equal(zmq_connect(socket, endpoint), 0);
    return socket;
}

void crn_peer_receive(void *socket, crn_peer_message *ret_message)
{
    int size = zmq_recv(socket, ret_message->topic, sizeof ret_message->topic - 1, 0);
    assert_true(size > 0);
    ret_message->topic[size] = '\0';
    size = zmq_recv(socket, ret_message->bytes, sizeof ret_message->bytes - 1, 0);
    assert_true(size > 0 && (size_t)size < sizeof ret_message->bytes);
    ret_message->size = (size_t)size;
    ret_message->bytes[size] = '\0';
}

const msgpack_object *crn_peer_receive_map(void *socket, crn_peer_message *into)
{
    crn_peer_receive(socket, into);
    msgpack_unpacked_destroy(&into->unpacked);
    assert_int_equal(msgpack_unpack_next(&into->unpacked, into->bytes, into->size, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    return &into->unpacked.data;
}

uint64_t crn_peer_receive_sequence(void *socket, crn_peer_message *into)
{
    const msgpack_object *verdict = crn_peer_receive_map(socket, into);
    assert_memory_equal(into->topic, "fruit/", strlen("fruit/"));
    const msgpack_object *sequence = crn_decoded_field(verdict, "sequence");
    assert_int_equal(sequence->type, MSGPACK_OBJECT_POSITIVE_INTEGER);
    return sequence->via.u64;
}

crn_peer_message *crn_peer_message_new(void)
{
    crn_peer_message *made = calloc(1, sizeof *made);
    assert_non_null(made);
    msgpack_unpacked_init(&made->unpacked);
    return made;
}

void crn_peer_message_free(crn_peer_message *message)
{
    msgpack_unpacked_destroy(&message->unpacked);
    free(message);
}
