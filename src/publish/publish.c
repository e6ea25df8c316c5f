#include "src/publish/publish.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "src/publish/backlog.h"
#include "stages/base/log.h"
#include "src/formats/encoding/encoder.h"
#include "src/ingest/socket/endpoint.h"
#include "src/publish/status.h"
#include "src/publish/verdict.h"
#include "src/publish/viewers.h"

#define ALIVE_TOPIC      "alive"
#define STATUS_TOPIC     "status"
#define STATUS_PERIOD_NS CRN_NS_PER_S

/* What libzmq and the kernel hold for a grader that dies is lost: keep these buffers small. */
#define GRADER_SEND_MESSAGES 8
#define GRADER_SEND_BYTES    65536

/* Only its handshake, which is longer with keys. */
#define GRADER_RECEIVE_BYTES(guard) ((guard) ? 1024 : 256)

/* Events read per call, so that a storm of them cannot block the caller. */
#define READS_AT_ONCE 256

struct crn_publish {
    const crn_config *config;
    crn_lanes *lanes;
    char run[17];
    crn_endpoint *grader;
    void *socket; /* the grader's socket */
    bool unread;  /* more events are pending than one call reads */
    bool quiet;   /* neither descriptor was readable when they were polled */
    crn_viewers *viewers;
    crn_format formats[CRN_OUTLETS];
    crn_encoder *encoders[CRN_FORMAT_JSON + 1]; /* indexed by format; those in use */
    crn_verdict *packer;
    crn_backlog *backlog; /* of the grader */
    crn_verdict_log *log; /* NULL: none */
    int64_t next_status_ns;
    int64_t heard_ns; /* when a verdict or alive was last sent to the grader, or attempted */
    crn_log_gate came, left, without_defects, refused;
    uint64_t refused_graders;
    crn_publish_stats stats;
    crn_published last;
};

static int open_grader(crn_publish *publish, void *zmq, crn_error *error)
{
    static const char key[] = "publish.grader.bind";
    const crn_socket_settings *settings = &publish->config->publish.grader;
    crn_access *guard = publish->config->guard;
    int r = crn_endpoint_open(zmq, ZMQ_PUSH, key, &publish->grader, error);
    if (r < 0)
        return r;
    publish->socket = crn_endpoint_socket(publish->grader);
    crn_peers_rules rules = {.connections = (int32_t)publish->config->limits.peers,
                             .refused = crn_access_counters_of(guard, CRN_ACCESS_GRADER)};
    r = crn_endpoint_limit(publish->grader, &rules);
    crn_endpoint_guard(publish->grader, guard, CRN_ACCESS_GRADER);
    bool few = settings->high_water_mark < GRADER_SEND_MESSAGES;
    int64_t messages = few ? settings->high_water_mark : GRADER_SEND_MESSAGES;
    if (r == 0)
        r = crn_endpoint_set(publish->grader, ZMQ_SNDHWM, (int)messages);
    if (r == 0)
        r = crn_endpoint_set(publish->grader, ZMQ_SNDBUF, GRADER_SEND_BYTES);
    int64_t longest = GRADER_RECEIVE_BYTES(guard);
    if (r == 0 && zmq_setsockopt(publish->socket, ZMQ_MAXMSGSIZE, &longest, sizeof longest) < 0)
        r = -errno;
    if (r < 0)
        return crn_error_set(error, r, "%s: an option of the socket was refused: %s", key,
                             zmq_strerror(-r));
    return crn_endpoint_bind(publish->grader, settings->bind, error);
}

static int create_encoders(crn_publish *publish)
{
    publish->formats[CRN_OUTLET_GRADER] = (crn_format)publish->config->publish.grader.format;
    publish->formats[CRN_OUTLET_VIEWERS] = (crn_format)publish->config->publish.viewers.format;
    int r = 0;
    for (crn_outlet which = 0; which < CRN_OUTLETS && r == 0; which++) {
        crn_format format = publish->formats[which];
        if (!publish->encoders[format])
            r = crn_encoder_create(format, &publish->encoders[format]);
    }
    return r;
}

static int open_log(crn_publish *publish, crn_error *error)
{
    const crn_config *config = publish->config;
    if (!config->publish.log.dir[0])
        return 0;
    crn_verdict_log_settings settings = {
        .dir = config->publish.log.dir,
        .segment_bytes = (uint64_t)config->publish.log.segment_mib << 20,
        .keep_bytes = (uint64_t)config->publish.log.keep_mib << 20,
        .keep_ns = config->publish.log.keep_days * 86400 * CRN_NS_PER_S,
    };
    return crn_verdict_log_open(&settings, CRN_VERDICT_LOG_QUEUE_BYTES, &publish->log, error);
}

int crn_publish_open(void *zmq, const crn_config *config, crn_lanes *lanes,
                     crn_publish **ret_publish, crn_error *error)
{
    crn_publish *publish = calloc(1, sizeof *publish);
    if (!publish)
        return crn_error_set(error, -ENOMEM, "publish: no memory");
    publish->config = config;
    publish->lanes = lanes;
    snprintf(publish->run, sizeof publish->run, "%016" PRIx64, (uint64_t)crn_realtime_ns());
    int64_t waiting = config->publish.grader.high_water_mark;
    int r = crn_backlog_create((size_t)waiting, CRN_PUBLISH_QUEUE_BYTES, CRN_PUBLISH_DOUBT_NS,
                               &publish->backlog);
    if (r == 0)
        r = crn_verdict_create(config, &publish->packer);
    if (r == 0)
        r = create_encoders(publish);
    if (r < 0) {
        crn_error_set(error, r,
                      "publish: no memory for packing and %" PRId64 " waiting verdicts: lower "
                      "publish.grader.high_water_mark, limits.points or limits.defects",
                      waiting);
        goto fail;
    }
    r = open_grader(publish, zmq, error);
    if (r == 0)
        r = crn_viewers_open(config, &publish->viewers, error);
    if (r == 0)
        r = open_log(publish, error);
    if (r < 0)
        goto fail;
    *ret_publish = publish;
    return 0;

fail:
    crn_publish_close(&publish, 0);
    return r;
}

/* Sends topic and body. True: libzmq accepted both; false: the body
 * remains the caller's, with errno. */
static bool send_message(void *socket, const char *topic, zmq_msg_t *body)
{
    return zmq_send(socket, topic, strlen(topic), ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0 &&
           zmq_msg_send(body, socket, ZMQ_DONTWAIT) >= 0;
}

static void grader_connected(crn_publish *publish, int64_t now_ns)
{
    const char *endpoint = crn_publish_endpoint(publish, CRN_OUTLET_GRADER);
    publish->stats.grader_connects++;
    publish->stats.graders++;
    publish->stats.extra_graders += publish->stats.graders > 1;
    if (crn_log_gate_open(&publish->came, now_ns))
        crn_log(CRN_LOG_INFO, "publish.grader: a grader connected to %s; %zu verdicts wait for it",
                endpoint, crn_backlog_count(publish->backlog));
}

static void grader_disconnected(crn_publish *publish, int64_t now_ns)
{
    if (publish->stats.graders == 0)
        return;
    publish->stats.graders--;
    publish->stats.grader_disconnects++;
    uint64_t doubtful = crn_backlog_count_doubtful(publish->backlog, now_ns);
    publish->stats.possibly_lost += doubtful;
    char lost[128] = "no verdict was in transit to it";
    if (!crn_log_gate_open(&publish->left, now_ns))
        return;
    if (doubtful)
        snprintf(lost, sizeof lost,
                 "of the last %" PRIu64 " verdicts some may not have reached it (the lanes' "
                 "sequence numbers show which)",
                 doubtful);
    crn_log_through(&publish->left, CRN_LOG_ERROR,
                    "publish.grader: a grader disconnected from %s, %" PRIu64 " remain; %s",
                    crn_publish_endpoint(publish, CRN_OUTLET_GRADER), publish->stats.graders, lost);
}

static void read_events(crn_publish *publish, int64_t now_ns)
{
    crn_endpoint_event_kind kind;
    int reads = 0;
    while (reads < READS_AT_ONCE && crn_endpoint_event(publish->grader, &kind)) {
        reads++;
        if (kind == CRN_ENDPOINT_CONNECTED) {
            grader_connected(publish, now_ns);
        } else if (kind == CRN_ENDPOINT_DISCONNECTED) {
            grader_disconnected(publish, now_ns);
        } else {
            publish->refused_graders++;
            if (kind == CRN_ENDPOINT_REFUSED)
                crn_log_gated(&publish->refused, now_ns, CRN_LOG_WARNING,
                              "publish: a connection to %s was refused: it does not speak ZeroMQ, "
                              "has the wrong socket type, or has keys where none are required or "
                              "none where they are (access.keys)",
                              crn_publish_endpoint(publish, CRN_OUTLET_GRADER));
        }
    }
    publish->unread |= reads == READS_AT_ONCE;
    crn_endpoint_report(publish->grader);
}

/* Sends the oldest waiting verdict. As send_message. */
static bool send_first(crn_publish *publish, crn_waiting *first)
{
    char topic[CRN_TOPIC_BYTES];
    crn_topic_write(topic, first->lane);
    if (send_message(publish->socket, topic, &first->body))
        return true;
    /* zmq_send() looks only once a millisecond how much its peer has read. */
    if (errno == EAGAIN)
        crn_endpoint_process(publish->grader);
    return send_message(publish->socket, topic, &first->body);
}

/* Sends waiting verdicts in order until libzmq accepts no more. Reads connection events first. */
static void flush_backlog(crn_publish *publish, int64_t now_ns)
{
    read_events(publish, now_ns);
    crn_waiting *first;
    while ((first = crn_backlog_front(publish->backlog)) != NULL) {
        bool stale = now_ns > first->deadline_ns;
        unsigned char *body = zmq_msg_data(&first->body);
        crn_encoder_set_bool(publish->formats[CRN_OUTLET_GRADER], body + first->stale_at, stale);
        if (send_first(publish, first)) {
            /* libzmq reports a disconnect shortly before it detaches the peer. */
            bool doubtful = publish->stats.graders == 0 && publish->stats.grader_disconnects > 0;
            crn_backlog_sent(publish->backlog, doubtful, now_ns);
            publish->heard_ns = now_ns;
            publish->stats.sent++;
            publish->stats.stale += stale;
            publish->stats.possibly_lost += doubtful;
        } else if (errno != EINTR) {
            if (publish->stats.graders > 0)
                crn_backlog_blocked(publish->backlog, now_ns);
            return;
        }
    }
}

static void send_to_grader(crn_publish *publish, crn_waiting *item, int64_t now_ns)
{
    if (crn_backlog_count(publish->backlog) > 0)
        flush_backlog(publish, now_ns); /* send the oldest rather than drop it */
    publish->stats.dropped += crn_backlog_push(publish->backlog, item);
    flush_backlog(publish, now_ns);
}

/* Reads all connection events, and sends what can be sent. */
static void service_socket(crn_publish *publish, int64_t now_ns)
{
    publish->unread = false;
    crn_endpoint_process(publish->grader);
    flush_backlog(publish, now_ns);
}

/* Updates the counters that others keep. */
static void update_stats(crn_publish *publish)
{
    crn_viewers_stats viewers;
    crn_viewers_get_stats(publish->viewers, &viewers);
    publish->stats.viewers = viewers.viewers;
    publish->stats.viewer_subscriptions = viewers.subscriptions;
    publish->stats.viewers_dropped = viewers.dropped;
    publish->stats.viewers_unread_bytes = viewers.unread_bytes;
    publish->stats.viewers_quiet_ns = viewers.quiet_ns;
    crn_endpoint_get_cut(publish->grader, &publish->stats.peers);
    for (int reason = 0; reason < CRN_CUTS; reason++)
        publish->stats.peers.cut[reason] += viewers.peers.cut[reason];
    /* A grader's leaving is counted by itself, whatever the reason. */
    publish->stats.peers.cut[CRN_CUT_SILENT] = viewers.peers.cut[CRN_CUT_SILENT];
    publish->stats.refused = publish->refused_graders + viewers.refused;
    publish->stats.waiting = crn_backlog_count(publish->backlog);
    publish->stats.waiting_bytes = crn_backlog_bytes(publish->backlog);
    if (publish->log)
        publish->stats.log = crn_verdict_log_get_stats(publish->log);
}

/* A verdict to be packed. */
typedef struct verdict_source {
    const crn_fruit *fruit;
    const crn_result_store *store;
    crn_verdict_facts facts;
    crn_verdict_bytes packed[CRN_FORMAT_JSON + 1]; /* by format; `bytes` NULL: not yet */
} verdict_source;

/* Packs the verdict as a message, once per format. If memory is short the fruit still gets its
 * verdict, without the defects. */
static int make_message(crn_publish *publish, crn_format format, verdict_source *from,
                        zmq_msg_t *ret_body)
{
    crn_verdict_facts *facts = &from->facts;
    crn_verdict_bytes *packed = &from->packed[format];
    for (;;) {
        int r = packed->bytes ? 0
                              : crn_verdict_pack(publish->packer, publish->encoders[format],
                                                 from->fruit, facts, from->store, packed);
        if (r == 0 && zmq_msg_init_size(ret_body, packed->size) == 0) {
            unsigned char *body = zmq_msg_data(ret_body);
            memcpy(body, packed->bytes, packed->size);
            crn_encoder_set_bool(format, body + packed->stale_at,
                                 facts->now_ns > from->fruit->deadline_ns);
            return 0;
        }
        if (facts->without_defects)
            return -ENOMEM;
        facts->without_defects = true;
        packed->bytes = NULL;
    }
}

static void log_without_defects(crn_publish *publish, int64_t now_ns)
{
    publish->stats.without_defects++;
    if (crn_log_gate_open(&publish->without_defects, now_ns))
        crn_log(CRN_LOG_ERROR, "publish: no memory for whole verdicts, their defects are left out");
}

void crn_publish_verdict(crn_publish *publish, const crn_fruit *fruit,
                         const crn_result_store *store, int64_t now_ns)
{
    crn_format to_grader = publish->formats[CRN_OUTLET_GRADER];
    crn_format to_viewers = publish->formats[CRN_OUTLET_VIEWERS];
    verdict_source from = {.fruit = fruit, .store = store};
    from.facts = (crn_verdict_facts){
        .run = publish->run,
        .lane = fruit->lane->number,
        .sequence = crn_lane_next_sequence(fruit->lane),
        .kind = crn_fruit_verdict(fruit),
        .published_ns = (uint64_t)crn_realtime_ns(),
        .now_ns = now_ns,
    };
    publish->stats.verdicts++;
    crn_waiting item = {.deadline_ns = fruit->deadline_ns, .lane = from.facts.lane};
    if (make_message(publish, to_grader, &from, &item.body) == 0) {
        item.stale_at = from.packed[to_grader].stale_at;
        if (publish->log)
            crn_verdict_log_offer(publish->log, from.facts.lane, zmq_msg_data(&item.body),
                                  zmq_msg_size(&item.body));
        send_to_grader(publish, &item, now_ns);
    } else {
        publish->stats.failed++;
    }

    if (from.facts.without_defects)
        log_without_defects(publish, now_ns);

    zmq_msg_t body;
    if (crn_viewers_wanted(publish->viewers) &&
        make_message(publish, to_viewers, &from, &body) == 0) {
        char topic[CRN_TOPIC_BYTES];
        crn_topic_write(topic, from.facts.lane);
        crn_viewers_send(publish->viewers, topic, &body);
    }
    publish->last =
        (crn_published){from.facts, from.packed[to_grader].size, from.packed[CRN_FORMAT_MSGPACK],
                        crn_verdict_totals(publish->packer)};
    update_stats(publish);
}

/* Packs a message about the daemon with `pack`, in the socket's format,
 * and sends it unless that would block. */
static void send_about(crn_publish *publish, crn_outlet which, const char *topic,
                       crn_status_packer *pack, const char *state)
{
    crn_encoder *encoder = publish->encoders[publish->formats[which]];
    crn_status status = {
        .run = publish->run,
        .state = state,
        .published_ns = (uint64_t)crn_realtime_ns(),
        .alive_ms = publish->config->publish.grader.alive_ms,
        .lanes = publish->lanes,
        .publish = &publish->stats,
        .config = publish->config,
    };
    const unsigned char *bytes;
    size_t size;
    zmq_msg_t body;
    if (pack(encoder, &status, &bytes, &size) < 0 || zmq_msg_init_size(&body, size) < 0)
        return;
    memcpy(zmq_msg_data(&body), bytes, size);
    if (which == CRN_OUTLET_VIEWERS)
        crn_viewers_send(publish->viewers, topic, &body);
    else
        send_message(publish->socket, topic, &body);
    zmq_msg_close(&body);
}

/* Sends `alive`, but only while no verdict waits: it must not overtake older verdicts. A grader
 * that is absent or reads too slowly misses it. */
static void send_alive(crn_publish *publish, const char *state, int64_t now_ns)
{
    int64_t alive_ns = publish->config->publish.grader.alive_ms * CRN_NS_PER_MS;
    if (alive_ns == 0 || now_ns < publish->heard_ns + alive_ns)
        return;
    publish->heard_ns = now_ns;
    if (!crn_backlog_front(publish->backlog))
        send_about(publish, CRN_OUTLET_GRADER, ALIVE_TOPIC, crn_status_pack_alive, state);
}

void crn_publish_service(crn_publish *publish, const char *state, int64_t now_ns)
{
    if (now_ns >= publish->next_status_ns) {
        publish->stats.waiting = crn_backlog_count(publish->backlog);
        if (crn_viewers_wanted(publish->viewers))
            send_about(publish, CRN_OUTLET_VIEWERS, STATUS_TOPIC, crn_status_pack, state);
        publish->next_status_ns = now_ns + STATUS_PERIOD_NS;
    }
    send_alive(publish, state, now_ns);
    if (!publish->quiet || publish->unread)
        service_socket(publish, now_ns);
    update_stats(publish);
}

void crn_publish_set_quiet(crn_publish *publish, bool quiet)
{
    publish->quiet = quiet;
}

int crn_publish_descriptors(const crn_publish *publish, int descriptors[2])
{
    crn_endpoint_descriptors(publish->grader, descriptors);
    return 2;
}

int64_t crn_publish_wake_ns(const crn_publish *publish)
{
    if (publish->unread)
        return 0;
    int64_t alive_ns = publish->config->publish.grader.alive_ms * CRN_NS_PER_MS;
    int64_t next_alive_ns = alive_ns ? publish->heard_ns + alive_ns : CRN_NEVER_NS;
    return next_alive_ns < publish->next_status_ns ? next_alive_ns : publish->next_status_ns;
}

const crn_published *crn_publish_last(const crn_publish *publish)
{
    return &publish->last;
}

const crn_publish_stats *crn_publish_get_stats(const crn_publish *publish)
{
    return &publish->stats;
}

const char *crn_publish_run(const crn_publish *publish)
{
    return publish->run;
}

const char *crn_publish_endpoint(const crn_publish *publish, crn_outlet which)
{
    return which == CRN_OUTLET_GRADER ? crn_endpoint_bound(publish->grader, 0)
                                      : crn_viewers_endpoint(publish->viewers);
}

/* Sends what waits, as long as there is a grader; returns the milliseconds left. */
static int drain_backlog(crn_publish *publish, int linger_ms)
{
    int64_t until_ns = crn_now_ns() + linger_ms * CRN_NS_PER_MS;
    for (;;) {
        int64_t now_ns = crn_now_ns();
        flush_backlog(publish, now_ns);
        int left_ms = now_ns < until_ns ? (int)((until_ns - now_ns) / CRN_NS_PER_MS) : 0;
        if (left_ms == 0 || !crn_backlog_front(publish->backlog) || publish->stats.graders == 0)
            return left_ms;
        zmq_pollitem_t item = {.socket = publish->socket, .events = ZMQ_POLLOUT};
        zmq_poll(&item, 1, left_ms);
    }
}

void crn_publish_close(crn_publish **publish, int linger_ms)
{
    if (!publish || !*publish)
        return;
    crn_publish *closing = *publish;
    if (closing->socket)
        linger_ms = drain_backlog(closing, linger_ms);
    size_t left = closing->backlog ? crn_backlog_count(closing->backlog) : 0;
    if (left > 0)
        crn_log(CRN_LOG_ERROR, "publish.grader: %zu verdicts still waited when the daemon stopped",
                left);
    crn_endpoint_close(&closing->grader, linger_ms);
    crn_viewers_close(&closing->viewers, linger_ms);
    crn_verdict_log_close(&closing->log);
    for (size_t i = 0; i < sizeof closing->encoders / sizeof closing->encoders[0]; i++)
        crn_encoder_free(&closing->encoders[i]);
    crn_verdict_free(&closing->packer);
    crn_backlog_free(&closing->backlog);
    free(closing);
    *publish = NULL;
}
