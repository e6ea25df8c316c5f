#include "src/client/daemon_state.h"

#include <ctype.h>
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

static void read_budget(const object *event, crn_daemon_state *state)
{
    const object *budget = crn_value_get(event, "budget");
    state->budget_known = budget && budget->type == MSGPACK_OBJECT_MAP;
    state->budget_kept = is_true(budget, "kept");
    state->budget_since_s = number(budget, "since_s");
    state->missed = number(budget, "missed");
    state->recent_verdicts = number(budget, "verdicts");
}

static void read_figures(const object *event, crn_daemon_state *state)
{
    const object *verdicts = crn_value_get(event, "verdicts");
    const object *recent = crn_value_get(event, "recent");
    const object *latency = crn_value_get(recent ? recent : event, "latency_ms");
    state->now_s = number(event, "now_s");
    state->budget_ms = number(event, "budget_ms");
    state->workers = number(event, "workers");
    state->devices = number(event, "devices");
    state->devices_lost = number(event, "devices_lost");
    state->memory_bytes = number(event, "memory_bytes");
    state->verdicts_per_s = number(event, "verdicts_per_s");
    state->views_per_s = number(event, "views_per_s");
    state->complete = number(verdicts, "complete");
    state->partial = number(verdicts, "partial");
    state->late = number(verdicts, "late");
    state->lost = number(event, "lost");
    state->p50_ms = number(latency, "p50");
    state->p99_ms = number(latency, "p99");
    state->slots = number(event, "slots");
    state->slots_free = number(event, "slots_free");
    state->graders = number(event, "graders");
    state->waiting = number(event, "waiting");
    state->alarms = number(crn_value_get(event, "alarms"), "unacknowledged");
}

const char *crn_state_level_name(crn_state_level level)
{
    static const char *const names[] = {"none", "good", "notice", "warning", "critical"};
    return names[level];
}

/* A level by its name; CRN_LEVEL_NONE if it is not one. */
static crn_state_level read_level(const object *map, const char *key)
{
    const object *value = crn_value_get(map, key);
    crn_state_level level = CRN_LEVEL_CRITICAL;
    while (level > CRN_LEVEL_NONE && !crn_value_is_text(value, crn_state_level_name(level)))
        level--;
    return level;
}

static void read_conditions(const object *event, crn_daemon_state *state)
{
    const object *headline = crn_value_get(event, "headline");
    const object *list = crn_value_get(event, "conditions"), *rows;
    state->level = read_level(headline, "level");
    state->misjudged = is_true(headline, "misjudged");
    state->conditions_known = list && list->type == MSGPACK_OBJECT_ARRAY;
    state->condition_count = items(list, CRN_STATE_CONDITIONS, &rows);
    for (int i = 0; i < state->condition_count; i++) {
        crn_state_condition *condition = &state->conditions[i];
        TEXT(&rows[i], "id", condition->id);
        TEXT(&rows[i], "what", condition->what);
        TEXT(&rows[i], "action", condition->action);
        TEXT(&rows[i], "details", condition->details);
        condition->severity = read_level(&rows[i], "severity");
        condition->misjudged = is_true(&rows[i], "misjudged");
        condition->lane = whole(&rows[i], "lane");
        condition->since_s = number(&rows[i], "since_s");
        state->conditions_known &= condition->id[0] && condition->what[0];
    }
}

static double value_of(const object *item)
{
    msgpack_object_kv pair = {
        .key = {.type = MSGPACK_OBJECT_STR, .via.str = {.size = 1, .ptr = "v"}}, .val = *item};
    object map = {.type = MSGPACK_OBJECT_MAP, .via.map = {.size = 1, .ptr = &pair}};
    return number(&map, "v");
}

static void read_histogram(const object *event, crn_daemon_state *state)
{
    const object *edges, *counts;
    int edge_count = items(crn_value_get(event, "edges_ms"), CRN_STATE_EDGES, &edges);
    int count = items(crn_value_get(crn_value_get(event, "recent"), "counts"), CRN_STATE_EDGES + 1,
                      &counts);
    state->has_counts = edge_count == CRN_STATE_EDGES && count == CRN_STATE_EDGES + 1;
    for (int i = 0; state->has_counts && i <= CRN_STATE_EDGES; i++) {
        state->counts[i] = value_of(&counts[i]);
        if (i < CRN_STATE_EDGES)
            state->edges_ms[i] = value_of(&edges[i]);
    }
}

static void read_stages(const object *event, crn_daemon_state *state)
{
    const object *list;
    state->stage_count =
        items(crn_value_get(crn_value_get(event, "recent"), "stages"), CRN_STATE_STAGES, &list);
    for (int i = 0; i < state->stage_count; i++) {
        crn_state_stage *stage = &state->stages[i];
        TEXT(&list[i], "stage", stage->name);
        TEXT(&list[i], "backend", stage->backend);
        stage->mean_ms = number(&list[i], "mean_ms");
        stage->share = number(&list[i], "share");
    }
}

/* "2 partial, 1 late" */
static void list_causes(const object *causes, char text[CRN_STATE_TEXT])
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
        int written = snprintf(text + used, CRN_STATE_TEXT - used, "%s%.0f %s", used ? ", " : "",
                               value_of(&causes->via.map.ptr[i].val), name);
        if (written < 0 || (size_t)written >= CRN_STATE_TEXT - used)
            return;
        used += (size_t)written;
    }
}

static crn_lane_state read_lane_state(const object *lane)
{
    char state[CRN_STATE_TEXT];
    TEXT(lane, "state", state);
    return strcmp(state, "silent") == 0     ? CRN_LANE_SILENT
           : strcmp(state, "degraded") == 0 ? CRN_LANE_DEGRADED
                                            : CRN_LANE_GOOD;
}

static void read_lanes(const object *event, crn_daemon_state *state)
{
    const object *list;
    state->lane_count = items(crn_value_get(event, "lanes"), CRN_STATE_LANES, &list);
    for (int i = 0; i < state->lane_count; i++) {
        crn_state_lane *lane = &state->lanes[i];
        lane->number = whole(&list[i], "lane");
        lane->state = read_lane_state(&list[i]);
        lane->last_view_s = number(&list[i], "last_view_s");
        lane->p99_ms = number(crn_value_get(&list[i], "latency_ms"), "p99");
        list_causes(crn_value_get(&list[i], "causes"), lane->causes);
    }
}

static void read_bad(const object *event, crn_daemon_state *state)
{
    const object *list;
    state->bad_count = items(crn_value_get(event, "bad"), CRN_STATE_BAD, &list);
    for (int i = 0; i < state->bad_count; i++) {
        crn_state_fruit *fruit = &state->bad[i];
        fruit->lane = whole(&list[i], "lane");
        fruit->fruit = whole(&list[i], "fruit");
        TEXT(&list[i], "verdict", fruit->verdict);
        fruit->over_budget = is_true(&list[i], "over_budget");
        fruit->latency_ms = number(&list[i], "latency_ms");
        fruit->published_s = number(&list[i], "published_s");
    }
}

/* Adds a fault behind the conditions that are as severe; the least of too many is left out. */
static void add_fault(const object *fault, crn_daemon_state *state)
{
    crn_state_condition added = {
        .lane = -1, .since_s = NAN, .severity = read_level(fault, "severity")};
    TEXT(fault, "id", added.id);
    TEXT(fault, "text", added.what);
    TEXT(fault, "text", added.details);
    added.what[0] = (char)toupper((unsigned char)added.what[0]);
    added.misjudged = added.severity == CRN_LEVEL_CRITICAL;
    int at = 0;
    while (at < state->condition_count && state->conditions[at].severity >= added.severity)
        at++;
    if (at == CRN_STATE_CONDITIONS)
        return;
    if (state->condition_count < CRN_STATE_CONDITIONS)
        state->condition_count++;
    memmove(&state->conditions[at + 1], &state->conditions[at],
            (size_t)(state->condition_count - at - 1) * sizeof added);
    state->conditions[at] = added;
    state->misjudged |= added.misjudged;
    if (added.severity > state->level)
        state->level = added.severity;
}

static void read_sorter(const object *event, crn_daemon_state *state)
{
    const object *sorter = crn_value_get(event, "sorter"), *list;
    state->outlet_count = items(crn_value_get(sorter, "outlets"), CRN_STATE_OUTLETS, &list);
    for (int i = 0; i < state->outlet_count; i++) {
        TEXT(&list[i], "name", state->outlets[i].name);
        state->outlets[i].per_minute = number(&list[i], "per_minute");
    }
    int faults = items(crn_value_get(sorter, "faults"), CRN_STATE_CONDITIONS, &list);
    for (int i = 0; i < faults; i++)
        add_fault(&list[i], state);
}

static void read_hour(const object *event, crn_daemon_state *state)
{
    const object *hour = crn_value_get(event, "last_hour"), *worst = crn_value_get(hour, "worst");
    state->hour_fruits = number(hour, "fruits");
    state->hour_with_defect = number(hour, "with_defect");
    TEXT(worst, "class", state->hour_worst);
    state->hour_worst_share = number(worst, "fruits") / number(worst, "looked_for");
}

static crn_state_writer read_writer(const object *writer)
{
    double size = number(writer, "size_bytes");
    return (crn_state_writer){
        .on = is_true(writer, "on"),
        .lost = number(writer, "lost"),
        .bytes = number(writer, "bytes"),
        .free_share = size > 0 ? number(writer, "free_bytes") / size : NAN,
    };
}

static void read_event(const object *event, crn_daemon_state *state)
{
    TEXT(event, "state", state->state);
    TEXT(event, "version", state->version);
    TEXT(event, "run", state->run);
    TEXT(event, "config", state->config);
    TEXT(event, "lot", state->lot);
    TEXT(event, "backend", state->backend);
    state->healthy = is_true(event, "healthy");
    read_conditions(event, state);
    read_budget(event, state);
    read_figures(event, state);
    read_histogram(event, state);
    read_stages(event, state);
    read_lanes(event, state);
    read_bad(event, state);
    read_sorter(event, state);
    read_hour(event, state);
    state->recorder = read_writer(crn_value_get(event, "recorder"));
    state->log = read_writer(crn_value_get(event, "log"));
}

int crn_daemon_state_parse(const char *json, size_t size, crn_daemon_state *ret_state,
                           crn_error *error)
{
    crn_messagepack_json tree;
    int r = crn_messagepack_json_init(&tree, json, size, error);
    if (r < 0)
        return r;
    if (!crn_value_get(&tree.tree.data, "state"))
        r = crn_error_set(error, -EBADMSG, "an event without a state");
    else
        read_event(&tree.tree.data, ret_state);
    crn_messagepack_json_done(&tree);
    return r;
}
