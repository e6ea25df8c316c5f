/* Selects the kernel for a convolution with few taps, which keeps its sums in registers. */
#include "gpu/convolve/convolve.cuh"

#include <math.h>
#include <string.h>

extern "C" {
#include "stages/serial/convolve_factor.h"
}

/* Extra multiplications up to which padding to a square is cheaper than tiles. */
#define EXTRA_TAPS_MAX 64

/* Rows at least this much longer than two kernels have more than edges under every tuning, so that
 * the number of views never changes which kernel is selected. */
#define ELEMENTS_MORE 64

/* u8 sums are rounded by an addition that is valid below 2^22. */
static bool are_sums_small(const crn_convolve_task *task)
{
    double sum = 0;
    for (int32_t i = 0; i < task->kernel.width * task->kernel.height; i++)
        sum += fabs((double)task->kernel.weights[i]);
    return sum * 255 < 0x1p22;
}

/* Side of the smallest odd square whose centre can lie on the kernel's anchor. */
static int32_t square_side(const crn_convolve_task *task)
{
    int32_t width = task->kernel.width | 1, height = task->kernel.height | 1;
    int32_t side = width > height ? width : height;
    return side > 3 ? side : 3;
}

/* Pads `count` weights with zeros, anchor at the centre. */
static void pad_centred(const float *weights, int32_t count, int32_t side, float *row)
{
    memset(row, 0, (size_t)side * sizeof *row);
    memcpy(row + side / 2 - count / 2, weights, (size_t)count * sizeof *row);
}

/* The kernel's row and column, in this order, each padded. */
static bool find_factors(const crn_convolve_task *task, int32_t side, float *factors)
{
    const crn_convolve_params &kernel = task->kernel;
    float column[CRN_CONVOLVE_SIDE_MAX], row[CRN_CONVOLVE_SIDE_MAX];
    if (side == 3 || !crn_convolve_factor(&kernel, column, row))
        return false;
    pad_centred(row, kernel.width, side, factors);
    pad_centred(column, kernel.height, side, factors + side);
    return true;
}

/* The whole kernel, padded. */
static void pad_to_square(const crn_convolve_task *task, int32_t side, float *weights)
{
    memset(weights, 0, (size_t)(side * side) * sizeof *weights);
    float *rows = weights + (side / 2 - task->kernel.height / 2) * side;
    for (int32_t y = 0; y < task->kernel.height; y++)
        pad_centred(task->kernel.weights + y * task->kernel.width, task->kernel.width, side,
                    rows + y * side);
}

/* Padding to a square is for bytes only: bytes times 0 are 0, but infinity times 0 is NaN. */
static int convolve_square(const crn_convolve_task *task, int32_t side)
{
    bool bytes = task->type == CRN_U8;
    int32_t taps = task->kernel.width * task->kernel.height;
    float factors[2 * CRN_CONVOLVE_SIDE_MAX];
    float weights[CRN_CONVOLVE_SIDE_MAX * CRN_CONVOLVE_SIDE_MAX];
    crn_convolve_task square = *task;
    square.kernel.width = square.kernel.height = side;
    if (!bytes && taps != side * side)
        return 0;
    if (find_factors(task, side, factors)) {
        square.kernel.weights = factors;
        return bytes ? crn_convolve_small_product_u8(&square)
                     : crn_convolve_small_product_f32(&square);
    }
    if (side * side > taps + EXTRA_TAPS_MAX)
        return 0;
    pad_to_square(task, side, weights);
    square.kernel.weights = weights;
    return bytes ? crn_convolve_small_u8(&square) : crn_convolve_small_f32(&square);
}

int crn_convolve_small(const crn_convolve_task *task)
{
    const crn_convolve_shape *shape = &task->shape;
    bool rows_have_gaps = task->in.step != shape->channels || task->out.step != shape->channels;
    if (rows_have_gaps || (int64_t)shape->width * shape->channels > CRN_CONVOLVE_SIZE_MAX ||
        shape->height > CRN_CONVOLVE_SIZE_MAX || shape->channels > CRN_CONVOLVE_SIZE_MAX / 16)
        return 0;
    int32_t side = square_side(task);
    if ((int64_t)shape->width * shape->channels <
        2 * (int64_t)side * shape->channels + ELEMENTS_MORE)
        return 0;
    if (side > CRN_CONVOLVE_SIDE_MAX || (task->type == CRN_U8 && !are_sums_small(task)))
        return 0;
    return convolve_square(task, side);
}
