#include "tools/top/status.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "src/formats/encoding/messagepack_json.h"

typedef msgpack_object object;

static double number(const object *map, const char *key)
{
    return crn_value_real(crn_value_get(map, key));
}

/* -1 if there is none, or it does not fit. */
static int64_t whole(const object *map, const char *key)
{
    double value = number(map, key);
    return value >= 0 && value < 9e15 ? (int64_t)value : -1;
}

static bool is_true(const object *map, const char *key)
{
    return crn_value_is_true(crn_value_get(map, key));
}

/* Copies a text; what a terminal would obey, or shows in two columns or in none, becomes '?'. */
static void copy_text(const object *value, char *text, size_t size)
{
    text[0] = '\0';
    if (!value || value->type != MSGPACK_OBJECT_STR)
        return;
    mbstate_t state = {0};
    const char *from = value->via.str.ptr;
    size_t left = value->via.str.size, used = 0;
    while (left > 0 && used + MB_CUR_MAX + 1 <= size) {
        wchar_t one;
        size_t bytes = mbrtowc(&one, from, left, &state);
        bool good = bytes - 1 < left && wcwidth(one) == 1;
        if (bytes - 1 >= left) { /* no character: an error, or cut */
            memset(&state, 0, sizeof state);
            bytes = 1;
        }
        if (good)
            memcpy(text + used, from, bytes);
        else
            text[used] = '?';
        used += good ? bytes : 1;
        from += bytes;
        left -= bytes;
    }
    text[used] = '\0';
}

#define TEXT(map, key, to) copy_text(crn_value_get(map, key), to, sizeof(to))

/* A list's items; 0 if it is none. */
static int items(const object *list, int max, const object **ret_items)
{
    *ret_items = NULL;
    if (!list || list->type != MSGPACK_OBJECT_ARRAY)
        return 0;
    *ret_items = list->via.array.ptr;
    return list->via.array.size < (uint32_t)max ? (int)list->via.array.size : max;
}

static void read_budget(const object *event, crn_top_status *status)
{
    const object *budget = crn_value_get(event, "budget");
    status->budget_known = budget && budget->type == MSGPACK_OBJECT_MAP;
    status->budget_kept = is_true(budget, "kept");
    status->budget_since_s = number(budget, "since_s");
    status->missed = number(budget, "missed");
    status->recent_verdicts = number(budget, "verdicts");
}

static void read_figures(const object *event, crn_top_status *status)
{
    const object *verdicts = crn_value_get(event, "verdicts");
    const object *recent = crn_value_get(event, "recent");
    const object *latency = crn_value_get(recent ? recent : event, "latency_ms");
    status->now_s = number(event, "now_s");
    status->budget_ms = number(event, "budget_ms");
    status->workers = number(event, "workers");
    status->devices = number(event, "devices");
    status->devices_lost = number(event, "devices_lost");
    status->memory_bytes = number(event, "memory_bytes");
    status->verdicts_per_s = number(event, "verdicts_per_s");
    status->views_per_s = number(event, "views_per_s");
    status->complete = number(verdicts, "complete");
    status->partial = number(verdicts, "partial");
    status->late = number(verdicts, "late");
    status->lost = number(event, "lost");
    status->recent_partial = number(crn_value_get(recent, "verdicts"), "partial");
    status->p50_ms = number(latency, "p50");
    status->p99_ms = number(latency, "p99");
    status->slots = number(event, "slots");
    status->slots_free = number(event, "slots_free");
    status->graders = number(event, "graders");
    status->waiting = number(event, "waiting");
}

/* As the live page counts them. */
static void read_codes(const object *event, crn_top_status *status)
{
    const object *codes;
    int count = items(crn_value_get(event, "codes"), CRN_STATUS_REASONS, &codes);
    double most = 0;
    for (int i = 0; i < count; i++) {
        const object *code = crn_value_get(&codes[i], "code");
        double lost = number(&codes[i], "count");
        if ((crn_value_is_text(code, "verdict_dropped") ||
             crn_value_is_text(code, "verdict_failed")) &&
            lost > 0)
            status->undelivered += lost;
        if (is_true(&codes[i], "refused") && lost > 0) {
            status->refused += lost;
            status->refused_reason = lost > most ? i : status->refused_reason;
            most = fmax(most, lost);
        }
    }
}

static double value_of(const object *item)
{
    msgpack_object_kv pair = {
        .key = {.type = MSGPACK_OBJECT_STR, .via.str = {.size = 1, .ptr = "v"}}, .val = *item};
    object map = {.type = MSGPACK_OBJECT_MAP, .via.map = {.size = 1, .ptr = &pair}};
    return number(&map, "v");
}

static void read_histogram(const object *event, crn_top_status *status)
{
    const object *edges, *counts;
    int edge_count = items(crn_value_get(event, "edges_ms"), CRN_STATUS_EDGES, &edges);
    int count = items(crn_value_get(crn_value_get(event, "recent"), "counts"), CRN_STATUS_EDGES + 1,
                      &counts);
    status->has_counts = edge_count == CRN_STATUS_EDGES && count == CRN_STATUS_EDGES + 1;
    for (int i = 0; status->has_counts && i <= CRN_STATUS_EDGES; i++) {
        status->counts[i] = value_of(&counts[i]);
        if (i < CRN_STATUS_EDGES)
            status->edges_ms[i] = value_of(&edges[i]);
    }
}

static void read_stages(const object *event, crn_top_status *status)
{
    const object *list;
    status->stage_count =
        items(crn_value_get(crn_value_get(event, "recent"), "stages"), CRN_STATUS_STAGES, &list);
    for (int i = 0; i < status->stage_count; i++) {
        crn_status_stage *stage = &status->stages[i];
        TEXT(&list[i], "stage", stage->name);
        TEXT(&list[i], "backend", stage->backend);
        stage->mean_ms = number(&list[i], "mean_ms");
        stage->share = number(&list[i], "share");
    }
}

/* "2 partial, 1 late" */
static void list_causes(const object *causes, char text[CRN_STATUS_TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    if (!causes || causes->type != MSGPACK_OBJECT_MAP)
        return;
    for (uint32_t i = 0; i < causes->via.map.size; i++) {
        char name[24];
        copy_text(&causes->via.map.ptr[i].key, name, sizeof name);
        for (char *at = name; *at; at++)
            *at = *at == '_' ? ' ' : *at;
        int written = snprintf(text + used, CRN_STATUS_TEXT - used, "%s%.0f %s", used ? ", " : "",
                               value_of(&causes->via.map.ptr[i].val), name);
        if (written < 0 || (size_t)written >= CRN_STATUS_TEXT - used)
            return;
        used += (size_t)written;
    }
}

static crn_lane_state read_lane_state(const object *lane)
{
    char state[CRN_STATUS_TEXT];
    TEXT(lane, "state", state);
    return strcmp(state, "silent") == 0     ? CRN_LANE_SILENT
           : strcmp(state, "degraded") == 0 ? CRN_LANE_DEGRADED
                                            : CRN_LANE_GOOD;
}

static void read_lanes(const object *event, crn_top_status *status)
{
    const object *list;
    status->lane_count = items(crn_value_get(event, "lanes"), CRN_STATUS_LANES, &list);
    for (int i = 0; i < status->lane_count; i++) {
        crn_status_lane *lane = &status->lanes[i];
        lane->number = whole(&list[i], "lane");
        lane->state = read_lane_state(&list[i]);
        lane->last_view_s = number(&list[i], "last_view_s");
        lane->p99_ms = number(crn_value_get(&list[i], "latency_ms"), "p99");
        list_causes(crn_value_get(&list[i], "causes"), lane->causes);
    }
}

static void read_bad(const object *event, crn_top_status *status)
{
    const object *list;
    status->bad_count = items(crn_value_get(event, "bad"), CRN_STATUS_BAD, &list);
    for (int i = 0; i < status->bad_count; i++) {
        crn_status_fruit *fruit = &status->bad[i];
        fruit->lane = whole(&list[i], "lane");
        fruit->fruit = whole(&list[i], "fruit");
        TEXT(&list[i], "verdict", fruit->verdict);
        fruit->over_budget = is_true(&list[i], "over_budget");
        fruit->latency_ms = number(&list[i], "latency_ms");
        fruit->published_s = number(&list[i], "published_s");
    }
}

static crn_status_writer read_writer(const object *writer)
{
    double size = number(writer, "size_bytes");
    return (crn_status_writer){
        .on = is_true(writer, "on"),
        .lost = number(writer, "lost"),
        .bytes = number(writer, "bytes"),
        .free_share = size > 0 ? number(writer, "free_bytes") / size : NAN,
    };
}

static void read_event(const object *event, crn_top_status *status)
{
    const object *reasons;
    TEXT(event, "state", status->state);
    TEXT(event, "version", status->version);
    TEXT(event, "run", status->run);
    TEXT(event, "config", status->config);
    TEXT(event, "backend", status->backend);
    status->healthy = is_true(event, "healthy");
    status->reason_count = items(crn_value_get(event, "reasons"), CRN_STATUS_REASONS, &reasons);
    for (int i = 0; i < status->reason_count; i++)
        copy_text(&reasons[i], status->reasons[i], CRN_STATUS_REASON);
    read_codes(event, status);
    read_budget(event, status);
    read_figures(event, status);
    read_histogram(event, status);
    read_stages(event, status);
    read_lanes(event, status);
    read_bad(event, status);
    status->recorder = read_writer(crn_value_get(event, "recorder"));
    status->log = read_writer(crn_value_get(event, "log"));
}

int crn_status_parse(const char *json, size_t size, crn_top_status *ret_status, crn_error *error)
{
    crn_messagepack_json tree;
    int r = crn_messagepack_json_init(&tree, json, size, error);
    if (r < 0)
        return r;
    if (!crn_value_get(&tree.tree.data, "state"))
        r = crn_error_set(error, -EBADMSG, "an event without a state");
    else
        read_event(&tree.tree.data, ret_status);
    crn_messagepack_json_done(&tree);
    return r;
}
