#include "tools/common/calibration/plane.h"

#include <math.h>
#include <string.h>

enum { UNKNOWNS = 8 };

/* Coordinates of one kind, made to lie around 0 with a mean distance of about 1. */
typedef struct plane_scale {
    double x, y, size;
} plane_scale;

static double along_x(const crn_corner *corner, bool is_board)
{
    return is_board ? corner->column : corner->x;
}

static double along_y(const crn_corner *corner, bool is_board)
{
    return is_board ? corner->row : corner->y;
}

static plane_scale scale_of(const crn_corners *corners, bool is_board)
{
    plane_scale scale = {0, 0, 0};
    double count = (double)corners->count;
    for (size_t i = 0; i < corners->count; i++) {
        scale.x += along_x(&corners->at[i], is_board) / count;
        scale.y += along_y(&corners->at[i], is_board) / count;
    }
    for (size_t i = 0; i < corners->count; i++)
        scale.size += hypot(along_x(&corners->at[i], is_board) - scale.x,
                            along_y(&corners->at[i], is_board) - scale.y) /
                      count;
    return scale;
}

/* Gauss's elimination with the largest pivot; false if the equations are not independent. */
static bool solve(double rows[UNKNOWNS][UNKNOWNS + 1], double ret_values[UNKNOWNS])
{
    for (int i = 0; i < UNKNOWNS; i++) {
        int pivot = i;
        double moved[UNKNOWNS + 1];
        for (int k = i + 1; k < UNKNOWNS; k++)
            pivot = fabs(rows[k][i]) > fabs(rows[pivot][i]) ? k : pivot;
        if (fabs(rows[pivot][i]) < 1e-9)
            return false;
        memcpy(moved, rows[i], sizeof moved);
        memcpy(rows[i], rows[pivot], sizeof moved);
        memcpy(rows[pivot], moved, sizeof moved);
        for (int k = 0; k < UNKNOWNS; k++) {
            double factor = k == i ? 0 : rows[k][i] / rows[i][i];
            for (int j = i; j <= UNKNOWNS; j++)
                rows[k][j] -= factor * rows[i][j];
        }
    }
    for (int i = 0; i < UNKNOWNS; i++)
        ret_values[i] = rows[i][UNKNOWNS] / rows[i][i];
    return true;
}

/* Adds one equation, whose last value is its right side, to the normal equations. */
static void add(double rows[UNKNOWNS][UNKNOWNS + 1], const double terms[UNKNOWNS + 1])
{
    for (int j = 0; j < UNKNOWNS; j++)
        for (int k = 0; k <= UNKNOWNS; k++)
            rows[j][k] += terms[j] * terms[k];
}

/* h in the coordinates of both scales: x (g u + h v + 1) = a u + b v + c, y likewise. */
static bool fit_scaled(const crn_corners *corners, const plane_scale *board,
                       const plane_scale *picture, double ret_values[UNKNOWNS])
{
    double rows[UNKNOWNS][UNKNOWNS + 1] = {{0}};
    for (size_t i = 0; i < corners->count; i++) {
        const crn_corner *corner = &corners->at[i];
        double u = (corner->column - board->x) / board->size;
        double v = (corner->row - board->y) / board->size;
        double x = (corner->x - picture->x) / picture->size;
        double y = (corner->y - picture->y) / picture->size;
        add(rows, (const double[]){u, v, 1, 0, 0, 0, -u * x, -v * x, x});
        add(rows, (const double[]){0, 0, 0, u, v, 1, -u * y, -v * y, y});
    }
    for (int j = 0; j < UNKNOWNS; j++) /* means instead of sums: the least pivot is one number */
        for (int k = 0; k <= UNKNOWNS; k++)
            rows[j][k] /= (double)corners->count;
    return solve(rows, ret_values);
}

static void multiply(const double a[9], const double b[9], double ret_product[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            ret_product[3 * i + j] =
                a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

void crn_plane_place(const crn_plane_fit *fit, double column, double row, double *ret_x,
                     double *ret_y)
{
    const double *h = fit->h;
    double depth = h[6] * column + h[7] * row + h[8];
    *ret_x = (h[0] * column + h[1] * row + h[2]) / depth;
    *ret_y = (h[3] * column + h[4] * row + h[5]) / depth;
}

/* The singular values of the map's derivative at a place: the longest and the shortest that one
 * column is seen there, over all directions. */
static void stretch_at(const crn_plane_fit *fit, double column, double row, double *ret_long,
                       double *ret_short)
{
    const double *h = fit->h;
    double depth = h[6] * column + h[7] * row + h[8], x, y;
    crn_plane_place(fit, column, row, &x, &y);
    double a = (h[0] - x * h[6]) / depth, b = (h[1] - x * h[7]) / depth;
    double c = (h[3] - y * h[6]) / depth, d = (h[4] - y * h[7]) / depth;
    double sum = hypot(a + d, c - b) / 2, difference = hypot(a - d, c + b) / 2;
    *ret_long = sum + difference;
    *ret_short = fabs(sum - difference);
}

static void judge(const crn_corners *corners, const plane_scale *board, crn_plane_fit *fit)
{
    double sum = 0, most = 0, least = INFINITY, longest, shortest;
    for (size_t i = 0; i < corners->count; i++) {
        const crn_corner *corner = &corners->at[i];
        double x, y;
        crn_plane_place(fit, corner->column, corner->row, &x, &y);
        double off = hypot(corner->x - x, corner->y - y);
        sum += off * off;
        fit->worst_px = fmax(fit->worst_px, off);
        stretch_at(fit, corner->column, corner->row, &longest, &shortest);
        most = fmax(most, sqrt(longest * shortest));
        least = fmin(least, sqrt(longest * shortest));
    }
    fit->residual_px = sqrt(sum / (2.0 * (double)corners->count));
    stretch_at(fit, board->x, board->y, &longest, &shortest);
    fit->pitch_px = longest;
    fit->squeeze = shortest / longest;
    fit->growth = most / least - 1;
}

bool crn_plane_find(const crn_corners *corners, crn_plane_fit *ret_fit)
{
    double p[UNKNOWNS];
    if (corners->count < 4)
        return false;
    plane_scale board = scale_of(corners, true), picture = scale_of(corners, false);
    if (board.size <= 0 || picture.size <= 0 || !fit_scaled(corners, &board, &picture, p))
        return false;
    const double scaled[9] = {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], 1};
    const double to_scaled[9] = {1 / board.size,
                                 0,
                                 -board.x / board.size,
                                 0,
                                 1 / board.size,
                                 -board.y / board.size,
                                 0,
                                 0,
                                 1};
    const double from_scaled[9] = {picture.size, 0, picture.x, 0, picture.size, picture.y, 0, 0, 1};
    double half[9];
    crn_plane_fit fit = {{0}, 0, 0, 0, 0, 0};
    multiply(scaled, to_scaled, half);
    multiply(from_scaled, half, fit.h);
    judge(corners, &board, &fit);
    *ret_fit = fit;
    return true;
}
