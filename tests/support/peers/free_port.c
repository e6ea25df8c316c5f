#include "tests/support/peers/free_port.h"

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/* Below Linux's ip_local_port_range. */
#define FIRST 10000
#define PORTS 22000

static bool is_free(bool ipv6, int port)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 in6 = {
        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_loopback};
    const void *at = ipv6 ? (const void *)&in6 : (const void *)&in4;
    int probe = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is = probe >= 0 && bind(probe, at, ipv6 ? sizeof in6 : sizeof in4) == 0;
    if (probe >= 0)
        close(probe);
    return is;
}

int crn_test_free_ports(bool ipv6, int count)
{
    static int next = -1;
    if (next < 0)
        next = (int)(getpid() * INT64_C(64) % PORTS);
    for (int found = 0, tried = 0; tried < PORTS; tried++) {
        if (next + count > PORTS && found == 0)
            next = 0;
        found = is_free(ipv6, FIRST + next++) ? found + 1 : 0;
        if (found == count)
            return FIRST + next - count;
    }
    return -1;
}
