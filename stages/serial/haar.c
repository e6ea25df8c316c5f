/* The Haar transform, reference implementation: a copy, then level by level, square by square. */
#include "stages/serial/haar.h"

#include <errno.h>
#include <math.h>

#include "stages/context.h"

enum { SLOT_PLANE };

/* Averages and differences along a row, along a column and along both; or the four pixels of
 * a square. */
typedef struct haar_square {
    float a, b, c, d;
} haar_square;

int32_t crn_haar_levels_max(int32_t height, int32_t width)
{
    int64_t longer = height > width ? height : width;
    int32_t levels = 0;
    while ((int64_t)1 << levels < longer)
        levels++;
    return levels;
}

int crn_haar_check(const crn_haar_params *params, const crn_image *in, const crn_image *out)
{
    if (!params || !crn_image_is_usable(in) || !crn_image_is_usable(out))
        return -EINVAL;
    if ((in->type != CRN_U8 && in->type != CRN_F32) || out->type != CRN_F32 ||
        !crn_image_same_size(in, out))
        return -EINVAL;
    if ((unsigned)params->direction > CRN_HAAR_DENOISE || params->levels < 0 ||
        params->levels > crn_haar_levels_max(in->height, in->width))
        return -EINVAL;
    if (params->direction == CRN_HAAR_DENOISE && !(params->threshold >= 0))
        return -EINVAL;
    return 0;
}

static haar_square four_sums(haar_square q)
{
    haar_square sums = {((q.a + q.b) + (q.c + q.d)) / 2, ((q.a - q.b) + (q.c - q.d)) / 2,
                        ((q.a + q.b) - (q.c + q.d)) / 2, ((q.a - q.b) - (q.c - q.d)) / 2};
    return sums;
}

/* NaN stays NaN and zeros keep their sign, so a threshold of 0 changes nothing. */
static float soft_threshold(float difference, float threshold)
{
    float left = fabsf(difference) - threshold;
    return copysignf(left < 0 ? 0 : left, difference);
}

static float *pixel(const crn_image *plane, int32_t y, int32_t x)
{
    return (float *)plane->data + crn_image_index(plane, 0, y, x);
}

/* One forward level on the averages, height x width, from one plane to another of the same size. */
static void forward_level(const crn_image *from, const crn_image *to, int32_t height, int32_t width,
                          crn_pace *pace)
{
    int32_t averages_high = height - height / 2, averages_wide = width - width / 2;
    for (int32_t y = 0; y < averages_high; y++) {
        for (int32_t x = 0; x < averages_wide; x++) {
            if (crn_pace_over(pace, 32))
                return;
            int32_t twin_y = 2 * y + 1 < height ? 2 * y + 1 : 2 * y;
            int32_t twin_x = 2 * x + 1 < width ? 2 * x + 1 : 2 * x;
            haar_square q = {*pixel(from, 2 * y, 2 * x), *pixel(from, 2 * y, twin_x),
                             *pixel(from, twin_y, 2 * x), *pixel(from, twin_y, twin_x)};
            q = four_sums(q);
            *pixel(to, y, x) = q.a;
            if (x < width / 2)
                *pixel(to, y, averages_wide + x) = q.b;
            if (y < height / 2)
                *pixel(to, averages_high + y, x) = q.c;
            if (x < width / 2 && y < height / 2)
                *pixel(to, averages_high + y, averages_wide + x) = q.d;
        }
    }
}

/* One inverse level, with a soft threshold on the differences. */
static void inverse_level(const crn_image *from, const crn_image *to, int32_t height, int32_t width,
                          float threshold, crn_pace *pace)
{
    int32_t averages_high = height - height / 2, averages_wide = width - width / 2;
    for (int32_t y = 0; y < averages_high; y++) {
        for (int32_t x = 0; x < averages_wide; x++) {
            if (crn_pace_over(pace, 32))
                return;
            haar_square q = {*pixel(from, y, x), 0, 0, 0};
            if (x < width / 2)
                q.b = soft_threshold(*pixel(from, y, averages_wide + x), threshold);
            if (y < height / 2)
                q.c = soft_threshold(*pixel(from, averages_high + y, x), threshold);
            if (x < width / 2 && y < height / 2)
                q.d = soft_threshold(*pixel(from, averages_high + y, averages_wide + x), threshold);
            q = four_sums(q);
            *pixel(to, 2 * y, 2 * x) = q.a;
            if (x < width / 2)
                *pixel(to, 2 * y, 2 * x + 1) = q.b;
            if (y < height / 2)
                *pixel(to, 2 * y + 1, 2 * x) = q.c;
            if (x < width / 2 && y < height / 2)
                *pixel(to, 2 * y + 1, 2 * x + 1) = q.d;
        }
    }
}

static void copy(const crn_image *from, const crn_image *to, int32_t height, int32_t width,
                 crn_pace *pace)
{
    for (int32_t y = 0; y < height && !crn_pace_over(pace, 4 * (int64_t)width); y++)
        for (int32_t x = 0; x < width; x++)
            *pixel(to, y, x) = *pixel(from, y, x);
}

/* The size of the averages after `levels` levels. */
static int32_t halved(int32_t size, int32_t levels)
{
    for (int32_t i = 0; i < levels; i++)
        size -= size / 2;
    return size;
}

/* Transforms `plane` in place; each level is first written to `other`. */
static void transform(const crn_haar_params *params, const crn_image *plane, const crn_image *other,
                      crn_pace *pace)
{
    int32_t height = plane->height, width = plane->width;
    for (int32_t level = 0; level < params->levels && params->direction != CRN_HAAR_INVERSE;
         level++) {
        int32_t h = halved(height, level), w = halved(width, level);
        forward_level(plane, other, h, w, pace);
        copy(other, plane, h, w, pace);
    }
    float threshold = params->direction == CRN_HAAR_DENOISE ? params->threshold : 0;
    for (int32_t level = params->levels - 1; level >= 0 && params->direction != CRN_HAAR_FORWARD;
         level--) {
        int32_t h = halved(height, level), w = halved(width, level);
        inverse_level(plane, other, h, w, threshold, pace);
        copy(other, plane, h, w, pace);
    }
}

int crn_haar_serial(crn_context *context, const crn_haar_params *params, const crn_image *in,
                    crn_image *out)
{
    int r = crn_haar_check(params, in, out);
    if (r < 0)
        return r;
    size_t bytes = (size_t)in->height * (size_t)in->width * sizeof(float);
    void *memory = crn_context_scratch(context, SLOT_PLANE, bytes);
    if (!memory)
        return -ENOMEM;
    crn_image other = crn_image_dense(memory, CRN_F32, CRN_CHW, 1, in->height, in->width);
    crn_pace pace = crn_pace_start(context);
    bool unit = params->unit && in->type == CRN_U8;
    for (int32_t p = 0; p < in->planes; p++) {
        crn_image plane = *out;
        plane.data = (float *)out->data + p * out->plane_stride;
        for (int32_t y = 0; y < in->height && !crn_pace_over(&pace, 8 * (int64_t)in->width); y++)
            for (int32_t x = 0; x < in->width; x++) {
                float value = crn_image_at(in, p, y, x);
                *pixel(&plane, y, x) = unit ? value / 255 : value;
            }
        transform(params, &plane, &other, &pace);
    }
    return crn_context_status(context);
}
