/*
 * The surface of synthetic fruits against the truth: areas, counts, lengths, coverage. Prints the
 * table of stages/surface/README.md. CRN_CASES is the number of fruits for each row (30 by
 * default; the README's table has 2000), CRN_SEED the seed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/surface/seen.h"

#define DEG (M_PI / 180)

/* Classes of less than this part of the surface count by their absolute error. */
#define SMALL 0.01

enum { CASES_MAX = 20000 };

/* A row of the table: fruits, and what is wrong with their poses. */
typedef struct truth_row {
    const char *name;
    scene_kind kind;
    double roll_sigma, centre_sigma, radius_sigma;
    double mean_max, p95_max; /* of the error of an area: promised */
    double count_min;         /* part of the fruits with the right number of defects */
} truth_row;

/* Errors of all fruits of a row. */
typedef struct truth_errors {
    uint32_t areas, small_areas, fruits, lengths, counts_right;
    double area[CASES_MAX * SCENE_CLASSES]; /* relative, in the order of their size at the end */
    double ns[CASES_MAX];
    double whole, small, naive, grid, length, diameter, coverage, coverage_mean;
} truth_errors;

static scene_seen seen;
static truth_errors errors;
static crn_random random_state;

static int set_up(void **state)
{
    (void)state;
    scene_seen_open(&seen);
    random_state.state = getenv("CRN_SEED") ? crn_random_seed() : 31;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scene_seen_close(&seen);
    return 0;
}

/* About normal, with the standard deviation 1. */
static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += crn_random_unit(&random_state);
    return sum;
}

/* The sum over all views of the outlines' areas in the picture. */
static double naive_area(const scene_fruit *fruit, int channel)
{
    double area = 0;
    for (int i = 0; i < seen.view_count; i++)
        for (uint32_t k = 0; k < seen.defects[i].defect_count; k++) {
            const crn_defect *defect = &seen.defects[i].defects[k];
            if (defect->channel == channel)
                area += defect->hole ? -defect->area_px : defect->area_px;
        }
    return area * fruit->mm_per_px * fruit->mm_per_px;
}

static double value_at(const float *plane, double x, double y)
{
    int x0 = (int)floor(x), y0 = (int)floor(y);
    if (x0 < 0 || y0 < 0 || x0 + 1 >= SCENE_WIDTH || y0 + 1 >= SCENE_HEIGHT)
        return 0;
    const float *at = plane + y0 * SCENE_WIDTH + x0;
    double s = x - x0, t = y - y0;
    return (1 - t) * ((1 - s) * (double)at[0] + s * (double)at[1]) +
           t * ((1 - s) * (double)at[SCENE_WIDTH] + s * (double)at[SCENE_WIDTH + 1]);
}

/* The other way: maps resampled onto a grid of 96 x 192 cells, from the view that faces a cell. */
static double grid_area(const scene_fruit *fruit, int channel)
{
    double area = 0;
    for (int i = 0; i < 96 * 192; i++) {
        double v = 2 * (i / 192 + 0.5) / 96 - 1, lambda = 2 * M_PI * (i % 192 + 0.5) / 192;
        double nearest = 4, local = 0, r = sqrt(1 - v * v);
        int view = 0;
        for (int k = 0; k < seen.view_count; k++) {
            double from_middle = remainder(lambda + seen.views[k].pose.roll_rad, 2 * M_PI);
            if (fabs(from_middle) < fabs(nearest)) {
                nearest = local = from_middle;
                view = k;
            }
        }
        const crn_surface_pose *pose = &seen.views[view].pose;
        double value = value_at(seen.maps[view] + channel * SCENE_PIXELS,
                                pose->x + pose->rx * r * sin(local), pose->y + pose->ry * v);
        if (value > 0.5)
            area += 4 * M_PI / (96 * 192) * fruit->a_mm * hypot(fruit->c_mm * r, fruit->a_mm * v);
    }
    return area;
}

/* What some view shows at most 75 degrees inclined, by 2000 points all over the surface. */
static double true_coverage(const scene_fruit *fruit)
{
    double covered = 0, all = 0;
    for (int i = 0; i < 2000; i++) {
        double v = 2 * (i + 0.5) / 2000 - 1, lambda = i * 2.399963, r = sqrt(1 - v * v);
        double area = hypot(fruit->c_mm * r, fruit->a_mm * v);
        scene_vector point = {r * sin(lambda), v, r * cos(lambda)};
        all += area;
        covered += scene_shows(fruit, point, 75 * DEG) ? area : 0;
    }
    return covered / all;
}

/* The defect of the class whose middle is nearest to the spot's. */
static const crn_surface_defect *find_defect(const crn_surface_fruit *found, const scene_spot *spot)
{
    const crn_surface_defect *nearest = NULL;
    double best = -1;
    scene_vector m = {spot->p.x + spot->q.x, spot->p.y + spot->q.y, spot->p.z + spot->q.z};
    double size = sqrt(m.x * m.x + m.y * m.y + m.z * m.z);
    for (uint32_t i = 0; i < found->defect_count; i++) {
        const crn_surface_defect *defect = &found->defects[i];
        double r = sqrt(1 - defect->v * defect->v);
        double same = (m.x * r * sin(defect->lambda_rad) + m.y * defect->v +
                       m.z * r * cos(defect->lambda_rad)) /
                      size;
        if (defect->channel == spot->channel && same > best) {
            best = same;
            nearest = defect;
        }
    }
    return nearest;
}

static void note_class(const scene_fruit *fruit, const crn_surface_fruit *found, int channel)
{
    double truth = scene_area_mm2(fruit, channel, true), surface = scene_surface_mm2(fruit);
    double whole = scene_area_mm2(fruit, channel, false);
    double off = fabs(found->totals[channel].area_mm2 - truth);
    if (truth < SMALL * surface) {
        errors.small += off / surface;
        errors.small_areas += truth > 0;
        return;
    }
    errors.area[errors.areas++] = off / truth;
    errors.whole += fabs(found->totals[channel].area_mm2 - whole) / whole;
    errors.naive += fabs(naive_area(fruit, channel) - truth) / truth;
    errors.grid += fabs(grid_area(fruit, channel) - truth) / truth;
}

static void note_fruit(const scene_fruit *fruit, const crn_surface_fruit *found)
{
    bool counts_right = true;
    for (int channel = 0; channel < SCENE_CLASSES; channel++) {
        note_class(fruit, found, channel);
        counts_right &= (int)found->totals[channel].count == scene_count(fruit, channel);
    }
    errors.counts_right += counts_right;
    for (int i = 0; counts_right && i < fruit->spot_count; i++) {
        double truth = scene_length_mm(fruit, &fruit->spots[i]);
        double length = find_defect(found, &fruit->spots[i])->length_mm;
        errors.length += fabs(length - truth) / truth;
        errors.lengths++;
    }
    errors.fruits++;
    errors.diameter += fabs(found->diameter_mm / (2 * fruit->a_mm) - 1);
    errors.coverage = fmax(errors.coverage, fabs(found->coverage - true_coverage(fruit)));
    errors.coverage_mean += found->coverage;
}

static void spoil_poses(const truth_row *row)
{
    for (int i = 0; i < seen.view_count; i++) {
        crn_surface_pose *pose = &seen.views[i].pose;
        pose->x += row->centre_sigma * normal();
        pose->y += row->centre_sigma * normal();
        pose->rx *= 1 + row->radius_sigma * normal();
        pose->ry *= 1 + row->radius_sigma * normal();
        pose->roll_rad += row->roll_sigma * normal();
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* True if the row keeps what is promised. */
static bool print_row(const truth_row *row)
{
    double mean = 0, areas = errors.areas, fruits = errors.fruits;
    qsort(errors.area, errors.areas, sizeof *errors.area, by_size);
    qsort(errors.ns, errors.fruits, sizeof *errors.ns, by_size);
    for (uint32_t i = 0; i < errors.areas; i++)
        mean += errors.area[i] / areas;
    double p95 = errors.area[(uint32_t)(0.95 * areas)], counts = errors.counts_right / fruits;
    printf("| %s | %.2f | %.2f | %.2f | %.3f | %.0f | %.1f | %.1f | %.1f | %.2f | %.3f | %.3f | "
           "%.0f |\n",
           row->name, 100 * mean, 100 * p95, 100 * errors.whole / areas,
           100 * errors.small / errors.small_areas, 100 * errors.naive / areas,
           100 * errors.grid / areas, 100 * counts, 100 * errors.length / errors.lengths,
           100 * errors.diameter / fruits, errors.coverage_mean / fruits, errors.coverage,
           errors.ns[errors.fruits / 2] / 1000);
    return mean <= row->mean_max && p95 <= row->p95_max && counts >= row->count_min;
}

static bool measure_row(const truth_row *row, uint32_t cases)
{
    memset(&errors, 0, sizeof errors);
    for (uint32_t i = 0; i < cases; i++) {
        scene_fruit fruit = scene_random(&row->kind, &random_state);
        crn_surface_settings settings = scene_settings(fruit.distance_mm);
        settings.roll_error_rad = 2 * row->roll_sigma;
        const crn_surface_fruit *found;
        crn_surface *surface;
        scene_look(&seen, &fruit);
        spoil_poses(row);
        assert_int_equal(crn_surface_open(seen.context, &settings, &surface), 0);
        for (int again = 0; again < 2; again++) { /* the first time it touches its memory */
            int64_t begin_ns = (int64_t)crn_now_ns();
            if (crn_surface_measure(surface, seen.views, seen.view_count, &found) != 0)
                fail_msg("%s", crn_context_error(seen.context));
            errors.ns[i] = (double)((int64_t)crn_now_ns() - begin_ns);
        }
        note_fruit(&fruit, found);
        crn_surface_free(&surface);
    }
    return print_row(row);
}

#define KIND(count, least, most, distance, wobble)                                                 \
    {                                                                                              \
        .views = (count), .step_rad = 2 * M_PI / (count), .ratio_min = (least),                    \
        .ratio_max = (most), .distance_radii = (distance), .wobble_rad = (wobble),                 \
        .spot_min = 0.08, .spot_max = 0.42                                                         \
    }

static void areas_are_the_true_ones(void **state)
{
    (void)state;
    const truth_row rows[] = {
        {"4 views, spheres", KIND(4, 1, 1, 0, 0), 0, 0, 0, 0.015, 0.06, 0.95},
        {"6 views, spheres", KIND(6, 1, 1, 0, 0), 0, 0, 0, 0.015, 0.06, 0.95},
        {"8 views, spheres", KIND(8, 1, 1, 0, 0), 0, 0, 0, 0.015, 0.06, 0.95},
        {"4 views, 0.8 to 1.25", KIND(4, 0.8, 1.25, 0, 0), 0, 0, 0, 0.015, 0.06, 0.95},
        {"6 views, 0.8 to 1.25", KIND(6, 0.8, 1.25, 0, 0), 0, 0, 0, 0.015, 0.06, 0.95},
        {"8 views, 0.8 to 1.25", KIND(8, 0.8, 1.25, 0, 0), 0, 0, 0, 0.015, 0.06, 0.95},
        {"4 views, 0.8 to 1.25, camera at 15 radii", KIND(4, 0.8, 1.25, 15, 0), 0, 0, 0, 0.02, 0.08,
         0.9},
        {"4 views, 0.8 to 1.25, camera at 8 radii", KIND(4, 0.8, 1.25, 8, 0), 0, 0, 0, 0.03, 0.13,
         0.85},
        {"4 views, spheres, axis ±5°", KIND(4, 1, 1, 0, 5 * DEG), 0, 0, 0, 0.08, 1, 0},
        {"4 views, spheres, axis ±10°", KIND(4, 1, 1, 0, 10 * DEG), 0, 0, 0, 0.08, 1, 0},
        {"4 views, spheres, roll σ 2°", KIND(4, 1, 1, 0, 0), 2 * DEG, 0, 0, 0.06, 1, 0},
        {"4 views, spheres, pose σ 0.6 px, 1.5 %, 1.5°", KIND(4, 1, 1, 0, 0), 1.5 * DEG, 0.6, 0.015,
         0.06, 1, 0},
    };
    uint32_t cases = crn_random_cases(30);
    assert_in_range(cases, 1, CASES_MAX);
    printf("| fruits | area %% | p95 %% | of all %% | small %% | naive %% | grid %% | counts right "
           "%% | "
           "length %% | diameter %% | coverage | off by | µs |\n");
    bool kept = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        kept &= measure_row(&rows[i], cases);
    assert_true(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(areas_are_the_true_ones)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
