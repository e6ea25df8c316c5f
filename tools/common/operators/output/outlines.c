#include "tools/common/operators/output/outlines.h"

#include <cairo.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/base/file/new_file.h"
#include "tools/common/operators/output/map.h"
#include "tools/common/drawing/palette.h"

#define GAP        8     /* pixels between pages */
#define SIDE_MAX   32767 /* cairo's limit */
#define LINE_WIDTH 1.6   /* pixels of the drawing */
#define RIM_WIDTH  3.0

/* 17 digits always read back as the same double; fewer suffice for whole numbers and halves. */
static void write_number(FILE *stream, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) == value)
        fputs(text, stream);
    else
        fprintf(stream, "%.17g", value);
}

int crn_outlines_write_json(const char *path, const crn_contours *contours, crn_error *error)
{
    crn_new_file file = {0};
    int r = crn_new_file_open_stream(path, &file, error);
    if (r < 0)
        return r;
    fputc('[', file.stream);
    for (uint32_t i = 0; i < contours->contour_count; i++) {
        const crn_contour *contour = &contours->contours[i];
        fprintf(file.stream, "%s{\"plane\":%d,\"closed\":%s,\"points\":[", i ? ",\n" : "",
                contour->plane, contour->closed ? "true" : "false");
        for (uint32_t n = 0; n < contour->count; n++) {
            const crn_point *point = &contours->points[contour->first + n];
            fputs(n ? ",[" : "[", file.stream);
            write_number(file.stream, point->x);
            fputc(',', file.stream);
            write_number(file.stream, point->y);
            fputc(']', file.stream);
        }
        fputs("]}", file.stream);
    }
    fputs("]\n", file.stream);
    return crn_new_file_finish(&file, error);
}

/* True if pages stand side by side. */
static bool stand_beside(const crn_picture *picture)
{
    return picture->image.height > picture->image.width;
}

int crn_outlines_size(const char *path, const crn_picture *picture, int32_t scale,
                      int32_t *ret_width, int32_t *ret_height, crn_error *error)
{
    int64_t width = (int64_t)picture->image.width * scale;
    int64_t height = (int64_t)picture->image.height * scale;
    if (stand_beside(picture))
        width = picture->pages * (width + GAP) - GAP;
    else
        height = picture->pages * (height + GAP) - GAP;
    if (width > SIDE_MAX || height > SIDE_MAX)
        return crn_error_set(
            error, -EFBIG,
            "%s: would be %lldx%lld pixels, but %d is the longest side that can be "
            "drawn; write a .json",
            path, (long long)width, (long long)height, SIDE_MAX);
    *ret_width = (int32_t)width;
    *ret_height = (int32_t)height;
    return 0;
}

/* Converts one page to cairo's 8-bit pixels. */
static void fill_ground(const crn_picture *picture, int32_t page, cairo_surface_t *surface)
{
    const crn_image *image = &picture->image;
    bool color = picture->samples == 3;
    int32_t first = page * picture->samples;
    crn_image planes = *image;
    planes.data = crn_image_element(image, first, 0, 0);
    planes.planes = color ? 3 : 1;
    float min = 0, max = 255;
    if (image->type != CRN_U8)
        crn_map_range(&planes, &min, &max);
    unsigned char *rows = cairo_image_surface_get_data(surface);
    int stride = cairo_image_surface_get_stride(surface);
    /* A cairo pixel is a word 0x00RRGGBB: blue comes first in memory. */
    for (int32_t plane = 0; plane < 3; plane++) {
        crn_image one = planes;
        one.planes = 1;
        one.data = crn_image_element(&planes, color ? plane : 0, 0, 0);
        crn_image bytes = {rows + 2 - plane, CRN_U8, 1, image->height, image->width, 0, stride, 4};
        crn_map_linear(&one, min, max, &bytes);
    }
    cairo_surface_mark_dirty(surface);
}

static int draw_ground(cairo_t *cairo, const crn_picture *picture, int32_t page)
{
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, picture->image.width, picture->image.height);
    if (cairo_surface_status(surface)) {
        cairo_surface_destroy(surface);
        return -ENOMEM;
    }
    fill_ground(picture, page, surface);
    cairo_set_source_surface(cairo, surface, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
    cairo_paint(cairo);
    cairo_surface_destroy(surface);
    return 0;
}

static void draw_contour(cairo_t *cairo, const crn_contours *contours, const crn_contour *contour,
                         crn_color color, double scale)
{
    cairo_new_path(cairo);
    for (uint32_t i = 0; i < contour->count; i++) {
        const crn_point *point = &contours->points[contour->first + i];
        cairo_line_to(cairo, point->x + 0.5, point->y + 0.5); /* centres are whole numbers */
    }
    if (contour->closed)
        cairo_close_path(cairo);
    cairo_set_line_width(cairo, RIM_WIDTH / scale);
    cairo_set_source_rgba(cairo, 0, 0, 0, 0.4);
    cairo_stroke_preserve(cairo);
    cairo_set_line_width(cairo, LINE_WIDTH / scale);
    cairo_set_source_rgb(cairo, color.red, color.green, color.blue);
    cairo_stroke(cairo);
}

static int draw_page(cairo_t *cairo, const crn_picture *picture, int32_t page, int32_t scale,
                     const crn_contours *contours, crn_palette *palette)
{
    const crn_image *image = &picture->image;
    double along = page * ((stand_beside(picture) ? image->width : image->height) * scale + GAP);
    cairo_save(cairo);
    cairo_translate(cairo, stand_beside(picture) ? along : 0, stand_beside(picture) ? 0 : along);
    cairo_scale(cairo, scale, scale);
    cairo_rectangle(cairo, 0, 0, image->width, image->height);
    cairo_clip(cairo);
    int r = draw_ground(cairo, picture, page);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    for (uint32_t i = 0; r == 0 && i < contours->contour_count; i++) {
        int32_t plane = contours->contours[i].plane;
        if (plane / picture->samples != page)
            continue;
        char name[16];
        snprintf(name, sizeof name, "%d", plane % CRN_CLASSES_MAX);
        draw_contour(cairo, contours, &contours->contours[i], crn_palette_color(palette, name),
                     scale);
    }
    cairo_restore(cairo);
    return r;
}

/* Copies the drawing into a picture for the file. */
static int copy_out(cairo_surface_t *surface, int32_t width, int32_t height,
                    crn_picture *ret_picture)
{
    int r = crn_picture_create(CRN_U8, 1, 3, height, width, ret_picture);
    if (r < 0)
        return r;
    cairo_surface_flush(surface);
    const unsigned char *rows = cairo_image_surface_get_data(surface);
    int stride = cairo_image_surface_get_stride(surface);
    const crn_image *image = &ret_picture->image;
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            for (int32_t plane = 0; plane < 3; plane++)
                ((uint8_t *)image->data)[crn_image_index(image, plane, y, x)] =
                    rows[(ptrdiff_t)y * stride + 4 * (ptrdiff_t)x + 2 - plane];
    return 0;
}

int crn_outlines_draw(const char *path, const crn_picture *picture, const crn_contours *contours,
                      int32_t scale, crn_error *error)
{
    int32_t width = 0, height = 0;
    int r = crn_outlines_size(path, picture, scale, &width, &height, error);
    if (r < 0)
        return r;
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    cairo_t *cairo = cairo_create(surface);
    crn_palette palette = {0};
    for (int32_t plane = 0; plane < picture->image.planes && plane < CRN_CLASSES_MAX; plane++) {
        char name[16]; /* colours follow the plane number, with or without contours */
        snprintf(name, sizeof name, "%d", plane);
        crn_palette_color(&palette, name);
    }
    cairo_set_source_rgb(cairo, 0.3, 0.31, 0.33); /* the gap between pages */
    cairo_paint(cairo);
    for (int32_t page = 0; r == 0 && page < picture->pages; page++)
        r = draw_page(cairo, picture, page, scale, contours, &palette);
    if (r == 0 && cairo_status(cairo))
        r = cairo_status(cairo) == CAIRO_STATUS_NO_MEMORY ? -ENOMEM : -EIO;
    crn_picture drawn = {0};
    if (r == 0)
        r = copy_out(surface, width, height, &drawn);
    if (r < 0)
        crn_error_set(error, r, "%s: cannot be drawn: %s", path,
                      r == -ENOMEM ? "no memory for its pixels"
                                   : cairo_status_to_string(cairo_status(cairo)));
    else
        r = crn_picture_write(path, &drawn, error);
    crn_picture_free(&drawn);
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
    return r;
}
