#include "src/ingest/peers/attempts.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "stages/base/clock.h"
#include "stages/base/fnv.h"

/* Failures of an address: 16 at once, then 8 a second; of all together 128, and 128 a second. */
#define ORIGIN_NS    (CRN_NS_PER_S / 8)
#define ORIGIN_BURST 16
#define ALL_NS       (CRN_NS_PER_S / 128)
#define ALL_BURST    128

#define IPV6_NETWORK_BYTES 8

uint32_t crn_attempts_origin(int connection)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    const void *bytes = NULL;
    size_t count = 0;
    if (getpeername(connection, (struct sockaddr *)&address, &size) < 0)
        return 0;
    if (address.ss_family == AF_INET) {
        bytes = &((const struct sockaddr_in *)&address)->sin_addr;
        count = sizeof(struct in_addr);
    } else if (address.ss_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&address)->sin6_addr;
        bool mapped = IN6_IS_ADDR_V4MAPPED(v6);
        bytes = mapped ? &v6->s6_addr[12] : &v6->s6_addr[0];
        count = mapped ? sizeof(struct in_addr) : IPV6_NETWORK_BYTES;
    }
    return (uint32_t)(crn_fnv1a(CRN_FNV1A_START, bytes, count) % CRN_ATTEMPTS_ORIGINS);
}

bool crn_attempts_allowed(const crn_attempts *attempts, uint32_t origin, int64_t now_ns)
{
    return attempts->origin_ns[origin] - now_ns < ORIGIN_BURST * ORIGIN_NS &&
           attempts->all_ns - now_ns < ALL_BURST * ALL_NS;
}

/* At most one failure beyond the burst is remembered: hundreds may have been let in at once. */
static void add(int64_t *until_ns, int64_t cost_ns, int burst, int64_t now_ns)
{
    int64_t most_ns = now_ns + (burst + 1) * cost_ns;
    *until_ns = (*until_ns > now_ns ? *until_ns : now_ns) + cost_ns;
    if (*until_ns > most_ns)
        *until_ns = most_ns;
}

void crn_attempts_failed(crn_attempts *attempts, uint32_t origin, int64_t now_ns)
{
    add(&attempts->origin_ns[origin], ORIGIN_NS, ORIGIN_BURST, now_ns);
    add(&attempts->all_ns, ALL_NS, ALL_BURST, now_ns);
}
