#include "tools/common/calibration/corners.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
    RING = 32,         /* samples on a circle around a corner */
    CORNERS_MAX = 4096 /* those of the highest contrast */
};

#define RING_RADIUS  4.0
#define RESPONSE_MIN 0.05 /* of that: the mixed derivative at a corner, per square pixel */
#define CONTRAST_MIN 0.03 /* of the picture's contrast: what a corner has at least, */
#define GREY_MIN     2.0  /* and in grey levels */
#define TURN         0.35 /* rad: by so much two edges of one line may differ */
#define SQUARE_MIN   0.5  /* rad: the least angle of a square, as it is seen */
#define STEPS        20   /* of crn_corner_refine */
#define CLOSE        0.01 /* pixels: it has arrived */

/* --- levels ----------------------------------------------------------------------------------- */

static float mean_of(const crn_image *plane, int32_t reduction, int32_t x, int32_t y)
{
    uint32_t sum = 0;
    for (int32_t dy = 0; dy < reduction; dy++) {
        const uint8_t *row =
            (const uint8_t *)plane->data + (y * reduction + dy) * plane->row_stride;
        for (int32_t dx = 0; dx < reduction; dx++)
            sum += row[(x * reduction + dx) * plane->step];
    }
    return (float)sum / (float)(reduction * reduction);
}

static int32_t clamp(int32_t i, int32_t count)
{
    return i < 0 ? 0 : i < count ? i : count - 1;
}

/* A binomial filter of five values, along x (`step` 1) or y. */
static void smooth(const crn_level *from, float *to, int32_t dx, int32_t dy)
{
    static const float weights[5] = {1 / 16.F, 4 / 16.F, 6 / 16.F, 4 / 16.F, 1 / 16.F};
    for (int32_t y = 0; y < from->height; y++)
        for (int32_t x = 0; x < from->width; x++) {
            float sum = 0;
            for (int32_t k = -2; k <= 2; k++)
                sum += weights[k + 2] *
                       from->at[(size_t)clamp(y + k * dy, from->height) * (size_t)from->width +
                                (size_t)clamp(x + k * dx, from->width)];
            to[(size_t)y * (size_t)from->width + (size_t)x] = sum;
        }
}

int crn_level_create(const crn_image *plane, int32_t reduction, crn_level *ret_level)
{
    crn_level level = {NULL, plane->width / reduction, plane->height / reduction, reduction};
    size_t count = (size_t)level.width * (size_t)level.height;
    float *across = malloc((count + 1) * sizeof *across);
    level.at = malloc((count + 1) * sizeof *level.at);
    if (!across || !level.at) {
        free(across);
        free(level.at);
        return -ENOMEM;
    }
    for (int32_t y = 0; y < level.height; y++)
        for (int32_t x = 0; x < level.width; x++)
            level.at[(size_t)y * (size_t)level.width + (size_t)x] = mean_of(plane, reduction, x, y);
    smooth(&level, across, 1, 0);
    crn_level half = level;
    half.at = across;
    smooth(&half, level.at, 0, 1);
    free(across);
    *ret_level = level;
    return 0;
}

void crn_level_free(crn_level *level)
{
    free(level->at);
    level->at = NULL;
}

double crn_level_value(const crn_level *level, double x, double y)
{
    x = fmax(0, fmin(level->width - 1, x));
    y = fmax(0, fmin(level->height - 1, y));
    int32_t x0 = (int32_t)x, y0 = (int32_t)y;
    int32_t x1 = clamp(x0 + 1, level->width), y1 = clamp(y0 + 1, level->height);
    double s = x - x0, t = y - y0;
    const float *upper = level->at + (size_t)y0 * (size_t)level->width;
    const float *lower = level->at + (size_t)y1 * (size_t)level->width;
    return (1 - t) * ((1 - s) * (double)upper[x0] + s * (double)upper[x1]) +
           t * ((1 - s) * (double)lower[x0] + s * (double)lower[x1]);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* How much of a saddle a pixel is: the Hessian's determinant with its sign turned. */
static float response_at(const crn_level *level, int32_t x, int32_t y)
{
    const ptrdiff_t row = level->width;
    const float *at = level->at + y * row + x;
    float xx = at[1] - 2 * at[0] + at[-1], yy = at[row] - 2 * at[0] + at[-row];
    float xy = (at[row + 1] - at[row - 1] - at[1 - row] + at[-1 - row]) / 4;
    return xy * xy - xx * yy;
}

static bool is_peak(const crn_level *level, int32_t x, int32_t y, float response)
{
    for (int32_t dy = -2; dy <= 2; dy++)
        for (int32_t dx = -2; dx <= 2; dx++) {
            float other = dx || dy ? response_at(level, x + dx, y + dy) : -1;
            if (other > response || (other == response && (dy < 0 || (dy == 0 && dx < 0))))
                return false;
        }
    return true;
}

/* The angles at which a circle around the place goes from dark to bright and back; -1 unless there
 * are four of them. */
static int find_edges(const double value[RING], double mean, double ret_angle[4])
{
    int edges = 0;
    for (int i = 0; i < RING; i++) {
        double one = value[i] - mean, other = value[(i + 1) % RING] - mean;
        if ((one > 0) == (other > 0))
            continue;
        if (edges == 4)
            return -1;
        ret_angle[edges++] = 2 * M_PI * (i + one / (one - other)) / RING - M_PI;
    }
    return edges == 4 ? 0 : -1;
}

/* True if four edges are two lines that cross, as squares' do. */
static bool are_lines(const double angle[4])
{
    double between = (angle[1] - angle[0] + angle[3] - angle[2]) / 2;
    return fabs(angle[2] - angle[0] - M_PI) <= TURN && fabs(angle[3] - angle[1] - M_PI) <= TURN &&
           between >= SQUARE_MIN && between <= M_PI - SQUARE_MIN;
}

/* True if squares meet at the place: its edges and contrast are then set. */
static bool look_around(const crn_level *level, double contrast_min, crn_corner *corner)
{
    double value[RING], mean = 0, contrast = 0;
    for (int i = 0; i < RING; i++) {
        double angle = 2 * M_PI * i / RING - M_PI;
        value[i] = crn_level_value(level, corner->x + RING_RADIUS * cos(angle),
                                   corner->y + RING_RADIUS * sin(angle));
        mean += value[i] / RING;
    }
    for (int i = 0; i < RING; i++)
        contrast += fabs(value[i] - mean) / RING;
    corner->contrast = contrast;
    if (contrast < contrast_min || find_edges(value, mean, corner->angle) < 0 ||
        !are_lines(corner->angle))
        return false;
    double middle = (corner->angle[0] + corner->angle[1]) / 2;
    corner->first_bright = crn_level_value(level, corner->x + RING_RADIUS * cos(middle),
                                           corner->y + RING_RADIUS * sin(middle)) > mean;
    return true;
}

static int by_contrast(const void *left, const void *right)
{
    const crn_corner *a = left, *b = right;
    return (a->contrast < b->contrast) - (a->contrast > b->contrast);
}

static int append(crn_corners *corners, size_t *room, const crn_corner *corner)
{
    if (corners->count == *room) {
        crn_corner *grown = realloc(corners->at, (*room * 2 + 256) * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        *room = *room * 2 + 256;
        corners->at = grown;
    }
    corners->at[corners->count++] = *corner;
    return 0;
}

int crn_corners_find(const crn_level *level, double contrast, crn_corners *ret_corners)
{
    const double contrast_min = fmax(GREY_MIN, CONTRAST_MIN * contrast);
    const float least = (float)(RESPONSE_MIN * contrast_min * (RESPONSE_MIN * contrast_min));
    const int32_t edge = (int32_t)RING_RADIUS + 1;
    crn_corners corners = {NULL, 0};
    size_t room = 0;
    int r = 0;
    for (int32_t y = edge; r == 0 && y < level->height - edge; y++)
        for (int32_t x = edge; r == 0 && x < level->width - edge; x++) {
            crn_corner corner = {.x = x, .y = y};
            float response = response_at(level, x, y);
            if (response > least && is_peak(level, x, y, response) &&
                look_around(level, contrast_min, &corner))
                r = append(&corners, &room, &corner);
        }
    if (r < 0) {
        crn_corners_free(&corners);
        return r;
    }
    if (corners.count > 0)
        qsort(corners.at, corners.count, sizeof *corners.at, by_contrast);
    if (corners.count > CORNERS_MAX)
        corners.count = CORNERS_MAX;
    for (size_t i = 0; i < corners.count; i++) { /* the middle of a larger pixel */
        corners.at[i].x = (corners.at[i].x + 0.5) * level->reduction - 0.5;
        corners.at[i].y = (corners.at[i].y + 0.5) * level->reduction - 0.5;
    }
    *ret_corners = corners;
    return 0;
}

void crn_corners_free(crn_corners *corners)
{
    free(corners->at);
    *corners = (crn_corners){0};
}

/* --- refining --------------------------------------------------------------------------------- */

static double pixel_at(const crn_image *plane, int32_t x, int32_t y)
{
    x = clamp(x, plane->width);
    y = clamp(y, plane->height);
    return *((const uint8_t *)plane->data + y * plane->row_stride + x * plane->step);
}

/* Sobel's gradient: noise counts less than in the difference of two pixels. */
static void gradient_at(const crn_image *plane, int32_t x, int32_t y, double *ret_x, double *ret_y)
{
    static const double weights[3] = {0.25, 0.5, 0.25};
    *ret_x = *ret_y = 0;
    for (int32_t k = -1; k <= 1; k++) {
        *ret_x += weights[k + 1] * (pixel_at(plane, x + 1, y + k) - pixel_at(plane, x - 1, y + k));
        *ret_y += weights[k + 1] * (pixel_at(plane, x + k, y + 1) - pixel_at(plane, x + k, y - 1));
    }
}

/* One step: the point where the lines through the pixels around (x, y) meet. */
static bool meet(const crn_image *plane, double reach, double *x, double *y)
{
    double xx = 0, xy = 0, yy = 0, bx = 0, by = 0;
    int32_t left = (int32_t)ceil(*x - reach), top = (int32_t)ceil(*y - reach);
    for (int32_t v = top; v <= *y + reach; v++)
        for (int32_t u = left; u <= *x + reach; u++) {
            double far = ((u - *x) * (u - *x) + (v - *y) * (v - *y)) / (reach * reach);
            if (far > 1)
                continue;
            double weight = (1 - far) * (1 - far); /* none at the rim: nothing jumps as it moves */
            double gx, gy;
            gradient_at(plane, u, v, &gx, &gy);
            double along = gx * (u - *x) + gy * (v - *y);
            xx += weight * gx * gx;
            xy += weight * gx * gy;
            yy += weight * gy * gy;
            bx += weight * gx * along;
            by += weight * gy * along;
        }
    double determinant = xx * yy - xy * xy;
    if (determinant <= 1e-6 * (xx + yy) * (xx + yy))
        return false;
    *x += (yy * bx - xy * by) / determinant;
    *y += (xx * by - xy * bx) / determinant;
    return true;
}

bool crn_corner_refine(const crn_image *plane, double reach, crn_corner *corner)
{
    double x = corner->x, y = corner->y;
    for (int step = 0; step < STEPS; step++) {
        double from_x = x, from_y = y;
        if (!meet(plane, reach, &x, &y) || hypot(x - corner->x, y - corner->y) > reach)
            return false;
        if (hypot(x - from_x, y - from_y) < CLOSE)
            break;
    }
    corner->x = x;
    corner->y = y;
    return true;
}
