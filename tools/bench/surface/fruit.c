/* One fruit of a row: made, measured, compared with the truth. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/surface/measurement.h"
#include "tools/bench/surface/surface.h"
#include "tools/bench/time.h"
#include "tools/common/known/vectors.h"

/* Classes of less than this part of the surface count by their absolute error. */
#define SMALL 0.01

int crn_surface_bench_open(crn_surface_bench *ret_bench, size_t pixels, crn_error *error)
{
    memset(ret_bench, 0, sizeof *ret_bench);
    int r = crn_known_seen_open(&ret_bench->seen, pixels, error);
    for (int i = 0; i < CRN_SEEN_VIEWS && r == 0; i++)
        if (!(ret_bench->photographs[i] = malloc(pixels)))
            r = crn_error_set(error, -ENOMEM, "no memory for photographs of %zu pixels", pixels);
    return r;
}

void crn_surface_bench_close(crn_surface_bench *bench)
{
    for (int i = 0; i < CRN_SEEN_VIEWS; i++)
        free(bench->photographs[i]);
    crn_surface_free(&bench->surface);
    crn_known_seen_close(&bench->seen);
}

/* About normal, with the standard deviation 1. */
static double normal(crn_draws *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)crn_draws_between(random, 0, 1);
    return sum;
}

static void spoil_poses(crn_known_seen *seen, const crn_surface_row *row, crn_draws *random)
{
    for (int i = 0; i < seen->view_count; i++) {
        crn_surface_pose *pose = &seen->views[i].pose;
        pose->x += row->centre_sigma * normal(random);
        pose->y += row->centre_sigma * normal(random);
        pose->rx *= 1 + row->radius_sigma * normal(random);
        pose->ry *= 1 + row->radius_sigma * normal(random);
        pose->roll_rad += row->roll_sigma * normal(random);
    }
}

/* The defect of the spot's class whose middle is nearest to it. */
static const crn_surface_defect *find_defect(const crn_surface_fruit *found, double turned,
                                             const crn_known_spot *spot)
{
    const crn_surface_defect *nearest = NULL;
    crn_known_vector middle = crn_known_middle(spot);
    double best = -2;
    for (uint32_t i = 0; i < found->defect_count; i++) {
        const crn_surface_defect *defect = &found->defects[i];
        double r = sqrt(1 - defect->v * defect->v), lambda = defect->lambda_rad + turned;
        double same =
            middle.x * r * sin(lambda) + middle.y * defect->v + middle.z * r * cos(lambda);
        if (defect->channel == spot->channel && same > best) {
            best = same;
            nearest = defect;
        }
    }
    return nearest;
}

/* Returns whether the class has the right number of defects. */
static bool note_class(const crn_known_seen *seen, const crn_known_fruit *fruit,
                       const crn_surface_fruit *found, int channel, crn_fruit_errors *errors)
{
    crn_known_class truth = crn_known_class_measures(fruit, channel);
    double visible = truth.mm2.visible, surface = crn_known_surface_mm2(fruit);
    double off = fabs(found->totals[channel].area_mm2 - visible);
    int count = (int)found->totals[channel].count;
    if (visible >= SMALL * surface) {
        errors->area[channel] = off / visible;
        errors->whole[channel] =
            fabs(found->totals[channel].area_mm2 - truth.mm2.all) / truth.mm2.all;
        errors->naive[channel] =
            fabs(crn_surface_naive_mm2(seen, fruit, channel) - visible) / visible;
        errors->grid[channel] =
            fabs(crn_surface_grid_mm2(seen, fruit, channel) - visible) / visible;
    } else if (truth.all > 0) {
        errors->small[channel] = off / surface;
    }
    return count >= truth.seen && count <= truth.all;
}

static void note_fruit(const crn_known_seen *seen, const crn_known_fruit *fruit,
                       const crn_surface_fruit *found, crn_fruit_errors *errors)
{
    /* Longitudes count from where the first view's roll is 0. */
    double turned = seen->views[0].pose.roll_rad - fruit->roll[0];
    errors->counts_right = 1;
    for (int channel = 0; channel < CRN_KNOWN_CLASSES; channel++)
        if (!note_class(seen, fruit, found, channel, errors))
            errors->counts_right = 0;
    for (int i = 0; i < fruit->spot_count && errors->counts_right == 1; i++) {
        const crn_known_spot *spot = &fruit->spots[i];
        crn_known_areas areas = crn_known_spot_areas(fruit, spot);
        const crn_surface_defect *defect = find_defect(found, turned, spot);
        double truth = crn_known_length_mm(fruit, spot);
        if (areas.seen >= 0.99 * areas.all && defect)
            errors->length[i] = fabs(defect->length_mm / truth - 1);
    }
    errors->diameter = fabs(found->diameter_mm / (2 * fruit->a_mm) - 1);
    errors->coverage = fabs(found->coverage - crn_known_coverage(fruit));
}

/* An array of doubles, all of which are NAN. */
static crn_fruit_errors no_errors(void)
{
    crn_fruit_errors errors;
    double *values = (double *)&errors;
    for (size_t i = 0; i < sizeof errors / sizeof *values; i++)
        values[i] = NAN;
    return errors;
}

int crn_surface_bench_fruit(crn_surface_bench *bench, const crn_surface_row *row, uint64_t seed,
                            uint64_t number, crn_fruit_errors *ret_errors, crn_error *error)
{
    crn_draws random = {seed, number, 0};
    crn_known_fruit fruit = crn_known_random(&row->kind, &random);
    crn_surface_settings settings = crn_known_settings(fruit.distance_mm);
    const crn_surface_fruit *found;
    crn_known_seen *seen = &bench->seen;
    *ret_errors = no_errors();
    settings.roll_error_rad = row->photographs ? CRN_UNION_ROLL_ERROR_RAD : 2 * row->roll_sigma;
    int r = crn_known_look_at(seen, &fruit, error);
    if (r < 0)
        return r;
    if (!bench->surface && crn_surface_open(seen->context, &settings, &bench->surface) < 0)
        return crn_error_set(error, -EINVAL, "%s", crn_context_error(seen->context));
    crn_surface_set_camera(bench->surface, CRN_ROLL_AXIS_Y, fruit.distance_mm);
    ret_errors->is_measured = 1;
    if (!row->photographs)
        spoil_poses(seen, row, &random);
    else if (!crn_surface_find_poses(bench, row, &fruit, &random, ret_errors))
        ret_errors->is_measured = 0;
    if (ret_errors->is_measured == 0)
        return 0;
    if (crn_surface_measure(bench->surface, seen->views, seen->view_count, &found) < 0)
        return crn_error_set(error, -EINVAL, "%s", crn_context_error(seen->context));
    note_fruit(seen, &fruit, found, ret_errors);
    return 0;
}

crn_surface_sample crn_surface_sample_of(const crn_fruit_errors *errors, int32_t fruits,
                                         size_t offset, size_t bytes)
{
    size_t width = bytes / sizeof(double), count = 0;
    double *values = malloc((size_t)fruits * width * sizeof *values), sum = 0;
    crn_surface_sample none = {NAN, NAN, NAN, NAN, 0};
    for (int32_t i = 0; i < fruits && values; i++) {
        const double *of = (const double *)(const void *)((const char *)&errors[i] + offset);
        for (size_t k = 0; k < width; k++)
            if (isfinite(of[k])) {
                values[count++] = of[k];
                sum += of[k];
            }
    }
    if (count > 0) {
        crn_bench_sort(values, count);
        none = (crn_surface_sample){crn_bench_median(values, count),
                                    values[(size_t)(0.95 * (double)(count - 1))], values[count - 1],
                                    sum / (double)count, (int32_t)count};
    }
    free(values);
    return none;
}
