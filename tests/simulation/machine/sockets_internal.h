/* Shared by sockets.c and zmq.c only. */
#ifndef CRN_TESTS_SIMULATION_MACHINE_SOCKETS_INTERNAL_H
#define CRN_TESTS_SIMULATION_MACHINE_SOCKETS_INTERNAL_H

#include "tests/simulation/machine/sockets.h"

#define CRN_SIM_SOCKETS_MAX     16
#define CRN_SIM_CONNECTIONS_MAX 64

typedef struct sim_socket {
    bool used, is_readable, is_asleep;
    int type, descriptor; /* 0: none yet */
    char address[128], monitored[64];
    sim_message *first, *last;
    int parts_read;
    struct sim_socket *events; /* a monitored socket's PAIR */
    char topic[64];            /* PUSH, XPUB: the first part of a message that is being sent */
} sim_socket;

struct sim_connection {
    bool used, is_closing;
    sim_message *first, *last;
    int32_t unread; /* that have arrived */
    int32_t number;
    void (*lost)(int64_t tag);
};

typedef struct sim_net {
    sim_socket sockets[CRN_SIM_SOCKETS_MAX];
    sim_connection connections[CRN_SIM_CONNECTIONS_MAX];
    sim_socket *pull, *push, *xpub;
    sim_socket_watch watch;
    uint32_t interrupt_once_in;
    int pull_high_water, push_high_water;
    int last_more;
    struct {
        bool attached, is_broken, is_gone; /* a peer's end, and libzmq's */
        int32_t capacity, held, number;
        int64_t notice_ns;
        uint64_t lost;
        sim_message *first, *last;
        bool was_full;
    } grader;
    bool has_viewer;
    int32_t next_number; /* what a connection's descriptor is called in an event */
} sim_net;

extern sim_net sim_sockets;

/* A message came to a socket. */
void sim_socket_put(sim_socket *socket, sim_message *message);

/* Removes and returns the first of a list. */
sim_message *sim_message_take(sim_message **first);

/* Frees a list. */
void sim_messages_free(sim_message **first);

/* True while libzmq would take a message for the grader. */
bool sim_grader_has_room(void);

/* Sends it, with the topic of its first part. */
void sim_send_to_grader(zmq_msg_t *body);

#endif
