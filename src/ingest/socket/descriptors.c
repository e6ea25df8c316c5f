#include "src/ingest/socket/descriptors.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "stages/base/log.h"
#include "src/ingest/peers/peers.h"

/* Listeners, libzmq's own descriptors, files, libraries, a GPU's driver:
 * some thirty on a machine without one. */
#define OWN_DESCRIPTORS 256

/* If the limit is too low, 1 / SHARE_OF_PEERS of it is for connections. */
#define SHARE_OF_PEERS 2

int64_t crn_descriptors_needed(int ports, int64_t peers)
{
    return ports * (peers + CRN_PEERS_CLOSING_MAX) + OWN_DESCRIPTORS;
}

void crn_descriptors_reserve(const char *key, int ports, int64_t *peers)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    rlim_t needed = (rlim_t)crn_descriptors_needed(ports, *peers);
    if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= needed)
        return;
    int64_t fit = (int64_t)limit.rlim_cur / SHARE_OF_PEERS / ports;
    fit = fit > CRN_PEERS_CLOSING_MAX ? fit - CRN_PEERS_CLOSING_MAX : fit / SHARE_OF_PEERS;
    if (fit < 1)
        fit = 1;
    if (fit >= *peers)
        return;
    crn_log(CRN_LOG_WARNING,
            "%s: %" PRId64 " connections to each port need %" PRIu64
            " descriptors and this process has %" PRIu64 ": lowered to %" PRId64
            "; raise LimitNOFILE= (or ulimit -Hn), or lower %s",
            key, *peers, (uint64_t)needed, (uint64_t)limit.rlim_cur, fit, key);
    *peers = fit;
}
