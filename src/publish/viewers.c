#include "src/publish/viewers.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/ingest/access/zap.h"
#include "src/ingest/socket/endpoint.h"
#include "src/service/watchdog.h"
#include "stages/base/process/priority.h"
#include "stages/base/process/thread.h"
#include "stages/base/ring.h"

#define KEY "publish.viewers.bind"

/*
 * Viewers only send subscriptions, to topics of at most 31 bytes. libzmq uses some 35 bytes
 * of memory for each byte of a topic, six times as much where its first and last byte are
 * told apart.
 */
#define SUBSCRIPTION_BYTES 128
#define HANDSHAKE_BYTES    1024

/* Limit for one viewer: a subscription to each of 1024 lanes, and some changes. */
#define SUBSCRIPTIONS_BYTES 32768

/* Limit for all viewers: when one disconnects, libzmq walks through all subscriptions. */
#define SUBSCRIPTIONS_ALL_BYTES (2 * SUBSCRIPTIONS_BYTES)

/* Events and subscriptions read per call, so that a storm of them
 * cannot delay verdicts for long. */
#define READS_AT_ONCE 256

/* Verdicts take more: as many as this leaves room for in limits.viewers_mib may wait. */
#define SHARED_BYTES_MIN 1024

/* A message that is shared by all who have not read it yet. */
typedef struct shared_body {
    crn_viewers *viewers;
    struct shared_body *next; /* of those that are free */
    zmq_msg_t body;
} shared_body;

typedef struct queued {
    char topic[CRN_TOPIC_BYTES];
    zmq_msg_t body;
} queued;

struct crn_viewers {
    /* Owned by the thread once it runs. */
    void *zmq;
    crn_zap *zap; /* NULL: no keys */
    crn_endpoint *endpoint;
    void *socket; /* the endpoint's */
    crn_log_gate refused_gate;
    uint64_t viewers, seen; /* connections now; subscriptions ever */

    const crn_config *config;
    pthread_t thread;
    bool started;
    crn_pulse *pulse;
    sem_t opened; /* posted once the socket is bound or has failed to bind */
    int status;   /* of the start */
    crn_error error;
    int wake; /* eventfd: something is queued, or the thread must end */
    queued *items;
    crn_ring full, empty; /* queues of items to the thread, and back */
    atomic_bool stop;
    atomic_uint_fast64_t viewers_now, seen_now, refused;
    uint64_t dropped; /* owned by the line's thread */
    atomic_uint_fast64_t unread;
    uint64_t unread_max;
    shared_body *bodies;             /* untouched from `fresh` on */
    size_t fresh, capacity;          /* owned by the line's thread, as `spare` */
    shared_body *spare;              /* free */
    _Atomic(shared_body *) returned; /* free, by libzmq's threads */
};

static int bind_socket(crn_viewers *self, crn_error *error)
{
    self->zmq = zmq_ctx_new();
    if (!self->zmq)
        return crn_error_set(error, -errno, KEY ": no ZeroMQ context: %s", zmq_strerror(errno));
    crn_access *guard = self->config->guard;
    int r = crn_zap_open(self->zmq, guard, &self->zap, error);
    if (r == 0)
        r = crn_endpoint_open(self->zmq, ZMQ_XPUB, KEY, &self->endpoint, error);
    if (r < 0)
        return r;
    self->socket = crn_endpoint_socket(self->endpoint);
    crn_peers_rules rules = {
        .connections = (int32_t)self->config->limits.peers,
        .silent_yield = true,
        .frames = {.message_bytes = SUBSCRIPTIONS_BYTES,
                   .parts = 1,
                   .part_bytes = guard ? SUBSCRIPTION_BYTES : 0,
                   .total_bytes = SUBSCRIPTIONS_BYTES},
        .unfinished_bytes = UINT64_MAX, /* a single part is never an incomplete message */
        .kept_bytes = SUBSCRIPTIONS_ALL_BYTES,
        .unread = &self->unread,
        .unread_bytes = self->unread_max / 2,
        .refused = crn_access_counters_of(guard, CRN_ACCESS_VIEWERS),
    };
    r = crn_endpoint_limit(self->endpoint, &rules);
    crn_endpoint_guard(self->endpoint, guard, CRN_ACCESS_VIEWERS);
    if (r == 0)
        r = crn_endpoint_set(self->endpoint, ZMQ_SNDHWM,
                             (int)self->config->publish.viewers.high_water_mark);
    /* Limited by the rules instead. Should libzmq stop reading, it would abort the process: a
     * connection that ends meanwhile fails an assertion at its next heartbeat (!_io_error). */
    if (r == 0)
        r = crn_endpoint_set(self->endpoint, ZMQ_RCVHWM, 0);
    /* With keys the handshake is longer; a subscription's limit is then part_bytes. */
    int64_t longest = guard ? HANDSHAKE_BYTES : SUBSCRIPTION_BYTES;
    if (r == 0 && zmq_setsockopt(self->socket, ZMQ_MAXMSGSIZE, &longest, sizeof longest) < 0)
        r = -errno;
    if (r < 0)
        return crn_error_set(error, r, KEY ": an option of the socket was refused: %s",
                             zmq_strerror(-r));
    return crn_endpoint_bind(self->endpoint, self->config->publish.viewers.bind, error);
}

/* libzmq reports the first subscription to a topic. Returns true if more may be pending. */
static bool read_subscriptions(crn_viewers *self)
{
    for (int reads = 0; reads < READS_AT_ONCE;) {
        unsigned char kind = 2;
        int r = zmq_recv(self->socket, &kind, sizeof kind, ZMQ_DONTWAIT);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return false;
        reads++;
        self->seen += r > 0 && kind == 1;
    }
    return true;
}

static void count_refused(crn_viewers *self, bool logged)
{
    atomic_fetch_add_explicit(&self->refused, 1, memory_order_relaxed);
    if (!logged)
        crn_log_gated(&self->refused_gate, crn_now_ns(), CRN_LOG_WARNING,
                      "publish: a connection to %s was refused: it does not speak ZeroMQ, has "
                      "the wrong socket type, or has keys where none are required or none where "
                      "they are (access.keys)",
                      crn_endpoint_bound(self->endpoint, 0));
}

/* Reads connection events. Returns true if more may be pending. */
static bool read_events(crn_viewers *self)
{
    crn_endpoint_event_kind kind;
    for (int reads = 0; reads < READS_AT_ONCE; reads++) {
        if (!crn_endpoint_event(self->endpoint, &kind))
            return false;
        if (kind == CRN_ENDPOINT_CONNECTED)
            self->viewers++;
        else if (kind == CRN_ENDPOINT_DISCONNECTED && self->viewers > 0)
            self->viewers--;
        else if (kind != CRN_ENDPOINT_DISCONNECTED)
            count_refused(self, kind == CRN_ENDPOINT_REFUSED_KEY);
    }
    return true;
}

static void send_queued(crn_viewers *self)
{
    queued *item;
    while ((item = crn_ring_pop(&self->full))) {
        /* zmq_send() looks only once a millisecond how much a viewer has read, so a burst would
         * be dropped for one that keeps up. */
        crn_endpoint_process(self->endpoint);
        if (zmq_send(self->socket, item->topic, strlen(item->topic), ZMQ_DONTWAIT | ZMQ_SNDMORE) >=
            0)
            zmq_msg_send(&item->body, self->socket, ZMQ_DONTWAIT);
        zmq_msg_close(&item->body);
        crn_ring_push(&self->empty, item);
        crn_pulse_done(self->pulse);
    }
}

/* Handles everything from libzmq and the line for this thread;
 * returns true if more may be pending. */
static bool serve(crn_viewers *self)
{
    uint64_t count;
    if (read(self->wake, &count, sizeof count) < 0 && errno != EAGAIN && errno != EINTR)
        crn_log(CRN_LOG_ERROR, "publish.viewers: cannot read its eventfd: %s", strerror(errno));
    /* Connections after their subscriptions, so that no reader of the counters
     * sees a subscription without its viewer. */
    bool more = read_subscriptions(self);
    more |= read_events(self);
    atomic_store_explicit(&self->viewers_now, self->viewers, memory_order_relaxed);
    atomic_store_explicit(&self->seen_now, self->seen, memory_order_release);
    send_queued(self);
    crn_endpoint_report(self->endpoint);
    /* The edge-triggered descriptor signals nothing that is still queued. */
    return crn_endpoint_process(self->endpoint) || more;
}

static void *run_viewers(void *argument)
{
    crn_viewers *self = argument;
    prctl(PR_SET_NAME, "viewers", 0, 0, 0);
    crn_priority_lower(); /* libzmq's threads of this context inherit it */
    self->status = bind_socket(self, &self->error);
    bool bound = self->status == 0;
    sem_post(&self->opened);
    if (!bound)
        return NULL;
    int descriptors[2];
    crn_endpoint_descriptors(self->endpoint, descriptors);
    struct pollfd polled[] = {
        {descriptors[0], POLLIN, 0}, {descriptors[1], POLLIN, 0}, {self->wake, POLLIN, 0}};
    while (!atomic_load_explicit(&self->stop, memory_order_acquire))
        if (!serve(self)) {
            crn_endpoint_busy(self->endpoint, 0);
            (void)poll(polled, 3, -1);
            crn_endpoint_busy(self->endpoint, crn_now_ns());
        }
    send_queued(self);
    return NULL;
}

static int start(crn_viewers *self, int64_t capacity)
{
    sem_init(&self->opened, 0, 0);
    self->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->wake < 0)
        return -errno;
    self->items = calloc((size_t)capacity, sizeof *self->items);
    self->pulse = crn_pulse_create();
    self->capacity = self->unread_max / SHARED_BYTES_MIN;
    self->bodies = calloc(self->capacity, sizeof *self->bodies);
    if (!self->items || !self->pulse || !self->bodies)
        return -ENOMEM;
    int r = crn_ring_init(&self->full, (uint32_t)capacity);
    if (r == 0)
        r = crn_ring_init(&self->empty, (uint32_t)capacity);
    for (int64_t i = 0; i < capacity && r == 0; i++)
        r = crn_ring_push(&self->empty, &self->items[i]);
    if (r == 0)
        r = crn_thread_start(&self->thread, run_viewers, self);
    self->started = r == 0;
    if (r == 0)
        crn_watchdog_add(self->pulse, CRN_PULSE_APART, "viewers");
    return r;
}

int crn_viewers_open(const crn_config *config, crn_viewers **ret_viewers, crn_error *error)
{
    crn_viewers *self = calloc(1, sizeof *self);
    if (!self)
        return crn_error_set(error, -ENOMEM, KEY ": no memory");
    self->config = config;
    self->unread_max = (uint64_t)config->limits.viewers_mib << 20;
    int r = start(self, config->publish.viewers.high_water_mark);
    if (r < 0) {
        crn_error_set(error, r, KEY ": cannot start its thread: %s", strerror(-r));
    } else {
        while (sem_wait(&self->opened) != 0)
            continue; /* EINTR */
        r = self->status;
        if (r < 0)
            *error = self->error;
    }
    if (r < 0) {
        crn_viewers_close(&self, 0);
        return r;
    }
    *ret_viewers = self;
    return 0;
}

static void wake_thread(crn_viewers *self)
{
    uint64_t one = 1;
    /* The counter cannot overflow, so the write cannot fail. */
    if (write(self->wake, &one, sizeof one) < 0)
        return;
}

void crn_viewers_close(crn_viewers **viewers, int linger_ms)
{
    if (!viewers || !*viewers)
        return;
    crn_viewers *self = *viewers;
    if (self->started) {
        crn_watchdog_remove(self->pulse);
        atomic_store_explicit(&self->stop, true, memory_order_release);
        wake_thread(self);
        pthread_join(self->thread, NULL);
    }
    crn_endpoint_close(&self->endpoint, linger_ms);
    crn_zap_close(&self->zap);
    if (self->zmq)
        zmq_ctx_term(self->zmq);
    if (self->wake >= 0)
        close(self->wake);
    sem_destroy(&self->opened);
    crn_ring_done(&self->full);
    crn_ring_done(&self->empty);
    free(self->items);
    free(self->bodies);
    free(self->pulse);
    free(self);
    *viewers = NULL;
}

bool crn_viewers_wanted(const crn_viewers *viewers)
{
    /* Subscriptions cannot be counted: libzmq also reports the end of
     * subscriptions that were never reported. */
    return crn_endpoint_introduced(viewers->endpoint) > 0;
}

/* libzmq calls it when the last viewer has the message, or is gone. */
static void free_shared(void *bytes, void *hint)
{
    (void)bytes;
    shared_body *shared = hint;
    crn_viewers *viewers = shared->viewers;
    atomic_fetch_sub_explicit(&viewers->unread, zmq_msg_size(&shared->body), memory_order_relaxed);
    zmq_msg_close(&shared->body);
    shared->next = atomic_load_explicit(&viewers->returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&viewers->returned, &shared->next, shared,
                                                  memory_order_release, memory_order_relaxed))
        continue;
}

/* NULL: too many wait. */
static shared_body *acquire_shared(crn_viewers *viewers)
{
    if (!viewers->spare)
        viewers->spare = atomic_exchange_explicit(&viewers->returned, NULL, memory_order_acquire);
    shared_body *shared = viewers->spare;
    if (shared)
        viewers->spare = shared->next;
    else if (viewers->fresh < viewers->capacity)
        shared = &viewers->bodies[viewers->fresh++];
    return shared;
}

/* Makes of the body a message that counts as unread until libzmq frees it. */
static int share(crn_viewers *viewers, zmq_msg_t *body, zmq_msg_t *ret_message)
{
    size_t size = zmq_msg_size(body);
    uint64_t unread = atomic_load_explicit(&viewers->unread, memory_order_relaxed);
    /* One alone may be larger. */
    if (unread > 0 && unread + size > viewers->unread_max)
        return -ENOBUFS;
    shared_body *shared = acquire_shared(viewers);
    if (!shared)
        return -ENOBUFS;
    shared->viewers = viewers;
    zmq_msg_init(&shared->body);
    zmq_msg_move(&shared->body, body);
    atomic_fetch_add_explicit(&viewers->unread, size, memory_order_relaxed);
    if (zmq_msg_init_data(ret_message, zmq_msg_data(&shared->body), size, free_shared, shared) == 0)
        return 0;
    free_shared(NULL, shared);
    return -ENOMEM;
}

void crn_viewers_send(crn_viewers *viewers, const char *topic, zmq_msg_t *body)
{
    queued *item = crn_ring_pop(&viewers->empty);
    if (!item || share(viewers, body, &item->body) < 0) {
        if (item)
            crn_ring_push(&viewers->empty, item);
        viewers->dropped++;
        zmq_msg_close(body);
        zmq_msg_init(body);
        return;
    }
    snprintf(item->topic, sizeof item->topic, "%s", topic);
    crn_pulse_given(viewers->pulse);
    crn_ring_push(&viewers->full, item);
    wake_thread(viewers);
}

void crn_viewers_get_stats(const crn_viewers *viewers, crn_viewers_stats *ret_stats)
{
    *ret_stats = (crn_viewers_stats){
        .subscriptions = atomic_load_explicit(&viewers->seen_now, memory_order_acquire),
        .viewers = atomic_load_explicit(&viewers->viewers_now, memory_order_relaxed),
        .refused = atomic_load_explicit(&viewers->refused, memory_order_relaxed),
        .dropped = viewers->dropped,
        .unread_bytes = atomic_load_explicit(&viewers->unread, memory_order_relaxed),
        .quiet_ns = crn_pulse_quiet_ns(viewers->pulse),
    };
    crn_endpoint_get_cut(viewers->endpoint, &ret_stats->peers);
}

const char *crn_viewers_endpoint(const crn_viewers *viewers)
{
    return crn_endpoint_bound(viewers->endpoint, 0);
}
