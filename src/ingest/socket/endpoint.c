#include "src/ingest/socket/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/bind_hint.h"
#include "stages/base/file/path_lock.h"
#include "stages/base/log.h"
#include "stages/base/param.h"
#include "stages/base/process/priority.h"

/*
 * Heartbeats: a peer that answers no ping for HEARTBEAT_TIMEOUT_MS is dead. A reader that does not
 * read its socket for longer loses its senders and the messages in transit: once the high water
 * mark stops reading, the answers queue behind the data.
 */
#define HEARTBEAT_INTERVAL_MS 1000
#define HEARTBEAT_TIMEOUT_MS  5000
#define HANDSHAKE_MS          5000
#define KEEPALIVE_IDLE_S      10
#define KEEPALIVE_INTERVAL_S  3
#define KEEPALIVE_COUNT       3
#define SOCKET_FILE_MODE      0660
#define IPC_PREFIX            "ipc://"

typedef struct binding {
    char address[CRN_TEXT_BYTES];
    int lock; /* descriptor of the ipc path's lock file; -1 for none */
} binding;

struct crn_endpoint {
    void *zmq, *socket;
    crn_socket_monitor *monitor;
    char key[64];
    crn_peers *peers;   /* NULL: no limits */
    crn_access *access; /* NULL: no keys */
    crn_access_use use;
    bool watched; /* crn_access_watch_add */
    int bindings;
    binding binding[CRN_TEXTS_MAX];
};

int crn_endpoint_set(crn_endpoint *endpoint, int option, int value)
{
    return zmq_setsockopt(endpoint->socket, option, &value, sizeof value) == 0 ? 0 : -errno;
}

static int set_shared_options(crn_endpoint *endpoint)
{
    static const struct {
        int option, value;
    } shared[] = {
        {ZMQ_LINGER, 0},
        {ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS},
        {ZMQ_HEARTBEAT_IVL, HEARTBEAT_INTERVAL_MS},
        {ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS},
        {ZMQ_HEARTBEAT_TTL, HEARTBEAT_TIMEOUT_MS},
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_IDLE_S},
        {ZMQ_TCP_KEEPALIVE_INTVL, KEEPALIVE_INTERVAL_S},
        {ZMQ_TCP_KEEPALIVE_CNT, KEEPALIVE_COUNT},
    };
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        int r = crn_endpoint_set(endpoint, shared[i].option, shared[i].value);
        if (r < 0)
            return r;
    }
    /*
     * No ZAP handler answers for this domain, so libzmq admits everyone; but with a domain set it
     * no longer treats a client that does not begin with its greeting, say a web browser, as a very
     * old peer.
     */
    static const char domain[] = "cernita";
    return zmq_setsockopt(endpoint->socket, ZMQ_ZAP_DOMAIN, domain, strlen(domain)) == 0 ? 0
                                                                                         : -errno;
}

void *crn_endpoint_context(void)
{
    void *zmq = zmq_ctx_new();
    if (!zmq)
        return NULL;
    /* libzmq starts its threads with the first socket. */
    crn_priority_saved saved = crn_priority_begin_io();
    void *first = zmq_socket(zmq, ZMQ_PUSH);
    if (first)
        zmq_close(first);
    crn_priority_end_io(&saved);
    return zmq;
}

int crn_endpoint_open(void *zmq, int type, const char *key, crn_endpoint **ret_endpoint,
                      crn_error *error)
{
    int r = -ENOMEM;
    crn_endpoint *endpoint = calloc(1, sizeof *endpoint);
    if (!endpoint)
        goto fail;
    snprintf(endpoint->key, sizeof endpoint->key, "%s", key);
    endpoint->zmq = zmq;
    endpoint->socket = zmq_socket(zmq, type);
    if (!endpoint->socket) {
        r = -errno;
        goto fail;
    }
    r = set_shared_options(endpoint);
    if (r == 0)
        r = crn_socket_monitor_open(zmq, endpoint->socket, &endpoint->monitor);
    if (r < 0)
        goto fail;
    *ret_endpoint = endpoint;
    return 0;

fail:
    crn_endpoint_close(&endpoint, 0);
    return crn_error_set(error, r, "%s: no ZeroMQ socket: %s", key, zmq_strerror(-r));
}

int crn_endpoint_limit(crn_endpoint *endpoint, const crn_peers_rules *rules)
{
    crn_peers *peers = crn_peers_create(endpoint->key, rules);
    if (!peers || crn_socket_monitor_expect(endpoint->monitor, crn_peers_capacity(peers)) < 0) {
        crn_peers_free(&peers);
        return -ENOMEM;
    }
    endpoint->peers = peers;
    return 0;
}

void crn_endpoint_guard(crn_endpoint *endpoint, crn_access *access, crn_access_use use)
{
    endpoint->access = access;
    endpoint->use = use;
}

/* Sets what the next bind takes over: without access nothing changes. */
static int seal(crn_endpoint *endpoint, bool sealed)
{
    if (!endpoint->access)
        return 0;
    /* libzmq admits everyone where no handler answers. */
    if (!crn_access_is_served(endpoint->access, endpoint->zmq))
        return -ENOPROTOOPT;
    const char *domain = crn_access_domain(endpoint->use, sealed);
    int r = crn_endpoint_set(endpoint, ZMQ_CURVE_SERVER, sealed);
    if (r == 0 && zmq_setsockopt(endpoint->socket, ZMQ_ZAP_DOMAIN, domain, strlen(domain)) < 0)
        r = -errno;
    if (r == 0 && sealed &&
        zmq_setsockopt(endpoint->socket, ZMQ_CURVE_SECRETKEY, crn_access_secret(endpoint->access),
                       CRN_KEY_BYTES) < 0)
        r = -errno;
    return r;
}

void crn_endpoint_read(crn_endpoint *endpoint, int descriptor, uint64_t cost)
{
    if (endpoint->peers)
        crn_peers_read(endpoint->peers, descriptor, cost);
}

void crn_endpoint_report(crn_endpoint *endpoint)
{
    if (endpoint->peers) /* not where memory ran out before it got them */
        crn_peers_report(endpoint->peers);
}

void crn_endpoint_busy(crn_endpoint *endpoint, int64_t since_ns)
{
    crn_peers_busy(endpoint->peers, since_ns);
}

int32_t crn_endpoint_introduced(const crn_endpoint *endpoint)
{
    return crn_peers_introduced(endpoint->peers);
}

void crn_endpoint_get_cut(const crn_endpoint *endpoint, crn_peers_stats *ret_stats)
{
    crn_peers_get_stats(endpoint->peers, ret_stats);
}

/* Returns the file's path, or NULL for other transports, abstract names and a wildcard. */
static const char *ipc_path(const char *address)
{
    size_t prefix = strlen(IPC_PREFIX);
    if (strncmp(address, IPC_PREFIX, prefix) != 0)
        return NULL;
    const char *path = address + prefix;
    return *path == '\0' || *path == '@' || *path == '*' ? NULL : path;
}

static int make_parents(const char *path)
{
    char folder[CRN_TEXT_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0755) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return 0;
}

static int acquire_lock(const crn_endpoint *endpoint, const char *path, int *ret_lock,
                        crn_error *error)
{
    long holder;
    int r = crn_path_lock(path, ret_lock, &holder);
    if (r == -EADDRINUSE)
        return crn_error_set(error, r,
                             "%s: %s%s is used by another program (process %ld holds %s.lock): "
                             "stop it, or give this one another path",
                             endpoint->key, IPC_PREFIX, path, holder, path);
    if (r < 0)
        return crn_error_set(error, r,
                             "%s: cannot make the lock file %s.lock: %s; give a path in a folder "
                             "that this user may write to",
                             endpoint->key, path, strerror(-r));
    return 0;
}

/* True if a program without our lock listens there: libzmq would unlink its socket file. */
static bool has_listener(const char *path)
{
    struct sockaddr_un peer = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof peer.sun_path)
        return false;
    memcpy(peer.sun_path, path, strlen(path) + 1);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return false;
    bool listens = connect(probe, (struct sockaddr *)&peer, sizeof peer) == 0 || errno == EAGAIN;
    close(probe);
    return listens;
}

/* libzmq removes any file with the path's name before it binds: allow only a dead socket there. */
static int check_path_free(const crn_endpoint *endpoint, const char *path, crn_error *error)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return 0;
    if (!S_ISSOCK(status.st_mode))
        return crn_error_set(
            error, -EEXIST, "%s: %s exists and is not a socket: move it away, or give another path",
            endpoint->key, path);
    if (has_listener(path))
        return crn_error_set(error, -EADDRINUSE,
                             "%s: %s%s is used by a program that listens on it: stop it, or give "
                             "another path",
                             endpoint->key, IPC_PREFIX, path);
    return 0;
}

static int guard_path(const crn_endpoint *endpoint, const char *path, int *ret_lock,
                      crn_error *error)
{
    int r = make_parents(path);
    if (r < 0)
        return crn_error_set(error, r,
                             "%s: cannot make the folder of %s: %s; make it, or give "
                             "another path",
                             endpoint->key, path, strerror(-r));
    int lock;
    r = acquire_lock(endpoint, path, &lock, error);
    if (r < 0)
        return r;
    r = check_path_free(endpoint, path, error);
    if (r < 0) {
        close(lock);
        return r;
    }
    *ret_lock = lock;
    return 0;
}

const char *crn_endpoint_bind_hint(int fault)
{
    return fault > ZMQ_HAUSNUMERO ? zmq_strerror(fault) : crn_bind_hint(fault);
}

/* Rejects what libzmq would misread: it parses port 5555x as 5555, and 70000 as 4464. */
static bool port_is_number(const char *address)
{
    const char *port = strrchr(address, ':') + 1; /* finds at least the colon of tcp:// */
    size_t digits = strspn(port, "0123456789");
    if (strcmp(port, "*") == 0)
        return true;
    return digits > 0 && digits < 6 && port[digits] == '\0' && atoi(port) <= UINT16_MAX;
}

/* So that a client that loses its permission is cut off. */
static bool watch_keys(crn_endpoint *endpoint)
{
    crn_access_watch watch = {endpoint->peers, endpoint->use, crn_peers_proved,
                              crn_peers_cut_refused};
    endpoint->watched = endpoint->watched || crn_access_watch_add(endpoint->access, &watch);
    return endpoint->watched;
}

static int bind_watched(crn_endpoint *endpoint, const char *address)
{
    bool sealed = endpoint->access && crn_access_seals(endpoint->access, address);
    int r = seal(endpoint, sealed);
    if (r < 0)
        return r;
    if (sealed && endpoint->peers && !watch_keys(endpoint))
        return -EMFILE;
    crn_peers_begin_bind(endpoint->peers, sealed);
    r = zmq_bind(endpoint->socket, address) < 0 ? -errno : 0;
    crn_peers_end_bind();
    return r;
}

int crn_endpoint_bind(crn_endpoint *endpoint, const char *address, crn_error *error)
{
    if (strncmp(address, "tcp://", 6) == 0 && !port_is_number(address))
        return crn_error_set(error, -EINVAL, "%s: cannot bind %s: %s", endpoint->key, address,
                             crn_endpoint_bind_hint(EINVAL));
    if (endpoint->bindings == CRN_TEXTS_MAX)
        return crn_error_set(error, -E2BIG, "%s: more than %d addresses", endpoint->key,
                             CRN_TEXTS_MAX);
    binding *bound = &endpoint->binding[endpoint->bindings];
    int lock = -1;
    const char *path = ipc_path(address);
    if (path) {
        int r = guard_path(endpoint, path, &lock, error);
        if (r < 0)
            return r;
    }
    int r = crn_endpoint_set(endpoint, ZMQ_IPV6, strncmp(address, "tcp://[", 7) == 0);
    if (r == 0)
        r = bind_watched(endpoint, address);
    if (r < 0) {
        if (lock >= 0)
            close(lock);
        return crn_error_set(error, r, "%s: cannot bind %s: %s", endpoint->key, address,
                             crn_endpoint_bind_hint(-r));
    }
    size_t size = sizeof bound->address;
    if (zmq_getsockopt(endpoint->socket, ZMQ_LAST_ENDPOINT, bound->address, &size) < 0)
        snprintf(bound->address, sizeof bound->address, "%s", address);
    bound->lock = lock;
    endpoint->bindings++; /* from here on, closing the endpoint undoes the bind */
    if (path && chmod(path, SOCKET_FILE_MODE) < 0) {
        r = -errno;
        return crn_error_set(error, r, "%s: cannot set the mode of %s: %s", endpoint->key, path,
                             strerror(-r));
    }
    return 0;
}

const char *crn_endpoint_bound(const crn_endpoint *endpoint, int i)
{
    return i >= 0 && i < endpoint->bindings ? endpoint->binding[i].address : NULL;
}

void *crn_endpoint_socket(const crn_endpoint *endpoint)
{
    return endpoint->socket;
}

void crn_endpoint_descriptors(const crn_endpoint *endpoint, int descriptors[2])
{
    size_t size = sizeof descriptors[0];
    if (zmq_getsockopt(endpoint->socket, ZMQ_FD, &descriptors[0], &size) < 0)
        descriptors[0] = -1;
    descriptors[1] = crn_socket_monitor_descriptor(endpoint->monitor);
}

bool crn_endpoint_process(crn_endpoint *endpoint)
{
    int events = 0;
    size_t size = sizeof events;
    return zmq_getsockopt(endpoint->socket, ZMQ_EVENTS, &events, &size) < 0 || events & ZMQ_POLLIN;
}

int crn_endpoint_event(crn_endpoint *endpoint, crn_endpoint_event_kind *ret_kind)
{
    return crn_socket_monitor_next(endpoint->monitor, ret_kind);
}

void crn_endpoint_close(crn_endpoint **endpoint, int linger_ms)
{
    crn_endpoint *closing = *endpoint;
    if (!closing)
        return;
    /* libzmq stops listening some time later, when no handler may decide about keys any more. */
    if (closing->access && closing->peers)
        crn_peers_busy(closing->peers, 1);
    if (closing->watched)
        crn_access_watch_remove(closing->access, closing->peers);
    if (closing->socket) {
        if (closing->monitor)
            crn_socket_monitor_stop(closing->monitor);
        crn_endpoint_set(closing, ZMQ_LINGER, linger_ms);
    }
    for (int i = 0; i < closing->bindings; i++) {
        if (closing->binding[i].lock < 0)
            continue;
        /* libzmq leaves the file and stops listening some time later. Without the file nobody can
         * connect any more, and the next holder of the lock creates its own. */
        unlink(ipc_path(closing->binding[i].address));
        close(closing->binding[i].lock);
    }
    if (closing->socket)
        zmq_close(closing->socket);
    crn_socket_monitor_close(&closing->monitor);
    crn_peers_free(&closing->peers);
    free(closing);
    *endpoint = NULL;
}
