#include "tools/common/operators/output/ranklet_out.h"

#include <errno.h>
#include <stdio.h>

static const char *const csv_header =
    "plane,window_width,window_height,x,y,vertical,horizontal,diagonal\n";

int crn_ranklet_out_bytes(const char *path, const crn_image *image, const crn_windows *windows,
                          uint64_t *ret_bytes, crn_error *error)
{
    *ret_bytes = 0;
    if (!crn_apply_ends(path, ".png"))
        return 0;
    crn_panel panel;
    int64_t rows = (int64_t)image->planes * windows->count;
    int r = crn_panel_plan(image->width, image->height, rows, &panel);
    if (r < 0)
        return crn_error_set(error, r,
                             "%s: a panel of %lld rows of pictures of %dx%d is larger than a PNG "
                             "can be; write a .tif or use fewer windows",
                             path, (long long)rows, image->width, image->height);
    *ret_bytes = (uint64_t)panel.width * (uint64_t)panel.height;
    return 0;
}

static uint64_t tiff_bytes(const crn_image *image, const crn_windows *windows)
{
    uint64_t positions = 0;
    for (int32_t i = 0; i < windows->count; i++)
        positions += (uint64_t)(image->width - windows->item[i].width + 1) *
                     (uint64_t)(image->height - windows->item[i].height + 1);
    return (uint64_t)image->planes * positions * 3 * sizeof(float);
}

int crn_ranklet_out_open(const char *path, const crn_image *image, const crn_windows *windows,
                         crn_ranklet_out *ret_out, crn_error *error)
{
    *ret_out = (crn_ranklet_out){.path = path};
    if (crn_apply_ends(path, ".csv")) {
        int r = crn_new_file_open_stream(path, &ret_out->csv, error);
        if (r == 0)
            fputs(csv_header, ret_out->csv.stream);
        return r;
    }
    if (!crn_apply_ends(path, ".png"))
        return crn_picture_writer_open(path, tiff_bytes(image, windows), &ret_out->writer, error);
    crn_panel panel;
    int r = crn_panel_plan(image->width, image->height, (int64_t)image->planes * windows->count,
                           &panel);
    if (r == 0)
        r = crn_picture_create(CRN_U8, 1, 1, panel.height, panel.width, &ret_out->picture);
    if (r < 0)
        return crn_error_set(error, r, "%s: no memory for its panel", path);
    ret_out->panel = panel;
    ret_out->several = image->planes > 1;
    crn_panel_begin(&panel, &ret_out->picture.image);
    return 0;
}

static int add_csv(crn_ranklet_out *out, int32_t plane, crn_size window, const crn_image *ranklets,
                   crn_error *error)
{
    FILE *stream = out->csv.stream;
    for (int32_t y = 0; y < ranklets->height && !ferror(stream); y++)
        for (int32_t x = 0; x < ranklets->width; x++)
            fprintf(stream, "%d,%d,%d,%d,%d,%.9g,%.9g,%.9g\n", plane, window.width, window.height,
                    x, y, (double)crn_image_at(ranklets, 0, y, x),
                    (double)crn_image_at(ranklets, 1, y, x),
                    (double)crn_image_at(ranklets, 2, y, x));
    if (ferror(stream)) /* disk full: stop computing */
        return crn_error_set(error, -EIO, "%s: cannot be written; is the disk full?", out->path);
    return 0;
}

int crn_ranklet_out_add(crn_ranklet_out *out, int32_t plane, crn_size window, int32_t row,
                        const crn_image *ranklets, crn_error *error)
{
    if (out->csv.stream)
        return add_csv(out, plane, window, ranklets, error);
    if (!out->writer) {
        crn_panel_row(&out->panel, ranklets, window, out->several ? plane : -1, row,
                      &out->picture.image);
        return 0;
    }
    char text[160];
    snprintf(text, sizeof text,
             "{\"plane\":%d,\"window\":[%d,%d],\"pages\":[\"vertical\",\"horizontal\","
             "\"diagonal\"]}",
             plane, window.width, window.height);
    return crn_picture_writer_append(out->writer, ranklets, false, text, error);
}

int crn_ranklet_out_finish(crn_ranklet_out *out, crn_error *error)
{
    if (out->csv.stream)
        return crn_new_file_finish(&out->csv, error);
    if (out->writer)
        return crn_picture_writer_finish(out->writer, error);
    return crn_picture_write(out->path, &out->picture, error);
}

void crn_ranklet_out_free(crn_ranklet_out *out)
{
    crn_new_file_drop(&out->csv);
    crn_picture_writer_free(&out->writer);
    crn_picture_free(&out->picture);
}
