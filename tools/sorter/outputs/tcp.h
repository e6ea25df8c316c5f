/*
 * A TCP server that sends the same lines to all of its clients. It never waits for one: what a
 * client does not read waits in a buffer of its own, and a client whose buffer is full is
 * disconnected.
 */
#ifndef CRN_TOOLS_SORTER_OUTPUTS_TCP_H
#define CRN_TOOLS_SORTER_OUTPUTS_TCP_H

#include <stddef.h>
#include <stdint.h>

#include <zmq.h>

#include "stages/base/error.h"

#define CRN_TCP_CLIENTS_MAX 32
#define CRN_TCP_POLLS_MAX   (CRN_TCP_CLIENTS_MAX + 1)

typedef struct crn_tcp_output crn_tcp_output;

typedef struct crn_tcp_stats {
    uint64_t connected, refused, cut; /* cut: too slow */
    uint64_t clients;                 /* now */
} crn_tcp_stats;

/*
 * Listens at HOST:PORT. `greeting` is the first line of every client; the caller keeps it. Returns
 * 0 or a negative errno with one line in *error.
 */
typedef struct crn_tcp_plan {
    const char *address, *greeting;
    int32_t clients;      /* at once, at most CRN_TCP_CLIENTS_MAX */
    size_t backlog_bytes; /* of each */
} crn_tcp_plan;
int crn_tcp_output_open(const crn_tcp_plan *plan, crn_tcp_output **ret_output, crn_error *error);
void crn_tcp_output_close(crn_tcp_output **output);

/* The address with its actual port. */
const char *crn_tcp_output_address(const crn_tcp_output *output);

/* Sends a line to all clients, or queues it. */
void crn_tcp_output_send(crn_tcp_output *output, const char *line, size_t length);

/* What to wait for; returns the number of items. */
int crn_tcp_output_polls(const crn_tcp_output *output, zmq_pollitem_t items[CRN_TCP_POLLS_MAX]);

/* Accepts, reads and sends what can be without waiting. */
void crn_tcp_output_serve(crn_tcp_output *output);

const crn_tcp_stats *crn_tcp_output_get_stats(const crn_tcp_output *output);

#endif
