/* Recorded fruits: their index, searches, small pictures, and views. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/workbench/fruits/verdict.h"
#include "tools/workbench/tasks/tasks.h"

/* --- JSON ------------------------------------------------------------------------------------- */

/* Prints the search's fruits, or without one what there is. */
static int print_answer(const crn_fruit_table *table, const crn_fruit_search *search,
                        crn_error *error)
{
    crn_encoder *encoder = NULL;
    int r = crn_encoder_create(CRN_FORMAT_JSON, &encoder);
    if (r == 0) {
        crn_encoder_begin(encoder);
        if (search)
            crn_fruits_write(table, search, encoder);
        else
            crn_fruits_write_summary(table, encoder);
        r = crn_encoder_print(encoder, stdout);
    }
    crn_encoder_free(&encoder);
    return r < 0 ? crn_error_set(error, r, "no memory for an answer") : 0;
}

int crn_task_recordings(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_fruit_table table = {0};
    crn_error error = {0};
    (void)report;
    int r = crn_fruit_index_renew(&task->sources, &error);
    if (r == 0)
        r = crn_fruit_table_open(&table, &error);
    if (r == 0)
        r = print_answer(&table, NULL, &error);
    crn_fruit_table_close(&table);
    return crn_task_end(r, &error);
}

int crn_task_fruits(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_fruit_table table = {0};
    crn_error error = {0};
    (void)report;
    int r = crn_fruit_table_open(&table, &error);
    if (r == 0)
        r = print_answer(&table, &task->search, &error);
    crn_fruit_table_close(&table);
    return crn_task_end(r, &error);
}

int crn_task_fruit_verdict(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    const crn_recorded_fruit *fruit;
    crn_fruit_table table = {0};
    crn_error error = {0};
    (void)report;
    int r = crn_fruit_table_open(&table, &error);
    if (r == 0)
        r = crn_fruit_table_get(&table, task->first, &fruit, &error);
    if (r == 0)
        r = crn_fruit_verdict_print(&task->sources, fruit, stdout, &error);
    crn_fruit_table_close(&table);
    return crn_task_end(r, &error);
}

/* --- views ------------------------------------------------------------------------------------ */

typedef int read_recorded(crn_recording_reader *reader, crn_recorded_view *ret_view,
                          crn_error *error);

/* Reads a view by `read`; it is valid until the reader is ended. */
static int read_view(const crn_fruit_table *table, const crn_view_place *at, read_recorded *read,
                     crn_recording_reader **ret_reader, crn_recorded_view *ret_view,
                     crn_error *error)
{
    const char *path = crn_fruit_table_path(table, at);
    int r = crn_recording_open(path, ret_reader, error);
    if (r < 0)
        return r;
    crn_recording_go_to(*ret_reader, (crn_recording_position){.offset = at->offset});
    r = read(*ret_reader, ret_view, error);
    if (r == 0)
        r = crn_error_set(error, -EBADMSG,
                          "%s: has become shorter since it was read: find its fruits again", path);
    return r < 0 ? r : 0;
}

/* The fruit's view of that index. */
static int find_view(const crn_fruit_table *table, const crn_recorded_fruit *fruit, int64_t view,
                     const crn_view_place **ret_view, crn_error *error)
{
    for (uint32_t i = 0; i < fruit->view_count; i++) {
        *ret_view = &table->views[fruit->first_view + i];
        if ((*ret_view)->view == view)
            return 0;
    }
    return crn_error_set(error, -ENOENT, "the fruit has no view %lld in these recordings",
                         (long long)view);
}

int crn_task_fruit_view(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    const crn_recorded_fruit *fruit;
    const crn_view_place *at = NULL;
    crn_fruit_table table = {0};
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    crn_error error = {0};
    int r = crn_fruit_table_open(&table, &error);
    if (r == 0)
        r = crn_fruit_table_get(&table, task->first, &fruit, &error);
    if (r == 0)
        r = find_view(&table, fruit, task->count, &at, &error);
    if (r == 0)
        r = read_view(&table, at, crn_recording_next, &reader, &view, &error);
    if (r == 0)
        r = crn_task_write_view(task, &view, report, &error);
    crn_recording_end(&reader);
    crn_fruit_table_close(&table);
    return crn_task_end(r, &error);
}

/* --- small pictures --------------------------------------------------------------------------- */

/* The mean of the pixels that a small picture's pixel covers: rows y0 to y1 - 1, and columns. */
static unsigned char mean_of(const unsigned char *pixels, int64_t width, const int64_t y[2],
                             const int64_t x[2])
{
    uint64_t sum = 0;
    for (int64_t row = y[0]; row < y[1]; row++)
        for (int64_t column = x[0]; column < x[1]; column++)
            sum += pixels[row * width + column];
    return (unsigned char)(sum / (uint64_t)((y[1] - y[0]) * (x[1] - x[0])));
}

/* The part of `side` pixels that pixel `at` of `small` covers: one pixel at least. */
static void cover(int64_t side, int64_t small, int64_t at, int64_t ret_range[2])
{
    ret_range[0] = at * side / small;
    ret_range[1] = (at + 1) * side / small;
    if (ret_range[1] <= ret_range[0])
        ret_range[1] = ret_range[0] + 1;
}

/* The photograph in its proportions, in the middle of what is black. */
static void shrink(const crn_recorded_view *view, unsigned char *ret_small)
{
    int64_t width = view->header.width, height = view->header.height;
    int64_t small_width = CRN_SMALL_WIDTH, small_height = height * CRN_SMALL_WIDTH / width;
    if (small_height > CRN_SMALL_HEIGHT) {
        small_height = CRN_SMALL_HEIGHT;
        small_width = width * CRN_SMALL_HEIGHT / height;
    }
    small_width += small_width == 0;
    small_height += small_height == 0;
    int64_t left = (CRN_SMALL_WIDTH - small_width) / 2, top = (CRN_SMALL_HEIGHT - small_height) / 2;
    for (int64_t y = 0; y < small_height; y++)
        for (int64_t x = 0; x < small_width; x++) {
            int64_t rows[2], columns[2];
            cover(height, small_height, y, rows);
            cover(width, small_width, x, columns);
            ret_small[(top + y) * CRN_SMALL_WIDTH + left + x] =
                mean_of(view->intensity, width, rows, columns);
        }
}

/* One that cannot be read has no picture in the list; opening it tells why. */
static void print_small(const crn_fruit_table *table, const crn_recorded_fruit *fruit)
{
    unsigned char small[1 + CRN_SMALL_WIDTH * CRN_SMALL_HEIGHT] = {0};
    const crn_view_place *at = NULL;
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    crn_error ignored;
    if (find_view(table, fruit, fruit->shown_view, &at, &ignored) == 0 &&
        read_view(table, at, crn_recording_intensity, &reader, &view, &ignored) == 0 &&
        view.intensity) {
        small[0] = 1;
        shrink(&view, small + 1);
    }
    crn_recording_end(&reader);
    fwrite(small, sizeof small, 1, stdout);
}

int crn_task_fruit_pictures(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    int64_t numbers[CRN_FRUITS_SHOWN_MAX];
    uint64_t total;
    crn_fruit_table table = {0};
    crn_error error = {0};
    (void)report;
    int r = crn_fruit_table_open(&table, &error);
    if (r == 0) {
        int32_t count = crn_fruits_find(&table, &task->search, numbers, &total);
        for (int32_t i = 0; i < count; i++)
            print_small(&table, &table.fruits[numbers[i]]);
    }
    crn_fruit_table_close(&table);
    return crn_task_end(r, &error);
}
