/* Sums over runs of pixels: of the pixels inside a contour, for example. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "stages/context.h"

/* f16 to f32 for finite values; inline, because half of a picture's pixels may be read
 * through it. */
static inline float widen(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fffu) << 13;
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude *= 0x1p112f; /* exact: moves the exponent, and makes subnormals normal */
    return half & 0x8000u ? -magnitude : magnitude;
}

/* Reads up to PART adjacent pixels as f32, NaN and infinity included. */
#define PART 128
static void load(const crn_image *image, ptrdiff_t at, int32_t count, float *values)
{
    ptrdiff_t step = image->step;
    if (image->type == CRN_F32) {
        const float *pixel = (const float *)image->data + at;
        for (int32_t i = 0; i < count; i++)
            values[i] = pixel[i * step];
    } else if (image->type == CRN_F16) {
        const uint16_t *pixel = (const uint16_t *)image->data + at;
        for (int32_t i = 0; i < count; i++) {
            uint16_t half = pixel[i * step];
            values[i] = (half & 0x7c00u) == 0x7c00u ? INFINITY : widen(half);
        }
    } else if (image->type == CRN_U16) {
        const uint16_t *pixel = (const uint16_t *)image->data + at;
        for (int32_t i = 0; i < count; i++)
            values[i] = pixel[i * step];
    } else {
        const uint8_t *pixel = (const uint8_t *)image->data + at;
        for (int32_t i = 0; i < count; i++)
            values[i] = pixel[i * step];
    }
}

static crn_run_sum sum_run(const crn_image *image, const crn_run *run)
{
    float values[PART];
    double sum[4] = {0}; /* independent sums, to hide the latency of additions */
    uint32_t pixels = 0;
    int32_t count;
    for (int32_t x = run->x0; x < run->x1; x += count) {
        count = run->x1 - x < PART ? run->x1 - x : PART;
        load(image, crn_image_index(image, run->plane, run->y, x), count, values);
        int32_t whole = (count + 3) / 4 * 4;
        for (int32_t i = count; i < whole; i++)
            values[i] = INFINITY;
        for (int32_t i = 0; i < whole; i += 4)
            for (int32_t part = 0; part < 4; part++) {
                bool finite = fabsf(values[i + part]) <= FLT_MAX;
                sum[part] += finite ? (double)values[i + part] : 0;
                pixels += finite;
            }
    }
    return (crn_run_sum){.sum = (sum[0] + sum[1]) + (sum[2] + sum[3]), .pixels = pixels};
}

int crn_sum_runs(crn_context *context, const crn_image *in, const crn_run *runs, uint32_t count,
                 crn_run_sum *sums)
{
    crn_pace pace = crn_pace_start(context);
    for (uint32_t i = 0; i < count; i++) {
        if (crn_pace_over(&pace, 8 + runs[i].x1 - runs[i].x0))
            break;
        sums[i] = sum_run(in, &runs[i]);
    }
    return crn_context_status(context);
}
