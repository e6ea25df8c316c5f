#include "stages/kernel/kernel.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The largest odd side whose square is at most CRN_KERNEL_TAPS_MAX. */
#define SIDE_MAX 127

const char *const crn_kernel_names[] = {"blur",   "gaussian", "sharpen", "edge",
                                        "emboss", "sobel-x",  "sobel-y", NULL};

static const float emboss[9] = {-2, -1, 0, -1, 1, 1, 0, 1, 2};
static const float sobel_x[9] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
static const float sobel_y[9] = {-1, -2, -1, 0, 0, 0, 1, 2, 1};

static void fill(float *weights, int32_t side, float value, float centre)
{
    int32_t count = side * side;
    for (int32_t i = 0; i < count; i++)
        weights[i] = value;
    weights[count / 2] = centre;
}

static void fill_gaussian(float *weights, int32_t side)
{
    double line[SIDE_MAX], sum = 0;
    double sigma = 0.3 * ((side - 1) * 0.5 - 1) + 0.8;
    for (int32_t i = 0; i < side; i++) {
        double x = i - (side - 1) * 0.5;
        line[i] = exp(-x * x / (2 * sigma * sigma));
        sum += line[i];
    }
    for (int32_t i = 0; i < side; i++)
        line[i] /= sum;
    for (int32_t y = 0; y < side; y++)
        for (int32_t x = 0; x < side; x++)
            weights[y * side + x] = (float)(line[y] * line[x]);
}

static const float *find_fixed(const char *name)
{
    if (strcmp(name, "emboss") == 0)
        return emboss;
    if (strcmp(name, "sobel-x") == 0)
        return sobel_x;
    return strcmp(name, "sobel-y") == 0 ? sobel_y : NULL;
}

static bool is_known(const char *name)
{
    for (const char *const *n = crn_kernel_names; *n; n++)
        if (strcmp(*n, name) == 0)
            return true;
    return false;
}

int crn_kernel_make(const char *name, crn_size size, crn_kernel *ret_kernel, crn_error *error)
{
    if (!is_known(name))
        return crn_error_set(
            error, -ENOENT,
            "unknown kernel '%s'; there are blur, gaussian, sharpen, edge, emboss, "
            "sobel-x and sobel-y",
            name);
    const float *fixed = find_fixed(name);
    if (fixed && (size.width != 3 || size.height != 3))
        return crn_error_set(error, -EINVAL, "the kernel %s is of size 3, not %dx%d", name,
                             size.width, size.height);
    if (size.width != size.height || size.width < 1 || size.width > SIDE_MAX || size.width % 2 == 0)
        return crn_error_set(error, -EINVAL,
                             "the kernel %s needs a square of odd side from 1 to %d, not %dx%d",
                             name, SIDE_MAX, size.width, size.height);
    int32_t side = size.width;
    ret_kernel->size = size;
    float *weights = ret_kernel->weights, area = (float)(side * side);
    if (fixed)
        memcpy(weights, fixed, sizeof emboss);
    else if (strcmp(name, "blur") == 0)
        fill(weights, side, (float)(1.0 / (side * side)), (float)(1.0 / (side * side)));
    else if (strcmp(name, "gaussian") == 0)
        fill_gaussian(weights, side);
    else if (strcmp(name, "sharpen") == 0)
        fill(weights, side, -1, area);
    else
        fill(weights, side, -1, area - 1);
    return 0;
}
