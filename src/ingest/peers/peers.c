#include "src/ingest/peers/peers.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/ingest/peers/calls.h"
#include "src/ingest/peers/internal.h"

/* Connections on descriptors from here on are rejected. */
#define DESCRIPTORS_MAX 65536

/*
 * A peer that has sent nothing for this long may be replaced by a new connection. This bounds the
 * rate at which a flood of connections is admitted; the rest of it costs an accept and a close
 * each.
 */
#define SILENT_NS CRN_NS_PER_S

/* A socket whose thread has worked for this long gets no new connections until it has caught up. */
#define BUSY_NS (100 * CRN_NS_PER_MS)

/* libzmq closes a connection by itself if a heartbeat gets no answer (endpoint.c: every second, for
 * 5 s). Peers that answer are never silent for this long. */
#define UNANSWERED_NS (4 * CRN_NS_PER_S)

/* By descriptor: libzmq's listeners and its connections. */
static _Atomic(crn_peers *) listeners[DESCRIPTORS_MAX];
static atomic_bool sealed_listeners[DESCRIPTORS_MAX];
static _Atomic(crn_peers_peer *) by_descriptor[DESCRIPTORS_MAX];

static crn_peers_peer *find(int descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTORS_MAX ? atomic_load(&by_descriptor[descriptor])
                                                           : NULL;
}

static crn_peers *owner_of(int listener)
{
    return listener < DESCRIPTORS_MAX ? atomic_load(&listeners[listener]) : NULL;
}

static atomic_uint_fast64_t numbers; /* of connections that require keys */

static _Thread_local crn_peers *binding;
static _Thread_local bool binding_sealed;

crn_peers *crn_peers_create(const char *key, const crn_peers_rules *rules)
{
    int32_t capacity = rules->connections + CRN_PEERS_CLOSING_MAX;
    crn_peers *peers = calloc(1, sizeof *peers + (size_t)capacity * sizeof peers->peer[0]);
    if (!peers || crn_socket_calls_init() < 0) {
        free(peers);
        return NULL;
    }
    snprintf(peers->key, sizeof peers->key, "%s", key);
    peers->rules = *rules;
    atomic_init(&peers->uses, 1);
    pthread_mutex_init(&peers->lock, NULL);
    for (int32_t i = 0; i < capacity; i++) {
        peers->peer[i] = (crn_peers_peer){.peers = peers, .descriptor = -1, .next = peers->free};
        peers->free = &peers->peer[i];
    }
    return peers;
}

static void release_peers(crn_peers *peers)
{
    if (atomic_fetch_sub(&peers->uses, 1) > 1)
        return;
    pthread_mutex_destroy(&peers->lock);
    free(peers);
}

void crn_peers_free(crn_peers **peers)
{
    if (*peers)
        release_peers(*peers);
    *peers = NULL;
}

void crn_peers_begin_bind(crn_peers *peers, bool sealed)
{
    binding = peers;
    binding_sealed = sealed;
}

void crn_peers_end_bind(void)
{
    binding = NULL;
}

int32_t crn_peers_capacity(const crn_peers *peers)
{
    return peers->rules.connections + CRN_PEERS_CLOSING_MAX;
}

void crn_peers_report(crn_peers *peers)
{
    unsigned reported = atomic_load_explicit(&peers->reported, memory_order_relaxed);
    while (reported != atomic_load_explicit(&peers->noted, memory_order_acquire)) {
        const crn_peers_note *left = &peers->notes[reported % CRN_PEERS_NOTES_MAX];
        uint64_t total = crn_peers_counted(peers, left->reason);
        char hint[CRN_CUT_HINT_BYTES];
        crn_peers_cut_hint(left->reason, peers->key, hint);
        if (crn_log_gate_open(&peers->gate[left->reason], crn_now_ns()))
            crn_log(CRN_LOG_WARNING, "%s: %s was %s (%s, %" PRIu64 " so far): %s", peers->key,
                    left->name, left->reason < CRN_CUTS ? "disconnected" : "refused",
                    crn_peers_cut_names[left->reason], total, hint);
        atomic_store_explicit(&peers->reported, ++reported, memory_order_release);
    }
}

void crn_peers_busy(crn_peers *peers, int64_t since_ns)
{
    atomic_store_explicit(&peers->busy_since_ns, since_ns, memory_order_relaxed);
    if (since_ns == 0)
        atomic_store_explicit(&peers->caught_up, true, memory_order_relaxed);
}

void crn_peers_get_stats(const crn_peers *peers, crn_peers_stats *ret_stats)
{
    for (int reason = 0; reason < CRN_CUTS; reason++)
        ret_stats->cut[reason] = atomic_load_explicit(&peers->cut[reason], memory_order_relaxed);
}

int32_t crn_peers_introduced(const crn_peers *peers)
{
    return atomic_load_explicit(&peers->introduced, memory_order_relaxed);
}

void crn_peers_read(crn_peers *peers, int descriptor, uint64_t cost)
{
    crn_peers_peer *it = find(descriptor);
    /* Its sender may have left, and the descriptor be another's by now. */
    if (it && it->peers == peers)
        atomic_fetch_add_explicit(&it->read_cost, cost, memory_order_relaxed);
}

/* --- libzmq's I/O threads --- */

void crn_peers_listened(int listener)
{
    if (!binding || listener < 0 || listener >= DESCRIPTORS_MAX)
        return;
    atomic_fetch_add(&binding->uses, 1);
    atomic_store(&sealed_listeners[listener], binding_sealed);
    atomic_store(&listeners[listener], binding);
}

/* Oldest connection, at least SILENT_NS old, that has not completed its handshake; if the rules
 * allow, otherwise one that has sent nothing since. NULL: all are active. */
static crn_peers_peer *find_silent(crn_peers *peers, int64_t now_ns)
{
    crn_peers_peer *found = NULL;
    for (int32_t i = 0; i < crn_peers_capacity(peers); i++) {
        crn_peers_peer *it = &peers->peer[i];
        bool silent =
            !it->frames.introduced ||
            (peers->rules.silent_yield && it->frames.messages == 0 && it->frames.held_bytes == 0);
        if (it->descriptor < 0 || it->cut || !silent || now_ns - it->accepted_ns < SILENT_NS)
            continue;
        if (!found || (found->frames.introduced && !it->frames.introduced) ||
            (found->frames.introduced == it->frames.introduced &&
             it->accepted_ns < found->accepted_ns))
            found = it;
    }
    return found;
}

/* Takes a record for a new connection, or returns NULL if full. Call with the lock held. */
static crn_peers_peer *acquire_peer(crn_peers *peers, int64_t now_ns)
{
    if (peers->connections - peers->cut_connections >= peers->rules.connections) {
        crn_peers_peer *silent = peers->free ? find_silent(peers, now_ns) : NULL;
        if (!silent)
            return NULL;
        crn_peers_cut_off(silent, CRN_CUT_CONNECTIONS);
    }
    crn_peers_peer *acquired = peers->free;
    if (acquired)
        peers->free = acquired->next;
    return acquired;
}

bool crn_peers_listens(int listener)
{
    return owner_of(listener);
}

/* Why a new connection is rejected; CRN_CUTS: it is not. Call with the lock held. */
static crn_peers_cut find_rejection(const crn_peers *peers, int connection, bool sealed,
                                    uint32_t origin, int64_t now_ns)
{
    int64_t busy_ns = atomic_load_explicit(&peers->busy_since_ns, memory_order_relaxed);
    if (busy_ns > 0 && now_ns - busy_ns > BUSY_NS)
        return CRN_CUT_BUSY;
    if (connection >= DESCRIPTORS_MAX)
        return CRN_CUT_CONNECTIONS;
    return sealed && !crn_attempts_allowed(&peers->attempts, origin, now_ns) ? CRN_REFUSED_ATTEMPTS
                                                                             : CRN_CUTS;
}

static void begin_connection(crn_peers *peers, crn_peers_peer *it, int connection, bool sealed,
                             uint32_t origin, int64_t now_ns)
{
    peers->connections++;
    it->descriptor = connection;
    it->cut = false;
    it->accepted_ns = it->received_ns = it->forgiven_ns = now_ns;
    it->origin = origin;
    atomic_store_explicit(&it->behind_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&it->blocked_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&it->read_cost, 0, memory_order_relaxed);
    atomic_store_explicit(&it->number, sealed ? atomic_fetch_add(&numbers, 1) + 1 : 0,
                          memory_order_relaxed);
    it->key[0] = '\0';
    if (sealed)
        crn_frames_begin_sealed(&it->frames);
    else
        crn_frames_begin(&it->frames);
    atomic_fetch_add(&peers->uses, 1);
}

bool crn_peers_accepted(int listener, int connection)
{
    crn_peers *peers = owner_of(listener);
    if (!peers)
        return true;
    bool sealed = atomic_load(&sealed_listeners[listener]);
    uint32_t origin = sealed ? crn_attempts_origin(connection) : 0;
    int64_t now_ns = crn_now_ns();
    pthread_mutex_lock(&peers->lock);
    crn_peers_cut rejected = find_rejection(peers, connection, sealed, origin, now_ns);
    crn_peers_peer *it = rejected == CRN_CUTS ? acquire_peer(peers, now_ns) : NULL;
    if (it)
        begin_connection(peers, it, connection, sealed, origin, now_ns);
    else
        crn_peers_count(peers, rejected == CRN_CUTS ? CRN_CUT_CONNECTIONS : rejected, connection);
    pthread_mutex_unlock(&peers->lock);
    if (it)
        atomic_store(&by_descriptor[connection], it);
    return it != NULL;
}

uint64_t crn_peers_number(int descriptor)
{
    const crn_peers_peer *it = find(descriptor);
    return it ? atomic_load_explicit(&it->number, memory_order_relaxed) : 0;
}

void crn_peers_unaccepted(int listener)
{
    crn_peers *peers = owner_of(listener);
    if (!peers)
        return;
    pthread_mutex_lock(&peers->lock);
    crn_peers_count(peers, CRN_CUT_DESCRIPTORS, -1);
    pthread_mutex_unlock(&peers->lock);
}

static size_t follow(crn_peers *peers, crn_peers_peer *it, const void *bytes, size_t size)
{
    static const crn_peers_cut reasons[CRN_FRAMES_FAULTS] = {
        [CRN_FRAMES_PART] = CRN_CUT_PART,         [CRN_FRAMES_PARTS] = CRN_CUT_PARTS,
        [CRN_FRAMES_BYTES] = CRN_CUT_BYTES,       [CRN_FRAMES_TOTAL] = CRN_CUT_TOTAL,
        [CRN_FRAMES_GREETING] = CRN_CUT_GREETING, [CRN_FRAMES_COMMAND] = CRN_CUT_COMMAND,
        [CRN_FRAMES_PLAIN] = CRN_REFUSED_PLAIN,
    };
    if (it->cut)
        return 0;
    /* For every piece of a few kilobytes: what it decides needs no more than a tick. */
    int64_t now_ns = crn_tick_ns();
    it->received_ns = now_ns;
    bool progress = crn_peers_subtract_read(it, now_ns);
    uint64_t before = it->frames.held_bytes, messages = it->frames.messages;
    uint64_t kept_before = it->frames.total;
    bool introduced = it->frames.introduced;
    crn_frames_fault fault = crn_frames_follow(&it->frames, &peers->rules.frames, bytes, size);
    progress |= !it->frames.sealed && messages != it->frames.messages;
    if (it->frames.held_bytes > 0 && (before == 0 || progress))
        it->begun_ns = now_ns;
    peers->unfinished += it->frames.held_bytes - before;
    peers->kept += it->frames.total - kept_before;
    if (it->frames.introduced && !introduced)
        atomic_fetch_add_explicit(&peers->introduced, 1, memory_order_relaxed);
    if (fault) {
        crn_peers_cut_off(it, reasons[fault]);
        /* Messages complete before the fault still count, unless the peer may send none at all. */
        return peers->rules.frames.parts > 0 ? it->frames.whole_bytes : 0;
    }
    crn_peers_limit_senders(peers, it, it->frames.total > kept_before, now_ns);
    if (crn_peers_readers_are_due(peers, now_ns)) /* they answer heartbeats once a second */
        crn_peers_limit_readers(peers, now_ns);
    return it->cut ? 0 : size;
}

size_t crn_peers_received(int connection, const void *bytes, size_t size)
{
    crn_peers_peer *it = find(connection);
    if (!it)
        return size;
    pthread_mutex_lock(&it->peers->lock);
    size_t seen = follow(it->peers, it, bytes, size);
    pthread_mutex_unlock(&it->peers->lock);
    return seen;
}

/* The connection of this descriptor, if its owner limits what waits for readers. */
static crn_peers_peer *find_reader(int connection)
{
    crn_peers_peer *it = find(connection);
    return it && it->peers->rules.unread ? it : NULL;
}

void crn_peers_polled(int connection, bool for_output)
{
    crn_peers_peer *it = find_reader(connection);
    if (it && for_output != (atomic_load_explicit(&it->behind_ns, memory_order_relaxed) > 0))
        atomic_store_explicit(&it->behind_ns, for_output ? crn_tick_ns() : 0, memory_order_relaxed);
}

void crn_peers_sent(int connection, size_t size, int64_t sent)
{
    crn_peers_peer *it = find_reader(connection);
    if (!it)
        return;
    crn_peers *peers = it->peers;
    int64_t now_ns = crn_tick_ns();
    bool blocked = sent < (int64_t)size;
    if (sent > 0 || !blocked || atomic_load_explicit(&it->blocked_ns, memory_order_relaxed) == 0)
        atomic_store_explicit(&it->blocked_ns, blocked ? now_ns : 0, memory_order_relaxed);
    if (!crn_peers_readers_are_due(peers, now_ns))
        return;
    pthread_mutex_lock(&peers->lock);
    crn_peers_limit_readers(peers, now_ns);
    pthread_mutex_unlock(&peers->lock);
}

/* A sealed connection ends: did it fail its handshake? One that sent both commands of it may have
 * been refused for its key, which the ZAP handler counts, or just had nothing to send. */
static void end_handshake(crn_peers *peers, const crn_peers_peer *it)
{
    if (!it->frames.sealed || it->frames.introduced)
        return;
    /* A connection that was cut at its greeting cost no arithmetic. */
    if (it->frames.handshake > 0 || !it->cut)
        crn_attempts_failed(&peers->attempts, it->origin, crn_now_ns());
    if (it->frames.handshake < 2 && !it->cut)
        crn_peers_count(peers, CRN_REFUSED_HANDSHAKE, it->descriptor);
}

static void end_connection(crn_peers_peer *it)
{
    crn_peers *peers = it->peers;
    pthread_mutex_lock(&peers->lock);
    if (it->frames.introduced && !it->cut && crn_now_ns() - it->received_ns > UNANSWERED_NS)
        crn_peers_count(peers, CRN_CUT_SILENT, it->descriptor);
    end_handshake(peers, it);
    peers->connections--;
    peers->cut_connections -= it->cut;
    if (it->cut)
        peers->cut_closed_ns = crn_now_ns();
    crn_peers_subtract(it);
    if (it->frames.introduced)
        atomic_fetch_sub_explicit(&peers->introduced, 1, memory_order_relaxed);
    it->descriptor = -1;
    it->next = peers->free;
    peers->free = it;
    pthread_mutex_unlock(&peers->lock);
    release_peers(peers);
}

void crn_peers_closing(int descriptor)
{
    if (descriptor < 0 || descriptor >= DESCRIPTORS_MAX)
        return;
    /* Relaxed first check: almost every descriptor of the process is neither. */
    if (atomic_load_explicit(&by_descriptor[descriptor], memory_order_relaxed)) {
        crn_peers_peer *it = atomic_exchange(&by_descriptor[descriptor], NULL);
        if (it)
            end_connection(it);
    }
    if (atomic_load_explicit(&listeners[descriptor], memory_order_relaxed)) {
        crn_peers *peers = atomic_exchange(&listeners[descriptor], NULL);
        if (peers)
            release_peers(peers);
    }
}
