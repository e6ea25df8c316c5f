/* The answers to requests: which page is meant, and what it is made of. */
#include "src/monitor/http/server_internal.h"

#include <stdlib.h>
#include <string.h>

#include "src/monitor/events/health.h"
#include "src/http/address.h"
#include "src/monitor/http/assets.h"
#include "src/monitor/http/responses/alarms.h"
#include "src/monitor/http/responses/fruit_page.h"
#include "src/monitor/http/responses/maps.h"
#include "src/formats/view/maps_format.h"
#include "src/monitor/http/responses/traces.h"
#include "src/monitor/http/responses/verdicts.h"
#include "src/http/headers.h"
#include "src/http/uri.h"
#include "src/formats/verdict_log/format.h"
#include "stages/base/clock.h"

/* Traces and maps may be large: so many of either are read at once. */
#define TRACES_MAX 2
#define MAPS_MAX   2

/* How long one rendering of /metrics is served. */
#define RENDERING_NS (1 * CRN_NS_PER_S)

const char *const crn_http_codes[CRN_HTTP_CODES] = {"200", "400", "403", "404", "405",
                                                    "409", "413", "421", "503"};

void crn_http_observe(crn_http *http, bool machine, crn_observation *ret_observation)
{
    int64_t now_ns = crn_now_ns();
    http->stats.streams = crn_streams_count(http->streams);
    crn_conditions_get(http->from.conditions, &http->conditions);
    *ret_observation = (crn_observation){
        .facts = &http->facts,
        .edges = http->from.meters->edges,
        .snapshot = crn_snapshots_latest(http->from.snapshots),
        .before = crn_history_before(http->history),
        .conditions = &http->conditions,
        .alarms = crn_alarms_summary(http->from.alarms),
        .drift = http->from.drift,
        .http = http->stats,
        .sorter = crn_http_sorter(http, now_ns),
        .now_ns = now_ns,
    };
    if (!machine)
        return;
    crn_minutes_totals_get(http->from.minutes, &http->totals);
    ret_observation->totals = &http->totals;
    crn_minutes_hour_get(http->from.minutes, &ret_observation->hour);
    crn_machine_read(&ret_observation->machine);
    crn_resources_disks(http->from.resources, ret_observation->disks);
}

/* --- answers ---------------------------------------------------------------------------------- */

static enum MHD_Result answer(crn_http *http, struct MHD_Connection *connection, crn_http_code code,
                              struct MHD_Response *response)
{
    static const unsigned codes[CRN_HTTP_CODES] = {200, 400, 403, 404, 405, 409, 413, 421, 503};
    if (!response)
        return MHD_NO;
    http->stats.responses[code]++;
    return MHD_queue_response(connection, codes[code], response);
}

/* Names the type, answers and drops the response; NULL: memory is short. */
static enum MHD_Result answer_once(crn_http *http, struct MHD_Connection *connection,
                                   crn_http_code code, const char *type,
                                   struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    crn_http_add_headers(response, type);
    enum MHD_Result r = answer(http, connection, code, response);
    MHD_destroy_response(response);
    return r;
}

enum MHD_Result crn_http_answer_bytes(crn_http *http, struct MHD_Connection *connection,
                                      crn_http_code code, const char *type, const void *bytes,
                                      size_t size)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
    return answer_once(http, connection, code, type, response);
}

enum MHD_Result crn_http_answer_text(crn_http *http, struct MHD_Connection *connection,
                                     crn_http_code code, const char *text)
{
    return crn_http_answer_bytes(http, connection, code, CRN_HTTP_TEXT, text, strlen(text));
}

enum MHD_Result crn_http_answer_refusal(crn_http *http, struct MHD_Connection *connection,
                                        crn_http_refusal refusal)
{
    const char *text = crn_http_refusals[refusal];
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    if (response && refusal == CRN_HTTP_WRONG_TOKEN)
        MHD_add_response_header(response, CRN_HTTP_TOKEN_HEADER, "wanted");
    return answer_once(http, connection, CRN_HTTP_FORBIDDEN, CRN_HTTP_TEXT, response);
}

/* `allowed`: the methods that this address takes. */
static enum MHD_Result answer_method(crn_http *http, struct MHD_Connection *connection,
                                     const char *allowed)
{
    char text[64];
    snprintf(text, sizeof text, "only %s\n", allowed);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_COPY);
    if (response)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allowed);
    return answer_once(http, connection, CRN_HTTP_METHOD, CRN_HTTP_TEXT, response);
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
    crn_http_observe(http, true, &observation);
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
    crn_http_add_headers(response, CRN_EXPOSITION_MEDIA_TYPE);
    if (http->metrics)
        MHD_destroy_response(http->metrics);
    http->metrics = response;
    http->metrics_number = number;
    http->metrics_ns = now_ns;
}

static enum MHD_Result answer_metrics(crn_http *http, struct MHD_Connection *connection,
                                      const char *rest)
{
    (void)rest;
    render_metrics(http);
    return answer(http, connection, CRN_HTTP_OK, http->metrics);
}

static enum MHD_Result answer_health(crn_http *http, struct MHD_Connection *connection,
                                     bool (*is_good)(const crn_observation *))
{
    crn_observation observation;
    const unsigned char *bytes;
    size_t size;
    crn_http_observe(http, false, &observation);
    crn_health_page(&observation, http->encoder);
    if (crn_encoder_end(http->encoder, &bytes, &size) < 0)
        return MHD_NO;
    return crn_http_answer_bytes(http, connection,
                                 is_good(&observation) ? CRN_HTTP_OK : CRN_HTTP_UNAVAILABLE,
                                 CRN_HTTP_JSON, bytes, size);
}

static enum MHD_Result answer_healthz(crn_http *http, struct MHD_Connection *connection,
                                      const char *rest)
{
    (void)rest;
    return answer_health(http, connection, crn_health_is_healthy);
}

static enum MHD_Result answer_readyz(crn_http *http, struct MHD_Connection *connection,
                                     const char *rest)
{
    (void)rest;
    return answer_health(http, connection, crn_health_is_ready);
}

static enum MHD_Result answer_conditions(crn_http *http, struct MHD_Connection *connection,
                                         const char *rest)
{
    const unsigned char *bytes;
    size_t size;
    (void)rest;
    crn_conditions_table_json(http->encoder);
    if (crn_encoder_end(http->encoder, &bytes, &size) < 0)
        return MHD_NO;
    return crn_http_answer_bytes(http, connection, CRN_HTTP_OK, CRN_HTTP_JSON, bytes, size);
}

/* A whole number of the request's query; `initial` without it, -1 if it is not one. */
static int64_t query_number(struct MHD_Connection *connection, const char *key, int64_t initial)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
    return text ? crn_http_number(text) : initial;
}

static enum MHD_Result answer_alarms(crn_http *http, struct MHD_Connection *connection,
                                     const char *rest)
{
    int64_t from_ms = query_number(connection, "from", 0);
    int64_t most = query_number(connection, "most", CRN_ALARMS_MOST);
    (void)rest;
    if (from_ms < 0 || most < 0)
        return crn_http_answer_text(
            http, connection, CRN_HTTP_BAD,
            "expected /alarms?from=MS&most=N, whole numbers; from is in ms since "
            "1970\n");
    return answer_once(http, connection, CRN_HTTP_OK, CRN_HTTP_JSON,
                       crn_alarms_open_json(http->from.alarms, from_ms, (uint64_t)most));
}

static enum MHD_Result answer_alarms_csv(crn_http *http, struct MHD_Connection *connection,
                                         const char *rest)
{
    struct MHD_Response *response = crn_alarms_open_csv(http->from.alarms);
    (void)rest;
    if (response)
        MHD_add_response_header(response, "Content-Disposition",
                                "attachment; filename=\"alarms.csv\"");
    return answer_once(http, connection, CRN_HTTP_OK, "text/csv; charset=utf-8", response);
}

static enum MHD_Result answer_minutes(crn_http *http, struct MHD_Connection *connection,
                                      const char *rest)
{
    int64_t step_s = query_number(connection, "step", 60);
    crn_minutes_query query = {.from_ms = query_number(connection, "from", 0),
                               .to_ms = query_number(connection, "to", INT64_MAX),
                               .now_ms = crn_realtime_ns() / CRN_NS_PER_MS};
    (void)rest;
    while (query.step < CRN_MINUTES_STEPS && crn_minutes_step_s[query.step] != step_s)
        query.step++;
    if (query.from_ms < 0 || query.to_ms < 0 || query.step == CRN_MINUTES_STEPS)
        return crn_http_answer_text(http, connection, CRN_HTTP_BAD,
                                    "expected /minutes?from=MS&to=MS&step=60, whole numbers; from "
                                    "and to are in ms since 1970, step is 60, 600 or 3600\n");
    return answer(
        http, connection, CRN_HTTP_OK,
        crn_minutes_answer_get(&http->minutes, http->from.minutes, &query, http->encoder));
}

void crn_http_send_event(crn_http *http, int64_t now_ns)
{
    crn_observation observation;
    const unsigned char *bytes;
    size_t size, text_size = 0;
    char *text = NULL;
    crn_http_observe(http, true, &observation);
    http->event_number = observation.snapshot->number;
    http->event_ns = now_ns;
    crn_event_snapshot(&observation, crn_history_budget(http->history), &http->fruits, &http->rates,
                       http->encoder);
    FILE *out = open_memstream(&text, &text_size);
    if (!out || crn_encoder_end(http->encoder, &bytes, &size) < 0)
        size = 0;
    if (size > 0)
        fprintf(out, "event: snapshot\ndata: %.*s\n\n", (int)size, (const char *)bytes);
    if (out && fclose(out) == 0 && text_size > 0)
        crn_streams_send(http->streams, text, text_size);
    free(text);
}

static enum MHD_Result answer_events(crn_http *http, struct MHD_Connection *connection,
                                     const char *rest)
{
    (void)rest;
    /* The first reader begins with the present, not with what the last one saw. */
    if (crn_streams_count(http->streams) == 0)
        crn_http_send_event(http, crn_now_ns());
    struct MHD_Response *response = crn_streams_open(http->streams, connection);
    if (!response)
        return crn_http_answer_text(
            http, connection, CRN_HTTP_UNAVAILABLE,
            "too many event streams are open: close one, or try again later\n");
    crn_client *reader = crn_clients_find(connection);
    if (reader)
        reader->streaming = true;
    return answer_once(http, connection, CRN_HTTP_OK, CRN_HTTP_EVENT_STREAM, response);
}

static enum MHD_Result answer_verdicts(crn_http *http, struct MHD_Connection *connection,
                                       const char *rest)
{
    (void)rest;
    crn_flight_take(http->from.flight);
    return answer_once(http, connection, CRN_HTTP_OK, CRN_VERDICT_LOG_TYPE,
                       crn_verdicts_open(http->from.flight));
}

static enum MHD_Result answer_trace(crn_http *http, struct MHD_Connection *connection,
                                    const char *rest)
{
    (void)rest;
    if (http->traces == TRACES_MAX)
        return crn_http_answer_text(http, connection, CRN_HTTP_UNAVAILABLE,
                                    "others are reading a trace: try again later\n");
    crn_flight_take(http->from.flight);
    return answer_once(http, connection, CRN_HTTP_OK, CRN_HTTP_JSON,
                       crn_traces_open(http->facts.config, http->from.flight, &http->traces));
}

static enum MHD_Result answer_maps(crn_http *http, struct MHD_Connection *connection,
                                   const char *name)
{
    crn_kept_fruit fruit;
    int error = 0;
    struct MHD_Response *response = NULL;
    if (!crn_kept_fruit_parse(name, &fruit))
        return crn_http_answer_text(http, connection, CRN_HTTP_NOT_FOUND,
                                    "expected /maps/LANE/EPOCH/FRUIT, whole numbers\n");
    if (http->maps == MAPS_MAX)
        return crn_http_answer_text(http, connection, CRN_HTTP_UNAVAILABLE,
                                    "others are reading maps: try again later\n");
    if (http->from.kept_maps)
        response = crn_maps_open(http->from.kept_maps, &fruit, &http->maps, &error);
    if (!response && error == 0)
        return crn_http_answer_text(
            http, connection, CRN_HTTP_NOT_FOUND,
            "the maps of this fruit are not kept: only those of the last fruits "
            "that were late, partial or over budget are (monitor.keep_slots)\n");
    return answer_once(http, connection, CRN_HTTP_OK, CRN_MAPS_TYPE, response);
}

/* What the pages may load: only what this server has. */
#define CONTENT_POLICY                                                                             \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "        \
    "'self'; "                                                                                     \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static enum MHD_Result answer_asset(crn_http *http, struct MHD_Connection *connection,
                                    const char *name)
{
    const crn_asset *asset = crn_assets_find(name);
    if (!asset)
        return crn_http_answer_text(http, connection, CRN_HTTP_NOT_FOUND, "no such file\n");
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)(asset->end - asset->start),
                                        (void *)(uintptr_t)asset->start, MHD_RESPMEM_PERSISTENT);
    if (response) {
        MHD_add_response_header(response, "Content-Security-Policy", CONTENT_POLICY);
        MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    }
    return answer_once(http, connection, CRN_HTTP_OK, asset->type, response);
}

/* The page of a fruit, or with .json what it shows. */
static enum MHD_Result answer_fruit(crn_http *http, struct MHD_Connection *connection,
                                    const char *name)
{
    static const char end[] = ".json";
    crn_kept_fruit fruit;
    char text[CRN_KEPT_NAME_BYTES];
    size_t length = strlen(name);
    bool json = length > strlen(end) && strcmp(name + length - strlen(end), end) == 0;
    length -= json ? strlen(end) : 0;
    if (length < sizeof text)
        snprintf(text, sizeof text, "%.*s", (int)length, name);
    if (length >= sizeof text || !crn_kept_fruit_parse(text, &fruit))
        return crn_http_answer_text(http, connection, CRN_HTTP_NOT_FOUND,
                                    "expected /fruits/LANE/EPOCH/FRUIT, whole numbers\n");
    if (!json)
        return answer_asset(http, connection, "fruit.html");
    int error;
    crn_flight_take(http->from.flight);
    struct MHD_Response *response =
        crn_fruit_page_open(http->from.flight, http->from.kept_maps, http->sheets, &fruit, &error);
    if (!response && error == 0)
        return crn_http_answer_text(
            http, connection, CRN_HTTP_NOT_FOUND,
            "the flight recorder does not have this fruit: only the last ones\n");
    return answer_once(http, connection, CRN_HTTP_OK, CRN_HTTP_JSON, response);
}

/* Sends the file itself, not a copy: slow readers share it. */
static enum MHD_Result answer_photos(crn_http *http, struct MHD_Connection *connection,
                                     const char *name)
{
    char *end;
    const void *png;
    size_t size;
    bool is_number = *name >= '0' && *name <= '9';
    uint64_t number = strtoull(name, &end, 10);
    const crn_sheet *sheet =
        is_number && *end == '\0' ? crn_sheets_find(http->sheets, number) : NULL;
    if (!sheet)
        return crn_http_answer_text(http, connection, CRN_HTTP_NOT_FOUND,
                                    "the photographs of this fruit are not kept any more\n");
    crn_sheet_file *file = crn_sheet_hold(sheet, &png, &size);
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        size, (void *)(uintptr_t)png, crn_sheet_let_go, file);
    if (!response)
        crn_sheet_let_go(file);
    return answer_once(http, connection, CRN_HTTP_OK, "image/png", response);
}

typedef enum MHD_Result answer_fn(crn_http *http, struct MHD_Connection *connection,
                                  const char *rest);

static enum MHD_Result answer_live(crn_http *http, struct MHD_Connection *connection,
                                   const char *rest)
{
    (void)rest;
    return answer_asset(http, connection, "index.html");
}

/* A page by its whole address, or by the beginning of it, which then ends with a slash. */
typedef struct route {
    const char *path;
    answer_fn *answer; /* given what follows the path */
} route;

static const route routes[] = {
    {"/", answer_live},
    {"/metrics", answer_metrics},
    {"/healthz", answer_healthz},
    {"/readyz", answer_readyz},
    {"/conditions", answer_conditions},
    {"/alarms", answer_alarms},
    {"/alarms.csv", answer_alarms_csv},
    {"/minutes", answer_minutes},
    {"/events", answer_events},
    {"/verdicts", answer_verdicts},
    {"/trace", answer_trace},
    {CRN_MAPS_PATH, answer_maps},
    {CRN_ASSETS_PATH, answer_asset},
    {"/fruits/", answer_fruit},
    {"/photos/", answer_photos},
};

static const route *find_route(const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        size_t length = strlen(routes[i].path);
        bool whole = length == 1 || routes[i].path[length - 1] != '/';
        if (whole ? strcmp(path, routes[i].path) == 0 : strncmp(path, routes[i].path, length) == 0)
            return &routes[i];
    }
    return NULL;
}

static enum MHD_Result answer_page(crn_http *http, struct MHD_Connection *connection,
                                   const char *path, bool faulty)
{
    const route *found = faulty ? NULL : find_route(path);
    if (found)
        return found->answer(http, connection, path + strlen(found->path));
    return crn_http_answer_text(
        http, connection, CRN_HTTP_NOT_FOUND,
        "no such page; there are /, /metrics, /healthz, /readyz, /conditions, /alarms, "
        "/alarms.csv, /minutes, /events, /verdicts, /trace, /fruits and /maps\n");
}

enum MHD_Result crn_http_handle(void *context, struct MHD_Connection *connection, const char *path,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **request)
{
    crn_http *http = context;
    (void)version;
    bool faulty = *request == crn_http_faulty_uri;
    if (*request && !faulty)
        return crn_http_post_take(http, connection, *request, upload, upload_size);
    crn_client *entry = crn_clients_find(connection);
    if (entry)
        entry->requested = true;
    bool reads =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    const crn_post *post = faulty ? NULL : crn_http_find_post(path);
    if (post ? strcmp(method, MHD_HTTP_METHOD_POST) != 0 : !reads)
        return answer_method(http, connection, post ? "POST" : "GET, HEAD");
    const char *host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    const crn_config *config = http->facts.config;
    if (!crn_http_host_is_own(host, config->monitor.http, &config->monitor.hosts))
        return crn_http_answer_text(
            http, connection, CRN_HTTP_HOST,
            "unknown host name: use the address, localhost, the machine's name, or "
            "the name that monitor.http gives; behind a proxy, add the name that "
            "browsers use to monitor.hosts in the line's file\n");
    return post ? crn_http_post_begin(http, connection, post, request)
                : answer_page(http, connection, path, faulty);
}
