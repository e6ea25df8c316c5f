#include "src/ingest/socket/senders.h"

#include <errno.h>

#include <zmq.h>

#define BYTES_PER_MIB (UINT64_C(1) << 20)
/* Limit of all senders together, as a multiple of one sender's. */
#define SHARES 4

static uint64_t waiting_bytes(const crn_senders_limits *limits)
{
    return limits->unread_count ? (uint64_t)limits->waiting * limits->view_bytes : 0;
}

uint64_t crn_senders_bytes(const crn_senders_limits *limits)
{
    return SHARES * (limits->peer_bytes + waiting_bytes(limits)) + BYTES_PER_MIB;
}

int crn_senders_limit(crn_endpoint *endpoint, const crn_senders_limits *limits)
{
    uint64_t part_bytes = CRN_SENDERS_PART_SHARE * limits->view_bytes;
    crn_peers_rules rules = {
        .connections = (int32_t)limits->connections,
        .silent_yield = true,
        /* A view of view_bytes comes with a header and libzmq's own records. */
        .frames = {.part_bytes = part_bytes,
                   .message_bytes = limits->peer_bytes + BYTES_PER_MIB,
                   .waiting_bytes = waiting_bytes(limits),
                   .parts = CRN_SENDERS_PARTS_MAX},
        .unfinished_bytes = crn_senders_bytes(limits),
        .refused = crn_access_counters_of(limits->guard, CRN_ACCESS_INGEST),
    };
    crn_endpoint_guard(endpoint, limits->guard, CRN_ACCESS_INGEST);
    int r = crn_endpoint_limit(endpoint, &rules);
    if (r == 0)
        r = crn_endpoint_set(endpoint, ZMQ_RCVHWM, (int)limits->waiting);
    if (r < 0)
        return r;
    /* Larger parts are never read into memory, so a hostile peer cannot make this side allocate
     * it. */
    int64_t part_bytes_max = (int64_t)part_bytes;
    return zmq_setsockopt(crn_endpoint_socket(endpoint), ZMQ_MAXMSGSIZE, &part_bytes_max,
                          sizeof part_bytes_max) == 0
               ? 0
               : -errno;
}
