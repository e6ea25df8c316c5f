/* Checks what a table of rows cannot express: dependencies between keys,
 * endpoints, the stages' own checks. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "stages/backend.h"
#include "stages/config/internal.h"
#include "stages/base/process/cpus.h"

#define IPC_PATH_MAX 107 /* sizeof sockaddr_un.sun_path without the terminating zero */

/* One endpoint of the file; `node` NULL: the default applies. */
typedef struct endpoint {
    const char *key;
    const char *text;
    const crn_node *node;
    const char *scheme; /* that the text lacks, or "" */
} endpoint;

#define ENDPOINTS_MAX  (CRN_TEXTS_MAX + 5)
#define ENDPOINT_BYTES (CRN_TEXT_BYTES + 32)

static const crn_node *value_of(const crn_reader *reader, const char *section, const char *key)
{
    return crn_node_value(crn_node_value(reader->root, section), key);
}

/* True for "1" to "65535" and nothing else. */
static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 5 && !text[digits] && text[0] != '0' && atoi(text) <= 65535;
}

/* A name, an IPv4 address, an interface, `*`, or an IPv6 address in brackets. */
static bool is_host(const char *text, size_t length)
{
    if (length == 1 && text[0] == '*')
        return true;
    bool bracketed = length > 2 && text[0] == '[' && text[length - 1] == ']';
    for (size_t i = bracketed; i < length - bracketed; i++) {
        bool other = strchr(bracketed ? ":.%" : ".-_", text[i]) && text[i];
        if (!isalnum((unsigned char)text[i]) && !other)
            return false;
    }
    return length > 0;
}

/* Returns what is wrong with an endpoint, or NULL. */
static const char *endpoint_fault(const char *text)
{
    if (strncmp(text, "ipc://", 6) == 0) {
        const char *path = text + 6;
        if (!path[0] || path[0] == '*' || path[0] == '@')
            return "has no path, ipc://PATH expected";
        return strlen(path) > IPC_PATH_MAX ? "has a path over 107 bytes, a shorter one expected"
                                           : NULL;
    }
    if (strncmp(text, "tcp://", 6) != 0)
        return "is not an endpoint, tcp://HOST:PORT or ipc://PATH expected";
    const char *host = text + 6;
    const char *colon = strrchr(host, ':');
    if (!colon || colon[1 + strcspn(colon + 1, "]")])
        return "has no port, tcp://HOST:PORT expected";
    if (!is_port(colon + 1))
        return "has no such port, tcp://HOST:PORT with 1 to 65535 expected";
    if (!is_host(host, (size_t)(colon - host)))
        return "has no such host, a name, an IPv4 address, [an IPv6 address] or * expected";
    return NULL;
}

static bool is_any_host(const char *host, size_t length)
{
    static const char *const any[] = {"*", "0.0.0.0", "[::]", NULL};
    for (const char *const *a = any; *a; a++)
        if (strlen(*a) == length && strncmp(host, *a, length) == 0)
            return true;
    return false;
}

/* Removes what does not change a path: ./ at its beginning, // and /./ within. */
static void normalise_path(char *path)
{
    char *to = path;
    for (const char *from = path; *from;) {
        bool begins = to == path || to[-1] == '/';
        if (begins && from[0] == '.' && from[1] == '/')
            from += 2;
        else if (from[0] == '/' && to > path && to[-1] == '/')
            from++;
        else
            *to++ = *from++;
    }
    *to = '\0';
}

/* One spelling of an endpoint that may be written in several. */
static void normalise(const endpoint *one, char ret_text[ENDPOINT_BYTES])
{
    char host[CRN_TEXT_BYTES], shortest[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    snprintf(ret_text, ENDPOINT_BYTES, "%s%s", one->scheme, one->text);
    if (strncmp(ret_text, "ipc://", 6) == 0)
        normalise_path(ret_text + 6);
    const char *colon = strrchr(one->text, ':');
    if (strncmp(ret_text, "tcp://", 6) != 0 || !colon)
        return;
    const char *begin = one->text + (one->scheme[0] ? 0 : 6);
    snprintf(host, sizeof host, "%.*s", (int)(colon - begin), begin);
    size_t length = strlen(host);
    if (strcasecmp(host, "localhost") == 0)
        snprintf(ret_text, ENDPOINT_BYTES, "tcp://127.0.0.1%s", colon);
    if (length < 2 || host[0] != '[')
        return;
    host[length - 1] = '\0';
    if (inet_pton(AF_INET6, host + 1, &v6) == 1)
        snprintf(ret_text, ENDPOINT_BYTES, "tcp://[%s]%s",
                 inet_ntop(AF_INET6, &v6, shortest, sizeof shortest), colon);
}

/* True if two valid endpoints, in one spelling, cannot both be bound. */
static bool clash(const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return true;
    if (strncmp(a, "tcp://", 6) != 0 || strncmp(b, "tcp://", 6) != 0)
        return false;
    const char *a_port = strrchr(a, ':'), *b_port = strrchr(b, ':');
    return strcmp(a_port, b_port) == 0 && (is_any_host(a + 6, (size_t)(a_port - a) - 6) ||
                                           is_any_host(b + 6, (size_t)(b_port - b) - 6));
}

static bool is_before(const endpoint *a, const endpoint *b)
{
    if (!a->node || !b->node)
        return !a->node;
    return a->node->position.line != b->node->position.line
               ? a->node->position.line < b->node->position.line
               : a->node->position.column < b->node->position.column;
}

static void check_clash(crn_reader *reader, const endpoint *a, const endpoint *b)
{
    char texts[2][ENDPOINT_BYTES];
    normalise(a, texts[0]);
    normalise(b, texts[1]);
    if (!clash(texts[0], texts[1]) || (!a->node && !b->node))
        return;
    const endpoint *first = is_before(a, b) ? a : b, *later = first == a ? b : a;
    char where[64] = "'s default";
    if (first->node)
        snprintf(where, sizeof where, " on line %d, column %d", first->node->position.line,
                 first->node->position.column);
    crn_diagnostics_add(reader->faults, later->node->position,
                        "%s: '%.100s' is already used by %s%s, a unique endpoint expected",
                        later->key, later->text, first->key, where);
}

/* Adds the endpoint unless an error was already reported for it. */
static void add_endpoint(const crn_reader *reader, endpoint *list, int *count, endpoint one)
{
    if (!one.node || (one.node->kind == CRN_NODE_SCALAR &&
                      !crn_diagnostics_at(reader->faults, one.node->position)))
        list[(*count)++] = one;
}

static void check_endpoints(crn_reader *reader)
{
    const crn_config *config = reader->config;
    endpoint list[ENDPOINTS_MAX];
    int count = 0;
    const crn_node *publish = crn_node_value(reader->root, "publish");
    const crn_node *bind = value_of(reader, "ingest", "bind");
    const crn_node *item = bind && bind->kind == CRN_NODE_LIST ? bind->first : bind;
    for (int32_t i = 0; i < config->ingest.bind.count; i++) {
        add_endpoint(reader, list, &count,
                     (endpoint){"ingest.bind", config->ingest.bind.item[i], item, ""});
        item = item ? item->next : NULL;
    }
    add_endpoint(reader, list, &count,
                 (endpoint){"publish.grader.bind", config->publish.grader.bind,
                            crn_node_value(crn_node_value(publish, "grader"), "bind"), ""});
    add_endpoint(reader, list, &count,
                 (endpoint){"publish.viewers.bind", config->publish.viewers.bind,
                            crn_node_value(crn_node_value(publish, "viewers"), "bind"), ""});
    const crn_node *http = value_of(reader, "monitor", "http");
    const crn_node *control = value_of(reader, "control", "path");
    const crn_node *slots = crn_node_value(value_of(reader, "ingest", "slots"), "path");
    const char *port = strrchr(config->monitor.http, ':');
    if (http && port && strcmp(port, ":0") != 0) /* the default may be taken: then no pages */
        add_endpoint(reader, list, &count,
                     (endpoint){"monitor.http", config->monitor.http, http, "tcp://"});
    if (control && config->control.path[0])
        add_endpoint(reader, list, &count,
                     (endpoint){"control.path", config->control.path, control, "ipc://"});
    if (slots && config->ingest.slots.path[0])
        add_endpoint(reader, list, &count,
                     (endpoint){"ingest.slots.path", config->ingest.slots.path, slots, "ipc://"});
    for (int i = 0; i < count; i++) {
        const char *fault = list[i].scheme[0] ? NULL : endpoint_fault(list[i].text);
        if (fault && list[i].node)
            crn_diagnostics_add(reader->faults, list[i].node->position, "%s: %s %s", list[i].key,
                                crn_quote(list[i].text, strlen(list[i].text), '\'').text, fault);
        for (int j = 0; j < i && !fault; j++)
            if (list[j].scheme[0] || !endpoint_fault(list[j].text))
                check_clash(reader, &list[j], &list[i]);
    }
}

/* True if the key has a valid value. */
static bool is_given(const crn_reader *reader, const crn_node *node)
{
    return node && !crn_diagnostics_at(reader->faults, node->position);
}

/* A value that could not be parsed is not compared. NULL: the default. */
static bool are_comparable(const crn_reader *reader, const crn_node *a, const crn_node *b)
{
    return (!a || is_given(reader, a)) && (!b || is_given(reader, b));
}

static void check_numbers(crn_reader *reader)
{
    const crn_config *config = reader->config;
    const crn_node *slots = value_of(reader, "limits", "slots");
    if (is_given(reader, slots) && config->limits.slots == 1)
        crn_diagnostics_add(
            reader->faults, slots->position,
            "limits.slots: 1 is too few, 0 (4 x workers + 16) or 2 to 4096 expected");
    const crn_node *view_mib = value_of(reader, "limits", "view_mib");
    const crn_node *peer_mib = value_of(reader, "limits", "peer_mib");
    bool below = are_comparable(reader, view_mib, peer_mib) &&
                 config->limits.peer_mib < config->limits.view_mib;
    if (below && !peer_mib) /* files of 0.1.0 do not have it */
        reader->config->limits.peer_mib = config->limits.view_mib;
    else if (below)
        crn_diagnostics_add(reader->faults, peer_mib->position,
                            "limits.peer_mib: %" PRId64 " is below view_mib, which is %" PRId64
                            ": views would be refused; at least as much expected",
                            config->limits.peer_mib, config->limits.view_mib);
}

void crn_check_latency(crn_reader *reader, const crn_node *map)
{
    const crn_config *config = reader->config;
    const crn_node *budget = crn_node_value(map, "budget_ms");
    const crn_node *guard = crn_node_value(map, "guard_ms");
    if (are_comparable(reader, budget, guard) && (budget || guard) &&
        config->latency.guard_ms >= config->latency.budget_ms)
        crn_diagnostics_add(reader->faults, guard ? guard->position : budget->position,
                            "latency.guard_ms: %" PRId64
                            " is not below budget_ms, which is %" PRId64 ", less expected",
                            config->latency.guard_ms, config->latency.budget_ms);
}

/* What is kept has to hold a segment; `shift`: from the key's unit to MiB. */
static void check_keep(crn_reader *reader, const crn_node *map, const char *key, int64_t keep,
                       int shift, int64_t segment)
{
    const crn_node *keep_node = crn_node_value(map, strrchr(key, '.') + 1);
    const crn_node *segment_node = crn_node_value(map, "segment_mib");
    const crn_node *at = keep_node ? keep_node : segment_node;
    if (at && are_comparable(reader, keep_node, segment_node) && keep > 0 &&
        keep << shift < segment)
        crn_diagnostics_add(reader->faults, at->position,
                            "%s: %" PRId64 " is below segment_mib, which is %" PRId64
                            ", at least as much or 0 (keep all) expected",
                            key, keep, segment);
}

static void check_segments(crn_reader *reader)
{
    crn_config *config = reader->config;
    const crn_node *log = crn_node_value(crn_node_value(reader->root, "publish"), "log");
    config->publish.log.dir_named = crn_node_value(log, "dir") != NULL;
    check_keep(reader, log, "publish.log.keep_mib", config->publish.log.keep_mib, 0,
               config->publish.log.segment_mib);
    check_keep(reader, crn_node_value(reader->root, "record"), "record.keep_gib",
               config->record.keep_gib, 10, config->record.segment_mib);
}

/* True for HOST:PORT with 0 to 65535, 0 for any free port. */
static bool is_http_address(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon && is_host(text, (size_t)(colon - text)) &&
           (is_port(colon + 1) || strcmp(colon + 1, "0") == 0);
}

/* An address needs no entry, and `*` would let any page in. */
static bool is_host_name(const char *text)
{
    return is_host(text, strlen(text)) && text[0] != '*' && text[0] != '[';
}

static void check_hosts(crn_reader *reader)
{
    const crn_texts *hosts = &reader->config->monitor.hosts;
    const crn_node *list = value_of(reader, "monitor", "hosts");
    const crn_node *item = list && list->kind == CRN_NODE_LIST ? list->first : list;
    for (int32_t i = 0; i < hosts->count && item; i++, item = item->next)
        if (is_given(reader, item) && !is_host_name(hosts->item[i]))
            crn_diagnostics_add(reader->faults, item->position,
                                "monitor.hosts: %s is not a host name, one without port, such as "
                                "line3.example.com, expected",
                                crn_quote(hosts->item[i], strlen(hosts->item[i]), '\'').text);
}

static void check_http(crn_reader *reader)
{
    crn_config *config = reader->config;
    const crn_node *http = value_of(reader, "monitor", "http");
    config->monitor.http_named = http != NULL;
    if (is_given(reader, http) && config->monitor.http[0] && !is_http_address(config->monitor.http))
        crn_diagnostics_add(
            reader->faults, http->position,
            "monitor.http: %s is not an address, HOST:PORT or \"\" (none) expected",
            crn_quote(config->monitor.http, strlen(config->monitor.http), '\'').text);
    check_hosts(reader);
}

static void check_access(crn_reader *reader)
{
    const crn_config *config = reader->config;
    const crn_node *ipc = value_of(reader, "access", "ipc");
    const crn_node *plain = value_of(reader, "access", "plain_tcp");
    const crn_node *keys = value_of(reader, "access", "keys");
    if (keys && !is_given(reader, keys))
        return;
    if (is_given(reader, ipc) && config->access.ipc && !config->access.keys[0])
        crn_diagnostics_add(reader->faults, ipc->position,
                            "access.ipc: requires keys, and access.keys names none, a folder there "
                            "expected");
    if (is_given(reader, plain) && config->access.plain_tcp && config->access.keys[0])
        crn_diagnostics_add(reader->faults, plain->position,
                            "access.plain_tcp: with access.keys every tcp endpoint requires keys, "
                            "one of the two expected");
}

static void check_path_length(crn_reader *reader, const char *key, const crn_node *node,
                              const char *path)
{
    if (is_given(reader, node) && strlen(path) > IPC_PATH_MAX)
        crn_diagnostics_add(reader->faults, node->position,
                            "%s: %s has over 107 bytes, a shorter one expected", key,
                            crn_quote(path, strlen(path), '\'').text);
}

static void check_slots(crn_reader *reader)
{
    const crn_node *slots = value_of(reader, "ingest", "slots");
    const crn_node *kinds = crn_node_value(slots, "kinds");
    const crn_texts *named = &reader->config->ingest.slots.kinds;
    check_path_length(reader, "ingest.slots.path", crn_node_value(slots, "path"),
                      reader->config->ingest.slots.path);
    for (int32_t i = 0; i < named->count && is_given(reader, kinds); i++)
        if (strcmp(named->item[i], "memfd") != 0 && strcmp(named->item[i], "vmm") != 0)
            crn_diagnostics_add(
                reader->faults, kinds->position,
                "ingest.slots.kinds: %s is not a kind of memory that this version gives out, "
                "memfd or vmm expected",
                crn_quote(named->item[i], strlen(named->item[i]), '\'').text);
    int32_t backend = reader->config->run.backend;
    if (is_given(reader, kinds) && crn_config_gives_slots(reader->config, "vmm") &&
        backend != CRN_BACKEND_CUDA && backend != CRN_BACKEND_AUTO)
        crn_diagnostics_add(reader->faults, kinds->position,
                            "ingest.slots.kinds: vmm with run.backend %s, cuda or auto expected",
                            crn_backend_names[backend]);
}

static void check_control(crn_reader *reader)
{
    check_path_length(reader, "control.path", value_of(reader, "control", "path"),
                      reader->config->control.path);
}

static void check_devices(crn_reader *reader)
{
    const crn_numbers *devices = &reader->config->run.devices;
    const crn_node *list = value_of(reader, "run", "devices");
    if (!list || list->kind != CRN_NODE_LIST)
        return;
    const crn_node *item = list->first;
    for (int32_t i = 0; i < devices->count && item; i++, item = item->next)
        for (int32_t j = 0; j < i && !crn_diagnostics_at(reader->faults, item->position); j++)
            if (devices->item[j] == devices->item[i])
                crn_diagnostics_add(reader->faults, item->position,
                                    "run.devices: %" PRId64
                                    " is a duplicate, each device once expected",
                                    devices->item[i]);
}

static void check_sum(crn_reader *reader)
{
    const crn_config *config = reader->config;
    const crn_node *node = value_of(reader, "ingest", "sum");
    if (is_given(reader, node) && config->ingest.sum == CRN_SUM_ONE && reader->classes_good &&
        config->classes.count == 1)
        crn_diagnostics_add(reader->faults, node->position,
                            "ingest.sum: 1 with one class, whose values would all have to be 1; "
                            "auto or none expected");
}

static void check_lanes(crn_reader *reader)
{
    crn_lane_ranges ranges;
    const crn_node *node = value_of(reader, "ingest", "lanes");
    if (is_given(reader, node) && crn_lane_ranges_parse(&reader->config->ingest.lanes, &ranges) < 0)
        crn_diagnostics_add(
            reader->faults, node->position,
            "ingest.lanes: not a list of lanes, at most %d numbers or ranges such as "
            "[0, 1, 2] or 0-39 expected",
            CRN_LANE_RANGES_MAX);
}

static void check_cpus(crn_reader *reader, const char *key, const char *cpus)
{
    const crn_node *node = value_of(reader, "realtime", key);
    cpu_set_t parsed;
    if (is_given(reader, node) && crn_cpus_parse(cpus, &parsed) < 0)
        crn_diagnostics_add(
            reader->faults, node->position,
            "realtime.%s: %s is not a list of CPUs, such as 3 or \"2,4-7\" expected", key,
            crn_quote(cpus, strlen(cpus), '\'').text);
}

static void check_realtime(crn_reader *reader)
{
    const crn_config *config = reader->config;
    int64_t line = config->realtime.line_priority, worker = config->realtime.worker_priority;
    const crn_node *line_node = value_of(reader, "realtime", "line_priority");
    const crn_node *worker_node = value_of(reader, "realtime", "worker_priority");
    check_cpus(reader, "line_cpus", config->realtime.line_cpus);
    check_cpus(reader, "io_cpus", config->realtime.io_cpus);
    check_cpus(reader, "worker_cpus", config->realtime.worker_cpus);
    check_cpus(reader, "device_cpus", config->realtime.device_cpus);
    if (is_given(reader, worker_node) && (!line_node || is_given(reader, line_node)) && worker &&
        worker > line - 2)
        crn_diagnostics_add(reader->faults, worker_node->position,
                            "realtime.worker_priority: %" PRId64
                            " is not at least 2 below line_priority, which is %" PRId64
                            " (libzmq's threads run between them), a lower one or 0 expected",
                            worker, line);
}

void crn_check_stages(crn_reader *reader)
{
    crn_config *config = reader->config;
    for (int32_t i = 0; i < config->steps; i++) {
        crn_step *step = &config->chain[i];
        crn_error error = {""};
        if (!reader->step_good[i] || !reader->classes_good || !step->stage->prepare)
            continue;
        int r = step->stage->prepare(step->settings, &config->classes, &error);
        reader->faults->no_memory |= r == -ENOMEM;
        if (r < 0)
            crn_diagnostics_add(reader->faults, reader->step_position[i], "%s: %s",
                                step->stage->name, error.text);
    }
}

void crn_check_config(crn_reader *reader)
{
    check_numbers(reader);
    crn_check_latency(reader, crn_node_value(reader->root, "latency"));
    crn_check_geometry(reader, "geometry", crn_node_value(reader->root, "geometry"));
    crn_check_lane_scales(reader, crn_node_value(reader->root, "geometry"));
    check_segments(reader);
    check_lanes(reader);
    check_sum(reader);
    check_http(reader);
    check_access(reader);
    check_control(reader);
    check_slots(reader);
    check_endpoints(reader);
    check_devices(reader);
    check_realtime(reader);
    crn_check_stages(reader);
}
