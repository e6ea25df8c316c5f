#include "src/formats/verdict/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/decode_fields.h"
#include "src/formats/verdict/decode_surface.h"

static const crn_decode_field verdict_fields[] = {
    {&CRN_FIELD(verdict, run), offsetof(crn_decoded, run), true},
    {&CRN_FIELD(verdict, settings), offsetof(crn_decoded, settings), false},
    {&CRN_FIELD(verdict, recipe), offsetof(crn_decoded, recipe), false},
    {&CRN_FIELD(verdict, lot), offsetof(crn_decoded, lot), false},
    {&CRN_FIELD(verdict, lane), offsetof(crn_decoded, lane), true},
    {&CRN_FIELD(verdict, epoch), offsetof(crn_decoded, epoch), false},
    {&CRN_FIELD(verdict, fruit), offsetof(crn_decoded, fruit), true},
    {&CRN_FIELD(verdict, sequence), offsetof(crn_decoded, sequence), true},
    {&CRN_FIELD(verdict, stale), offsetof(crn_decoded, stale), false},
    {&CRN_FIELD(verdict, truncated), offsetof(crn_decoded, truncated), false},
    {&CRN_FIELD(verdict, encoder), offsetof(crn_decoded, encoder), false},
    {&CRN_FIELD(verdict, captured_ns), offsetof(crn_decoded, captured_ns), false},
    {&CRN_FIELD(verdict, published_ns), offsetof(crn_decoded, published_ns), false},
    {&CRN_FIELD(verdict, deadline_ns), offsetof(crn_decoded, deadline_ns), false},
    {&CRN_FIELD(verdict, views_expected), offsetof(crn_decoded, views_expected), false},
    {&CRN_FIELD(verdict, views_received), offsetof(crn_decoded, views_received), false},
    {&CRN_FIELD(verdict, views_judged), offsetof(crn_decoded, views_judged), false},
    {&CRN_FIELD(verdict, budget_ms), offsetof(crn_decoded, budget_ms), false},
    {&CRN_FIELD(verdict, assembly_ms), offsetof(crn_decoded, assembly_ms), false},
    {&CRN_FIELD(verdict, closed_by), offsetof(crn_decoded, closed_by), false},
    {NULL, 0, false},
};

static const crn_field status_state = {.key = "state", .type = CRN_FIELD_TEXT};

static const crn_decode_field status_fields[] = {
    {&CRN_FIELD(verdict, run), offsetof(crn_decoded_status, run), true},
    {&status_state, offsetof(crn_decoded_status, state), true},
    {NULL, 0, false},
};

static const crn_decode_field total_fields[] = {
    {&CRN_FIELD(total, count), offsetof(crn_decoded_total, count), true},
    {&CRN_FIELD(total, area_px), offsetof(crn_decoded_total, area_px), true},
    {&CRN_FIELD(total, level), offsetof(crn_decoded_total, level), false},
    {NULL, 0, false},
};

static const crn_decode_field view_fields[] = {
    {&CRN_FIELD(view, view), offsetof(crn_decoded_view, view), true},
    {&CRN_FIELD(view, state), offsetof(crn_decoded_view, state), true},
    {&CRN_FIELD(view, reason), offsetof(crn_decoded_view, reason), false},
    {&CRN_FIELD(view, captured_ns), offsetof(crn_decoded_view, captured_ns), false},
    {&CRN_FIELD(view, encoder), offsetof(crn_decoded_view, encoder), false},
    {&CRN_FIELD(view, received_ms), offsetof(crn_decoded_view, received_ms), false},
    {&CRN_FIELD(view, queue_ms), offsetof(crn_decoded_view, queue_ms), false},
    {&CRN_FIELD(view, run_ms), offsetof(crn_decoded_view, run_ms), false},
    {&CRN_FIELD(view, backend), offsetof(crn_decoded_view, backend), false},
    {&CRN_FIELD(view, class), offsetof(crn_decoded_view, name), false},
    {&CRN_FIELD(view, count), offsetof(crn_decoded_view, count), false},
    {NULL, 0, false},
};

static const crn_decode_field defect_fields[] = {
    {&CRN_FIELD(defect, view), offsetof(crn_decoded_defect, view), true},
    {&CRN_FIELD(defect, class), offsetof(crn_decoded_defect, name), true},
    {&CRN_FIELD(defect, closed), offsetof(crn_decoded_defect, closed), true},
    {&CRN_FIELD(defect, hole), offsetof(crn_decoded_defect, hole), true},
    {&CRN_FIELD(defect, area_px), offsetof(crn_decoded_defect, area_px), false},
    {&CRN_FIELD(defect, mean_probability), offsetof(crn_decoded_defect, mean_probability), false},
    {&CRN_FIELD(defect, bbox), offsetof(crn_decoded_defect, bbox), true},
    {&CRN_FIELD(defect, centroid), offsetof(crn_decoded_defect, centroid), false},
    {&CRN_FIELD(defect, on_fruit), offsetof(crn_decoded_defect, on_fruit), false},
    {NULL, 0, false},
};

static int read_kind(const msgpack_object *map, crn_verdict_kind *ret_kind, crn_error *error)
{
    const msgpack_object *value = crn_value_get(map, CRN_KEY(verdict, verdict));
    char text[CRN_DECODED_TEXT_BYTES];
    if (!value || !crn_decode_text(value, text))
        return crn_error_set(error, -EBADMSG, "'verdict' is missing or not a text");
    return crn_verdict_kind_find(text, ret_kind)
               ? 0
               : crn_error_set(error, -EBADMSG,
                               "'verdict' is '%s': complete, partial or late expected", text);
}

static int read_times(const msgpack_object *map, crn_decoded *decoded, crn_error *error)
{
    const msgpack_object *times =
        crn_decode_many(map, CRN_KEY(verdict, latency_ms), MSGPACK_OBJECT_MAP, error);
    if (!times)
        return -EBADMSG;
    for (uint32_t i = 0; i < times->via.map.size; i++) {
        if (decoded->time_count == CRN_DECODED_TIMES_MAX)
            break;
        crn_decoded_time *time = &decoded->times[decoded->time_count];
        const msgpack_object_kv *entry = &times->via.map.ptr[i];
        if (!crn_decode_text(&entry->key, time->name) || !crn_decode_real(&entry->val, &time->ms))
            return crn_error_set(error, -EBADMSG, "'latency_ms' holds something without a number");
        decoded->time_count++;
        if (!strcmp(time->name, CRN_KEY(time, total)))
            decoded->total_ms = time->ms;
    }
    return 0;
}

static int read_totals(const msgpack_object *map, crn_decoded *decoded, crn_error *error)
{
    const msgpack_object *totals =
        crn_decode_many(map, CRN_KEY(verdict, totals), MSGPACK_OBJECT_MAP, error);
    if (!totals)
        return -EBADMSG;
    int r = 0;
    for (uint32_t i = 0; !r && i < totals->via.map.size; i++) {
        if (decoded->total_count == CRN_CLASSES_MAX)
            break;
        crn_decoded_total *total = &decoded->totals[decoded->total_count++];
        const msgpack_object_kv *entry = &totals->via.map.ptr[i];
        total->level = NAN;
        if (!crn_decode_text(&entry->key, total->name))
            return crn_error_set(error, -EBADMSG, "'totals' holds a class without a name");
        r = crn_decode_fields(&entry->val, total_fields, total, error);
    }
    return r;
}

static int read_skipped(const msgpack_object *map, crn_decoded *decoded, crn_error *error)
{
    const msgpack_object *skipped =
        crn_decode_many(map, CRN_KEY(verdict, skipped), MSGPACK_OBJECT_ARRAY, error);
    if (!skipped)
        return -EBADMSG;
    for (uint32_t i = 0; i < skipped->via.array.size && i < CRN_STAGES_MAX; i++)
        if (!crn_decode_text(&skipped->via.array.ptr[i],
                             decoded->skipped[decoded->skipped_count++]))
            return crn_error_set(error, -EBADMSG, "'skipped' holds something that is not text");
    return 0;
}

static int read_views(const msgpack_object *map, crn_decoded *decoded, crn_error *error)
{
    const msgpack_object *views =
        crn_decode_many(map, CRN_KEY(verdict, view_states), MSGPACK_OBJECT_ARRAY, error);
    if (!views)
        return -EBADMSG;
    int r = 0;
    for (uint32_t i = 0; !r && i < views->via.array.size && i < CRN_FRUIT_VIEWS_MAX; i++) {
        crn_decoded_view *view = &decoded->views[decoded->view_count++];
        view->received_ms = view->queue_ms = view->run_ms = NAN;
        r = crn_decode_fields(&views->via.array.ptr[i], view_fields, view, error);
    }
    return r;
}

/* Number of points in a contour: a bin of f32 pairs, or [[x, y], …] from JSON. */
static int64_t count_points(const msgpack_object *xy)
{
    if (xy && xy->type == MSGPACK_OBJECT_BIN && xy->via.bin.size % 8 == 0)
        return xy->via.bin.size / 8;
    return xy && xy->type == MSGPACK_OBJECT_ARRAY ? (int64_t)xy->via.array.size : -1;
}

static int read_points(const msgpack_object *xy, float *points, crn_error *error)
{
    size_t count = (size_t)count_points(xy);
    bool good = true;
    if (xy->type == MSGPACK_OBJECT_BIN) {
        if (count) /* an empty bin's pointer may be NULL */
            memcpy(points, xy->via.bin.ptr, xy->via.bin.size);
    } else {
        for (size_t i = 0; i < count && good; i++) {
            double pair[2];
            good = crn_decode_reals(&xy->via.array.ptr[i], 2, pair);
            points[2 * i] = good ? (float)pair[0] : 0;
            points[2 * i + 1] = good ? (float)pair[1] : 0;
        }
    }
    for (size_t i = 0; i < 2 * count && good; i++)
        good = isfinite(points[i]);
    return good ? 0 : crn_error_set(error, -EBADMSG, "'xy' holds a point that is not two numbers");
}

static int read_defects(const msgpack_object *map, crn_decoded *decoded, crn_error *error)
{
    const msgpack_object *defects =
        crn_decode_many(map, CRN_KEY(verdict, defects), MSGPACK_OBJECT_ARRAY, error);
    if (!defects)
        return -EBADMSG;
    uint64_t points = 0;
    for (uint32_t i = 0; i < defects->via.array.size; i++) {
        const msgpack_object *defect = &defects->via.array.ptr[i];
        int64_t count = count_points(crn_value_get(defect, CRN_KEY(defect, xy)));
        if (count < 0)
            return crn_error_set(error, -EBADMSG, "a defect without good 'xy'");
        points += (uint64_t)count;
    }
    if (points > UINT32_MAX / 2)
        return crn_error_set(error, -EBADMSG, "more points than a verdict can have");
    decoded->defects = calloc(defects->via.array.size + 1u, sizeof *decoded->defects);
    decoded->xy = malloc((points + 1) * 2 * sizeof *decoded->xy);
    if (!decoded->defects || !decoded->xy)
        return crn_error_set(error, -ENOMEM, "no memory for %" PRIu64 " points", points);

    int r = 0;
    for (uint32_t i = 0; i < defects->via.array.size && !r; i++) {
        const msgpack_object *source = &defects->via.array.ptr[i];
        const msgpack_object *xy = crn_value_get(source, CRN_KEY(defect, xy));
        crn_decoded_defect *defect = &decoded->defects[decoded->defect_count++];
        defect->mean_probability = NAN;
        defect->on_fruit = true;
        defect->first_point = decoded->point_count;
        defect->point_count = (uint32_t)count_points(xy);
        decoded->point_count += defect->point_count;
        r = crn_decode_fields(source, defect_fields, defect, error);
        if (!r)
            r = read_points(xy, decoded->xy + 2 * (size_t)defect->first_point, error);
    }
    return r;
}

static bool has_version(const msgpack_object *map)
{
    uint64_t version = 0;
    return crn_value_unsigned(crn_value_get(map, CRN_KEY(verdict, v)), 1, &version) && version == 1;
}

bool crn_decode_is_other_version(const crn_messagepack_json *packed)
{
    const msgpack_object *map = &packed->tree.data;
    return crn_value_get(map, CRN_KEY(verdict, v)) && !has_version(map);
}

static int decode_into(const crn_messagepack_json *packed, bool defects, crn_decoded **ret_decoded,
                       crn_error *error)
{
    crn_decoded *decoded = calloc(1, sizeof *decoded);
    if (!decoded)
        return crn_error_set(error, -ENOMEM, "no memory for a verdict");
    decoded->budget_ms = decoded->total_ms = decoded->assembly_ms = NAN;

    const msgpack_object *map = &packed->tree.data;
    int r = 0;
    if (!has_version(map))
        r = crn_error_set(error, -EBADMSG, "not a verdict of version 1 ('v')");
    if (!r)
        r = crn_decode_fields(map, verdict_fields, decoded, error);
    if (!r)
        r = read_kind(map, &decoded->kind, error);
    if (!r)
        r = read_times(map, decoded, error);
    if (!r)
        r = read_totals(map, decoded, error);
    if (!r)
        r = read_skipped(map, decoded, error);
    if (!r)
        r = read_views(map, decoded, error);
    if (!r)
        r = crn_decode_surface(map, &decoded->surface, error);
    if (!r && defects)
        r = read_defects(map, decoded, error);
    if (r < 0)
        goto fail;
    *ret_decoded = decoded;
    return 0;

fail:
    crn_decoded_free(&decoded);
    return r;
}

int crn_decode(const crn_messagepack_json *packed, crn_decoded **ret_decoded, crn_error *error)
{
    return decode_into(packed, true, ret_decoded, error);
}

int crn_decode_head(const crn_messagepack_json *packed, crn_decoded **ret_decoded, crn_error *error)
{
    return decode_into(packed, false, ret_decoded, error);
}

const crn_decoded_view *crn_decoded_find_view(const crn_decoded *decoded, uint64_t view)
{
    for (uint32_t i = 0; i < decoded->view_count; i++)
        if (decoded->views[i].view == view)
            return &decoded->views[i];
    return NULL;
}

bool crn_decoded_view_is(const crn_decoded_view *view, const char *state)
{
    return strcmp(view->state, state) == 0;
}

bool crn_decoded_on_device(const crn_decoded_view *view)
{
    return strcmp(view->backend, "cuda") == 0;
}

void crn_decoded_free(crn_decoded **decoded)
{
    if (!*decoded)
        return;
    free((*decoded)->defects);
    free((*decoded)->xy);
    free((*decoded)->surface.spots);
    free(*decoded);
    *decoded = NULL;
}

/* None of these was in the first daemons' status. */
static void read_line(const msgpack_object *map, crn_decoded_status *status)
{
    const msgpack_object *classes = crn_value_get(map, "classes");
    crn_value_unsigned(crn_value_get(map, "slots"), UINT64_MAX, &status->slots);
    crn_value_unsigned(crn_value_get(map, "alive_ms"), UINT64_MAX, &status->alive_ms);
    for (uint32_t i = 0; i < crn_value_count(classes) && i < CRN_CLASSES_MAX; i++)
        if (!crn_decode_text(crn_value_item(classes, i), status->classes[status->class_count++]))
            return;
}

int crn_decode_status(const crn_messagepack_json *packed, crn_decoded_status *ret_status,
                      crn_error *error)
{
    crn_decoded_status status = {.lane_count = 0};
    const msgpack_object *map = &packed->tree.data;
    int r = crn_decode_fields(map, status_fields, &status, error);
    if (r < 0)
        return r;
    const msgpack_object *lanes = crn_decode_many(map, "lanes", MSGPACK_OBJECT_ARRAY, error);
    if (!lanes)
        return -EBADMSG;
    for (uint32_t i = 0; i < lanes->via.array.size; i++) {
        const msgpack_object *entry = &lanes->via.array.ptr[i];
        uint32_t at = status.lane_count;
        if (at < CRN_DECODED_LANES_MAX &&
            crn_value_unsigned(crn_value_get(entry, "lane"), UINT64_MAX, &status.lanes[at].lane) &&
            crn_value_unsigned(crn_value_get(entry, "sequence"), UINT64_MAX,
                               &status.lanes[at].sequence)) /* null: none yet */
            status.lane_count++;
    }
    read_line(map, &status);
    *ret_status = status;
    return 0;
}
