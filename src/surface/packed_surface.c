#include "src/surface/packed_surface.h"

#include <errno.h>
#include <math.h>

#include "src/formats/verdict/fields.h"

#define DEG_PER_RAD (180 / M_PI)

/* Of each encoder, so that fruits with some forty defects allocate nothing, whichever is theirs. */
#define RESERVED_BYTES 32768

int crn_surface_packer_init(const crn_config *config, crn_surface_packer *packer)
{
    int r = 0;
    for (crn_format format = 0; format < CRN_FORMATS && r == 0; format++) {
        if (!crn_format_is_used(config, format))
            continue;
        r = crn_encoder_create(format, &packer->encoders[format]);
        if (r == 0)
            crn_encoder_begin(packer->encoders[format]);
        if (r == 0 && !crn_encoder_piece(packer->encoders[format], RESERVED_BYTES))
            r = -ENOMEM;
    }
    return r;
}

void crn_surface_packer_done(crn_surface_packer *packer)
{
    for (crn_format format = 0; format < CRN_FORMATS; format++)
        crn_encoder_free(&packer->encoders[format]);
}

static void put_pose(crn_encoder *encoder, const crn_measured_view *view)
{
    const crn_surface_pose *pose = &view->found.pose;
    bool known = view->found.source != CRN_POSE_NONE;
    crn_encoder_map(encoder, CRN_KEYS_pose);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(pose, view), view->view);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, x), known ? pose->x : NAN);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, y), known ? pose->y : NAN);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, rx), known ? pose->rx : NAN);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, ry), known ? pose->ry : NAN);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, tilt_deg),
                          known ? pose->tilt_rad * DEG_PER_RAD : NAN);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, roll_deg),
                          known ? pose->roll_rad * DEG_PER_RAD : NAN);
    crn_encoder_pair_text(encoder, CRN_KEY(pose, source),
                          crn_pose_source_names[view->found.source]);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, confidence), pose->confidence);
    crn_encoder_pair_text(encoder, CRN_KEY(pose, roll_source),
                          crn_pose_source_names[view->roll_source]);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, roll_confidence), view->roll_confidence);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, from_deg), view->from_rad * DEG_PER_RAD);
    crn_encoder_pair_real(encoder, CRN_KEY(pose, to_deg), view->to_rad * DEG_PER_RAD);
    crn_encoder_map_end(encoder);
}

static void put_poses(crn_encoder *encoder, const crn_measurement *measurement)
{
    crn_encoder_text(encoder, CRN_KEY(surface, pose));
    crn_encoder_array(encoder, (uint32_t)measurement->view_count);
    for (int32_t i = 0; i < measurement->view_count; i++)
        put_pose(encoder, &measurement->views[i]);
    crn_encoder_array_end(encoder);
}

/* Every class that was looked for has an entry, as in the verdict's totals. */
static void put_classes(crn_encoder *encoder, const crn_classes *classes,
                        const crn_surface_fruit *fruit)
{
    uint32_t outlined = 0;
    for (int32_t i = 0; i < classes->count && fruit; i++)
        outlined += !isnan(classes->level[i]);
    crn_encoder_text(encoder, CRN_KEY(surface, classes));
    crn_encoder_map(encoder, outlined);
    for (int32_t i = 0; i < classes->count && fruit; i++) {
        if (isnan(classes->level[i]))
            continue;
        const crn_surface_total *total = &fruit->totals[i];
        crn_encoder_text(encoder, classes->name[i]);
        crn_encoder_map(encoder, CRN_KEYS_measure);
        crn_encoder_pair_unsigned(encoder, CRN_KEY(measure, count), total->count);
        crn_encoder_pair_real(encoder, CRN_KEY(measure, area_mm2), total->area_mm2);
        crn_encoder_pair_real(encoder, CRN_KEY(measure, largest_mm2), total->largest_mm2);
        crn_encoder_pair_real(encoder, CRN_KEY(measure, longest_mm), total->longest_mm);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_map_end(encoder);
}

static void put_views(crn_encoder *encoder, const crn_measurement *measurement, uint64_t views)
{
    crn_encoder_text(encoder, CRN_KEY(spot, views));
    crn_encoder_array(encoder, (uint32_t)__builtin_popcountll(views));
    for (; views; views &= views - 1)
        crn_encoder_unsigned(encoder, measurement->views[__builtin_ctzll(views)].view);
    crn_encoder_array_end(encoder);
}

static void put_spot(crn_encoder *encoder, const crn_measurement *measurement,
                     const crn_surface_fruit *fruit, const crn_surface_defect *defect)
{
    const crn_surface_part *parts = &fruit->parts[defect->first_part];
    crn_encoder_map(encoder, CRN_KEYS_spot);
    crn_encoder_pair_text(encoder, CRN_KEY(spot, class),
                          measurement->config->classes.name[defect->channel]);
    crn_encoder_pair_real(encoder, CRN_KEY(spot, area_mm2), defect->area_mm2);
    crn_encoder_pair_real(encoder, CRN_KEY(spot, length_mm), defect->length_mm);
    crn_encoder_pair_real(encoder, CRN_KEY(spot, width_mm), defect->width_mm);
    crn_encoder_pair_real(encoder, CRN_KEY(spot, lambda_deg), defect->lambda_rad * DEG_PER_RAD);
    crn_encoder_pair_real(encoder, CRN_KEY(spot, v), defect->v);
    put_views(encoder, measurement, defect->views);
    crn_encoder_text(encoder, CRN_KEY(spot, parts));
    crn_encoder_array(encoder, defect->part_count);
    for (uint32_t i = 0; i < defect->part_count; i++)
        crn_encoder_unsigned(encoder,
                             (uint64_t)measurement->views[parts[i].view].before + parts[i].defect);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}

static void put_surface(crn_encoder *encoder, const crn_measurement *measurement,
                        const crn_surface_fruit *fruit)
{
    crn_encoder_map(encoder, CRN_KEYS_surface);
    crn_encoder_pair_real(encoder, CRN_KEY(surface, diameter_mm), fruit ? fruit->diameter_mm : NAN);
    crn_encoder_pair_real(encoder, CRN_KEY(surface, length_mm), fruit ? fruit->length_mm : NAN);
    crn_encoder_pair_real(encoder, CRN_KEY(surface, coverage), fruit ? fruit->coverage : NAN);
    crn_encoder_pair_real(encoder, CRN_KEY(surface, seen_mm2), fruit ? fruit->seen_mm2 : NAN);
    crn_encoder_pair_text(encoder, CRN_KEY(surface, roll_axis),
                          measurement->config->geometry.roll_axis == CRN_ROLL_AXIS_X ? "x" : "y");
    put_poses(encoder, measurement);
    put_classes(encoder, &measurement->config->classes, fruit);
    crn_encoder_text(encoder, CRN_KEY(surface, defects));
    crn_encoder_array(encoder, fruit ? fruit->defect_count : 0);
    for (uint32_t i = 0; fruit && i < fruit->defect_count; i++)
        put_spot(encoder, measurement, fruit, &fruit->defects[i]);
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}

int crn_surface_pack(crn_surface_packer *packer, const crn_surface_fruit *fruit,
                     crn_measurement *measurement)
{
    int r = 0;
    measurement->packed = (crn_fruit_surface){.is_measured = fruit != NULL};
    for (int32_t i = 0; fruit && i < measurement->config->classes.count; i++)
        measurement->packed.area_mm2[i] = fruit->totals[i].area_mm2;
    for (crn_format format = 0; format < CRN_FORMATS && r == 0; format++) {
        crn_encoder *encoder = packer->encoders[format];
        if (!encoder)
            continue;
        crn_encoder_begin(encoder);
        put_surface(encoder, measurement, fruit);
        r = crn_encoder_end(encoder, &measurement->packed.bytes[format],
                            &measurement->packed.sizes[format]);
    }
    return r;
}
