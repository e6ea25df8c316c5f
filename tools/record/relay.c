#include "tools/record/relay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/client/handshake.h"
#include "src/ingest/access/zap.h"
#include "src/ingest/socket/senders.h"
#include "src/formats/view/wire.h"
#include "tools/common/signals.h"
#include "stages/base/buffer/text.h"

#define LINGER_MS 500
#define MIB(n)    ((uint64_t)(n) << 20)

/* Messages that wait for each sender, and for the line: as many, but not much more memory. */
#define WAITING_MAX   16
#define WAITING_MIN   2
#define WAITING_BYTES MIB(64)

/* How often connections are looked at while no message passes. */
#define LOOK_MS 1000

#define REPORT_NS (60 * CRN_NS_PER_S)

/* Events of connections read at once, so that a storm of them cannot stop the flow. */
#define EVENTS_AT_ONCE 256

/* Threads, libzmq and the library itself; measured without a message: 9 MiB. */
#define OWN_BYTES MIB(32)

/* A message being forwarded. */
typedef struct passed_message {
    zmq_msg_t kept[CRN_SENDERS_PARTS_MAX];
    crn_wire_part parts[CRN_WIRE_PARTS_MAX];
    size_t count; /* of all parts, those that are not kept included */
    uint64_t bytes, arrived_ns;
} passed_message;

struct crn_relay {
    const crn_relay_plan *plan;
    void *zmq, *out;
    crn_handshake handshake; /* of `out` */
    const char *told;        /* of its faults the last that was logged */
    crn_access *access;
    crn_zap *zap;
    crn_endpoint *in;
    crn_recorder *recorder;
    int signals;
    bool stopped;
    int64_t senders; /* connected now */
    crn_relay_stats stats, reported;
    int64_t report_ns;
    crn_log_gate not_views_gate, too_large_gate;
    passed_message message;
};

static int64_t waiting_of(const crn_relay_plan *plan)
{
    int64_t fit = (int64_t)(WAITING_BYTES / MIB(plan->view_mib));
    return fit > WAITING_MAX ? WAITING_MAX : fit < WAITING_MIN ? WAITING_MIN : fit;
}

static crn_senders_limits limits_of(const crn_relay_plan *plan, crn_access *guard)
{
    return (crn_senders_limits){
        .connections = plan->peers,
        .peer_bytes = MIB(plan->peer_mib),
        .view_bytes = MIB(plan->view_mib),
        .waiting = waiting_of(plan),
        .unread_count = true, /* while the line takes nothing, nothing is read here */
        .guard = guard,
    };
}

/* The largest message that is passed on: a line refuses or cuts what is larger. */
static uint64_t message_bytes_max(const crn_relay_plan *plan)
{
    return CRN_SENDERS_PART_SHARE * MIB(plan->view_mib);
}

uint64_t crn_relay_bytes(const crn_relay_plan *plan)
{
    crn_senders_limits limits = limits_of(plan, NULL);
    uint64_t to_line = plan->to ? (uint64_t)waiting_of(plan) * message_bytes_max(plan) : 0;
    return crn_senders_bytes(&limits) + to_line + plan->queue_bytes + OWN_BYTES;
}

/* --- between messages --- */

void crn_relay_cuts_text(const crn_peers_stats *now, const crn_peers_stats *before,
                         char text[CRN_RELAY_CUTS_BYTES])
{
    crn_text line = crn_text_in(text, CRN_RELAY_CUTS_BYTES);
    for (int reason = 0; reason < CRN_CUTS; reason++)
        if (now->cut[reason] > before->cut[reason])
            crn_text_add(&line, " %s=%" PRIu64, crn_peers_cut_names[reason],
                         now->cut[reason] - before->cut[reason]);
}

/* Reads all connection events: libzmq queues them without limit. */
static void read_events(crn_relay *r)
{
    crn_endpoint_event_kind kind;
    for (int reads = 0; reads < EVENTS_AT_ONCE && crn_endpoint_event(r->in, &kind); reads++)
        r->senders += kind == CRN_ENDPOINT_CONNECTED      ? 1
                      : kind == CRN_ENDPOINT_DISCONNECTED ? -1
                                                          : 0;
}

static void update_stats(crn_relay *r)
{
    r->stats.recorder = crn_recorder_get_stats(r->recorder);
    crn_endpoint_get_cut(r->in, &r->stats.peers);
}

/* The lines of each minute in which something happened. */
static void report(crn_relay *r, int64_t now_ns)
{
    char cuts[CRN_RELAY_CUTS_BYTES];
    if (now_ns < r->report_ns)
        return;
    r->report_ns = now_ns + REPORT_NS;
    update_stats(r);
    const crn_relay_stats *now = &r->stats, *then = &r->reported;
    if (now->messages > then->messages)
        crn_log(CRN_LOG_INFO,
                "the last minute: %" PRIu64 " messages, %" PRIu64 " passed on, %" PRIu64
                " views recorded; %" PRId64 " senders connected",
                now->messages - then->messages, now->passed_on - then->passed_on,
                now->recorder.written - then->recorder.written, r->senders);
    uint64_t full = now->recorder.dropped - then->recorder.dropped;
    uint64_t refused = now->recorder.failed - then->recorder.failed;
    uint64_t not_views = now->not_views - then->not_views;
    uint64_t too_large = now->too_large - then->too_large;
    crn_relay_cuts_text(&now->peers, &then->peers, cuts);
    if (full + refused + not_views + too_large > 0 || cuts[0])
        crn_log(CRN_LOG_WARNING,
                "the last minute, not recorded: %" PRIu64 " queue full, %" PRIu64
                " disk refused, %" PRIu64 " no views, %" PRIu64 " too large; disconnected:%s",
                full, refused, not_views, too_large, cuts[0] ? cuts : " none");
    r->reported = *now;
}

/* Logs, once, why the line does not let the recorder in. */
static void tell_refusal(crn_relay *r)
{
    const char *fault = crn_handshake_fault(&r->handshake);
    if (fault && fault != r->told)
        crn_log(CRN_LOG_ERROR, "--to %s: %s", r->plan->to, fault);
    r->told = fault;
}

/* Waits until a socket is ready (true) or the program is to stop (false). */
static bool await(crn_relay *r, void *socket, short events)
{
    int descriptors[2];
    crn_endpoint_descriptors(r->in, descriptors);
    zmq_pollitem_t items[3] = {{.socket = socket, .events = events},
                               {.fd = r->signals, .events = ZMQ_POLLIN},
                               {.fd = descriptors[1], .events = ZMQ_POLLIN}};
    while (!r->stopped && !items[0].revents) {
        read_events(r);
        crn_endpoint_report(r->in);
        tell_refusal(r);
        report(r, crn_now_ns());
        if (zmq_poll(items, 3, LOOK_MS) >= 0 && items[1].revents)
            r->stopped = true;
    }
    return !r->stopped;
}

/* --- one message --- */

/* Reads a whole message: libzmq has all of its parts, or none. False: there is none. */
static bool read_message(crn_relay *r, passed_message *m)
{
    uint64_t cost = 0;
    bool more = true;
    m->count = m->bytes = 0;
    while (more) {
        zmq_msg_t surplus, *part = m->count < CRN_SENDERS_PARTS_MAX ? &m->kept[m->count] : &surplus;
        zmq_msg_init(part);
        int got;
        while ((got = zmq_msg_recv(part, crn_endpoint_socket(r->in), ZMQ_DONTWAIT)) < 0 &&
               errno == EINTR)
            continue;
        if (got < 0) {
            zmq_msg_close(part);
            return false;
        }
        m->arrived_ns = m->count ? m->arrived_ns : (uint64_t)crn_realtime_ns();
        more = zmq_msg_more(part);
        m->bytes += zmq_msg_size(part);
        cost += crn_frames_part_cost(zmq_msg_size(part));
        if (m->count < CRN_WIRE_PARTS_MAX)
            m->parts[m->count] = (crn_wire_part){zmq_msg_data(part), zmq_msg_size(part)};
        m->count++;
        if (!more)
            crn_endpoint_read(r->in, zmq_msg_get(part, ZMQ_SRCFD), cost);
        if (part == &surplus)
            zmq_msg_close(part);
    }
    return true;
}

/* Forwards one part, shared, not copied. Only the first part of a message can block. */
static bool pass_part(crn_relay *r, zmq_msg_t *kept, bool more)
{
    zmq_msg_t part;
    zmq_msg_init(&part);
    zmq_msg_copy(&part, kept);
    bool sent;
    while (!(sent = zmq_msg_send(&part, r->out, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0)) {
        if ((errno != EAGAIN && errno != EINTR) || !await(r, r->out, ZMQ_POLLOUT))
            break;
    }
    zmq_msg_close(&part);
    return sent;
}

static void pass(crn_relay *r, passed_message *m)
{
    bool delivered = r->out != NULL;
    for (size_t i = 0; i < m->count && delivered; i++)
        delivered = pass_part(r, &m->kept[i], i + 1 < m->count);
    r->stats.passed_on += delivered;
}

static void record(crn_relay *r, const passed_message *m)
{
    static const crn_wire_rules anything = {.max_bytes = UINT64_MAX};
    crn_recorded_view view = {.arrived_ns = m->arrived_ns};
    crn_wire_fault fault = crn_wire_check(m->parts, m->count, &anything, &view.header);
    if (!fault) {
        view.maps = m->parts[1].bytes;
        view.intensity = m->count == 3 ? m->parts[2].bytes : NULL;
        crn_recorder_offer(r->recorder, &view);
        return;
    }
    r->stats.not_views++;
    if (crn_log_gate_open(&r->not_views_gate, crn_now_ns()))
        crn_log(CRN_LOG_WARNING,
                "%s: a message is not a view and was not recorded: %s; %" PRIu64 " so far",
                r->plan->from, crn_wire_fault_hints[fault], r->stats.not_views);
}

static void relay_message(crn_relay *r, passed_message *m)
{
    r->stats.messages++;
    if (m->bytes <= message_bytes_max(r->plan) && m->count <= CRN_SENDERS_PARTS_MAX) {
        pass(r, m);
        record(r, m);
    } else {
        r->stats.too_large++;
        if (crn_log_gate_open(&r->too_large_gate, crn_now_ns()))
            crn_log(CRN_LOG_WARNING,
                    "%s: a message of %" PRIu64 " MiB in %zu parts was neither passed on nor "
                    "recorded: a view has at most --view-mib, %" PRId64 " MiB; raise it with "
                    "limits.view_mib of the line, or find the program that sends it; %" PRIu64
                    " so far",
                    r->plan->from, m->bytes >> 20, m->count, r->plan->view_mib, r->stats.too_large);
    }
    for (size_t i = 0; i < m->count && i < CRN_SENDERS_PARTS_MAX; i++)
        zmq_msg_close(&m->kept[i]);
}

void crn_relay_run(crn_relay *r)
{
    r->report_ns = crn_now_ns() + REPORT_NS;
    while (!r->stopped) {
        /* Reads no message before the line can take it:
         * senders see its back-pressure as without this proxy. */
        if (r->out && !await(r, r->out, ZMQ_POLLOUT))
            continue;
        if (await(r, crn_endpoint_socket(r->in), ZMQ_POLLIN) && read_message(r, &r->message))
            relay_message(r, &r->message);
    }
}

/* --- begin and end --- */

static int open_out(crn_relay *r, crn_error *error)
{
    int mark = (int)waiting_of(r->plan), yes = 1, linger_ms = LINGER_MS;
    if (!r->plan->to)
        return 0;
    r->out = zmq_socket(r->zmq, ZMQ_PUSH);
    if (!r->out)
        return crn_error_set(error, -errno, "no socket: %s", zmq_strerror(errno));
    zmq_setsockopt(r->out, ZMQ_SNDHWM, &mark, sizeof mark);
    zmq_setsockopt(r->out, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_setsockopt(r->out, ZMQ_IMMEDIATE, &yes, sizeof yes); /* queue only for a connected line */
    crn_error fault;
    int result = crn_handshake_watch(&r->handshake, r->zmq, r->out, &r->plan->client, &fault);
    if (result == 0)
        result = crn_client_connect(r->out, r->plan->to, &r->plan->client, &fault);
    return result < 0 ? crn_error_set(error, result, "--to %s: %s", r->plan->to, fault.text) : 0;
}

static int open_in(crn_relay *r, crn_error *error)
{
    int result = crn_endpoint_open(r->zmq, ZMQ_PULL, "--from", &r->in, error);
    if (result)
        return result;
    crn_senders_limits limits = limits_of(r->plan, r->plan->keys ? r->access : NULL);
    /* No heartbeats: while the line is busy nothing is read here, including heartbeat answers, and
     * libzmq would disconnect the sender and drop all its messages. */
    if (crn_senders_limit(r->in, &limits) || crn_endpoint_set(r->in, ZMQ_HEARTBEAT_IVL, 0))
        return crn_error_set(error, -EINVAL, "--from %s: socket refused", r->plan->from);
    return crn_endpoint_bind(r->in, r->plan->from, error);
}

int crn_relay_open(const crn_relay_plan *plan, crn_relay **ret_relay, crn_error *error)
{
    crn_relay *r = calloc(1, sizeof *r);
    if (!r)
        return crn_error_set(error, -ENOMEM, "no memory");
    *ret_relay = r;
    r->plan = plan;
    r->signals = crn_signals_catch();
    if (r->signals < 0)
        return crn_error_set(error, -errno, "cannot wait for signals: %s", strerror(errno));
    int result = crn_client_context(&r->zmq, error);
    if (result < 0)
        return result;
    crn_recorder_settings settings = {.dir = plan->dir,
                                      .segment_bytes = plan->segment_bytes,
                                      .queue_bytes = plan->queue_bytes,
                                      .classes = plan->classes};
    result = crn_recorder_open(&settings, &r->recorder, error);
    if (!result)
        result = crn_access_open(plan->keys ? plan->keys : "", true, &r->access, error);
    if (!result)
        result = crn_zap_open(r->zmq, r->access, &r->zap, error);
    if (!result)
        result = open_out(r, error);
    return result ? result : open_in(r, error);
}

void crn_relay_close(crn_relay **relay, crn_relay_stats *ret_stats)
{
    crn_relay *r = *relay;
    *ret_stats = (crn_relay_stats){0};
    if (!r)
        return;
    if (r->in && r->recorder)
        update_stats(r);
    crn_endpoint_close(&r->in, 0);
    crn_handshake_close(&r->handshake);
    if (r->out)
        zmq_close(r->out);
    crn_zap_close(&r->zap);
    if (r->zmq)
        zmq_ctx_term(r->zmq);
    crn_access_close(&r->access);
    if (r->recorder) {
        crn_recorder_finish(r->recorder);
        r->stats.recorder = crn_recorder_get_stats(r->recorder);
    }
    crn_recorder_close(&r->recorder);
    *ret_stats = r->stats;
    free(r);
    *relay = NULL;
}
