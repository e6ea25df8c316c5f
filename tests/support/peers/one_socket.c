#include "tests/support/peers/one_socket.h"

#include <stdlib.h>

#include <zmq.h>

int one_socket_setup(void **state)
{
    one_socket *f = calloc(1, sizeof *f);
    *state = f;
    if (f)
        f->zmq = zmq_ctx_new();
    return f && f->zmq ? 0 : -1;
}

int one_socket_teardown(void **state)
{
    one_socket *f = *state;
    int linger = 0;
    if (f->socket) {
        zmq_setsockopt(f->socket, ZMQ_LINGER, &linger, sizeof linger);
        zmq_close(f->socket);
    }
    zmq_ctx_term(f->zmq);
    free(f);
    return 0;
}
