/* cernita-record: a proxy that forwards every message and records the views it recognises. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/standard.h"
#include "src/ingest/access/client.h"
#include "src/ingest/access/zap.h"
#include "src/ingest/socket/endpoint.h"
#include "src/recording/recorder.h"
#include "tools/common/options.h"
#include "tools/common/signals.h"

#define HIGH_WATER_MARK 16
#define LINGER_MS       500

static const crn_option options[] = {
    {"from", "ENDPOINT", "where senders connect: bound here (required)"},
    {"to", "ENDPOINT", "where the line listens; without it the views end here"},
    {"dir", "DIR", "where segments cernita-<UTC start>-<number>.tif are created (required)"},
    {"segment", "MIB", "maximum size of a segment, 1 to 1048576 (2048)"},
    {"queue", "MIB",
     "memory for views that wait for the disk, 1 to 65536 (256); what\n"
     "does not fit is not recorded, and counted"},
    {"keys", "DIR",
     "admit only senders whose keys are in this folder (cernita-keys), as\n"
     "access.keys of a line does, also at ipc"},
    {"plain-tcp", NULL,
     "without --keys: let --from be a tcp address that other machines can\n"
     "reach, as access.plain_tcp of a line does"},
    CRN_OPTION_KEY,
    CRN_OPTION_SERVER_KEY,
    {0},
};
enum {
    OPTION_FROM,
    OPTION_TO,
    OPTION_DIR,
    OPTION_SEGMENT,
    OPTION_QUEUE,
    OPTION_KEYS,
    OPTION_PLAIN_TCP,
    OPTION_KEY,
    OPTION_SERVER_KEY,
};

static const crn_tool tool = {
    "cernita-record",
    "",
    "A proxy that records the views on their way to a line: --from is where the line listened,\n"
    "--to where it listens now. Every message is forwarded first, whole and unchanged, whether\n"
    "it can be read or not; a slow disk costs recordings, not time. Ends with SIGINT, SIGTERM\n"
    "or SIGHUP.",
    options,
    0,
    0};

typedef struct record_plan {
    const char *from, *to, *dir, *keys;
    crn_client_keys client;
    bool plain_tcp;
    uint64_t segment_bytes, queue_bytes;
} record_plan;

typedef struct relay {
    const record_plan *plan;
    void *zmq, *out;
    crn_access *access;
    crn_zap *zap;
    crn_endpoint *in;
    crn_recorder *recorder;
    int signals;
    bool stopped;
    uint64_t messages, unreadable, undelivered;
    crn_log_gate gate;
} relay;

/* A message being forwarded: its first parts are kept for the recorder. */
typedef struct passed_message {
    zmq_msg_t kept[CRN_WIRE_PARTS_MAX];
    crn_wire_part parts[CRN_WIRE_PARTS_MAX];
    size_t count; /* of all parts */
    uint64_t arrived_ns;
    bool delivered;
} passed_message;

/* True if tcp://HOST:PORT begins with one of the hosts. */
static bool has_host(const char *endpoint, const char *const *hosts)
{
    for (; *hosts; hosts++)
        if (strncmp(endpoint + strlen("tcp://"), *hosts, strlen(*hosts)) == 0)
            return true;
    return false;
}

/* True if the output would come in again: a loop that fills the disk. */
static bool is_loop(const char *from, const char *to)
{
    static const char *const all[] = {"*:", "0.0.0.0:", NULL};
    static const char *const own[] = {"127.", "localhost:", "*:", "0.0.0.0:", NULL};
    if (strcmp(from, to) == 0)
        return true;
    if (strncmp(from, "tcp://", 6) != 0 || strncmp(to, "tcp://", 6) != 0)
        return false;
    return strcmp(strrchr(from, ':'), strrchr(to, ':')) == 0 && has_host(from, all) &&
           has_host(to, own);
}

/* The same rule as for a line, which takes what comes from here for its sender's. */
static void check_exposed(const record_plan *p)
{
    if (p->keys && p->plain_tcp)
        crn_usage_error(&tool, "--plain-tcp: with --keys every sender needs a key; leave out one");
    if (!p->keys && !p->plain_tcp && crn_access_is_exposed(p->from))
        crn_usage_error(&tool,
                        "--from %s: other machines can connect to it, and anyone there could send "
                        "views: give --keys DIR (cernita-keys makes it), or --plain-tcp if only "
                        "trusted machines reach this network",
                        p->from);
}

static void read_options(int argc, char **argv, record_plan *p)
{
    const char *text = NULL;
    int option;
    while ((option = crn_options_next(&tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        const char *name = options[option].name;
        switch (option) {
        case OPTION_FROM:
            p->from = text;
            break;
        case OPTION_TO:
            p->to = text;
            break;
        case OPTION_DIR:
            p->dir = text;
            break;
        case OPTION_SEGMENT:
            p->segment_bytes = (uint64_t)crn_option_integer(&tool, name, text, 1, 1048576) << 20;
            break;
        case OPTION_QUEUE:
            p->queue_bytes = (uint64_t)crn_option_integer(&tool, name, text, 1, 65536) << 20;
            break;
        case OPTION_KEYS:
            p->keys = text;
            break;
        case OPTION_PLAIN_TCP:
            p->plain_tcp = true;
            break;
        case OPTION_KEY:
            p->client.key = text;
            break;
        case OPTION_SERVER_KEY:
            p->client.server_key = text;
            break;
        }
    }
    if (!p->from || !p->dir)
        crn_usage_error(&tool, "--%s is missing", p->from ? "dir" : "from");
    if (p->to && is_loop(p->from, p->to))
        crn_usage_error(&tool,
                        "--to %s is --from, so views would circulate; name another "
                        "port, where the line listens",
                        p->to);
    check_exposed(p);
}

/* --- one message --- */

/* Waits until a socket is ready (true) or the program is to stop (false). */
static bool await(relay *r, void *socket, short events)
{
    zmq_pollitem_t items[2] = {{.socket = socket, .events = events},
                               {.fd = r->signals, .events = ZMQ_POLLIN}};
    while (zmq_poll(items, 2, -1) < 0 && errno == EINTR)
        continue;
    if (items[1].revents)
        r->stopped = true;
    return !r->stopped && items[0].revents;
}

/* Forwards one part. Only the first part of a message can block. */
static bool pass(relay *r, zmq_msg_t *part, bool more)
{
    int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
    while (zmq_msg_send(part, r->out, flags) < 0) {
        if (errno != EAGAIN && errno != EINTR)
            return false;
        if (!await(r, r->out, ZMQ_POLLOUT))
            return false;
    }
    return true;
}

/* Reads a message and forwards it part by part; the first parts are shared, not copied. */
static bool relay_message(relay *r, passed_message *m)
{
    bool more = true;
    m->count = 0;
    m->delivered = r->out != NULL;
    while (more) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        int got = zmq_msg_recv(&part, crn_endpoint_socket(r->in), ZMQ_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            zmq_msg_close(&part);
            break; /* only before the first part: a message arrives whole */
        }
        m->arrived_ns = m->count ? m->arrived_ns : (uint64_t)crn_realtime_ns();
        more = zmq_msg_more(&part);
        if (m->count < CRN_WIRE_PARTS_MAX) {
            zmq_msg_t *kept = &m->kept[m->count];
            zmq_msg_init(kept);
            zmq_msg_copy(kept, &part);
            m->parts[m->count] = (crn_wire_part){zmq_msg_data(kept), zmq_msg_size(kept)};
        }
        m->count++;
        m->delivered = m->delivered && pass(r, &part, more);
        zmq_msg_close(&part);
    }
    return m->count > 0;
}

static void record_message(relay *r, passed_message *m)
{
    static const crn_wire_rules anything = {.max_bytes = UINT64_MAX};
    crn_recorded_view view = {.arrived_ns = m->arrived_ns};
    crn_wire_fault fault = crn_wire_check(m->parts, m->count, &anything, &view.header);
    uint64_t held = 0;
    r->messages++;
    r->undelivered += r->out && !m->delivered;
    if (!fault) {
        view.maps = m->parts[1].bytes;
        view.intensity = m->count == 3 ? m->parts[2].bytes : NULL;
        crn_recorder_offer(r->recorder, &view);
    } else {
        r->unreadable++;
        if (crn_log_gate_open(&r->gate, crn_now_ns(), &held))
            crn_log(CRN_LOG_WARNING,
                    "%s: a message is not a view and was not recorded: %s; %" PRIu64 " so far",
                    r->plan->from, crn_wire_fault_hints[fault], r->unreadable);
    }
    for (size_t i = 0; i < m->count && i < CRN_WIRE_PARTS_MAX; i++)
        zmq_msg_close(&m->kept[i]);
}

static void relay_all(relay *r)
{
    passed_message m;
    while (!r->stopped) {
        /* Reads no message before the line can take it:
         * senders see its back-pressure as without this proxy. */
        if (r->out && !await(r, r->out, ZMQ_POLLOUT))
            continue;
        if (await(r, crn_endpoint_socket(r->in), ZMQ_POLLIN) && relay_message(r, &m))
            record_message(r, &m);
    }
}

/* --- run --- */

static int open_out(relay *r, crn_error *error)
{
    int mark = HIGH_WATER_MARK, yes = 1, linger_ms = LINGER_MS;
    if (!r->plan->to)
        return 0;
    r->out = zmq_socket(r->zmq, ZMQ_PUSH);
    if (!r->out)
        return crn_error_set(error, -errno, "no socket: %s", zmq_strerror(errno));
    zmq_setsockopt(r->out, ZMQ_SNDHWM, &mark, sizeof mark);
    zmq_setsockopt(r->out, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_setsockopt(r->out, ZMQ_IMMEDIATE, &yes, sizeof yes); /* queue only for a connected line */
    int keyed = crn_client_keys_use(r->out, &r->plan->client, error);
    if (keyed < 0)
        return keyed;
    if (zmq_connect(r->out, r->plan->to) < 0)
        return crn_error_set(error, -errno,
                             "--to %s: cannot connect: %s; is it tcp://HOST:PORT or "
                             "ipc://PATH?",
                             r->plan->to, zmq_strerror(errno));
    return 0;
}

static int open_relay(relay *r, crn_error *error)
{
    r->signals = crn_signals_catch();
    r->zmq = zmq_ctx_new();
    if (r->signals < 0 || !r->zmq)
        return crn_error_set(error, -ENOMEM, "no signals or no context: %s", strerror(errno));
    crn_recorder_settings settings = {.dir = r->plan->dir,
                                      .segment_bytes = r->plan->segment_bytes,
                                      .queue_bytes = r->plan->queue_bytes};
    int result = crn_recorder_open(&settings, &r->recorder, error);
    if (!result)
        result = crn_access_open(r->plan->keys ? r->plan->keys : "", true, &r->access, error);
    if (!result)
        result = crn_zap_open(r->zmq, r->access, &r->zap, error);
    if (!result)
        result = open_out(r, error);
    if (!result)
        result = crn_endpoint_open(r->zmq, ZMQ_PULL, "--from", &r->in, error);
    /* No heartbeats: while the line is busy nothing is read here, including heartbeat answers, and
     * libzmq would disconnect the sender and drop all its messages. */
    if (!result && (crn_endpoint_set(r->in, ZMQ_RCVHWM, HIGH_WATER_MARK) ||
                    crn_endpoint_set(r->in, ZMQ_HEARTBEAT_IVL, 0)))
        result = crn_error_set(error, -EINVAL, "--from %s: socket refused", r->plan->from);
    if (!result)
        crn_endpoint_guard(r->in, r->access, CRN_ACCESS_INGEST);
    if (!result)
        result = crn_endpoint_bind(r->in, r->plan->from, error);
    return result;
}

/* Stops the flow first, the disk last, so that everything offered is written. */
static crn_recorder_stats close_relay(relay *r)
{
    crn_recorder_stats stats = {0};
    crn_endpoint_close(&r->in, 0);
    if (r->out)
        zmq_close(r->out);
    crn_zap_close(&r->zap);
    if (r->zmq)
        zmq_ctx_term(r->zmq);
    crn_access_close(&r->access);
    if (r->recorder) {
        crn_recorder_finish(r->recorder);
        stats = crn_recorder_get_stats(r->recorder);
    }
    crn_recorder_close(&r->recorder);
    return stats;
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-record");
    record_plan p = {.segment_bytes = UINT64_C(2048) << 20, .queue_bytes = UINT64_C(256) << 20};
    read_options(argc, argv, &p);
    relay r = {.plan = &p, .signals = -1};
    crn_error error = {0};
    int result = open_relay(&r, &error);
    if (!result)
        relay_all(&r);
    crn_recorder_stats stats = close_relay(&r);
    if (result)
        return crn_tool_fail(&tool, "%s", error.text);
    printf("%" PRIu64 " messages", r.messages);
    if (p.to)
        printf(", %" PRIu64 " passed on", r.messages - r.undelivered);
    printf("; %" PRIu64 " views recorded in %" PRIu64 " segments; not recorded: %" PRIu64
           " queue full, %" PRIu64 " disk refused, %" PRIu64 " no views\n",
           stats.written, stats.segments, stats.dropped, stats.failed, r.unreadable);
    return 0;
}
