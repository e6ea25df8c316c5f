/* A link between a client and a server that can be cut, or hold what passes it: a process that
 * forwards the connections of a port of 127.0.0.1 to another one. */
#ifndef CRN_TESTS_SUPPORT_TCP_LINK_H
#define CRN_TESTS_SUPPORT_TCP_LINK_H

#include <sys/types.h>

typedef struct tcp_link {
    int port, to;
    pid_t pid; /* 0: it is cut */
} tcp_link;

void tcp_link_start(tcp_link *link);

/* Resets all connections, and what was on its way is lost; the port then refuses others. */
void tcp_link_cut(tcp_link *link);

/* Nothing passes, and nothing is refused, until it goes on. */
void tcp_link_hold(const tcp_link *link);
void tcp_link_go_on(const tcp_link *link);

#endif
