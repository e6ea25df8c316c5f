#include "src/surface/pose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/image.h"

const char *const crn_pose_source_names[CRN_POSE_SOURCES] = {"none", "photo", "class", "header",
                                                             "expected"};

struct crn_pose_finder {
    const crn_config *config; /* the start's */
    crn_context *context;
    crn_surface *surface;
    crn_recent recent;
    crn_view_pose found;
    crn_surface_skin skin;
    bool marks; /* `on_fruit` is to be told */
    crn_on_fruit *on_fruit;
    uint32_t *kept; /* new index of a defect; UINT32_MAX: dropped */
    uint8_t *mask;  /* of the fruit's class */
    size_t mask_bytes;
};

int crn_pose_finder_create(const crn_config *config, crn_pose_finder **ret_finder)
{
    const crn_surface_settings settings = {.classes = 1, .views = 1, .defects = 1, .points = 1};
    crn_pose_finder *finder = calloc(1, sizeof *finder);
    int r = finder ? crn_context_open(NULL, &finder->context) : -ENOMEM;
    if (r == 0)
        r = crn_surface_open(finder->context, &settings, &finder->surface);
    if (r == 0) {
        finder->config = config;
        finder->on_fruit = calloc((size_t)config->limits.defects, sizeof *finder->on_fruit);
        finder->kept = calloc((size_t)config->limits.defects, sizeof *finder->kept);
        r = finder->on_fruit && finder->kept ? 0 : -ENOMEM;
    }
    if (r < 0)
        crn_pose_finder_free(&finder);
    else
        *ret_finder = finder;
    return r;
}

void crn_pose_finder_free(crn_pose_finder **finder)
{
    if (!*finder)
        return;
    crn_surface_free(&(*finder)->surface);
    crn_context_free(&(*finder)->context);
    free((*finder)->on_fruit);
    free((*finder)->kept);
    free((*finder)->mask);
    free(*finder);
    *finder = NULL;
}

/* --- the pose ------------------------------------------------------------------------------- */

static int32_t class_of(const crn_classes *classes, const char *name)
{
    int32_t i = 0;
    while (i < classes->count && strcmp(classes->name[i], name) != 0)
        i++;
    return i;
}

/* Where a class's map is above the level: 255, elsewhere 0. Returns 0, -EINVAL or -ENOMEM. */
static int make_mask(crn_pose_finder *finder, const crn_image *maps, const crn_config *config)
{
    size_t bytes = (size_t)maps->height * (size_t)maps->width;
    int32_t plane = class_of(&config->classes, config->geometry.fruit.class_name);
    if (plane >= maps->planes)
        return -EINVAL;
    if (bytes > finder->mask_bytes) {
        uint8_t *mask = realloc(finder->mask, bytes);
        if (!mask)
            return -ENOMEM;
        finder->mask = mask;
        finder->mask_bytes = bytes;
    }
    double scale = maps->type == CRN_U8 ? 255 : 1, level = config->geometry.fruit.level * scale;
    uint8_t *to = finder->mask;
    for (int32_t row = 0; row < maps->height; row++)
        for (int32_t column = 0; column < maps->width; column++)
            *to++ = (double)crn_image_at(maps, plane, row, column) > level ? 255 : 0;
    return 0;
}

/* Looks for the fruit in a picture; what was not found has the source none. */
static void find_in(crn_pose_finder *finder, const crn_image *picture, crn_pose_source source)
{
    crn_view_pose *found = &finder->found;
    if (crn_surface_find_pose(finder->surface, picture, &found->pose) == 0 &&
        found->pose.confidence >= CRN_SURFACE_POSE_SURE)
        found->source = source;
}

static void take_header(const crn_wire_pose *pose, crn_view_pose *found)
{
    found->pose = (crn_surface_pose){.x = (double)pose->x,
                                     .y = (double)pose->y,
                                     .rx = (double)pose->rx,
                                     .ry = (double)pose->ry,
                                     .roll_rad = (double)pose->roll_rad,
                                     .confidence = 1};
    found->source = CRN_POSE_HEADER;
}

static void find_pose(crn_pose_finder *finder, const crn_view *view, const crn_config *config)
{
    crn_view_pose *found = &finder->found;
    crn_chain_input input = crn_view_input(view);
    if (view->header.flags & CRN_WIRE_FLAG_POSE)
        take_header(&view->header.pose, found);
    else if (config->geometry.fruit.from == CRN_FRUIT_FROM_PHOTO && view->intensity)
        find_in(finder, &input.intensity, CRN_POSE_PHOTO);
    else if (config->geometry.fruit.from == CRN_FRUIT_FROM_CLASS &&
             make_mask(finder, &input.maps, config) == 0) {
        crn_image mask =
            crn_image_dense(finder->mask, CRN_U8, CRN_CHW, 1, input.maps.height, input.maps.width);
        find_in(finder, &mask, CRN_POSE_CLASS);
    }
    if (!config->geometry.estimate_roll || found->source == CRN_POSE_NONE ||
        found->source == CRN_POSE_HEADER || !view->intensity)
        return;
    crn_surface_photograph photo = {input.intensity, found->pose, found->mm_per_px};
    crn_surface_set_camera(finder->surface, (crn_roll_axis)config->geometry.roll_axis,
                           config->geometry.distance_mm);
    found->has_skin =
        crn_surface_take_skin(finder->surface, "photograph", &photo, &finder->skin) == 0;
}

/* --- the defects ---------------------------------------------------------------------------- */

static crn_on_fruit place_of(const crn_view_pose *found, const crn_defect *defect)
{
    double x = (defect->centroid_x - found->pose.x) / found->pose.rx;
    double y = (defect->centroid_y - found->pose.y) / found->pose.ry;
    if (found->source == CRN_POSE_NONE)
        return CRN_ON_FRUIT_UNKNOWN;
    return x * x + y * y <= 1 ? CRN_ON_FRUIT : CRN_BESIDE_FRUIT;
}

/* True if it, or an outline around it, lies beside the fruit. Parents form no circle. */
static bool is_beside(const crn_pose_finder *finder, const crn_defects *defects, int32_t index)
{
    for (; index >= 0; index = defects->defects[index].parent)
        if (finder->on_fruit[index] == CRN_BESIDE_FRUIT)
            return true;
    return false;
}

static void drop_beside(crn_pose_finder *finder, crn_defects *defects)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < defects->defect_count; i++)
        finder->kept[i] = is_beside(finder, defects, (int32_t)i) ? UINT32_MAX : count++;
    for (uint32_t i = 0; i < defects->defect_count; i++) {
        if (finder->kept[i] == UINT32_MAX)
            continue;
        crn_defect defect = defects->defects[i];
        if (defect.parent >= 0)
            defect.parent = (int32_t)finder->kept[defect.parent];
        defects->defects[finder->kept[i]] = defect;
        finder->on_fruit[finder->kept[i]] = finder->on_fruit[i];
    }
    defects->defect_count = count;
}

static void place_defects(crn_pose_finder *finder, crn_outside outside, crn_defects *defects)
{
    finder->marks = outside != CRN_OUTSIDE_KEEP;
    for (uint32_t i = 0; i < defects->defect_count && finder->marks; i++)
        finder->on_fruit[i] = place_of(&finder->found, &defects->defects[i]);
    if (outside == CRN_OUTSIDE_DROP)
        drop_beside(finder, defects);
    finder->found.defect_count = defects->defect_count;
    finder->found.point_count = defects->point_count;
}

/* --- all ------------------------------------------------------------------------------------- */

int64_t crn_pose_find(crn_pose_finder *finder, const crn_view *view, crn_defects *defects)
{
    const crn_config *config = view->config ? view->config : finder->config;
    const crn_geometry_settings *geometry = &config->geometry;
    int64_t start_ns = crn_now_ns();
    finder->found = (crn_view_pose){
        .mm_per_px = crn_config_mm_per_px(config, view->header.lane, view->header.view),
        .height = (int32_t)view->header.height,
        .width = (int32_t)view->header.width};
    if (geometry->surface.optional &&
        view->deadline_ns - start_ns < crn_recent_p99_ns(&finder->recent)) {
        finder->found.skipped = true;
        crn_recent_skip(&finder->recent);
        place_defects(finder, (crn_outside)geometry->outside, defects);
        return crn_now_ns() - start_ns;
    }
    find_pose(finder, view, config);
    place_defects(finder, (crn_outside)geometry->outside, defects);
    int64_t took_ns = crn_now_ns() - start_ns;
    crn_recent_add(&finder->recent, took_ns);
    return took_ns;
}

const crn_on_fruit *crn_pose_on_fruit(const crn_pose_finder *finder)
{
    return finder->marks ? finder->on_fruit : NULL;
}

void crn_pose_parts(const crn_pose_finder *finder, const crn_defects *defects,
                    crn_result_part ret_parts[CRN_POSE_PARTS])
{
    const crn_view_pose *found = &finder->found;
    ret_parts[0] = (crn_result_part){found, sizeof *found};
    ret_parts[1] = (crn_result_part){&finder->skin, found->has_skin ? sizeof finder->skin : 0};
    ret_parts[2] =
        (crn_result_part){defects->defects, found->defect_count * sizeof *defects->defects};
    ret_parts[3] =
        (crn_result_part){defects->xy, (size_t)found->point_count * 2 * sizeof *defects->xy};
}
