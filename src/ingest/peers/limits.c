#include "src/ingest/peers/internal.h"

#include <sys/socket.h>

#include "stages/base/clock.h"

/*
 * A peer that reads takes something from its connection in this time, however slow it is: it is as
 * long as for an answer to a heartbeat.
 */
#define BLOCKED_NS (5 * CRN_NS_PER_S)

/* Nothing waits for a connection that keeps up at some moment within this time, unless the machine
 * is busy. */
#define BEHIND_NS (CRN_NS_PER_S / 10)

/* The memory of what waited for a connection is free this long after the connection was cut and
 * closed; whether another one must be cut is decided then. */
#define FREED_NS (CRN_NS_PER_S / 10)

/* Sealed connections: one part of a heartbeat's size is free in this time. libzmq sends an answer
 * and at most one heartbeat of its own a second by default. */
#define BEAT_NS (CRN_NS_PER_S / 4)

/* How often connections are looked at if not much waits for them. */
#define LOOK_NS CRN_NS_PER_S

static const crn_access_refusal refusals[CRN_CUTS_AND_REFUSALS] = {
    [CRN_REFUSED_PLAIN] = CRN_ACCESS_PLAIN,
    [CRN_REFUSED_HANDSHAKE] = CRN_ACCESS_MALFORMED,
    [CRN_REFUSED_ATTEMPTS] = CRN_ACCESS_ATTEMPTS,
};

uint64_t crn_peers_counted(const crn_peers *peers, crn_peers_cut reason)
{
    return reason < CRN_CUTS ? atomic_load_explicit(&peers->cut[reason], memory_order_relaxed)
                             : crn_access_counted(peers->rules.refused, refusals[reason]);
}

void crn_peers_count(crn_peers *peers, crn_peers_cut reason, int descriptor)
{
    if (reason < CRN_CUTS)
        atomic_fetch_add_explicit(&peers->cut[reason], 1, memory_order_relaxed);
    else
        crn_access_count(peers->rules.refused, refusals[reason]);
    unsigned noted = atomic_load_explicit(&peers->noted, memory_order_relaxed);
    if (noted - atomic_load_explicit(&peers->reported, memory_order_acquire) == CRN_PEERS_NOTES_MAX)
        return;
    crn_peers_note *left = &peers->notes[noted % CRN_PEERS_NOTES_MAX];
    left->reason = reason;
    crn_peer_describe(descriptor, left->name);
    atomic_store_explicit(&peers->noted, noted + 1, memory_order_release);
}

void crn_peers_subtract(crn_peers_peer *it)
{
    it->peers->unfinished -= it->frames.held_bytes;
    it->peers->kept -= it->frames.total;
    it->peers->left += it->frames.total;
    it->frames.held_bytes = it->frames.total = 0;
}

void crn_peers_cut_off(crn_peers_peer *it, crn_peers_cut reason)
{
    it->cut = true;
    it->peers->cut_connections++;
    crn_peers_subtract(it);
    crn_peers_count(it->peers, reason, it->descriptor);
    shutdown(it->descriptor, SHUT_RDWR);
}

bool crn_peers_subtract_read(crn_peers_peer *it, int64_t now_ns)
{
    if (!it->frames.sealed && it->peers->rules.frames.waiting_bytes == 0)
        return false;
    uint64_t read = atomic_exchange_explicit(&it->read_cost, 0, memory_order_relaxed);
    uint64_t before = it->frames.held_bytes;
    crn_frames_read(&it->frames, read);
    it->peers->unfinished -= before - it->frames.held_bytes;
    int64_t beats = (now_ns - it->forgiven_ns) / BEAT_NS;
    if (beats > 0) {
        crn_frames_forgive(&it->frames, (uint64_t)beats);
        it->forgiven_ns += beats * BEAT_NS;
    }
    return read > 0;
}

/* True if unfinished messages exceed their limit, after what libzmq has read since the last look
 * was subtracted for connections that have sent nothing since. */
static bool is_over(crn_peers *peers, int64_t now_ns)
{
    if (peers->unfinished <= peers->rules.unfinished_bytes)
        return false;
    for (int32_t i = 0; i < crn_peers_capacity(peers); i++)
        if (peers->peer[i].descriptor >= 0 && !peers->peer[i].cut)
            crn_peers_subtract_read(&peers->peer[i], now_ns);
    return peers->unfinished > peers->rules.unfinished_bytes;
}

/* Over the common limit: cuts the peer whose incomplete message has the largest bytes x age. */
static void cut_largest(crn_peers *peers, int64_t now_ns)
{
    crn_peers_peer *found = NULL;
    double max_cost = -1;
    for (int32_t i = 0; i < crn_peers_capacity(peers); i++) {
        crn_peers_peer *it = &peers->peer[i];
        double cost = (double)it->frames.held_bytes * (double)(now_ns - it->begun_ns);
        if (it->descriptor < 0 || it->cut || it->frames.held_bytes == 0 || cost <= max_cost)
            continue;
        found = it;
        max_cost = cost;
    }
    if (found)
        crn_peers_cut_off(found, CRN_CUT_SHARE);
}

/*
 * Over the common limit of what libzmq keeps: cuts the peer that sent most. libzmq keeps what
 * closed connections sent until the socket's thread has processed that; if only this exceeds the
 * limit, cuts the peer that is sending.
 */
static void limit_kept(crn_peers *peers, crn_peers_peer *sending)
{
    if (atomic_exchange_explicit(&peers->caught_up, false, memory_order_relaxed))
        peers->left = 0;
    if (peers->kept + peers->left <= peers->rules.kept_bytes)
        return;
    crn_peers_peer *found = sending;
    for (int32_t i = 0; i < crn_peers_capacity(peers); i++) {
        crn_peers_peer *it = &peers->peer[i];
        if (peers->kept > peers->rules.kept_bytes && it->descriptor >= 0 && !it->cut &&
            it->frames.total > found->frames.total)
            found = it;
    }
    crn_peers_cut_off(found, CRN_CUT_TOTAL);
}

void crn_peers_limit_senders(crn_peers *peers, crn_peers_peer *sending, bool kept, int64_t now_ns)
{
    if (is_over(peers, now_ns))
        cut_largest(peers, now_ns);
    if (peers->rules.kept_bytes > 0 && kept)
        limit_kept(peers, sending);
}

static bool is_much(const crn_peers *peers)
{
    const atomic_uint_fast64_t *unread = peers->rules.unread;
    return atomic_load_explicit(unread, memory_order_relaxed) > peers->rules.unread_bytes;
}

bool crn_peers_readers_are_due(crn_peers *peers, int64_t now_ns)
{
    int64_t last_ns = atomic_load_explicit(&peers->readers_looked_at_ns, memory_order_relaxed);
    return peers->rules.unread && (now_ns - last_ns >= LOOK_NS || is_much(peers));
}

void crn_peers_limit_readers(crn_peers *peers, int64_t now_ns)
{
    crn_peers_peer *found = NULL;
    int64_t since_ns = now_ns - BEHIND_NS;
    atomic_store_explicit(&peers->readers_looked_at_ns, now_ns, memory_order_relaxed);
    for (int32_t i = 0; i < crn_peers_capacity(peers); i++) {
        crn_peers_peer *it = &peers->peer[i];
        int64_t behind_ns = atomic_load_explicit(&it->behind_ns, memory_order_relaxed);
        int64_t blocked_ns = atomic_load_explicit(&it->blocked_ns, memory_order_relaxed);
        if (it->descriptor < 0 || it->cut)
            continue;
        if (blocked_ns > 0 && now_ns - blocked_ns >= BLOCKED_NS) {
            crn_peers_cut_off(it, CRN_CUT_UNREAD);
        } else if (behind_ns > 0 && behind_ns < since_ns) {
            found = it;
            since_ns = behind_ns;
        }
    }
    if (found && is_much(peers) && peers->cut_connections == 0 &&
        now_ns - peers->cut_closed_ns >= FREED_NS)
        crn_peers_cut_off(found, CRN_CUT_UNREAD);
}
