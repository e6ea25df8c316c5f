#include "src/surface/measurement.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define RAD_PER_DEG (M_PI / 180)

struct crn_fruit_union {
    const crn_result_store *store;
    uint32_t defect_capacity, point_capacity;
    crn_context *context;
    crn_surface *surface;
    crn_surface_skin *skins; /* of each view */
    crn_defect *defects;     /* of all views */
    float *xy;               /* likewise */
    crn_defects outlines[CRN_FRUIT_VIEWS_MAX];
    crn_surface_view views[CRN_FRUIT_VIEWS_MAX];
};

static crn_surface_settings settings_of(const crn_config *config)
{
    return (crn_surface_settings){.roll_error_rad = CRN_UNION_ROLL_ERROR_RAD,
                                  .classes = CRN_CLASSES_MAX,
                                  .views = (int32_t)config->limits.views,
                                  .defects = (uint32_t)config->limits.defects,
                                  .points = (uint32_t)config->limits.points};
}

size_t crn_fruit_union_bytes(const crn_config *config)
{
    const size_t point_bytes = 0.3 * 1024 + 2 * sizeof(float); /* cernita_surface.h */
    return (size_t)config->limits.points * point_bytes +
           (size_t)config->limits.defects * sizeof(crn_defect) +
           (size_t)config->limits.views * sizeof(crn_surface_skin);
}

int crn_fruit_union_create(const crn_config *config, const crn_result_store *store,
                           crn_fruit_union **ret_union)
{
    const crn_surface_settings settings = settings_of(config);
    crn_fruit_union *it = calloc(1, sizeof *it);
    int r = it ? crn_context_open(NULL, &it->context) : -ENOMEM;
    if (r == 0)
        r = crn_surface_open(it->context, &settings, &it->surface);
    if (r == 0) {
        it->store = store;
        it->defect_capacity = settings.defects;
        it->point_capacity = settings.points;
        it->skins = calloc((size_t)settings.views, sizeof *it->skins);
        it->defects = calloc(settings.defects, sizeof *it->defects);
        it->xy = calloc(settings.points, 2 * sizeof *it->xy);
        r = it->skins && it->defects && it->xy ? 0 : -ENOMEM;
    }
    if (r < 0)
        crn_fruit_union_free(&it);
    else
        *ret_union = it;
    return r;
}

void crn_fruit_union_free(crn_fruit_union **it)
{
    if (!*it)
        return;
    crn_surface_free(&(*it)->surface);
    crn_context_free(&(*it)->context);
    free((*it)->skins);
    free((*it)->defects);
    free((*it)->xy);
    free(*it);
    *it = NULL;
}

/* --- what the views found --------------------------------------------------------------------- */

/* Copies one view's part out of the store, its outlines behind those of the views before. False if
 * they do not fit. */
static bool load_view(crn_fruit_union *it, int32_t index, crn_measured_view *view,
                      uint32_t *defects, uint32_t *points)
{
    crn_result_reader reader = crn_packed_defects_attached(it->store, view->result);
    crn_view_pose *found = &view->found;
    crn_result_read(&reader, found, sizeof *found);
    if (found->has_skin)
        crn_result_read(&reader, &it->skins[index], sizeof it->skins[index]);
    if (found->defect_count > it->defect_capacity - *defects ||
        found->point_count > it->point_capacity - *points)
        return false;
    it->outlines[index] = (crn_defects){.defects = it->defects + *defects,
                                        .xy = it->xy + (size_t)*points * 2,
                                        .defect_capacity = found->defect_count,
                                        .point_capacity = found->point_count,
                                        .defect_count = found->defect_count,
                                        .point_count = found->point_count};
    crn_result_read(&reader, it->outlines[index].defects,
                    found->defect_count * sizeof *it->defects);
    crn_result_read(&reader, it->outlines[index].xy,
                    (size_t)found->point_count * 2 * sizeof *it->xy);
    view->before = *defects;
    *defects += found->defect_count;
    *points += found->point_count;
    return true;
}

/* A view whose result did not fit into the store is as one without a pose and without defects. */
static bool load(crn_fruit_union *it, crn_measurement *measurement)
{
    uint32_t defects = 0, points = 0;
    bool fits = true;
    for (int32_t i = 0; i < measurement->view_count; i++) {
        crn_measured_view *view = &measurement->views[i];
        view->found = (crn_view_pose){.source = CRN_POSE_NONE};
        view->roll_source = CRN_POSE_NONE;
        view->roll_confidence = 0;
        view->before = defects;
        view->from_rad = view->to_rad = NAN;
        if (view->result != CRN_RESULT_NONE)
            fits &= load_view(it, i, view, &defects, &points);
        measurement->skipped |= view->found.skipped;
    }
    return fits;
}

/* --- poses ------------------------------------------------------------------------------------ */

/* A view whose pose is not known has the mean of those that are. False: none is. */
static bool complete_poses(crn_measurement *measurement)
{
    crn_surface_pose mean = {0};
    int known = 0;
    for (int32_t i = 0; i < measurement->view_count; i++) {
        const crn_view_pose *found = &measurement->views[i].found;
        if (found->source == CRN_POSE_NONE)
            continue;
        mean.x += found->pose.x;
        mean.y += found->pose.y;
        mean.rx += found->pose.rx;
        mean.ry += found->pose.ry;
        known++;
    }
    for (int32_t i = 0; i < measurement->view_count && known; i++) {
        crn_view_pose *found = &measurement->views[i].found;
        if (found->source != CRN_POSE_NONE || found->width == 0)
            continue;
        found->source = CRN_POSE_EXPECTED;
        found->pose = (crn_surface_pose){.x = mean.x / known,
                                         .y = mean.y / known,
                                         .rx = mean.rx / known,
                                         .ry = mean.ry / known,
                                         .confidence = found->pose.confidence};
    }
    return known > 0;
}

/* What is known of how the fruit rolled from the view before that there is. */
static crn_surface_turning turning_of(crn_fruit_union *it, crn_measurement *measurement,
                                      int32_t index)
{
    crn_measured_view *view = &measurement->views[index];
    double roll_deg = measurement->config->geometry.roll_deg;
    crn_surface_turning known = {.skin = view->found.has_skin ? &it->skins[index] : NULL,
                                 .pose = &view->found.pose};
    if (index == 0)
        return known;
    const crn_measured_view *before = view - 1;
    known.expected_rad =
        roll_deg == 0 ? NAN : roll_deg * RAD_PER_DEG * ((double)view->view - before->view);
    if (before->found.source == CRN_POSE_HEADER && view->found.source == CRN_POSE_HEADER) {
        known.roll = (crn_surface_roll){view->found.pose.roll_rad - before->found.pose.roll_rad, 1};
        view->roll_source = CRN_POSE_HEADER;
    }
    return known;
}

/* Rolls since the first view; what the headers told is replaced by it. */
static bool find_rolls(crn_fruit_union *it, crn_measurement *measurement)
{
    crn_surface_turning known[CRN_FRUIT_VIEWS_MAX];
    for (int32_t i = 0; i < measurement->view_count; i++)
        known[i] = turning_of(it, measurement, i);
    bool found = crn_surface_find_turns(it->surface, known, measurement->view_count,
                                        CRN_UNION_ROLL_RANGE_RAD);
    for (int32_t i = 1; i < measurement->view_count; i++) {
        crn_measured_view *view = &measurement->views[i];
        view->roll_confidence = known[i].roll.confidence;
        if (view->roll_source != CRN_POSE_HEADER)
            view->roll_source = view->roll_confidence >= CRN_SURFACE_ROLL_SURE ? CRN_POSE_PHOTO
                                : isnan(known[i].expected_rad)                 ? CRN_POSE_NONE
                                                                               : CRN_POSE_EXPECTED;
    }
    return found;
}

/* --- the union -------------------------------------------------------------------------------- */

static const crn_surface_fruit *join(crn_fruit_union *it, crn_measurement *measurement)
{
    const crn_surface_fruit *fruit = NULL;
    int32_t count = 0;
    for (int32_t i = 0; i < measurement->view_count; i++) {
        const crn_view_pose *found = &measurement->views[i].found;
        if (found->source == CRN_POSE_NONE)
            return NULL;
        it->views[count++] = (crn_surface_view){.pose = found->pose,
                                                .mm_per_px = found->mm_per_px,
                                                .height = found->height,
                                                .width = found->width,
                                                .defects = &it->outlines[i]};
    }
    if (crn_surface_measure(it->surface, it->views, count, &fruit) < 0)
        return NULL;
    for (int32_t i = 0; i < count; i++) {
        crn_measured_view *view = &measurement->views[i];
        (void)crn_surface_strip(it->surface, i, &view->from_rad, &view->to_rad);
    }
    return fruit;
}

const crn_surface_fruit *crn_fruit_union_run(crn_fruit_union *it, crn_measurement *measurement)
{
    const crn_geometry_settings *geometry = &measurement->config->geometry;
    measurement->skipped = false;
    crn_surface_set_camera(it->surface, (crn_roll_axis)geometry->roll_axis, geometry->distance_mm);
    bool fits = load(it, measurement);
    bool posed = complete_poses(measurement);
    bool rolled = posed && find_rolls(it, measurement);
    return fits && rolled ? join(it, measurement) : NULL;
}
