/* Ensures file descriptors for every connection that is allowed; libzmq and recordings need some,
 * too. */
#ifndef CRN_SRC_INGEST_SOCKET_DESCRIPTORS_H
#define CRN_SRC_INGEST_SOCKET_DESCRIPTORS_H

#include <stdint.h>

/* Sockets of a line that accept connections: ingest, grader, viewers. */
#define CRN_LINE_PORTS 3

/* Number of descriptors that a process needs for so many ports with so many peers each. */
int64_t crn_descriptors_needed(int ports, int64_t peers);

/* Raises the process's soft limit of open files as far as they need it and the hard limit allows.
 * If that is too low, reduces *peers to what fits and logs it; `key` names the limit in the message
 * ("limits.peers"). */
void crn_descriptors_reserve(const char *key, int ports, int64_t *peers);

#endif
