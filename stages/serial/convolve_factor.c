#include "stages/serial/convolve_factor.h"

#include <math.h>

/* The greatest common divisor of integers. */
static double common_divisor(double a, double b)
{
    while (b != 0) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}

/* The common divisor of a row's weights, computed on weights scaled to integers. The row divided by
 * it divides every other row. */
static double common_unit(const float *row, int32_t width, double scale)
{
    double unit = 0;
    for (int32_t x = 0; x < width; x++)
        unit = common_divisor(fabs(scale * (double)row[x]), unit);
    return unit / scale;
}

/* A power of two, so that dividing by it rounds nothing, above the row's sum of |weights|: no sum
 * along the row overflows. */
static double power_above(const float *row, int32_t width)
{
    double sum = 0;
    for (int32_t x = 0; x < width; x++)
        sum += fabs((double)row[x]);
    return ldexp(1, ilogb(sum) + 1);
}

/* The row and column of the weight with the largest magnitude. */
static void find_pivot(const crn_convolve_params *params, int32_t *ret_y, int32_t *ret_x)
{
    float max = -1;
    for (int32_t y = 0; y < params->height; y++)
        for (int32_t x = 0; x < params->width; x++) {
            float size = fabsf(params->weights[y * params->width + x]);
            if (size > max) {
                max = size;
                *ret_y = y;
                *ret_x = x;
            }
        }
}

/* The power of two that makes all weights integers whose sums f32 holds exactly; 0 if there is
 * none. Such kernels (integer and binomial ones) stay exact in two passes. */
static double whole_scale(const crn_convolve_params *params)
{
    for (double scale = 1; scale <= 0x1p12; scale *= 2) {
        double sum = 0;
        bool whole = true;
        for (int32_t i = 0; i < params->width * params->height; i++) {
            double weight = scale * (double)params->weights[i];
            whole = whole && weight == rint(weight);
            sum += fabs(weight);
        }
        if (whole)
            return sum <= 0x1p24 / 255 ? scale : 0;
    }
    return 0;
}

/* Maximum relative error of a product against its weight. Two passes round (width + height) times
 * and cernita.h allows 2 width height; half of the remainder suffices for weights that were
 * rounded once. */
static double residual_allowed(const crn_convolve_params *params)
{
    double allowed = 2.0 * params->width * params->height - params->width - params->height - 2;
    return allowed * 0.5 * 0x1p-24;
}

bool crn_convolve_factor(const crn_convolve_params *params, float *column, float *row)
{
    int32_t pivot_y = 0, pivot_x = 0, width = params->width;
    find_pivot(params, &pivot_y, &pivot_x);
    const float *pivot_row = params->weights + pivot_y * width;
    double pivot = (double)pivot_row[pivot_x];
    if (pivot == 0)
        return false;
    double scale = whole_scale(params);
    double unit = scale != 0 ? common_unit(pivot_row, width, scale) : power_above(pivot_row, width);
    for (int32_t x = 0; x < width; x++)
        row[x] = (float)((double)pivot_row[x] / unit);
    for (int32_t y = 0; y < params->height; y++)
        column[y] = (float)((double)params->weights[y * width + pivot_x] / (double)row[pivot_x]);

    double allowed = scale != 0 ? 0 : residual_allowed(params);
    for (int32_t y = 0; y < params->height; y++)
        for (int32_t x = 0; x < width; x++) {
            double weight = (double)params->weights[y * width + x];
            double product = (double)column[y] * (double)row[x];
            if ((weight == 0) != (product == 0) || !isfinite(product) ||
                fabs(product - weight) > allowed * fabs(weight))
                return false;
        }
    return true;
}
