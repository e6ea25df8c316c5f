#include "stages/openmp/ranklet/codes.h"

#include <string.h>

/* A row of the tile's pixels, dense, in the image's type. */
static const void *row_of(const crn_ranklet_pixels *pixels, int32_t y)
{
    const crn_image *in = pixels->in;
    ptrdiff_t at = crn_image_index(in, pixels->plane, pixels->y + y, pixels->x);
    if (in->type == CRN_U8) {
        const uint8_t *p = (const uint8_t *)in->data + at;
        uint8_t *line = (uint8_t *)pixels->line;
        if (in->step == 1)
            return p;
        for (int32_t x = 0; x < pixels->pixel_columns; x++)
            line[x] = p[x * in->step];
        return line;
    }
    const uint16_t *p = (const uint16_t *)in->data + at;
    if (in->step == 1)
        return p;
    for (int32_t x = 0; x < pixels->pixel_columns; x++)
        pixels->line[x] = p[x * in->step];
    return pixels->line;
}

static void extend_range8(const uint8_t *row, int32_t count, int32_t *min, int32_t *max)
{
    uint8_t low = UINT8_MAX, high = 0;
    for (int32_t i = 0; i < count; i++) {
        low = row[i] < low ? row[i] : low;
        high = row[i] > high ? row[i] : high;
    }
    *min = low < *min ? low : *min;
    *max = high > *max ? high : *max;
}

static void extend_range16(const uint16_t *row, int32_t count, int32_t *min, int32_t *max)
{
    uint16_t low = UINT16_MAX, high = 0;
    for (int32_t i = 0; i < count; i++) {
        low = row[i] < low ? row[i] : low;
        high = row[i] > high ? row[i] : high;
    }
    *min = low < *min ? low : *min;
    *max = high > *max ? high : *max;
}

void crn_ranklet_find_range(crn_ranklet_pixels *pixels)
{
    pixels->min = CRN_RANKLET_VALUES;
    pixels->max = 0;
    for (int32_t y = 0; y < pixels->pixel_rows; y++)
        if (pixels->in->type == CRN_U8)
            extend_range8(row_of(pixels, y), pixels->pixel_columns, &pixels->min, &pixels->max);
        else
            extend_range16(row_of(pixels, y), pixels->pixel_columns, &pixels->min, &pixels->max);
}

void crn_ranklet_codes8(const crn_ranklet_pixels *pixels, int32_t more, uint8_t *codes)
{
    uint8_t less = (uint8_t)(pixels->min + more);
    for (int32_t y = 0; y < pixels->pixel_rows; y++, codes += pixels->stride) {
        const void *row = row_of(pixels, y);
        if (pixels->in->type == CRN_U8)
            for (int32_t x = 0; x < pixels->pixel_columns; x++)
                codes[x] = (uint8_t)(((const uint8_t *)row)[x] - less);
        else
            for (int32_t x = 0; x < pixels->pixel_columns; x++)
                codes[x] = (uint8_t)(((const uint16_t *)row)[x] - less);
    }
}

void crn_ranklet_codes16(const crn_ranklet_pixels *pixels, uint16_t *codes)
{
    for (int32_t y = 0; y < pixels->pixel_rows; y++, codes += pixels->stride) {
        const uint16_t *row = row_of(pixels, y);
        for (int32_t x = 0; x < pixels->pixel_columns; x++)
            codes[x] = row[x] ^ 0x8000;
    }
}

int32_t crn_ranklet_rank(const crn_ranklet_pixels *pixels, uint16_t *of_value, uint16_t *ranks)
{
    memset(of_value, 0, CRN_RANKLET_VALUES * sizeof *of_value);
    for (int32_t y = 0; y < pixels->pixel_rows; y++) {
        const uint16_t *row = row_of(pixels, y);
        for (int32_t x = 0; x < pixels->pixel_columns; x++)
            of_value[row[x]] = 1;
    }
    int32_t values = 0;
    for (int32_t v = pixels->min; v <= pixels->max; v++)
        if (of_value[v])
            of_value[v] = (uint16_t)values++;
    for (int32_t y = 0; y < pixels->pixel_rows; y++, ranks += pixels->stride) {
        const uint16_t *row = row_of(pixels, y);
        for (int32_t x = 0; x < pixels->pixel_columns; x++)
            ranks[x] = of_value[row[x]];
    }
    return values;
}

void crn_ranklet_clip(const crn_ranklet_pixels *pixels, const uint16_t *ranks, int32_t first,
                      uint8_t *codes)
{
    for (int32_t y = 0; y < pixels->pixel_rows;
         y++, ranks += pixels->stride, codes += pixels->stride)
        for (int32_t x = 0; x < pixels->pixel_columns; x++) {
            int32_t code = ranks[x] - first + 1;
            code = code < 0 ? 0 : code;
            codes[x] = (uint8_t)(code > CRN_RANKLET_CLIPPED ? CRN_RANKLET_CLIPPED + 1 : code);
        }
}
