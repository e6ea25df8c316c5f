/* The measures of a fruit in a verdict: crn_decoded.surface. */
#include "src/formats/verdict/decode_surface.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "src/formats/verdict/decode_fields.h"
#include "src/formats/verdict/fields.h"

static const crn_decode_field surface_fields[] = {
    {&CRN_FIELD(surface, diameter_mm), offsetof(crn_decoded_surface, diameter_mm), false},
    {&CRN_FIELD(surface, length_mm), offsetof(crn_decoded_surface, length_mm), false},
    {&CRN_FIELD(surface, coverage), offsetof(crn_decoded_surface, coverage), false},
    {&CRN_FIELD(surface, seen_mm2), offsetof(crn_decoded_surface, seen_mm2), false},
    {&CRN_FIELD(surface, roll_axis), offsetof(crn_decoded_surface, roll_axis), false},
    {NULL, 0, false},
};

static const crn_decode_field pose_fields[] = {
    {&CRN_FIELD(pose, view), offsetof(crn_decoded_pose, view), true},
    {&CRN_FIELD(pose, x), offsetof(crn_decoded_pose, x), false},
    {&CRN_FIELD(pose, y), offsetof(crn_decoded_pose, y), false},
    {&CRN_FIELD(pose, rx), offsetof(crn_decoded_pose, rx), false},
    {&CRN_FIELD(pose, ry), offsetof(crn_decoded_pose, ry), false},
    {&CRN_FIELD(pose, tilt_deg), offsetof(crn_decoded_pose, tilt_deg), false},
    {&CRN_FIELD(pose, roll_deg), offsetof(crn_decoded_pose, roll_deg), false},
    {&CRN_FIELD(pose, source), offsetof(crn_decoded_pose, source), true},
    {&CRN_FIELD(pose, confidence), offsetof(crn_decoded_pose, confidence), false},
    {&CRN_FIELD(pose, roll_source), offsetof(crn_decoded_pose, roll_source), false},
    {&CRN_FIELD(pose, roll_confidence), offsetof(crn_decoded_pose, roll_confidence), false},
    {&CRN_FIELD(pose, from_deg), offsetof(crn_decoded_pose, from_deg), false},
    {&CRN_FIELD(pose, to_deg), offsetof(crn_decoded_pose, to_deg), false},
    {NULL, 0, false},
};

static const crn_decode_field measure_fields[] = {
    {&CRN_FIELD(measure, count), offsetof(crn_decoded_measure, count), true},
    {&CRN_FIELD(measure, area_mm2), offsetof(crn_decoded_measure, area_mm2), true},
    {&CRN_FIELD(measure, largest_mm2), offsetof(crn_decoded_measure, largest_mm2), true},
    {&CRN_FIELD(measure, longest_mm), offsetof(crn_decoded_measure, longest_mm), true},
    {NULL, 0, false},
};

static const crn_decode_field spot_fields[] = {
    {&CRN_FIELD(spot, class), offsetof(crn_decoded_spot, name), true},
    {&CRN_FIELD(spot, area_mm2), offsetof(crn_decoded_spot, area_mm2), true},
    {&CRN_FIELD(spot, length_mm), offsetof(crn_decoded_spot, length_mm), true},
    {&CRN_FIELD(spot, width_mm), offsetof(crn_decoded_spot, width_mm), true},
    {&CRN_FIELD(spot, lambda_deg), offsetof(crn_decoded_spot, lambda_deg), false},
    {&CRN_FIELD(spot, v), offsetof(crn_decoded_spot, v), false},
    {NULL, 0, false},
};

static int read_poses(const msgpack_object *map, crn_decoded_surface *surface, crn_error *error)
{
    const msgpack_object *poses =
        crn_decode_many(map, CRN_KEY(surface, pose), MSGPACK_OBJECT_ARRAY, error);
    int r = poses ? 0 : -EBADMSG;
    for (uint32_t i = 0; !r && i < poses->via.array.size && i < CRN_FRUIT_VIEWS_MAX; i++)
        r = crn_decode_fields(&poses->via.array.ptr[i], pose_fields,
                              &surface->poses[surface->pose_count++], error);
    return r;
}

static int read_measures(const msgpack_object *map, crn_decoded_surface *surface, crn_error *error)
{
    const msgpack_object *classes =
        crn_decode_many(map, CRN_KEY(surface, classes), MSGPACK_OBJECT_MAP, error);
    int r = classes ? 0 : -EBADMSG;
    for (uint32_t i = 0; !r && i < classes->via.map.size && i < CRN_CLASSES_MAX; i++) {
        const msgpack_object_kv *entry = &classes->via.map.ptr[i];
        crn_decoded_measure *measure = &surface->measures[surface->measure_count++];
        if (!crn_decode_text(&entry->key, measure->name))
            return crn_error_set(error, -EBADMSG, "'surface' holds a class without a name");
        r = crn_decode_fields(&entry->val, measure_fields, measure, error);
    }
    return r;
}

static int read_spots(const msgpack_object *map, crn_decoded_surface *surface, crn_error *error)
{
    const msgpack_object *spots =
        crn_decode_many(map, CRN_KEY(surface, defects), MSGPACK_OBJECT_ARRAY, error);
    if (!spots)
        return -EBADMSG;
    surface->spots = calloc(spots->via.array.size + 1u, sizeof *surface->spots);
    if (!surface->spots)
        return crn_error_set(error, -ENOMEM, "no memory for %" PRIu32 " defects",
                             spots->via.array.size);
    int r = 0;
    for (uint32_t i = 0; !r && i < spots->via.array.size; i++)
        r = crn_decode_fields(&spots->via.array.ptr[i], spot_fields,
                              &surface->spots[surface->spot_count++], error);
    return r;
}

int crn_decode_surface(const msgpack_object *map, crn_decoded_surface *surface, crn_error *error)
{
    const msgpack_object *value = crn_value_get(map, CRN_KEY(verdict, surface));
    surface->diameter_mm = surface->length_mm = surface->coverage = surface->seen_mm2 = NAN;
    if (!value || value->type == MSGPACK_OBJECT_NIL)
        return 0;
    int r = crn_decode_fields(value, surface_fields, surface, error);
    if (!r)
        r = read_poses(value, surface, error);
    if (!r)
        r = read_measures(value, surface, error);
    if (!r)
        r = read_spots(value, surface, error);
    surface->is_measured = !r && isfinite(surface->diameter_mm);
    return r;
}
