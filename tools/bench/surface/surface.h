/*
 * How exact the surface of a fruit is: rows of synthetic fruits of one kind, whose truth is known,
 * measured with true poses or with those found in photographs, as the line takes them.
 */
#ifndef CRN_TOOLS_BENCH_SURFACE_SURFACE_H
#define CRN_TOOLS_BENCH_SURFACE_SURFACE_H

#include "stages/surface/skin.h"
#include "tools/common/known/seen.h"

/* A photograph of one view that shows no pose. */
typedef enum crn_unusable {
    CRN_USABLE,
    CRN_UNUSABLE_DARK,
    CRN_UNUSABLE_BRIGHT, /* over-exposed */
    CRN_UNUSABLE_TWO,    /* two fruits that touch */
    CRN_UNUSABLE_APART,  /* two fruits that do not */
    CRN_UNUSABLE_NOISE,
    CRN_UNUSABLE_GREY, /* one colour */
    CRN_UNUSABLE_TINY, /* of 1 x 1 */
} crn_unusable;

/* What a row has to reach; 0: nothing. Errors in per cent, pixels, degrees; means but for: */
typedef struct crn_surface_targets {
    double area, area_p95, counts_min, length, diameter;
    double expected_min;       /* of an unusable photograph */
    double coverage;           /* the most, as a part of the surface */
    double centre, axes, roll; /* medians */
    double roll_p95;
} crn_surface_targets;

typedef struct crn_surface_row {
    const char *name;
    crn_known_kind kind;
    const crn_surface_targets *targets;
    double roll_sigma, centre_sigma, radius_sigma; /* radians, pixels, part: true poses spoilt */
    bool photographs;                              /* poses and rolls are found in them */
    bool roll_unknown;                             /* no roll is expected: roll_deg 0 */
    bool real;                                     /* the skin of a real photograph */
    crn_unusable unusable;                         /* the second view's photograph */
} crn_surface_row;

extern const crn_surface_row crn_surface_rows[];
extern const int32_t crn_surface_row_count;

/* Errors of one fruit; NAN where there is none of it. */
typedef struct crn_fruit_errors {
    double area[CRN_KNOWN_CLASSES], naive[CRN_KNOWN_CLASSES], grid[CRN_KNOWN_CLASSES]; /* of it */
    double whole[CRN_KNOWN_CLASSES]; /* of the area with what no view shows */
    double small[CRN_KNOWN_CLASSES]; /* of classes below 1 %, of the surface */
    double length[CRN_KNOWN_SPOTS], diameter, coverage;
    double is_measured, counts_right; /* 0 or 1 */
    double centre_px[CRN_SEEN_VIEWS], axes[2 * CRN_SEEN_VIEWS], roll_rad[CRN_SEEN_VIEWS];
    double is_unsure[CRN_SEEN_VIEWS];    /* of a roll: 0 or 1 */
    double pose_confidence, is_expected; /* of an unusable photograph */
} crn_fruit_errors;

/* What a thread of the benchmark has. */
typedef struct crn_surface_bench {
    crn_known_seen seen;
    crn_surface *surface;
    uint8_t *photographs[CRN_SEEN_VIEWS];
    crn_surface_skin skins[CRN_SEEN_VIEWS];
} crn_surface_bench;

/* For pictures of at most so many pixels. 0, or negative errno and a text; free it in any case. */
int crn_surface_bench_open(crn_surface_bench *ret_bench, size_t pixels, crn_error *error);
void crn_surface_bench_close(crn_surface_bench *bench);

/* Makes and measures fruit `number` of a row. 0, or negative errno and a text. */
int crn_surface_bench_fruit(crn_surface_bench *bench, const crn_surface_row *row, uint64_t seed,
                            uint64_t number, crn_fruit_errors *ret_errors, crn_error *error);

/* Replaces the true poses of `bench->seen` by what photographs show, and notes how wrong they are.
 * False if a roll is neither found nor expected. */
bool crn_surface_find_poses(crn_surface_bench *bench, const crn_surface_row *row,
                            const crn_known_fruit *fruit, crn_draws *random,
                            crn_fruit_errors *errors);

/* Area of a class by other ways: the sum over all views of the outlines' areas in the picture; maps
 * resampled onto a grid of 96 x 192 cells, each from the view that faces it. */
double crn_surface_naive_mm2(const crn_known_seen *seen, const crn_known_fruit *fruit, int channel);
double crn_surface_grid_mm2(const crn_known_seen *seen, const crn_known_fruit *fruit, int channel);

/* Median, 95th percentile, greatest and mean of the finite values among `width` doubles at an
 * offset of each fruit's errors; their number. */
typedef struct crn_surface_sample {
    double median, p95, most, mean;
    int32_t count;
} crn_surface_sample;

crn_surface_sample crn_surface_sample_of(const crn_fruit_errors *errors, int32_t fruits,
                                         size_t offset, size_t bytes);
#define CRN_SURFACE_SAMPLE(errors, fruits, member)                                                 \
    crn_surface_sample_of((errors), (fruits), offsetof(crn_fruit_errors, member),                  \
                          sizeof(errors)->member)

/* Fills errors[] of so many fruits, by all threads of OpenMP. 0, or negative errno and a text. */
int crn_surface_bench_row(const crn_surface_row *row, const crn_known_skin *skin, int32_t fruits,
                          uint64_t seed, crn_fruit_errors *errors, crn_error *error);

/* Prints what a pose, a union and a fruit take. 0, or negative errno and a text. */
int crn_surface_print_times(uint64_t seed, bool json, crn_error *error);

#endif
