/* The scale from a chequerboard: its inner corners, and the plane that they lie in. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tools/common/calibration/calibration.h"
#include "tools/common/calibration/grid.h"
#include "tools/common/calibration/plane.h"

enum {
    SIDE_MIN = 3,   /* corners in a row and in a column, at least */
    REDUCTIONS = 5, /* 1, 2, 4, … : how much a picture is reduced at most */
};

#define LEVEL_PIXELS_MAX 24e6 /* of a level: a larger picture is looked at reduced */
#define LEVEL_SIDE_MIN   32
#define EVEN_GREY        12  /* between bright and dark: below there is nothing to see */
#define REACH            0.4 /* of the pitch: what a corner is refined from */
#define REACH_MIN_PX     2.5
#define REACH_MAX_PX     40.0
#define OUTLIER          4.0  /* times the residual: such a corner is left out, */
#define OUTLIER_MIN_PX   0.5  /* if it is off by so much at least */
#define SQUEEZE_MIN      0.98 /* below, the board is too oblique: 11.5 degrees */
#define SQUEEZE_GOOD     0.995
#define GROWTH_MAX       0.03 /* from one end of the board to the other */
#define GROWTH_GOOD      0.01
#define RESIDUAL_GOOD_PX 0.3
#define RESIDUAL_MAX     0.04  /* of the pitch: then these are no squares in a plane */
#define EDGE_GOOD        0.33  /* of the pitch: wider edges are told */
#define EDGE_MAX         0.45  /* then neighbouring squares reach into each other's corners */
#define EDGE_BLURRED_PX  7.0   /* of a picture without a board: then that is why */
#define SLOPE_PART       0.999 /* of the pixels have a smaller slope than an edge */
#define GREY_PART        0.001 /* of the pixels are darker, or brighter, than the squares */

/* --- the picture as a whole ------------------------------------------------------------------- */

static int by_value(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static double quantile(float *values, size_t count, double part)
{
    qsort(values, count, sizeof *values, by_value);
    return (double)values[(size_t)(part * (double)(count - 1))];
}

/* Between bright and dark, and how wide the sharpest edges are, in the picture's pixels. */
typedef struct board_sight {
    double contrast, edge_px;
} board_sight;

/* Of a sample of a level's pixels. */
static int look_at(const crn_level *level, board_sight *ret_sight)
{
    size_t pixels = (size_t)level->width * (size_t)level->height, step = pixels / 65536 + 1;
    size_t count = 0, row = (size_t)level->width;
    float *grey = malloc((pixels / step + 1) * sizeof *grey);
    float *slope = malloc((pixels / step + 1) * sizeof *slope);
    if (grey && slope)
        for (size_t i = row + 1; i + row + 1 < pixels; i += step) {
            grey[count] = level->at[i];
            slope[count++] = hypotf(level->at[i + 1] - level->at[i - 1],
                                    level->at[i + row] - level->at[i - row]) /
                             2;
        }
    int r = grey && slope && count > 0 ? 0 : -ENOMEM;
    if (r == 0) {
        double dark = quantile(grey, count, GREY_PART),
               bright = quantile(grey, count, 1 - GREY_PART);
        ret_sight->contrast = bright - dark;
        ret_sight->edge_px =
            level->reduction * (bright - dark) / fmax(quantile(slope, count, SLOPE_PART), 1e-3);
    }
    free(grey);
    free(slope);
    return r;
}

/* --- the board -------------------------------------------------------------------------------- */

static void count_sides(const crn_corners *corners, int32_t *ret_columns, int32_t *ret_rows)
{
    *ret_columns = *ret_rows = 0;
    for (size_t i = 0; i < corners->count; i++) {
        if (corners->at[i].column >= *ret_columns)
            *ret_columns = corners->at[i].column + 1;
        if (corners->at[i].row >= *ret_rows)
            *ret_rows = corners->at[i].row + 1;
    }
}

/* The largest board of all reductions: small squares vanish in a reduced picture, and in one that
 * is not, large blurred ones are no corners. */
static int find_board(const crn_calibration_input *input, crn_corners *ret_corners,
                      board_sight *ret_sight, crn_error *error)
{
    const crn_image *plane = &input->plane;
    crn_corners best = {0};
    int r = 0;
    *ret_sight = (board_sight){0, 0};
    for (int i = 0; r == 0 && i < REDUCTIONS; i++) {
        int32_t reduction = 1 << i;
        double pixels = (double)plane->width * plane->height / reduction / reduction;
        crn_level level = {0};
        crn_corners corners = {0};
        if (pixels > LEVEL_PIXELS_MAX || plane->width / reduction < LEVEL_SIDE_MIN ||
            plane->height / reduction < LEVEL_SIDE_MIN)
            continue;
        r = crn_level_create(plane, reduction, &level);
        if (r == 0 && ret_sight->contrast == 0)
            r = look_at(&level, ret_sight);
        if (r == 0 && ret_sight->contrast >= EVEN_GREY)
            r = crn_corners_find(&level, ret_sight->contrast, &corners);
        if (r == 0)
            r = crn_grid_join(&corners);
        crn_level_free(&level);
        if (r == 0 && corners.count > best.count) {
            crn_corners_free(&best);
            best = corners;
        } else {
            crn_corners_free(&corners);
        }
    }
    if (r < 0) {
        crn_corners_free(&best);
        return crn_error_set(error, r, "%s: no memory to look for a board", input->name);
    }
    *ret_corners = best;
    return 0;
}

/* The corners to a part of a pixel; those that nothing is found at are left out. */
static void refine(const crn_image *plane, double pitch_px, crn_corners *corners)
{
    double reach = fmin(REACH_MAX_PX, fmax(REACH_MIN_PX, REACH * pitch_px));
    size_t kept = 0;
    for (size_t i = 0; i < corners->count; i++)
        if (crn_corner_refine(plane, reach, &corners->at[i]))
            corners->at[kept++] = corners->at[i];
    corners->count = kept;
}

static void drop_outliers(const crn_plane_fit *fit, crn_corners *corners)
{
    double most = fmax(OUTLIER_MIN_PX, OUTLIER * fit->residual_px);
    size_t kept = 0;
    for (size_t i = 0; i < corners->count; i++) {
        double x, y;
        crn_plane_place(fit, corners->at[i].column, corners->at[i].row, &x, &y);
        if (hypot(corners->at[i].x - x, corners->at[i].y - y) <= most)
            corners->at[kept++] = corners->at[i];
    }
    corners->count = kept;
}

static bool fit_plane(const crn_image *plane, crn_corners *corners, crn_plane_fit *ret_fit)
{
    if (!crn_plane_find(corners, ret_fit))
        return false;
    refine(plane, ret_fit->pitch_px * ret_fit->squeeze, corners);
    if (!crn_plane_find(corners, ret_fit))
        return false;
    drop_outliers(ret_fit, corners);
    return crn_plane_find(corners, ret_fit);
}

/* --- what is said ----------------------------------------------------------------------------- */

static int refuse_sight(const crn_calibration_input *input, const board_sight *sight,
                        const crn_calibration *calibration, crn_error *error)
{
    if (sight->contrast < EVEN_GREY)
        return crn_error_set(error, -ENOENT,
                             "%s: there is no chequerboard: bright and dark differ by %.0f of 255; "
                             "light it, and open the lens",
                             input->name, sight->contrast);
    if (sight->edge_px > EDGE_BLURRED_PX)
        return crn_error_set(error, -ENOENT,
                             "%s: no chequerboard of at least %d x %d squares is found, and the "
                             "picture is blurred: its sharpest edges are %.0f px wide; focus the "
                             "camera on the board, and hold it still",
                             input->name, SIDE_MIN + 1, SIDE_MIN + 1, sight->edge_px);
    return crn_error_set(error, -ENOENT,
                         "%s: no chequerboard of at least %d x %d squares is found (%zu corners in "
                         "%d columns and %d rows): photograph the whole board, evenly lit, with "
                         "squares of at least 10 px",
                         input->name, SIDE_MIN + 1, SIDE_MIN + 1, calibration->corners.count,
                         calibration->columns, calibration->rows);
}

static int refuse_plane(const crn_calibration_input *input, const crn_plane_fit *fit,
                        const board_sight *sight, crn_error *error)
{
    if (sight->edge_px > EDGE_MAX * fit->pitch_px)
        return crn_error_set(error, -EINVAL,
                             "%s: the board is blurred: its edges are %.0f px wide, its squares "
                             "%.0f px; focus the camera on it, and hold it still",
                             input->name, sight->edge_px, fit->pitch_px);
    if (fit->residual_px > RESIDUAL_MAX * fit->pitch_px)
        return crn_error_set(error, -EINVAL,
                             "%s: what is found is no chequerboard in a plane: its corners lie up "
                             "to %.1f px off, of %.1f px between them",
                             input->name, fit->worst_px, fit->pitch_px);
    if (fit->squeeze < SQUEEZE_MIN || fit->growth > GROWTH_MAX)
        return crn_error_set(error, -EINVAL,
                             "%s: the board is oblique: inclined by %.0f degrees, so that its "
                             "squares are %.1f %% shorter in one direction, and %.1f %% larger at "
                             "one end than at the other; lay it flat, so that it faces the camera",
                             input->name, acos(fmin(1, fit->squeeze)) * 180 / M_PI,
                             100 * (1 - fit->squeeze), 100 * fit->growth);
    return 0;
}

static void note_plane(const crn_calibration_input *input, const crn_plane_fit *fit,
                       const board_sight *sight, crn_calibration *calibration)
{
    if (fit->squeeze < SQUEEZE_GOOD || fit->growth > GROWTH_GOOD)
        crn_calibration_note(calibration,
                             "%s: the board is inclined by %.0f degrees, and its squares are "
                             "%.1f %% larger at one end than at the other",
                             input->name, acos(fmin(1, fit->squeeze)) * 180 / M_PI,
                             100 * fit->growth);
    if (fit->residual_px > RESIDUAL_GOOD_PX)
        crn_calibration_note(calibration,
                             "%s: corners lie %.2f px off a plane, the worst %.1f px: the lens "
                             "bends lines, or the board is not flat",
                             input->name, fit->residual_px, fit->worst_px);
    if (sight->edge_px > EDGE_GOOD * fit->pitch_px)
        crn_calibration_note(calibration,
                             "%s: edges are %.0f px wide, squares %.0f px: a sharper picture is "
                             "measured better",
                             input->name, sight->edge_px, fit->pitch_px);
}

int crn_calibrate_board(const crn_calibration_input *input, double pitch_mm,
                        crn_calibration *calibration, crn_error *error)
{
    board_sight sight;
    crn_plane_fit fit;
    int r = find_board(input, &calibration->corners, &sight, error);
    if (r < 0)
        return r;
    bool found = fit_plane(&input->plane, &calibration->corners, &fit);
    count_sides(&calibration->corners, &calibration->columns, &calibration->rows);
    if (!found || calibration->columns < SIDE_MIN || calibration->rows < SIDE_MIN)
        return refuse_sight(input, &sight, calibration, error);
    r = refuse_plane(input, &fit, &sight, error);
    if (r < 0)
        return r;
    note_plane(input, &fit, &sight, calibration);
    calibration->mm_per_px = pitch_mm / fit.pitch_px;
    crn_calibration_write(calibration,
                          "%s: %zu corners of a chequerboard, %d x %d, squares of %g mm are %.3f "
                          "px; residual %.3f px, inclined by %.1f degrees, %.1f %% larger at one "
                          "end",
                          input->name, calibration->corners.count, calibration->columns,
                          calibration->rows, pitch_mm, fit.pitch_px, fit.residual_px,
                          acos(fmin(1, fit.squeeze)) * 180 / M_PI, 100 * fit.growth);
    return 0;
}
