#include "src/client/keys.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.h>

#include "src/formats/keys/key_file.h"
#include "stages/base/process/thread.h"

#define TCP "tcp://"

/* For a network that drops what is sent by IPv6: such a name then stands for IPv4. */
#define LISTENS_WAIT_MS 250

/* Threads of a context, and descriptors of it and a socket or two. */
#define CONTEXT_THREADS     2
#define CONTEXT_DESCRIPTORS 16

static int count_descriptors(int count)
{
    int opened[CONTEXT_DESCRIPTORS], there = 0;
    while (there < count && (opened[there] = eventfd(0, EFD_CLOEXEC)) >= 0)
        there++;
    for (int i = 0; i < there; i++)
        close(opened[i]);
    return there;
}

/* libzmq starts its threads with the first socket, and aborts where it cannot: now, as there is
 * room for them, and before the caller starts threads of its own. */
static int start_threads(void *zmq)
{
    void *socket = zmq_socket(zmq, ZMQ_PAIR);
    return socket && zmq_close(socket) == 0 ? 0 : -errno;
}

int crn_client_context(void **ret_zmq, crn_error *error)
{
    if (crn_thread_room(CONTEXT_THREADS) < CONTEXT_THREADS)
        return crn_error_set(error, -EAGAIN,
                             "cannot start %d threads: raise the user's limit (ulimit -u), or that "
                             "of the unit or container",
                             CONTEXT_THREADS);
    if (count_descriptors(CONTEXT_DESCRIPTORS) < CONTEXT_DESCRIPTORS)
        return crn_error_set(error, -EMFILE,
                             "cannot open %d files more: raise the limit (ulimit -n)",
                             CONTEXT_DESCRIPTORS);
    void *zmq = zmq_ctx_new();
    int r = zmq ? start_threads(zmq) : -errno;
    if (r < 0) {
        if (zmq)
            zmq_ctx_term(zmq);
        return crn_error_set(error, r, "no ZeroMQ context: %s", zmq_strerror(-r));
    }
    *ret_zmq = zmq;
    return 0;
}

static int set_keys(void *socket, const crn_key_file *own, const crn_key_file *server)
{
    char public[CRN_KEY_BYTES];
    if (zmq_curve_public(public, own->key) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server->key, CRN_KEY_BYTES) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public, CRN_KEY_BYTES) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, own->key, CRN_KEY_BYTES) < 0)
        return -errno;
    return 0;
}

int crn_client_keys_use(void *socket, const crn_client_keys *keys, crn_error *error)
{
    crn_key_file own, server;
    if (!keys->key && !keys->server_key)
        return 0;
    if (!keys->key || !keys->server_key)
        return crn_error_set(error, -EINVAL, "--%s is missing: a line with keys needs both files",
                             keys->key ? "server-key" : "key");
    int r = crn_key_supported(error);
    if (r == 0)
        r = crn_key_read(keys->server_key, CRN_KEY_PUBLIC, &server, error);
    if (r == 0)
        r = crn_key_read(keys->key, CRN_KEY_SECRET, &own, error);
    if (r < 0)
        return r;
    r = set_keys(socket, &own, &server);
    explicit_bzero(&own, sizeof own);
    return r < 0 ? crn_error_set(error, r, "the keys of %s and %s cannot be used: %s", keys->key,
                                 keys->server_key, zmq_strerror(-r))
                 : 0;
}

/* True if something accepts a connection at the address within LISTENS_WAIT_MS. */
static bool listens(const struct addrinfo *at)
{
    int probe = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return false;
    int fault = connect(probe, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    struct pollfd item = {.fd = probe, .events = POLLOUT};
    socklen_t size = sizeof fault;
    if (fault == EINPROGRESS)
        fault = poll(&item, 1, LISTENS_WAIT_MS) == 1 &&
                        getsockopt(probe, SOL_SOCKET, SO_ERROR, &fault, &size) == 0
                    ? fault
                    : ETIMEDOUT;
    close(probe);
    return fault == 0;
}

/* True if a name has only IPv6 addresses, or one where something listens. */
static bool name_is_ipv6(const char *host, const char *port)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    bool four = false, six = false, answers = false;
    if (getaddrinfo(host, port, &wanted, &found) != 0)
        return false;
    for (const struct addrinfo *one = found; one; one = one->ai_next) {
        four |= one->ai_family == AF_INET;
        six |= one->ai_family == AF_INET6;
    }
    for (const struct addrinfo *one = found; one && four && six && !answers; one = one->ai_next)
        answers = one->ai_family == AF_INET6 && listens(one);
    freeaddrinfo(found);
    return six && (!four || answers);
}

/* libzmq takes one family for a socket, IPv4 if it is not told. */
static bool is_ipv6(const char *endpoint)
{
    if (strncmp(endpoint, TCP, sizeof TCP - 1) != 0)
        return false;
    const char *source_end = strrchr(endpoint, ';'); /* tcp://SOURCE;HOST:PORT */
    const char *host = source_end ? source_end + 1 : endpoint + sizeof TCP - 1;
    const char *colon = strrchr(host, ':');
    char name[256];
    if (*host == '[' || !colon || colon - host >= (ptrdiff_t)sizeof name)
        return *host == '[';
    snprintf(name, sizeof name, "%.*s", (int)(colon - host), host);
    return name_is_ipv6(name, colon + 1);
}

/* True for tcp://HOST:PORT whose PORT libzmq would read in part, or modulo 65536. */
static bool has_wrong_port(const char *endpoint)
{
    if (strncmp(endpoint, TCP, sizeof TCP - 1) != 0)
        return false;
    const char *colon = strrchr(endpoint + sizeof TCP - 1, ':');
    if (!colon || strchr(colon, ']')) /* none: libzmq says so */
        return false;
    size_t digits = strspn(colon + 1, "0123456789");
    return digits == 0 || digits > 5 || colon[1 + digits] || atoi(colon + 1) > 65535;
}

int crn_client_connect(void *socket, const char *endpoint, const crn_client_keys *keys,
                       crn_error *error)
{
    int r = crn_client_keys_use(socket, keys, error);
    if (r < 0)
        return r;
    if (has_wrong_port(endpoint))
        return crn_error_set(error, -EINVAL,
                             "cannot connect to '%s': its port is not a number from 1 to 65535",
                             endpoint);
    int six = is_ipv6(endpoint);
    if (zmq_setsockopt(socket, ZMQ_IPV6, &six, sizeof six) < 0 || zmq_connect(socket, endpoint) < 0)
        return crn_error_set(error, -errno,
                             "cannot connect to '%s': %s; expected tcp://HOST:PORT, "
                             "tcp://[IPV6]:PORT or ipc://PATH",
                             endpoint, zmq_strerror(errno));
    return 0;
}
