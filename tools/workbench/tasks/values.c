/* A picture's values, and pictures cut out of others. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/recording/format.h"
#include "src/formats/recording/recording.h"
#include "tools/common/operators/output/map.h"
#include "tools/workbench/tasks/tasks.h"

/* --- planes ----------------------------------------------------------------------------------- */

static void print_row(const crn_image *image, int32_t plane, int32_t y, char *row)
{
    size_t bytes = crn_type_bytes(image->type);
    const char *from =
        (const char *)image->data + crn_image_index(image, plane, y, 0) * (ptrdiff_t)bytes;
    ptrdiff_t step = image->step * (ptrdiff_t)bytes;
    if (image->step == 1)
        row = NULL;
    for (int32_t x = 0; row && x < image->width; x++)
        memcpy(row + (size_t)x * bytes, from + x * step, bytes);
    fwrite(row ? row : from, bytes, (size_t)image->width, stdout);
}

int crn_task_planes(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_picture picture = {0};
    crn_error error = {0};
    (void)report;
    int r = crn_picture_read(task->in, &picture, &error);
    if (r == 0 &&
        (task->first < 0 || task->count < 1 || task->first > picture.image.planes - task->count))
        r = crn_error_set(&error, -EINVAL, "%s: has planes 0 to %d", task->in,
                          picture.image.planes - 1);
    if (r == 0 && picture.image.type == CRN_F16)
        r = crn_map_widen(task->in, &picture, &error);
    const crn_image *image = &picture.image;
    char *row = r == 0 ? malloc((size_t)image->width * crn_type_bytes(image->type)) : NULL;
    if (r == 0 && !row)
        r = crn_error_set(&error, -ENOMEM, "%s: no memory for a row", task->in);
    for (int64_t plane = task->first; r == 0 && plane < task->first + task->count; plane++)
        for (int32_t y = 0; y < image->height; y++)
            print_row(image, (int32_t)plane, y, row);
    free(row);
    crn_picture_free(&picture);
    return crn_task_end(r, &error);
}

/* --- tile ------------------------------------------------------------------------------------- */

/* The index that a row or column beyond the border mirrors, as often as needed. */
static int32_t mirror(int32_t index, int32_t side)
{
    int32_t period = side > 1 ? 2 * side - 2 : 1;
    int32_t at = index % period;
    return at < side ? at : period - at;
}

static void tile(const crn_image *from, const crn_image *to)
{
    size_t bytes = crn_type_bytes(from->type);
    for (int32_t plane = 0; plane < to->planes; plane++)
        for (int32_t y = 0; y < to->height; y++)
            for (int32_t x = 0; x < to->width; x++)
                memcpy((char *)to->data + (size_t)crn_image_index(to, plane, y, x) * bytes,
                       (const char *)from->data + (size_t)crn_image_index(from, plane,
                                                                          mirror(y, from->height),
                                                                          mirror(x, from->width)) *
                                                      bytes,
                       bytes);
}

int crn_task_tile(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_picture picture = {0}, made = {0};
    crn_error error = {0};
    int r = crn_picture_read(task->in, &picture, &error);
    const crn_image *image = &picture.image;
    if (r == 0 && (int64_t)image->planes * task->height > CRN_PIXELS_MAX / task->width)
        r = crn_error_set(&error, -EFBIG, "%s: %d x %d pixels in %d planes are too many", task->in,
                          task->width, task->height, image->planes);
    if (r == 0 && crn_picture_create(image->type, picture.pages, picture.samples, task->height,
                                     task->width, &made) < 0)
        r = crn_error_set(&error, -ENOMEM, "%s: no memory for %d x %d pixels", task->in,
                          task->width, task->height);
    if (r == 0) {
        tile(image, &made.image);
        r = crn_picture_write(task->out, &made, &error);
    }
    if (r == 0)
        r = crn_facts_find(task->out, false, &report->pictures[0], &error);
    report->picture_count = r == 0;
    crn_picture_free(&picture);
    crn_picture_free(&made);
    return crn_task_end(r, &error);
}

/* --- a view of a recording -------------------------------------------------------------------- */

int crn_task_write_view(const crn_task *task, const crn_recorded_view *view, crn_job_report *report,
                        crn_error *error)
{
    const crn_view_header *header = &view->header;
    report->picture_count = view->intensity ? 2 : 1;
    crn_picture maps = {.pages = (int32_t)header->channels, .samples = 1};
    maps.image =
        crn_image_dense((void *)(uintptr_t)view->maps, header->type, header->layout,
                        (int32_t)header->channels, (int32_t)header->height, (int32_t)header->width);
    int r = crn_picture_write(task->out, &maps, error);
    if (r == 0)
        r = crn_facts_find(task->out, false, &report->pictures[0], error);
    if (r < 0 || !view->intensity)
        return r;
    crn_picture photograph = {.pages = 1, .samples = 1};
    photograph.image = crn_image_dense((void *)(uintptr_t)view->intensity, CRN_U8, CRN_CHW, 1,
                                       (int32_t)header->height, (int32_t)header->width);
    r = crn_picture_write(task->out_photograph, &photograph, error);
    return r < 0 ? r : crn_facts_find(task->out_photograph, false, &report->pictures[1], error);
}

int crn_task_view(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    crn_error error = {0};
    int r = crn_recording_open(task->in, &reader, &error);
    int64_t number = 0;
    for (; r == 0 && number < task->first; number++) {
        int found = crn_recording_skip(reader, &view, &error);
        if (found != 1)
            r = crn_error_set(&error, -EINVAL, "%s: has no view %lld; it has %lld", task->in,
                              (long long)task->first, (long long)number);
    }
    int found = r == 0 ? crn_recording_next(reader, &view, &error) : 1;
    if (found < 0)
        r = found;
    else if (found == 0)
        r = crn_error_set(&error, -EINVAL, "%s: has no view %lld; it has %lld", task->in,
                          (long long)task->first, (long long)number);
    if (r == 0)
        r = crn_task_write_view(task, &view, report, &error);
    crn_recording_end(&reader);
    return crn_task_end(r, &error);
}
