#include "src/http/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stages/base/bind_hint.h"

/* Connections that the kernel holds until they are accepted. */
#define BACKLOG 256

/* Copies the host of HOST:PORT, [HOST]:PORT or HOST without its brackets. */
static void copy_host(const char *address, char ret_host[CRN_TEXT_BYTES])
{
    const char *end = address[0] == '[' ? strchr(address, ']') : strrchr(address, ':');
    const char *start = address + (address[0] == '[');
    size_t length = end ? (size_t)(end - start) : strlen(start);
    snprintf(ret_host, CRN_TEXT_BYTES, "%.*s", (int)length, start);
}

static int fail(crn_error *error, int code, const char *address, const char *hint)
{
    return crn_error_set(error, code, "cannot bind %s: %s", address, hint);
}

/* Returns a socket that is bound, and listens if `backlog` is not 0; or a negative errno. */
static int open_socket(const struct addrinfo *at, int backlog)
{
    int one = 1, zero = 0;
    int made = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        return -errno;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (at->ai_family == AF_INET6)
        setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(made, at->ai_addr, at->ai_addrlen) == 0 &&
        (backlog == 0 || listen(made, backlog) == 0))
        return made;
    int fault = -errno;
    close(made);
    return fault;
}

static unsigned port_of(int bound)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t size = sizeof at;
    if (getsockname(bound, &at.any, &size) < 0)
        return 0;
    return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
}

/* Returns a socket bound to the address, or a negative errno with *error. */
static int open_address(const char *address, int backlog, crn_error *error)
{
    char host[CRN_TEXT_BYTES];
    copy_host(address, host);
    bool any = strcmp(host, "*") == 0;
    struct addrinfo *found = NULL;
    struct addrinfo wanted = {.ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int fault = getaddrinfo(any ? NULL : host, strrchr(address, ':') + 1, &wanted, &found);
    if (fault)
        return fail(error, -EADDRNOTAVAIL, address, gai_strerror(fault));
    /* Of all addresses IPv6's first: it takes IPv4's connections, too. */
    int made = -EADDRNOTAVAIL;
    for (int pass = 0; pass < 2 && made < 0; pass++)
        for (const struct addrinfo *at = found; at && made < 0; at = at->ai_next)
            if (!any || (at->ai_family == AF_INET6) == (pass == 0))
                made = open_socket(at, backlog);
    freeaddrinfo(found);
    if (made == -EADDRNOTAVAIL)
        return fail(error, made, address,
                    "this machine has no such address: see `ip address`, or give *:PORT");
    return made < 0 ? fail(error, made, address, crn_bind_hint(-made)) : made;
}

int crn_http_listen(const char *address, int *ret_socket, char ret_bound[CRN_HTTP_ADDRESS_BYTES],
                    crn_error *error)
{
    int made = open_address(address, BACKLOG, error);
    if (made < 0)
        return made;
    int length = (int)(strrchr(address, ':') - address);
    snprintf(ret_bound, CRN_HTTP_ADDRESS_BYTES, "%.*s:%u", length, address, port_of(made));
    *ret_socket = made;
    return 0;
}

int crn_http_listen_near(const char *address, int *ret_socket,
                         char ret_bound[CRN_HTTP_ADDRESS_BYTES], crn_error *error)
{
    char next[CRN_HTTP_ADDRESS_BYTES];
    crn_error later;
    int length = (int)(strrchr(address, ':') - address), port = atoi(address + length + 1);
    int r = crn_http_listen(address, ret_socket, ret_bound, error); /* its fault is the one told */
    for (int i = 1; i < CRN_HTTP_PORTS_TRIED && r == -EADDRINUSE && port + i <= UINT16_MAX; i++) {
        snprintf(next, sizeof next, "%.*s:%d", length, address, port + i);
        r = crn_http_listen(next, ret_socket, ret_bound, &later);
    }
    return r;
}

int crn_http_try(const char *address, crn_error *error)
{
    int made = open_address(address, 0, error);
    if (made < 0)
        return made;
    close(made);
    return 0;
}

bool crn_http_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct in_addr *ipv4 = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
        return ntohl(ipv4->s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address->sa_family != AF_INET6)
        return false;
    const struct in6_addr *ipv6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(ipv6) ||
           (IN6_IS_ADDR_V4MAPPED(ipv6) && ipv6->s6_addr[12] == IN_LOOPBACKNET);
}

bool crn_http_host_is_other_address(const char *host)
{
    char called[CRN_TEXT_BYTES];
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } at = {.ipv6 = {.sin6_family = AF_INET6}};
    if (!host || strlen(host) >= sizeof called)
        return false;
    copy_host(host, called);
    if (inet_pton(AF_INET, called, &at.ipv4.sin_addr) == 1)
        at.any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, called, &at.ipv6.sin6_addr) != 1)
        return false;
    return !crn_http_is_loopback(&at.any);
}

bool crn_http_host_is_own(const char *host, const char *address, const crn_texts *hosts)
{
    char called[CRN_TEXT_BYTES], own[CRN_TEXT_BYTES] = "";
    unsigned char bytes[sizeof(struct in6_addr)];
    if (!host)
        return true; /* HTTP/1.0: no browser */
    if (strlen(host) >= sizeof called)
        return false;
    copy_host(host, called);
    if (host[0] == '[')
        return strchr(host, ']') && inet_pton(AF_INET6, called, bytes) == 1;
    if (inet_pton(AF_INET, called, bytes) == 1 || strcasecmp(called, "localhost") == 0)
        return true;
    copy_host(address, own);
    if (strcasecmp(called, own) == 0)
        return true;
    for (int32_t i = 0; hosts && i < hosts->count; i++)
        if (strcasecmp(called, hosts->item[i]) == 0)
            return true;
    return gethostname(own, sizeof own - 1) == 0 && strcasecmp(called, own) == 0;
}
