#include "src/ingest/peers/calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <zmq.h>

#include "src/ingest/peers/peers.h"
#include "stages/base/log.h"

/* The replaced calls, in the order of a connection's life. */
#define CALLS(X)                                                                                   \
    X(listen)                                                                                      \
    X(accept4) X(getpeername) X(getnameinfo) X(epoll_ctl) X(epoll_wait) X(send) X(recv) X(close)
#define CALL_NUMBER(name) CALL_##name,
#define CALL_NAME(name)   #name,
enum { CALLS(CALL_NUMBER) CALL_COUNT };

static atomic_uint called; /* a bit for each call that came here */

static void note(unsigned call)
{
    if (!(atomic_load_explicit(&called, memory_order_relaxed) & 1U << call))
        atomic_fetch_or_explicit(&called, 1U << call, memory_order_relaxed);
}

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static int spare = -1; /* closed for a moment in order to accept, and so refuse, a connection */

/* Polling interval for connections that ended while nothing is read from them. */
#define HANG_UP_NS 1000000

/* True in libzmq's threads that have connections. */
static _Thread_local bool accepts;

/* Number of the connection whose peer's address this thread asked for last; 0: one without keys. */
static _Thread_local uint64_t number;

#ifdef __SANITIZE_THREAD__
/* The thread sanitizer's own functions: it must see which numbers stand for a new descriptor. */
int __interceptor_accept4(int listener, struct sockaddr *address, socklen_t *size, int flags);
int __interceptor_close(int descriptor);
#define system_accept4 __interceptor_accept4
#define system_close   __interceptor_close
#else
static int system_accept4(int listener, struct sockaddr *address, socklen_t *size, int flags)
{
    return (int)syscall(SYS_accept4, listener, address, size, flags);
}

static int system_close(int descriptor)
{
    return (int)syscall(SYS_close, descriptor);
}
#endif

static int open_spare(void)
{
    return (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Sends a byte over a connection of libzmq's to itself, which leaves no file behind. */
static int try_libzmq(void)
{
    char address[64], byte = 0;
    const int wait_ms = 5000, linger_ms = 0;
    snprintf(address, sizeof address, "ipc://@cernita-%d-%p", (int)getpid(), (void *)&byte);
    void *context = zmq_ctx_new();
    void *from = context ? zmq_socket(context, ZMQ_PAIR) : NULL;
    void *to = from ? zmq_socket(context, ZMQ_PAIR) : NULL;
    int r = to ? 0 : -ENOMEM;
    if (r == 0 && (zmq_setsockopt(to, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms) < 0 ||
                   zmq_setsockopt(from, ZMQ_LINGER, &linger_ms, sizeof linger_ms) < 0 ||
                   zmq_bind(to, address) < 0 || zmq_connect(from, address) < 0 ||
                   zmq_send(from, &byte, 1, 0) < 0 || zmq_recv(to, &byte, 1, 0) < 0))
        r = -zmq_errno();
    if (to)
        zmq_close(to);
    if (from)
        zmq_close(from);
    if (context)
        zmq_ctx_term(context);
    return r;
}

int crn_socket_calls_check(char ret_missing[CRN_SOCKET_CALLS_BYTES])
{
    static const char *const names[] = {CALLS(CALL_NAME)};
    atomic_store(&called, 0);
    int r = try_libzmq();
    unsigned came = atomic_load(&called);
    ret_missing[0] = '\0';
    for (unsigned call = 0; r == 0 && call < CALL_COUNT; call++) {
        size_t length = strlen(ret_missing);
        if (!(came & 1U << call))
            snprintf(ret_missing + length, CRN_SOCKET_CALLS_BYTES - length, "%s%s",
                     length ? ", " : "", names[call]);
    }
    return r;
}

/* Tells, once, what is not in effect, and what to do. */
static void report_missing(void)
{
    char missing[CRN_SOCKET_CALLS_BYTES];
    int r = crn_socket_calls_check(missing), major, minor, patch;
    zmq_version(&major, &minor, &patch);
    if (r < 0)
        crn_log(CRN_LOG_WARNING,
                "sockets: whether peers can be limited is unknown: libzmq's test failed: %s",
                zmq_strerror(-r));
    else if (missing[0])
        crn_log(CRN_LOG_WARNING,
                "sockets: what peers send is not limited: libzmq %d.%d.%d does not call this "
                "program's own %s; use Debian's shared libzmq5 and the C library that it was built "
                "for, or let only trusted programs connect and set MemoryMax=",
                major, minor, patch, missing);
}

int crn_socket_calls_init(void)
{
    pthread_mutex_lock(&spare_lock);
    bool first = spare < 0;
    if (first)
        spare = open_spare();
    int r = spare < 0 ? -errno : 0;
    pthread_mutex_unlock(&spare_lock);
    if (first && r == 0)
        report_missing();
    return r;
}

int listen(int descriptor, int backlog)
{
    note(CALL_listen);
    int r = (int)syscall(SYS_listen, descriptor, backlog);
    if (r == 0)
        crn_peers_listened(descriptor);
    return r;
}

/* Without a free descriptor libzmq would be notified of the same connection
 * again and again (tcp), or abort (ipc). */
static void refuse_waiting(int listener)
{
    pthread_mutex_lock(&spare_lock);
    if (spare >= 0) {
        system_close(spare);
        int waiting = system_accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (waiting >= 0)
            system_close(waiting);
        spare = open_spare();
    }
    pthread_mutex_unlock(&spare_lock);
    crn_peers_unaccepted(listener);
}

int accept4(int listener, struct sockaddr *restrict address, socklen_t *restrict size, int flags)
{
    note(CALL_accept4);
    accepts |= crn_peers_listens(listener);
    number = 0;
    int connection = system_accept4(listener, address, size, flags);
    if (connection < 0 && (errno == EMFILE || errno == ENFILE)) {
        refuse_waiting(listener);
        errno = ECONNABORTED;
    } else if (connection >= 0 && !crn_peers_accepted(listener, connection)) {
        system_close(connection);
        errno = ECONNABORTED;
        connection = -1;
    }
    return connection;
}

ssize_t recv(int descriptor, void *bytes, size_t size, int flags)
{
    note(CALL_recv);
    ssize_t got = syscall(SYS_recvfrom, descriptor, bytes, size, flags, NULL, NULL);
    if (got > 0 && !(flags & MSG_PEEK))
        got = (ssize_t)crn_peers_received(descriptor, bytes, (size_t)got);
    return got;
}

ssize_t send(int descriptor, const void *bytes, size_t size, int flags)
{
    note(CALL_send);
    ssize_t sent = syscall(SYS_sendto, descriptor, bytes, size, flags, NULL, 0);
    int fault = errno;
    crn_peers_sent(descriptor, size, sent);
    errno = fault;
    return sent;
}

/* libzmq polls a connection for output as long as it has something to send there. */
int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event)
{
    note(CALL_epoll_ctl);
    if (operation == EPOLL_CTL_MOD && event)
        crn_peers_polled(descriptor, event->events & EPOLLOUT);
    return (int)syscall(SYS_epoll_ctl, epoll, operation, descriptor, event);
}

/*
 * libzmq stops polling a connection for input once ingest.high_water_mark of its messages wait. If
 * notified that such a connection ended, it leaves it half closed, and the next heartbeat on it
 * aborts the process (4.3.4: !_io_error). So hide hang-ups: libzmq finds the end itself when it
 * reads on.
 */
int epoll_wait(int epoll, struct epoll_event *events, int capacity, int timeout_ms)
{
    note(CALL_epoll_wait);
    int got = (int)syscall(SYS_epoll_pwait, epoll, events, capacity, timeout_ms, NULL, _NSIG / 8);
    if (got <= 0 || !accepts)
        return got;
    int kept = 0;
    for (int i = 0; i < got; i++) {
        /* With hang-up and input libzmq reads twice, and may have
         * stopped polling after the first time. */
        events[i].events &= EPOLLIN | EPOLLOUT;
        if (events[i].events)
            events[kept++] = events[i];
    }
    if (kept == 0)
        nanosleep(&(struct timespec){.tv_nsec = HANG_UP_NS}, NULL);
    return kept;
}

/*
 * libzmq tells the handler of keys who asks by an address without port, which several clients may
 * share. So the number of the connection goes with it: `10.0.0.7#12`. zap.c takes it off again.
 */
int getpeername(int descriptor, struct sockaddr *restrict address, socklen_t *restrict size)
{
    note(CALL_getpeername);
    number = accepts ? crn_peers_number(descriptor) : 0;
    return (int)syscall(SYS_getpeername, descriptor, address, size);
}

int getnameinfo(const struct sockaddr *restrict address, socklen_t size, char *restrict host,
                socklen_t host_size, char *restrict service, socklen_t service_size, int flags)
{
    note(CALL_getnameinfo);
    static _Atomic(void *) found;
    void *next = atomic_load(&found);
    int (*call)(const struct sockaddr *, socklen_t, char *, socklen_t, char *, socklen_t, int);
    if (!next)
        atomic_store(&found, next = dlsym(RTLD_NEXT, "getnameinfo"));
    if (!next)
        return EAI_SYSTEM;
    memcpy(&call, &next, sizeof call);
    int r = call(address, size, host, host_size, service, service_size, flags);
    size_t used = r == 0 && host ? strlen(host) : 0;
    if (number && used > 0)
        snprintf(host + used, host_size - used, "#%" PRIu64, number);
    number = 0;
    return r;
}

int close(int descriptor)
{
    note(CALL_close);
    crn_peers_closing(descriptor);
    return system_close(descriptor);
}
