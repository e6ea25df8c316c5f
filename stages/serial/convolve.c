/* Convolution, reference implementation: each sum in double, rounded once. */
#include "stages/serial/convolve.h"

#include <errno.h>
#include <math.h>

#include "stages/context.h"

int crn_convolve_check(const crn_convolve_params *params, const crn_image *in, const crn_image *out)
{
    if (!params || !params->weights || !crn_image_is_usable(in) || !crn_image_is_usable(out))
        return -EINVAL;
    if ((in->type != CRN_U8 && in->type != CRN_F32) || out->type != in->type ||
        !crn_image_same_size(in, out))
        return -EINVAL;
    if ((unsigned)params->border > CRN_CONVOLVE_ZERO || params->width < 1 || params->height < 1)
        return -EINVAL;
    int64_t taps = (int64_t)params->width * params->height;
    if (taps > CRN_KERNEL_TAPS_MAX)
        return -EINVAL;
    for (int64_t i = 0; i < taps; i++)
        if (!isfinite(params->weights[i]))
            return -EINVAL;
    return 0;
}

/* Floored modulo, never negative. */
static int64_t modulo(int64_t index, int64_t period)
{
    return (index % period + period) % period;
}

int32_t crn_convolve_source(crn_convolve_border border, int64_t index, int32_t size)
{
    if (index >= 0 && index < size)
        return (int32_t)index;
    switch (border) {
    case CRN_CONVOLVE_REPLICATE:
        return index < 0 ? 0 : size - 1;
    case CRN_CONVOLVE_REFLECT: {
        if (size == 1)
            return 0;
        /* The mirrored index has this period: forwards, then backwards, each end once. */
        int64_t period = 2 * ((int64_t)size - 1);
        int64_t place = modulo(index, period);
        return (int32_t)(place < size ? place : period - place);
    }
    case CRN_CONVOLVE_WRAP:
        return (int32_t)modulo(index, size);
    case CRN_CONVOLVE_ZERO:
        break;
    }
    return -1;
}

static double sum_at(const crn_convolve_params *params, const crn_image *in, int32_t plane,
                     int32_t y, int32_t x)
{
    double sum = 0;
    for (int32_t j = 0; j < params->height; j++) {
        int64_t row = (int64_t)y + j - params->height / 2;
        int32_t source_y = crn_convolve_source(params->border, row, in->height);
        for (int32_t i = 0; i < params->width; i++) {
            int64_t column = (int64_t)x + i - params->width / 2;
            int32_t source_x = crn_convolve_source(params->border, column, in->width);
            if (source_y >= 0 && source_x >= 0)
                sum += (double)params->weights[j * params->width + i] *
                       (double)crn_image_at(in, plane, source_y, source_x);
        }
    }
    return sum;
}

int crn_convolve_serial(crn_context *context, const crn_convolve_params *params,
                        const crn_image *in, crn_image *out)
{
    int r = crn_convolve_check(params, in, out);
    if (r < 0)
        return r;
    crn_pace pace = crn_pace_start(context);
    int64_t taps = (int64_t)params->width * params->height;
    for (int32_t plane = 0; plane < in->planes; plane++)
        for (int32_t y = 0; y < in->height; y++)
            for (int32_t x = 0; x < in->width; x++) {
                if (crn_pace_over(&pace, 8 * taps))
                    return crn_context_status(context);
                ptrdiff_t index = crn_image_index(out, plane, y, x);
                double sum = sum_at(params, in, plane, y, x);
                if (out->type == CRN_U8)
                    ((uint8_t *)out->data)[index] = (uint8_t)fmin(fmax(rint(sum), 0), 255);
                else
                    ((float *)out->data)[index] = (float)sum;
            }
    return 0;
}
