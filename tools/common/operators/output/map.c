#include "tools/common/operators/output/map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int crn_map_create(const char *path, const crn_picture *like, crn_type type,
                   crn_picture *ret_picture, crn_error *error)
{
    const crn_image *image = &like->image;
    int r = crn_picture_create(type, like->pages, like->samples, image->height, image->width,
                               ret_picture);
    if (r < 0) {
        char need[CRN_BYTES_TEXT];
        uint64_t bytes = (uint64_t)image->planes * crn_apply_plane_bytes(image, type);
        crn_error_set(error, r, "%s: no memory for %s of results", path,
                      crn_bytes_format(bytes, need));
    }
    return r;
}

void crn_map_hand_alpha(crn_picture *from, crn_picture *to)
{
    to->alpha = from->alpha;
    to->alpha_memory = from->alpha_memory;
    to->alpha_associated = from->alpha_associated;
    from->alpha = (crn_image){0};
    from->alpha_memory = NULL;
}

int crn_map_widen(const char *path, crn_picture *picture, crn_error *error)
{
    crn_picture wide = {0};
    int r = crn_map_create(path, picture, CRN_F32, &wide, error);
    if (r < 0)
        return r;
    for (int32_t plane = 0; plane < wide.image.planes; plane++)
        for (int32_t y = 0; y < wide.image.height; y++)
            for (int32_t x = 0; x < wide.image.width; x++)
                ((float *)wide.image.data)[crn_image_index(&wide.image, plane, y, x)] =
                    crn_image_at(&picture->image, plane, y, x);
    crn_map_hand_alpha(picture, &wide);
    crn_picture_free(picture);
    *picture = wide;
    return 0;
}

void crn_map_put(const crn_image *to, int32_t plane, int32_t y, int32_t x, float value)
{
    ptrdiff_t index = crn_image_index(to, plane, y, x);
    float max = to->type == CRN_U16 ? 65535 : 255;
    /* NaN fails both comparisons. */
    float within = value >= 0 ? (value <= max ? value : max) : 0;
    if (to->type == CRN_U16)
        ((uint16_t *)to->data)[index] = (uint16_t)lrintf(within);
    else
        ((uint8_t *)to->data)[index] = (uint8_t)lrintf(within);
}

void crn_map_narrow(const crn_image *from, const crn_image *to)
{
    for (int32_t plane = 0; plane < from->planes; plane++)
        for (int32_t y = 0; y < from->height; y++)
            for (int32_t x = 0; x < from->width; x++)
                crn_map_put(to, plane, y, x, crn_image_at(from, plane, y, x));
}

bool crn_map_range(const crn_image *image, float *ret_min, float *ret_max)
{
    float min = INFINITY, max = -INFINITY;
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                float value = crn_image_at(image, plane, y, x);
                if (!isfinite(value))
                    continue;
                min = fminf(min, value);
                max = fmaxf(max, value);
            }
    if (min > max)
        return false;
    *ret_min = min;
    *ret_max = max;
    return true;
}

void crn_map_linear(const crn_image *from, float min, float max, const crn_image *to)
{
    /* In double, where a float range cannot overflow. */
    double scale = max > min ? 255 / ((double)max - min) : 0;
    for (int32_t plane = 0; plane < from->planes; plane++)
        for (int32_t y = 0; y < from->height; y++)
            for (int32_t x = 0; x < from->width; x++) {
                double value = crn_image_at(from, plane, y, x);
                double grey = isnan(value) ? 0 : scale > 0 ? (value - min) * scale : 128;
                crn_map_put(to, plane, y, x, (float)grey);
            }
}

/* Converts an f32 picture to u8; an alpha of 0 to 1 becomes 0 to 255. */
static int to_grey(const crn_apply *apply, const char *path, const crn_picture *result,
                   crn_picture *ret_grey, crn_error *error)
{
    int r = crn_map_create(path, result, CRN_U8, ret_grey, error);
    if (r < 0)
        return r;
    float min = 0, max = 0;
    crn_map_range(&result->image, &min, &max);
    crn_map_linear(&result->image, min, max, &ret_grey->image);
    crn_tool_note(&apply->tool, "%s: %.9g to %.9g became 0 to 255; a .tif keeps the numbers", path,
                  (double)min, (double)max);
    if (!result->alpha.data)
        return 0;
    ret_grey->alpha_memory =
        malloc((size_t)crn_apply_plane_bytes(&result->alpha, CRN_U8) * (size_t)result->pages);
    if (!ret_grey->alpha_memory)
        return crn_error_set(error, -ENOMEM, "%s: no memory for its alpha", path);
    ret_grey->alpha_associated = result->alpha_associated;
    ret_grey->alpha = crn_image_dense(ret_grey->alpha_memory, CRN_U8, CRN_CHW, result->pages,
                                      result->alpha.height, result->alpha.width);
    crn_map_linear(&result->alpha, 0, 1, &ret_grey->alpha);
    return 0;
}

int crn_map_write(const crn_apply *apply, const char *path, crn_picture *result, crn_error *error)
{
    if (!crn_apply_ends(path, ".png") || result->image.type != CRN_F32)
        return crn_picture_write(path, result, error);
    crn_picture grey = {0};
    int r = to_grey(apply, path, result, &grey, error);
    if (r == 0)
        r = crn_picture_write(path, &grey, error);
    crn_picture_free(&grey);
    return r;
}

static int32_t half_up(int32_t side)
{
    return side - side / 2;
}

int32_t crn_map_quadrants(int32_t height, int32_t width, int32_t levels,
                          crn_quadrant ret_quadrants[CRN_QUADRANTS_MAX])
{
    int32_t count = 0;
    for (int32_t level = 0; level < levels; level++) {
        int32_t left = half_up(width), top = half_up(height);
        const crn_quadrant three[] = {
            {left, 0, width - left, top, false},
            {0, top, left, height - top, false},
            {left, top, width - left, height - top, false},
        };
        for (int32_t i = 0; i < 3 && count < CRN_QUADRANTS_MAX - 1; i++)
            if (three[i].width && three[i].height)
                ret_quadrants[count++] = three[i];
        width = left;
        height = top;
    }
    ret_quadrants[count++] = (crn_quadrant){0, 0, width, height, true};
    return count;
}

static crn_image part_of(const crn_image *image, const crn_quadrant *part)
{
    crn_image window = *image;
    window.data = crn_image_element(image, 0, part->y, part->x);
    window.height = part->height;
    window.width = part->width;
    return window;
}

void crn_map_haar(const crn_image *coefficients, int32_t levels, const crn_image *to)
{
    crn_quadrant quadrants[CRN_QUADRANTS_MAX];
    int32_t count = crn_map_quadrants(coefficients->height, coefficients->width, levels, quadrants);
    for (int32_t i = 0; i < count; i++) {
        crn_image from = part_of(coefficients, &quadrants[i]), part = part_of(to, &quadrants[i]);
        float min = 0, max = 0;
        crn_map_range(&from, &min, &max);
        if (!quadrants[i].averages) {
            /* 0 maps to 128, which leaves 128 steps down
             * and 127 up; the largest magnitude fits both. */
            float largest = fmaxf(fabsf(min), fabsf(max));
            min = -largest * (128.0f / 127);
            max = largest;
        }
        crn_map_linear(&from, min, max, &part);
    }
}
