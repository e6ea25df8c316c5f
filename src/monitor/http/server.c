#include "src/monitor/http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/monitor/http/address.h"
#include "src/monitor/http/clients.h"
#include "src/monitor/http/maps.h"
#include "src/monitor/http/maps_format.h"
#include "src/monitor/http/pages.h"
#include "src/monitor/http/streams.h"
#include "src/monitor/http/traces.h"
#include "src/monitor/http/verdicts.h"
#include "src/publish/log/format.h"
#include "stages/backend.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"

/* Below the workers' 10: a page can wait, a view cannot. */
#define NICE 15

/* While clients are connected: how often slow ones are looked for, and new snapshots sent. */
#define TICK_NS (200 * CRN_NS_PER_MS)

/* Traces and maps may be large: so many of either are read at once. */
#define TRACES_MAX 2
#define MAPS_MAX   2

/* How often the flight recorder's queue is emptied at least. */
#define TAKE_NS (1 * CRN_NS_PER_S)

/* Without a new snapshot the last one is sent again, so that clients see its age grow. */
#define REPEAT_NS (2 * CRN_NS_PER_S)

#define MINUTE_NS (60 * CRN_NS_PER_S)

/* How long one rendering of /metrics is served. */
#define RENDERING_NS (1 * CRN_NS_PER_S)

/* Rounds that libmicrohttpd takes to resume the streams, and to send their ends. */
#define LAST_RUNS 3

struct crn_http {
    crn_monitor_facts facts;
    crn_http_settings from;
    struct MHD_Daemon *daemon;
    int wake_descriptor; /* readable: stop */
    pthread_t thread;
    bool started;
    char address[CRN_HTTP_ADDRESS_BYTES];

    /* Used by the thread only: */
    crn_streams *streams;
    crn_encoder *encoder;
    crn_pages_rates rates;
    uint64_t event_number; /* of the snapshot last sent to the streams */
    int64_t event_ns;
    crn_metrics minute[2];        /* numbers a minute ago or more, and those that follow them */
    int64_t minute_ns;            /* when the latter were taken */
    struct MHD_Response *metrics; /* the last rendering of /metrics */
    uint64_t metrics_number;
    int64_t metrics_ns;
    int traces, maps; /* being read */
    crn_clients clients;
    crn_http_stats stats;
};

const char *const crn_http_codes[CRN_HTTP_CODES] = {"200", "404", "405", "421", "503"};

static void observe(crn_http *http, bool machine, crn_observation *ret_observation)
{
    http->stats.streams = crn_streams_count(http->streams);
    *ret_observation = (crn_observation){
        .facts = &http->facts,
        .edges = http->from.meters->edges,
        .snapshot = crn_snapshots_latest(http->from.snapshots),
        .before = &http->minute[0],
        .http = http->stats,
        .now_ns = crn_now_ns(),
    };
    if (machine)
        crn_machine_read(http->facts.config, &ret_observation->machine);
}

/* --- answers ---------------------------------------------------------------------------------- */

static enum MHD_Result answer(crn_http *http, struct MHD_Connection *connection, crn_http_code code,
                              struct MHD_Response *response)
{
    static const unsigned codes[CRN_HTTP_CODES] = {200, 404, 405, 421, 503};
    if (!response)
        return MHD_NO;
    http->stats.responses[code]++;
    return MHD_queue_response(connection, codes[code], response);
}

static void add_headers(struct MHD_Response *response, const char *type)
{
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
}

/* Names the type, answers and drops the response; NULL: memory is short. */
static enum MHD_Result answer_once(crn_http *http, struct MHD_Connection *connection,
                                   crn_http_code code, const char *type,
                                   struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    add_headers(response, type);
    enum MHD_Result r = answer(http, connection, code, response);
    MHD_destroy_response(response);
    return r;
}

/* Sends a copy of these bytes. */
static enum MHD_Result answer_bytes(crn_http *http, struct MHD_Connection *connection,
                                    crn_http_code code, const char *type, const void *bytes,
                                    size_t size)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
    if (response && code == CRN_HTTP_METHOD)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    return answer_once(http, connection, code, type, response);
}

static enum MHD_Result answer_text(crn_http *http, struct MHD_Connection *connection,
                                   crn_http_code code, const char *text)
{
    return answer_bytes(http, connection, code, "text/plain; charset=utf-8", text, strlen(text));
}

/* Renders /metrics unless a rendering of this snapshot is fresh enough. Clients that still read an
 * older one share it, so that memory is bounded however many there are. */
static void render_metrics(crn_http *http)
{
    crn_observation observation;
    uint64_t number = crn_snapshots_latest(http->from.snapshots)->number;
    int64_t now_ns = crn_now_ns();
    if (http->metrics && number == http->metrics_number && now_ns - http->metrics_ns < RENDERING_NS)
        return;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    observe(http, true, &observation);
    crn_families_print(&observation, out);
    if (fclose(out) != 0) {
        free(text);
        return;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return;
    }
    add_headers(response, "text/plain; version=0.0.4; charset=utf-8");
    if (http->metrics)
        MHD_destroy_response(http->metrics);
    http->metrics = response;
    http->metrics_number = number;
    http->metrics_ns = now_ns;
}

static enum MHD_Result answer_metrics(crn_http *http, struct MHD_Connection *connection)
{
    render_metrics(http);
    return answer(http, connection, CRN_HTTP_OK, http->metrics);
}

static enum MHD_Result answer_health(crn_http *http, struct MHD_Connection *connection,
                                     bool (*is_good)(const crn_observation *))
{
    crn_observation observation;
    const unsigned char *bytes;
    size_t size;
    observe(http, false, &observation);
    crn_pages_health(&observation, http->encoder);
    if (crn_encoder_end(http->encoder, &bytes, &size) < 0)
        return MHD_NO;
    return answer_bytes(http, connection,
                        is_good(&observation) ? CRN_HTTP_OK : CRN_HTTP_UNAVAILABLE,
                        "application/json", bytes, size);
}

/* Sends the latest snapshot to the event streams. */
static void send_event(crn_http *http, int64_t now_ns)
{
    crn_observation observation;
    const unsigned char *bytes;
    size_t size, text_size = 0;
    char *text = NULL;
    observe(http, false, &observation);
    http->event_number = observation.snapshot->number;
    http->event_ns = now_ns;
    crn_pages_event(&observation, &http->rates, http->encoder);
    FILE *out = open_memstream(&text, &text_size);
    if (!out || crn_encoder_end(http->encoder, &bytes, &size) < 0)
        size = 0;
    if (size > 0)
        fprintf(out, "event: snapshot\ndata: %.*s\n\n", (int)size, (const char *)bytes);
    if (out && fclose(out) == 0 && text_size > 0)
        crn_streams_send(http->streams, text, text_size);
    free(text);
}

static enum MHD_Result answer_events(crn_http *http, struct MHD_Connection *connection)
{
    /* The first reader begins with the present, not with what the last one saw. */
    if (crn_streams_count(http->streams) == 0)
        send_event(http, crn_now_ns());
    struct MHD_Response *response = crn_streams_open(http->streams, connection);
    if (!response)
        return answer_text(http, connection, CRN_HTTP_UNAVAILABLE,
                           "too many event streams are open: close one, or try again later\n");
    crn_client *reader = crn_clients_find(connection);
    if (reader)
        reader->streaming = true;
    return answer_once(http, connection, CRN_HTTP_OK, "text/event-stream", response);
}

static enum MHD_Result answer_verdicts(crn_http *http, struct MHD_Connection *connection)
{
    crn_flight_take(http->from.flight);
    return answer_once(http, connection, CRN_HTTP_OK, CRN_VERDICT_LOG_TYPE,
                       crn_verdicts_open(http->from.flight));
}

static enum MHD_Result answer_trace(crn_http *http, struct MHD_Connection *connection)
{
    if (http->traces == TRACES_MAX)
        return answer_text(http, connection, CRN_HTTP_UNAVAILABLE,
                           "others are reading a trace: try again later\n");
    crn_flight_take(http->from.flight);
    return answer_once(http, connection, CRN_HTTP_OK, "application/json",
                       crn_traces_open(http->facts.config, http->from.flight, &http->traces));
}

static enum MHD_Result answer_maps(crn_http *http, struct MHD_Connection *connection,
                                   const char *name)
{
    crn_kept_fruit fruit;
    int error = 0;
    struct MHD_Response *response = NULL;
    if (!crn_maps_parse(name, &fruit))
        return answer_text(http, connection, CRN_HTTP_NOT_FOUND,
                           "expected /maps/LANE/EPOCH/FRUIT, whole numbers\n");
    if (http->maps == MAPS_MAX)
        return answer_text(http, connection, CRN_HTTP_UNAVAILABLE,
                           "others are reading maps: try again later\n");
    if (http->from.kept_maps)
        response = crn_maps_open(http->from.kept_maps, &fruit, &http->maps, &error);
    if (!response && error == 0)
        return answer_text(http, connection, CRN_HTTP_NOT_FOUND,
                           "the maps of this fruit are not kept: only those of the last fruits "
                           "that were late, partial or over budget are (monitor.keep_slots)\n");
    return answer_once(http, connection, CRN_HTTP_OK, CRN_MAPS_TYPE, response);
}

/* libmicrohttpd's callback for a request whose headers have been read. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    crn_http *http = context;
    (void)version;
    (void)upload;
    (void)upload_size;
    (void)request;
    crn_client *entry = crn_clients_find(connection);
    if (entry)
        entry->requested = true;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_text(http, connection, CRN_HTTP_METHOD, "only GET and HEAD\n");
    const char *host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    if (!crn_http_host_is_own(host, http->facts.config->monitor.http))
        return answer_text(http, connection, CRN_HTTP_HOST,
                           "unknown host name: use the address, localhost, the machine's name, or "
                           "the name that monitor.http gives\n");
    if (strcmp(path, "/metrics") == 0)
        return answer_metrics(http, connection);
    if (strcmp(path, "/healthz") == 0)
        return answer_health(http, connection, crn_pages_is_healthy);
    if (strcmp(path, "/readyz") == 0)
        return answer_health(http, connection, crn_pages_is_ready);
    if (strcmp(path, "/events") == 0)
        return answer_events(http, connection);
    if (strcmp(path, "/verdicts") == 0)
        return answer_verdicts(http, connection);
    if (strcmp(path, "/trace") == 0)
        return answer_trace(http, connection);
    if (strncmp(path, CRN_MAPS_PATH, strlen(CRN_MAPS_PATH)) == 0)
        return answer_maps(http, connection, path + strlen(CRN_MAPS_PATH));
    return answer_text(http, connection, CRN_HTTP_NOT_FOUND,
                       "no such page; there are /metrics, /healthz, /readyz, /events, "
                       "/verdicts, /trace and /maps\n");
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Sends the latest snapshot to the clients that read it, if it is new or the last one is old. */
static void update_streams(crn_http *http, int64_t now_ns)
{
    if (crn_streams_count(http->streams) > 0 &&
        (crn_snapshots_latest(http->from.snapshots)->number != http->event_number ||
         now_ns - http->event_ns >= REPEAT_NS))
        send_event(http, now_ns);
}

/* Keeps the numbers of one to two minutes ago. */
static void update_minute(crn_http *http, int64_t now_ns)
{
    if (http->minute_ns == 0)
        http->minute_ns = now_ns;
    if (now_ns - http->minute_ns < MINUTE_NS)
        return;
    http->minute[0] = http->minute[1];
    http->minute[1] = crn_snapshots_latest(http->from.snapshots)->metrics;
    http->minute_ns = now_ns;
}

/* Waits for clients, for the next tick, or until the server is stopped (false). */
static bool wait_for_clients(crn_http *http, int epoll)
{
    struct pollfd polled[] = {{.fd = epoll, .events = POLLIN},
                              {.fd = http->wake_descriptor, .events = POLLIN}};
    MHD_UNSIGNED_LONG_LONG wanted_ms;
    int wait_ms = (int)((http->stats.connections > 0 ? TICK_NS : TAKE_NS) / CRN_NS_PER_MS);
    if (MHD_get_timeout(http->daemon, &wanted_ms) == MHD_YES &&
        wanted_ms < (MHD_UNSIGNED_LONG_LONG)wait_ms)
        wait_ms = (int)wanted_ms;
    (void)poll(polled, 2, wait_ms);
    return !(polled[1].revents & POLLIN);
}

static void *serve(void *argument)
{
    crn_http *http = argument;
    prctl(PR_SET_NAME, "http", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    int epoll = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    while (wait_for_clients(http, epoll)) {
        int64_t now_ns = crn_now_ns();
        crn_flight_take(http->from.flight);
        update_minute(http, now_ns);
        update_streams(http, now_ns);
        crn_clients_drop(&http->clients, now_ns);
        MHD_run(http->daemon);
    }
    crn_streams_end(http->streams);
    for (int i = 0; i < LAST_RUNS; i++)
        MHD_run(http->daemon);
    return NULL;
}

/* --- open and close --------------------------------------------------------------------------- */

static int start_daemon(crn_http *http, int listener)
{
    http->daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, http,
                         MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)CRN_HTTP_CLIENTS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                         (unsigned)CRN_HTTP_CLIENTS_PER_ADDRESS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                         (size_t)CRN_HTTP_CLIENT_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
                         crn_clients_changed, &http->clients, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
                         MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    return http->daemon ? 0 : -ENOMEM;
}

static int start_thread(crn_http *http)
{
    int r = crn_thread_start(&http->thread, serve, http);
    http->started = r == 0;
    return r;
}

static int start(crn_http *http, crn_error *error)
{
    const char *address = http->facts.config->monitor.http;
    int listener;
    int r = crn_http_listen(address, &listener, http->address, error);
    if (r < 0)
        return r;
    http->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = http->wake_descriptor < 0 ? -errno : start_daemon(http, listener);
    if (!http->daemon)
        close(listener);
    if (r == 0)
        r = crn_encoder_create(CRN_FORMAT_JSON, &http->encoder);
    if (r == 0 && !(http->streams = crn_streams_create()))
        r = -ENOMEM;
    if (r == 0)
        r = start_thread(http);
    return r < 0 ? crn_error_set(error, r, "cannot serve %s: %s", address, strerror(-r)) : 0;
}

int crn_http_open(const crn_config *config, const crn_http_settings *settings, crn_http **ret_http,
                  crn_error *error)
{
    const char *why;
    crn_backend backend = (crn_backend)config->run.backend;
    const crn_ops *ops =
        crn_backend_ops(backend == CRN_BACKEND_CUDA ? CRN_BACKEND_OPENMP : backend, &why);
    crn_http *http = calloc(1, sizeof *http);
    if (!http)
        return crn_error_set(error, -ENOMEM, "monitor.http: no memory");
    http->facts.config = config;
    http->facts.processor = ops ? ops->name : "";
    http->facts.started_ns = crn_realtime_ns();
    snprintf(http->facts.run, sizeof http->facts.run, "%s", settings->run);
    http->from = *settings;
    http->clients.stats = &http->stats;
    http->clients.idle_s = settings->idle_s;
    http->clients.request_s = settings->request_s;
    http->wake_descriptor = -1;
    crn_error fault;
    int r = start(http, &fault);
    if (r < 0)
        crn_http_close(&http); /* sets it to NULL */
    if (r < 0 && config->monitor.http_named)
        return crn_error_set(error, r, "monitor.http: %s", fault.text);
    if (r < 0)
        crn_log(CRN_LOG_WARNING,
                "monitor.http: %s; the line runs without metrics: name a free address in "
                "monitor.http, or \"\" "
                "for none",
                fault.text);
    *ret_http = http;
    return 0;
}

void crn_http_close(crn_http **http)
{
    crn_http *closing = *http;
    if (!closing)
        return;
    if (closing->started) {
        uint64_t one = 1;
        while (write(closing->wake_descriptor, &one, sizeof one) < 0 && errno == EINTR)
            ;
        pthread_join(closing->thread, NULL);
    }
    if (closing->daemon)
        MHD_stop_daemon(closing->daemon);
    if (closing->metrics)
        MHD_destroy_response(closing->metrics);
    if (closing->wake_descriptor >= 0)
        close(closing->wake_descriptor);
    crn_streams_free(&closing->streams);
    crn_encoder_free(&closing->encoder);
    free(closing);
    *http = NULL;
}

const char *crn_http_address(const crn_http *http)
{
    return http ? http->address : "";
}
