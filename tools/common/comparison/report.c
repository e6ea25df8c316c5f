#include "tools/common/comparison/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/folder.h"
#include "stages/base/file/new_file.h"
#include "tools/common/comparison/outputs.h"
#include "tools/common/drawing/draw.h"

/* Of the views in a picture, for a page of twenty that a browser opens. */
#define PICTURE_PIXELS_MAX 3e6

enum { CSV, JSON, PAGE, FILES };

static const char *const names[FILES] = {"fruits.csv", "report.json", "report.html"};

struct crn_comparison_report {
    crn_comparison_settings settings;
    crn_comparison_facts facts;
    crn_run_changes *changes;
    crn_encoder *encoder;
    uint64_t written; /* fruits in the JSON */
    crn_palette palette;
    crn_photo extent; /* of all contours that were drawn: the size of views without a photograph */
    char *paths[FILES];
    crn_new_file files[FILES];
    crn_comparison_picture pictures[CRN_WORST_MAX];
};

void crn_comparison_report_free(crn_comparison_report **report)
{
    crn_comparison_report *r = *report;
    if (!r)
        return;
    for (int i = 0; i < FILES; i++) {
        crn_new_file_drop(&r->files[i]);
        free(r->paths[i]);
    }
    for (int i = 0; i < CRN_WORST_MAX; i++)
        free(r->pictures[i].png);
    crn_run_changes_free(&r->changes);
    crn_encoder_free(&r->encoder);
    free(r);
    *report = NULL;
}

static int no_memory(const crn_comparison_report *r, crn_error *error)
{
    return crn_error_set(error, -ENOMEM, "%s: no memory for the report", r->settings.dir);
}

static int open_files(crn_comparison_report *r, crn_error *error)
{
    for (int i = 0; i < FILES; i++) {
        if (asprintf(&r->paths[i], "%s/%s", r->settings.dir, names[i]) < 0) {
            r->paths[i] = NULL;
            return no_memory(r, error);
        }
        int result = crn_new_file_check(r->paths[i], error);
        if (!result)
            result = crn_new_file_open_stream(r->paths[i], &r->files[i], error);
        if (result)
            return result;
    }
    crn_comparison_csv_begin(r->files[CSV].stream, &r->facts);
    crn_comparison_json_begin(r->files[JSON].stream);
    return 0;
}

int crn_comparison_report_open(const crn_comparison_settings *settings,
                               crn_comparison_report **ret_report, crn_error *error)
{
    if (mkdir(settings->dir, 0777) < 0 && errno != EEXIST) {
        int code = -errno;
        return crn_error_set(error, code,
                             "%s: cannot make the folder of the report: %s; name one in a folder "
                             "that is there and can be written",
                             settings->dir, strerror(-code));
    }
    int result = crn_folder_check(settings->dir, W_OK | X_OK, "write a report", error);
    if (result)
        return result;
    crn_comparison_report *r = calloc(1, sizeof *r);
    if (!r)
        return crn_error_set(error, -ENOMEM, "%s: no memory for the report", settings->dir);
    r->settings = *settings;
    for (int i = 0; i < CRN_COMPARED_RUNS; i++)
        r->facts.run[i] = settings->run[i];
    r->facts.outlets = settings->outlets;
    for (int i = 0; i < FILES; i++)
        r->files[i].fd = -1;
    r->changes = crn_run_changes_create();
    result = r->changes && crn_encoder_create(CRN_FORMAT_JSON, &r->encoder) == 0
                 ? open_files(r, error)
                 : no_memory(r, error);
    if (result)
        crn_comparison_report_free(&r);
    else
        *ret_report = r;
    return result;
}

/* --- fruits --- */

typedef int decode(const crn_messagepack_json *packed, crn_decoded **ret_decoded, crn_error *error);

/* Decodes what is there. 0, -EBADMSG, or -ENOMEM. */
static int decode_both(decode *by, const crn_messagepack_json *const packed[CRN_COMPARED_RUNS],
                       crn_decoded *verdicts[CRN_COMPARED_RUNS])
{
    crn_error ignored;
    int result = 0;
    for (int i = 0; i < CRN_COMPARED_RUNS && !result; i++)
        result = packed[i] ? by(packed[i], &verdicts[i], &ignored) : 0;
    return result;
}

/* Writes a fruit that differs. 0, or a negative errno with *error: long before the end of a long
 * run, if the disk is full. */
static int write_fruit(crn_comparison_report *r, const crn_compared_fruit *fruit, crn_error *error)
{
    FILE *csv = r->files[CSV].stream, *json = r->files[JSON].stream;
    errno = 0;
    crn_comparison_csv_add(csv, fruit, &r->facts);
    if (crn_comparison_json_add(json, r->encoder, fruit, &r->facts, r->written++ == 0))
        return no_memory(r, error);
    int code = errno ? errno : EIO;
    return !ferror(csv) && !ferror(json)
               ? 0
               : crn_error_set(error, -code,
                               "%s: cannot write the report: %s; make room, or name another folder",
                               r->settings.dir, strerror(code));
}

/* Leaves the whole verdicts with one that is drawn. */
static int add_fruit(crn_comparison_report *r, const crn_compared_fruit *fruit,
                     const crn_messagepack_json *const packed[CRN_COMPARED_RUNS], crn_error *error)
{
    crn_decoded *whole[CRN_COMPARED_RUNS] = {NULL, NULL};
    crn_worst_fruit *worst = NULL;
    int result = crn_run_changes_add(r->changes, fruit, &worst);
    if (!result && worst) {
        result = decode_both(crn_decode, packed, whole);
        worst->before = whole[CRN_BEFORE];
        worst->after = whole[CRN_AFTER];
    }
    if (result == -ENOMEM)
        return no_memory(r, error);
    return fruit->differences ? write_fruit(r, fruit, error) : 0;
}

static void take_outlets(const crn_comparison_report *r, const crn_comparison_key *key,
                         crn_fruit_change *change)
{
    if (!r->settings.outlets)
        return;
    for (int run = 0; run < CRN_COMPARED_RUNS; run++)
        change->outlet[run] = key->outlet[run];
    change->outlet_differs = key->outlet[CRN_BEFORE] != key->outlet[CRN_AFTER];
}

int crn_comparison_report_add(crn_comparison_report *report, const crn_comparison_key *key,
                              const crn_messagepack_json *before, const crn_messagepack_json *after,
                              crn_error *error)
{
    const crn_messagepack_json *const packed[CRN_COMPARED_RUNS] = {before, after};
    crn_decoded *heads[CRN_COMPARED_RUNS] = {NULL, NULL};
    crn_fruit_change change;
    int result = decode_both(crn_decode_head, packed, heads);
    report->facts.unreadable += result == -EBADMSG;
    if (!result) {
        crn_fruit_change_find(heads[CRN_BEFORE], heads[CRN_AFTER], report->settings.tolerance_px,
                              &change);
        take_outlets(report, key, &change);
        crn_compared_fruit fruit = {.lane = key->lane,
                                    .epoch = key->epoch,
                                    .fruit = key->fruit,
                                    .differences = key->differences,
                                    .change = &change};
        result = add_fruit(report, &fruit, packed, error);
    } else if (result == -ENOMEM) {
        no_memory(report, error);
    }
    crn_decoded_free(&heads[CRN_BEFORE]);
    crn_decoded_free(&heads[CRN_AFTER]);
    return result == -EBADMSG ? 0 : result;
}

void crn_comparison_report_second(crn_comparison_report *report)
{
    report->facts.second++;
}

/* --- pictures --- */

static int draw(crn_comparison_report *r, uint32_t at, const crn_photo *photos, crn_error *error)
{
    const crn_worst_fruit *fruit = r->changes->worst[at];
    crn_comparison_picture *picture = &r->pictures[at];
    crn_drawing drawing = {fruit->after, fruit->before,     photos, CRN_DRAW_VIEWS_MAX, r->extent,
                           &r->palette,  PICTURE_PIXELS_MAX};
    FILE *stream = open_memstream(&picture->png, &picture->bytes);
    if (!stream)
        return no_memory(r, error);
    int result = crn_draw_fruit(&drawing, stream, r->paths[PAGE], error);
    return fclose(stream) ? no_memory(r, error) : result;
}

static uint64_t count_views(const crn_worst_fruit *fruit)
{
    uint64_t before = fruit->before->views_expected, after = fruit->after->views_expected;
    uint64_t most = before > after ? before : after;
    return most && most < CRN_DRAW_VIEWS_MAX ? most : CRN_DRAW_VIEWS_MAX;
}

/* Draws a fruit whose verdicts could be decoded whole. */
static int draw_worst(crn_comparison_report *r, uint32_t at, crn_comparison_find_photo *find,
                      void *context, crn_error *error)
{
    const crn_worst_fruit *fruit = r->changes->worst[at];
    crn_photo photos[CRN_DRAW_VIEWS_MAX] = {{0}};
    if (!fruit->before || !fruit->after)
        return 0;
    uint64_t views = count_views(fruit), found = 0;
    for (uint64_t view = 0; find && view < views; view++) {
        photos[view] = find(context, fruit, view);
        found += photos[view].pixels != NULL;
    }
    r->facts.has_photos |= found > 0;
    crn_draw_extent(fruit->before, &r->extent);
    crn_draw_extent(fruit->after, &r->extent);
    int result = draw(r, at, photos, error);
    for (uint64_t view = 0; view < views; view++)
        free((void *)photos[view].pixels);
    return result;
}

/* Draws them in the order in which they were added, which is that of recordings. */
static int draw_all(crn_comparison_report *r, crn_comparison_find_photo *find, void *context,
                    crn_error *error)
{
    int result = 0;
    uint64_t from = 0;
    for (uint32_t drawn = 0; drawn < r->changes->worst_count && !result; drawn++) {
        uint32_t next = r->changes->worst_count;
        for (uint32_t i = 0; i < r->changes->worst_count; i++)
            if (r->changes->worst[i]->order >= from &&
                (next == r->changes->worst_count ||
                 r->changes->worst[i]->order < r->changes->worst[next]->order))
                next = i;
        from = r->changes->worst[next]->order + 1;
        result = draw_worst(r, next, find, context, error);
    }
    return result;
}

int crn_comparison_report_finish(crn_comparison_report *report, crn_comparison_find_photo *find,
                                 void *context, crn_error *error)
{
    int result = draw_all(report, find, context, error);
    if (!result && crn_comparison_json_end(report->files[JSON].stream, report->encoder,
                                           report->changes, &report->facts))
        result = no_memory(report, error);
    if (!result)
        crn_comparison_page(report->files[PAGE].stream, report->changes, &report->facts,
                            report->pictures);
    for (int i = 0; i < FILES && !result; i++)
        result = crn_new_file_finish(&report->files[i], error);
    return result;
}
