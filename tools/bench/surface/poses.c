/* Poses and rolls from photographs, by the rules of the line (src/surface): what is not sure is as
 * expected. */
#include <math.h>
#include <string.h>

#include "src/surface/measurement.h"
#include "tools/bench/surface/surface.h"

#define SPOILT 1 /* the view whose photograph is unusable */

/* Draws a view's photograph, or what there is instead. */
static crn_image photograph(crn_surface_bench *bench, const crn_surface_row *row,
                            const crn_known_fruit *fruit, int view, crn_draws *random)
{
    crn_known_fruit drawn = *fruit;
    crn_unusable unusable = view == SPOILT ? row->unusable : CRN_USABLE;
    size_t pixels = (size_t)fruit->height * (size_t)fruit->width;
    uint8_t *photo = bench->photographs[view];
    crn_image image = crn_image_dense(photo, CRN_U8, CRN_CHW, 1, fruit->height, fruit->width);
    if (unusable == CRN_UNUSABLE_DARK)
        drawn.look.light = 0.02;
    if (unusable == CRN_UNUSABLE_BRIGHT)
        drawn.look.light = 15;
    if (unusable == CRN_UNUSABLE_TWO)
        drawn.look.neighbour = 1.9;
    if (unusable == CRN_UNUSABLE_APART)
        drawn.look.neighbour = 2.3;
    crn_known_photograph(&drawn, view, random, photo);
    for (size_t i = 0; i < pixels && unusable == CRN_UNUSABLE_NOISE; i++)
        photo[i] = (uint8_t)crn_draws_between(random, 0, 256);
    if (unusable == CRN_UNUSABLE_GREY)
        memset(photo, 90, pixels);
    if (unusable == CRN_UNUSABLE_TINY)
        image.height = image.width = 1;
    return image;
}

static void note_pose(const crn_surface_pose *truth, const crn_surface_pose *found, int view,
                      crn_fruit_errors *errors)
{
    errors->centre_px[view] = hypot(found->x - truth->x, found->y - truth->y);
    errors->axes[2 * view] = fabs(found->rx / truth->rx - 1);
    errors->axes[2 * view + 1] = fabs(found->ry / truth->ry - 1);
}

/* A view whose pose is not known has the mean of those that are. False: none is. */
static bool expect(crn_surface_view *views, int count)
{
    crn_surface_pose mean = {0};
    int known = 0;
    for (int i = 0; i < count; i++) {
        const crn_surface_pose *pose = &views[i].pose;
        if (pose->confidence < CRN_SURFACE_POSE_SURE)
            continue;
        mean.x += pose->x;
        mean.y += pose->y;
        mean.rx += pose->rx;
        mean.ry += pose->ry;
        known++;
    }
    for (int i = 0; i < count && known > 0; i++)
        if (views[i].pose.confidence < CRN_SURFACE_POSE_SURE)
            views[i].pose = (crn_surface_pose){.x = mean.x / known,
                                               .y = mean.y / known,
                                               .rx = mean.rx / known,
                                               .ry = mean.ry / known,
                                               .confidence = views[i].pose.confidence};
    return known > 0;
}

/* Finds how the fruit has turned. False if a roll is neither found nor expected. */
static bool find_turns(crn_surface_bench *bench, const crn_surface_row *row,
                       const crn_known_fruit *fruit, const crn_surface_photograph *photos,
                       crn_fruit_errors *errors)
{
    crn_surface_turning known[CRN_SEEN_VIEWS] = {{.skin = NULL}};
    crn_surface_view *views = bench->seen.views;
    int count = bench->seen.view_count;
    for (int i = 0; i < count; i++) {
        known[i].pose = &views[i].pose;
        known[i].expected_rad = row->roll_unknown ? NAN : row->kind.step_rad;
        if (photos[i].pose.confidence >= CRN_SURFACE_POSE_SURE &&
            crn_surface_take_skin(bench->surface, "photo", &photos[i], &bench->skins[i]) == 0)
            known[i].skin = &bench->skins[i];
    }
    bool found = crn_surface_find_turns(bench->surface, known, count, CRN_UNION_ROLL_RANGE_RAD);
    for (int i = 1; i < count; i++) {
        double roll = views[i].pose.roll_rad - views[i - 1].pose.roll_rad;
        errors->is_unsure[i] = known[i].roll.confidence < CRN_SURFACE_ROLL_SURE;
        if (found)
            errors->roll_rad[i] =
                fabs(remainder(roll - fruit->roll[i] + fruit->roll[i - 1], 2 * M_PI));
    }
    return found;
}

bool crn_surface_find_poses(crn_surface_bench *bench, const crn_surface_row *row,
                            const crn_known_fruit *fruit, crn_draws *random,
                            crn_fruit_errors *errors)
{
    crn_surface_view *views = bench->seen.views;
    crn_surface_photograph photos[CRN_SEEN_VIEWS];
    int count = bench->seen.view_count;
    for (int i = 0; i < count; i++) {
        crn_surface_pose truth = views[i].pose, *pose = &photos[i].pose;
        photos[i].mm_per_px = fruit->mm_per_px;
        photos[i].image = photograph(bench, row, fruit, i, random);
        if (crn_surface_find_pose(bench->surface, &photos[i].image, pose) < 0)
            return false;
        views[i].pose = *pose;
        if (!row->unusable || i != SPOILT) {
            note_pose(&truth, pose, i, errors);
        } else {
            errors->pose_confidence = pose->confidence;
            errors->is_expected = pose->confidence < CRN_SURFACE_POSE_SURE;
        }
    }
    return expect(views, count) && find_turns(bench, row, fruit, photos, errors);
}
