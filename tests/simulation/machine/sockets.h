/*
 * libzmq as the line sees it, in simulated time: a PULL socket with senders, a PUSH socket with a
 * grader, an XPUB socket with viewers, and the events of their connections. libzmq's own messages
 * (zmq_msg_t) are used as they are. Descriptors are edge-triggered as libzmq's: readable once
 * something arrived at a socket that was found empty, until a call looks again.
 */
#ifndef CRN_TESTS_SIMULATION_MACHINE_SOCKETS_H
#define CRN_TESTS_SIMULATION_MACHINE_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zmq.h>

#define CRN_SIM_PARTS_MAX 4

/* A message on its way. `tag` is the simulation's: who sent it, or what is in it. */
typedef struct sim_message {
    struct sim_message *next;
    int64_t due_ns;                    /* when it arrives */
    struct sim_connection *connection; /* a sender's, once it has arrived */
    int64_t tag;
    int parts;
    zmq_msg_t part[CRN_SIM_PARTS_MAX];
} sim_message;

sim_message *sim_message_create(int64_t tag);
void sim_message_add(sim_message *message, const void *bytes, size_t size);
void sim_message_free(sim_message *message);

/* What hears of messages; called in the line's thread. */
typedef struct sim_socket_watch {
    void (*received)(int64_t tag, int64_t arrived_ns); /* the line has read one to its end */
    int64_t (*sent)(const void *bytes, size_t size);   /* to the grader; returns its tag */
    void (*sent_in_vain)(int64_t tag);                 /* the connection had broken */
} sim_socket_watch;

void sim_sockets_begin(const sim_socket_watch *watch);

/* Number of sockets that the line has not closed. */
int sim_sockets_open(void);

/* Frees all, after the line's end. */
void sim_sockets_end(void);

/* Makes every n-th call that may be interrupted return EINTR; 0: none. */
void sim_sockets_interrupt(uint32_t once_in);

/* --- senders: connections to the PULL socket -------------------------------------------------- */

/* A connection delivers in order, and waits while the line has not read RCVHWM of its messages. */
typedef struct sim_connection sim_connection;

sim_connection *sim_connect_sender(void);

/* The message arrives at due_ns, not before those that were sent earlier. */
void sim_send(sim_connection *connection, sim_message *message, int64_t due_ns);

/* What has not arrived is lost; `lost` is called for each. Frees the connection once it is empty.
 */
void sim_disconnect_sender(sim_connection *connection, void (*lost)(int64_t tag));

/* Ends all connections, and waits for that. */
void sim_senders_end(void);

/* True while messages are on their way on any connection. */
bool sim_senders_are_busy(void);

/* Since when a message has been there that the line has not read; now if there is none. */
int64_t sim_unread_since_ns(void);

/* --- the grader ------------------------------------------------------------------------------- */

/* Connects a grader whose connection holds so many messages that it has not read. */
void sim_connect_grader(int32_t capacity);
bool sim_grader_is_connected(void);

/* The next message that has come, or NULL; the caller frees it. */
sim_message *sim_grader_read(void);

/* The grader is gone: what it has not read is lost. libzmq notices at notice_ns, and sends into the
 * void until then. */
void sim_break_grader(int64_t notice_ns);

/* Messages lost in a connection whose end the line has not read yet. */
uint64_t sim_grader_lost_unnoticed(void);

/* --- viewers ---------------------------------------------------------------------------------- */

void sim_connect_viewer(void);

#endif
