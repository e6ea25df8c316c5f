/*
 * How far a fruit has rolled, by its skin. Both photographs are unwrapped to longitude and height;
 * the shading, which stays where it is while the skin turns, is divided away by the mean around
 * each place; then the skins are compared at every shift, where both show them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stages/library/library.h"
#include "stages/surface/surface.h"

#define COLUMNS_MIN 10   /* in both, to be compared */
#define ACROSS      6    /* columns to either side that a mean is of */
#define ALONG       3    /* rows likewise */
#define DARK        4.0f /* added to a mean, so that darkness has no marks */
#define MARK_MAX    0.5f /* of the mean: highlights are more */
#define OTHER       4    /* columns from the best shift on another one begins */

/* Places that the photograph does not show get the value of its border: no marks. */
static void unwrap(const crn_surface_lens *lens, const crn_image *image, crn_surface_skin *skin)
{
    /* As crn_surface_lens_pixel(), what all places have in common taken out of the loop. */
    double across2 = lens->across_px * lens->across_px, along2 = lens->along_px * lens->along_px;
    double ux = across2 * lens->across_x, uy = across2 * lens->across_y;
    double vx = along2 * lens->along_x, vy = along2 * lens->along_y;
    double sines[CRN_SKIN_COLUMNS], cosines[CRN_SKIN_COLUMNS], d = lens->distance;
    double wide = d > 0 ? sqrt(d * d - 1) : 1;
    double step_sine = sin(CRN_SKIN_COLUMN_RAD), step_cosine = cos(CRN_SKIN_COLUMN_RAD);
    sines[0] = sin(crn_skin_lambda(0));
    cosines[0] = cos(crn_skin_lambda(0));
    for (int i = 1; i < CRN_SKIN_COLUMNS; i++) { /* by the sum of angles */
        sines[i] = sines[i - 1] * step_cosine + cosines[i - 1] * step_sine;
        cosines[i] = cosines[i - 1] * step_cosine - sines[i - 1] * step_sine;
    }
    for (int row = 0; row < CRN_SKIN_ROWS; row++) {
        double v = crn_skin_height(row), r = sqrt(1 - v * v);
        for (int i = 0; i < CRN_SKIN_COLUMNS; i++) {
            double scale = d > 0 ? wide / (d - r * cosines[i]) : 1;
            double across = r * sines[i] * scale, along = v * scale;
            skin->marks[row][i] = crn_surface_value_at(image, lens->x + across * ux + along * vx,
                                                       lens->y + across * uy + along * vy);
        }
    }
}

/* Means over 2 `ACROSS` + 1 neighbours of a row, fewer at its ends. */
static void smooth_row(const float *from, float *to)
{
    float sums[CRN_SKIN_COLUMNS + 1] = {0};
    for (int i = 0; i < CRN_SKIN_COLUMNS; i++)
        sums[i + 1] = sums[i] + from[i];
    for (int i = 0; i < CRN_SKIN_COLUMNS; i++) {
        int first = i > ACROSS ? i - ACROSS : 0;
        int end = i + ACROSS < CRN_SKIN_COLUMNS ? i + ACROSS + 1 : CRN_SKIN_COLUMNS;
        to[i] = (sums[end] - sums[first]) / (float)(end - first);
    }
}

/* The mean of the rows around one, `ALONG` to either side. */
static void smooth_columns(float rows[CRN_SKIN_ROWS][CRN_SKIN_COLUMNS], int row, float *to)
{
    int first = row > ALONG ? row - ALONG : 0;
    int end = row + ALONG < CRN_SKIN_ROWS ? row + ALONG + 1 : CRN_SKIN_ROWS;
    for (int i = 0; i < CRN_SKIN_COLUMNS; i++)
        to[i] = rows[first][i];
    for (int k = first + 1; k < end; k++)
        for (int i = 0; i < CRN_SKIN_COLUMNS; i++)
            to[i] += rows[k][i];
    for (int i = 0; i < CRN_SKIN_COLUMNS; i++)
        to[i] /= (float)(end - first);
}

/* Leaves of the skin how far it deviates from its surroundings, as a part of them. */
static void keep_marks(float rows[CRN_SKIN_ROWS][CRN_SKIN_COLUMNS], crn_surface_skin *skin)
{
    float means[CRN_SKIN_COLUMNS];
    for (int row = 0; row < CRN_SKIN_ROWS; row++)
        smooth_row(skin->marks[row], rows[row]);
    for (int row = 0; row < CRN_SKIN_ROWS; row++) {
        smooth_columns(rows, row, means);
        for (int i = 0; i < CRN_SKIN_COLUMNS; i++) {
            float mark = (skin->marks[row][i] - means[i]) / (means[i] + DARK);
            mark = mark > MARK_MAX ? MARK_MAX : mark;
            skin->marks[row][i] = mark < -MARK_MAX ? -MARK_MAX : mark;
        }
    }
}

/* A skin, and the sum of the squares in each of its columns, which all shifts have in common. */
typedef struct surface_side {
    const crn_surface_skin *skin;
    float squares[CRN_SKIN_COLUMNS];
} surface_side;

static surface_side side_of(const crn_surface_skin *skin)
{
    surface_side side = {.skin = skin};
    for (int row = 0; row < CRN_SKIN_ROWS; row++)
        for (int i = 0; i < CRN_SKIN_COLUMNS; i++)
            side.squares[i] += skin->marks[row][i] * skin->marks[row][i];
    return side;
}

/* The correlation of the first skin with the second, so many columns on; columns count as far as
 * both face the camera. */
static double correlate(const surface_side *first, const surface_side *second, const double *facing,
                        int shift)
{
    float both[CRN_SKIN_COLUMNS] = {0};
    int from = shift < 0 ? -shift : 0, columns = CRN_SKIN_COLUMNS - abs(shift);
    if (columns < COLUMNS_MIN)
        return -1;
    for (int row = 0; row < CRN_SKIN_ROWS; row++) {
        const float *a = first->skin->marks[row] + from;
        const float *b = second->skin->marks[row] + from + shift;
        for (int i = 0; i < columns; i++)
            both[i] += a[i] * b[i];
    }
    double sum = 0, sum_first = 0, sum_second = 0;
    for (int i = 0; i < columns; i++) {
        double weight = facing[from + i] * facing[from + i + shift];
        sum += weight * (double)both[i];
        sum_first += weight * (double)first->squares[from + i];
        sum_second += weight * (double)second->squares[from + i + shift];
    }
    double product = sum_first * sum_second;
    return product > 0 ? sum / sqrt(product) : -1;
}

/* Looks through all shifts within the range, and between those beside the best one. */
static crn_surface_roll search(const crn_surface_skin *first, const crn_surface_skin *second,
                               double expected, double range)
{
    enum { SHIFTS = 2 * CRN_SKIN_COLUMNS + 1 };
    surface_side sides[2] = {side_of(first), side_of(second)};
    double found[SHIFTS], facing[CRN_SKIN_COLUMNS]; /* cosine of a column's longitude */
    for (int i = 0; i < CRN_SKIN_COLUMNS; i++)
        facing[i] = cos(crn_skin_lambda(i));
    double middle = remainder(expected, 2 * M_PI);
    int best = -1;
    for (int i = 0; i < SHIFTS; i++) {
        double shift = (i - CRN_SKIN_COLUMNS) * CRN_SKIN_COLUMN_RAD;
        bool is_near = fabs(remainder(shift - middle, 2 * M_PI)) <= range + CRN_SKIN_COLUMN_RAD / 2;
        found[i] = is_near ? correlate(&sides[0], &sides[1], facing, i - CRN_SKIN_COLUMNS) : -1;
        if (best < 0 || found[i] > found[best])
            best = i;
    }
    if (found[best] <= 0)
        return (crn_surface_roll){expected, 0};
    double elsewhere = 0, part = 0;
    for (int i = 0; i < SHIFTS; i++)
        if (abs(i - best) >= OTHER)
            elsewhere = fmax(elsewhere, found[i]);
    if (best > 0 && best + 1 < SHIFTS && found[best - 1] > -1 && found[best + 1] > -1) {
        double bend = found[best - 1] - 2 * found[best] + found[best + 1];
        part = bend < 0 ? (found[best - 1] - found[best + 1]) / (2 * bend) : 0;
    }
    double roll = (best - CRN_SKIN_COLUMNS + part) * CRN_SKIN_COLUMN_RAD;
    return (crn_surface_roll){expected + remainder(roll - expected, 2 * M_PI),
                              fmax(0, fmin(1, found[best] - elsewhere))};
}

void crn_surface_set_camera(crn_surface *surface, crn_roll_axis axis, double distance_mm)
{
    surface->settings.roll_axis = axis;
    surface->settings.distance_mm = distance_mm;
}

int crn_surface_take_skin(crn_surface *surface, const char *name,
                          const crn_surface_photograph *photo, crn_surface_skin *skin)
{
    crn_error *error = crn_context_error_of(surface->context);
    crn_surface_lens lens;
    if (!photo)
        return crn_error_set(error, -EINVAL, "%s is NULL", name);
    const crn_surface_view view = {.pose = photo->pose, .mm_per_px = photo->mm_per_px};
    int r = crn_surface_check_image(name, &photo->image, error);
    if (r == 0)
        r = crn_surface_check_pose(name, &view, error);
    if (r < 0)
        return r;
    if (!crn_surface_lens_set(&surface->settings, &view, &lens))
        return crn_error_set(error, -EINVAL, "%s: the fruit reaches the camera", name);
    unwrap(&lens, &photo->image, skin);
    keep_marks(surface->means, skin);
    return 0;
}

/* Sets a text; 0 or -EINVAL. */
static int check_range(crn_surface *surface, double expected_rad, double range_rad,
                       const crn_surface_roll *ret_roll)
{
    crn_error *error;
    int r = crn_surface_begin(surface, ret_roll, "ret_roll", &error);
    if (r < 0)
        return r;
    if (!(fabs(expected_rad) <= 1e9))
        return crn_error_set(error, -EINVAL, "expected_rad is %g; it must be -1e9 to 1e9",
                             expected_rad);
    if (!(range_rad >= 0 && range_rad <= M_PI))
        return crn_error_set(error, -EINVAL, "range_rad is %g; it must be 0 to pi", range_rad);
    return 0;
}

int crn_surface_match_skins(crn_surface *surface, const crn_surface_skin *first,
                            const crn_surface_skin *second, double expected_rad, double range_rad,
                            crn_surface_roll *ret_roll)
{
    int r = check_range(surface, expected_rad, range_rad, ret_roll);
    if (r == 0)
        *ret_roll = search(first, second, expected_rad, range_rad);
    return r;
}

int crn_surface_find_roll(crn_surface *surface, const crn_surface_photograph *first,
                          const crn_surface_photograph *second, double expected_rad,
                          double range_rad, crn_surface_roll *ret_roll)
{
    int r = check_range(surface, expected_rad, range_rad, ret_roll);
    if (r == 0)
        r = crn_surface_take_skin(surface, "first", first, &surface->skins[0]);
    if (r == 0)
        r = crn_surface_take_skin(surface, "second", second, &surface->skins[1]);
    if (r == 0)
        *ret_roll = search(&surface->skins[0], &surface->skins[1], expected_rad, range_rad);
    return r;
}
