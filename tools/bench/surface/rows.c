/* The rows of `cernita-bench surface`: fruits, what is known of their poses, and what is promised.
 */
#include <math.h>

#include "tools/bench/surface/surface.h"

#define DEG (M_PI / 180)

/* In per cent, pixels, degrees: see crn_surface_targets. */
static const crn_surface_targets posed = {
    .area = 1.5, .area_p95 = 6, .counts_min = 97, .length = 3, .diameter = 1, .coverage = 0.01};
static const crn_surface_targets found = {.area = 4,
                                          .area_p95 = 11,
                                          .counts_min = 97,
                                          .length = 3,
                                          .diameter = 1,
                                          .coverage = 0.01,
                                          .centre = 0.6,
                                          .axes = 1.5,
                                          .roll = 1,
                                          .roll_p95 = 3};
static const crn_surface_targets wobbling = {.area = 4,
                                             .area_p95 = 11,
                                             .counts_min = 97,
                                             .length = 3,
                                             .diameter = 1,
                                             .centre = 0.6,
                                             .axes = 1.5};
static const crn_surface_targets unknown = {.expected_min = 100};
static const crn_surface_targets none = {0};

/* Fruits of so many views all around; then what else of the kind. */
#define KIND(count, ...)                                                                           \
    .kind = {.views = (count),                                                                     \
             .step_rad = 2 * M_PI / (count),                                                       \
             .spot_min = 0.08,                                                                     \
             .spot_max = 0.42,                                                                     \
             __VA_ARGS__}
#define SPHERE   .ratio_min = 1, .ratio_max = 1
#define SPHEROID .ratio_min = 0.8, .ratio_max = 1.25
#define LOOK(speckles, reflection, ...)                                                            \
    .look = {.light = 1, .speckle = (speckles), .highlight = (reflection), __VA_ARGS__}
#define USUAL    .look = CRN_KNOWN_LOOK
#define SIZE(px) .height = (px), .width = (px)*CRN_KNOWN_WIDTH / CRN_KNOWN_HEIGHT

/* Room for two whole fruits. */
#define PAIR .height = CRN_KNOWN_HEIGHT, .width = 291

/* All that a line may have, but for what the other rows show alone. */
#define LINE LOOK(0.35, 90, .rollers = 0.5, .dirt = 0.3, .neighbour = 2.2), .dent = 0.1, .slip = 0.1

#define FOUND(text, targeted, ...)                                                                 \
    {                                                                                              \
        .name = (text), .photographs = true, .targets = (targeted), __VA_ARGS__                    \
    }

const crn_surface_row crn_surface_rows[] = {
    {"pose: 4 views, spheres", KIND(4, SPHERE, USUAL), &posed},
    {"pose: 6 views, spheres", KIND(6, SPHERE, USUAL), &posed},
    {"pose: 8 views, spheres", KIND(8, SPHERE, USUAL), &posed},
    {"pose: 4 views, 0.8 to 1.25", KIND(4, SPHEROID, USUAL), &posed},
    {"pose: 6 views, 0.8 to 1.25", KIND(6, SPHEROID, USUAL), &posed},
    {"pose: 8 views, 0.8 to 1.25", KIND(8, SPHEROID, USUAL), &posed},
    {"pose: 4 views, at 15 radii", KIND(4, SPHEROID, USUAL, .distance_radii = 15), &posed},
    {"pose: 6 views, at 15 radii", KIND(6, SPHEROID, USUAL, .distance_radii = 15), &posed},
    {"pose: 8 views, at 15 radii", KIND(8, SPHEROID, USUAL, .distance_radii = 15), &posed},
    {"pose: 4 views, at 8 radii", KIND(4, SPHEROID, USUAL, .distance_radii = 8), &posed},
    {"pose: 6 views, at 8 radii", KIND(6, SPHEROID, USUAL, .distance_radii = 8), &posed},
    {"pose: 8 views, at 8 radii", KIND(8, SPHEROID, USUAL, .distance_radii = 8), &posed},
    {"pose: 6 views, at 15 radii, 160 px",
     KIND(6, SPHEROID, USUAL, .distance_radii = 15, SIZE(160)), &posed},
    {"pose: 4 views, at 8 radii, 160 px", KIND(4, SPHEROID, USUAL, .distance_radii = 8, SIZE(160)),
     &posed},
    {"pose: 6 views, at 8 radii, 160 px", KIND(6, SPHEROID, USUAL, .distance_radii = 8, SIZE(160)),
     &posed},
    {"pose: 8 views, at 8 radii, 160 px", KIND(8, SPHEROID, USUAL, .distance_radii = 8, SIZE(160)),
     &posed},
    {"pose: 4 views, a dent", KIND(4, SPHERE, USUAL, .dent = 0.1), &none},
    {"pose: 4 views, axis +-5 deg", KIND(4, SPHERE, USUAL, .wobble_rad = 5 * DEG), &none},
    {"pose: 4 views, axis +-10 deg", KIND(4, SPHERE, USUAL, .wobble_rad = 10 * DEG), &none},
    {"pose: 4 views, roll sigma 2 deg", KIND(4, SPHERE, USUAL), &none, .roll_sigma = 2 * DEG},
    {"pose: 4 views, sigma 0.6 px, 1.5 %, 1.5 deg", KIND(4, SPHERE, USUAL), &none,
     .roll_sigma = 1.5 * DEG, .centre_sigma = 0.6, .radius_sigma = 0.015},

    FOUND("photo: 4 views, spheres", &found, KIND(4, SPHERE, USUAL)),
    FOUND("photo: 6 views, spheres", &found, KIND(6, SPHERE, USUAL)),
    FOUND("photo: 8 views, spheres", &found, KIND(8, SPHERE, USUAL)),
    FOUND("photo: 4 views, 0.8 to 1.25", &found, KIND(4, SPHEROID, USUAL)),
    FOUND("photo: 6 views, 0.8 to 1.25", &found, KIND(6, SPHEROID, USUAL)),
    FOUND("photo: 8 views, 0.8 to 1.25", &found, KIND(8, SPHEROID, USUAL)),
    FOUND("photo: 4 views, slip 20 %", &found, KIND(4, SPHERE, USUAL, .slip = 0.2)),
    FOUND("photo: 6 views, slip 20 %", &found, KIND(6, SPHERE, USUAL, .slip = 0.2)),
    FOUND("photo: 8 views, slip 20 %", &found, KIND(8, SPHERE, USUAL, .slip = 0.2)),
    FOUND("photo: 4 views, roll unknown", &found, KIND(4, SPHERE, USUAL), .roll_unknown = true),
    FOUND("photo: 6 views, roll unknown", &found, KIND(6, SPHERE, USUAL), .roll_unknown = true),
    FOUND("photo: 8 views, roll unknown", &found, KIND(8, SPHERE, USUAL), .roll_unknown = true),
    FOUND("photo: 4 views, axis +-10 deg", &wobbling,
          KIND(4, SPHERE, USUAL, .wobble_rad = 10 * DEG)),
    FOUND("photo: 6 views, axis +-10 deg", &wobbling,
          KIND(6, SPHERE, USUAL, .wobble_rad = 10 * DEG)),
    FOUND("photo: 8 views, axis +-10 deg", &wobbling,
          KIND(8, SPHERE, USUAL, .wobble_rad = 10 * DEG)),
    FOUND("photo: 4 views, axis +-10 deg, slip 20 %", &none,
          KIND(4, SPHERE, USUAL, .wobble_rad = 10 * DEG, .slip = 0.2)),
    FOUND("photo: 4 views, highlight of 200", &found, KIND(4, SPHERE, LOOK(0.35, 200))),
    FOUND("photo: 4 views, dirt", &found, KIND(4, SPHERE, LOOK(0.35, 90, .dirt = 0.5))),
    FOUND("photo: 4 views, a neighbour", &found, KIND(4, SPHERE, LOOK(0.35, 90, .neighbour = 2.2))),
    FOUND("photo: 4 views, a dent", &found, KIND(4, SPHERE, USUAL, .dent = 0.1)),
    FOUND("photo: 4 views, rollers half as bright", &found,
          KIND(4, SPHERE, LOOK(0.35, 90, .rollers = 0.5))),
    FOUND("photo: 4 views, rollers as bright", &found,
          KIND(4, SPHERE, LOOK(0.35, 90, .rollers = 1))),
    FOUND("photo: 4 views, speckles of 7 %", &found, KIND(4, SPHERE, LOOK(0.07, 90))),
    FOUND("photo: 4 views, speckles of 2 %", &none, KIND(4, SPHERE, LOOK(0.02, 90))),
    FOUND("line: 4 views, all of these", &found, KIND(4, SPHEROID, LINE)),
    FOUND("line: 6 views, all of these", &found, KIND(6, SPHEROID, LINE)),
    FOUND("line: 8 views, all of these", &found, KIND(8, SPHEROID, LINE)),

    FOUND("real: 4 views", &found, KIND(4, SPHERE, USUAL), .real = true),
    FOUND("real: 6 views", &found, KIND(6, SPHERE, USUAL), .real = true),
    FOUND("real: 8 views", &found, KIND(8, SPHERE, USUAL), .real = true),
    FOUND("real: 4 views, slip 20 %", &found, KIND(4, SPHERE, USUAL, .slip = 0.2), .real = true),
    FOUND("real: 4 views, roll unknown", &found, KIND(4, SPHERE, USUAL), .real = true,
          .roll_unknown = true),
    FOUND("real: 4 views of 48 px", &found, KIND(4, SPHERE, USUAL, .slip = 0.2, SIZE(48)),
          .real = true),
    FOUND("real: 4 views of 64 px", &found, KIND(4, SPHERE, USUAL, .slip = 0.2, SIZE(64)),
          .real = true),
    FOUND("real: 4 views of 128 px", &found, KIND(4, SPHERE, USUAL, .slip = 0.2, SIZE(128)),
          .real = true),
    FOUND("real: 4 views of 190 px", &found, KIND(4, SPHERE, USUAL, .slip = 0.2, SIZE(190)),
          .real = true),
    FOUND("real: 4 views of 285 px", &found, KIND(4, SPHERE, USUAL, .slip = 0.2, SIZE(285)),
          .real = true),

    FOUND("unusable: dark", &unknown, KIND(4, SPHERE, USUAL), .unusable = CRN_UNUSABLE_DARK),
    FOUND("unusable: over-exposed", &unknown, KIND(4, SPHERE, USUAL),
          .unusable = CRN_UNUSABLE_BRIGHT),
    FOUND("unusable: two fruits that touch", &unknown, KIND(4, SPHERE, USUAL, PAIR),
          .unusable = CRN_UNUSABLE_TWO),
    FOUND("unusable: two fruits apart", &unknown, KIND(4, SPHERE, USUAL, PAIR),
          .unusable = CRN_UNUSABLE_APART),
    FOUND("unusable: noise", &unknown, KIND(4, SPHERE, USUAL), .unusable = CRN_UNUSABLE_NOISE),
    FOUND("unusable: one colour", &unknown, KIND(4, SPHERE, USUAL), .unusable = CRN_UNUSABLE_GREY),
    FOUND("unusable: 1 x 1", &unknown, KIND(4, SPHERE, USUAL), .unusable = CRN_UNUSABLE_TINY),
};

const int32_t crn_surface_row_count = sizeof crn_surface_rows / sizeof *crn_surface_rows;
