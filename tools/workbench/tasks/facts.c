/* What a file is: picture, class maps, recording. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/formats/recording/recording.h"
#include "stages/kernel/kernel.h"
#include "tools/common/operators/apply.h"
#include "tools/workbench/levels/labels.h"
#include "tools/workbench/tasks/tasks.h"

int crn_task_end(int r, const crn_error *error)
{
    if (r < 0)
        fprintf(stderr, "%s\n", error->text);
    return r < 0 ? 1 : 0;
}

/* True if it is a recording, whose views are counted without their pixels. */
static bool find_recording(const char *path, crn_picture_facts *ret_facts)
{
    crn_recording_reader *reader;
    crn_recorded_view view;
    crn_error ignored = {0};
    if (crn_recording_open(path, &reader, &ignored) < 0)
        return false;
    int64_t views = 0;
    crn_picture_facts facts = {.kind = CRN_PICTURE_RECORDING};
    while (crn_recording_skip(reader, &view, &ignored) == 1) {
        if (views++ > 0)
            continue;
        facts.width = (int32_t)view.header.width;
        facts.height = (int32_t)view.header.height;
        facts.planes = facts.samples = (int32_t)view.header.channels;
        facts.pages = 1;
        facts.type = (int32_t)view.header.type;
    }
    crn_recording_end(&reader);
    facts.views = views;
    if (views > 0)
        *ret_facts = facts;
    return views > 0;
}

/* Class maps have a plane per class; a colour picture is none. */
static crn_picture_kind kind_of(const crn_picture *picture)
{
    bool colour = picture->pages == 1 && picture->samples == 3 &&
                  (picture->image.type == CRN_U8 || picture->image.type == CRN_U16);
    bool several = picture->image.planes > 1 && picture->image.planes <= CRN_CLASSES_MAX;
    return several && !colour && picture->image.type != CRN_U16 ? CRN_PICTURE_MAPS
                                                                : CRN_PICTURE_PLAIN;
}

static bool is_text(const char *path)
{
    return crn_apply_ends(path, ".txt") || crn_apply_ends(path, ".csv");
}

/* No folder but of labels is opened. */
static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* 0 for rows of numbers. */
static int check_kernel(const char *path, crn_error *error)
{
    static crn_kernel kernel; /* large */
    return crn_kernel_load(path, (crn_size){3, 3}, &kernel, error);
}

int crn_facts_find(const char *path, bool whole, crn_picture_facts *ret_facts, crn_error *error)
{
    bool json = crn_apply_ends(path, ".json"), csv = crn_apply_ends(path, ".csv");
    *ret_facts = (crn_picture_facts){.kind = json ? CRN_PICTURE_CONTOURS : CRN_PICTURE_TABLE};
    /* An operator's own files, or a kernel that is opened to be used. */
    if (!whole && (json || csv))
        return 0;
    if (is_folder(path) || (csv && crn_labels_are_in(path))) {
        ret_facts->kind = CRN_PICTURE_LABELS;
        return 0;
    }
    if (whole && is_text(path))
        return check_kernel(path, error);
    if (find_recording(path, ret_facts))
        return 0;
    crn_picture picture = {0};
    int r = crn_picture_probe(path, &picture, error);
    if (r < 0)
        return r;
    const crn_image *image = &picture.image;
    int64_t pixels = (int64_t)image->planes * image->height;
    *ret_facts = (crn_picture_facts){.kind = kind_of(&picture),
                                     .width = image->width,
                                     .height = image->height,
                                     .pages = picture.pages,
                                     .samples = picture.samples,
                                     .planes = image->planes,
                                     .type = (int32_t)image->type,
                                     .alpha = picture.alpha.planes > 0};
    if (pixels > CRN_PIXELS_MAX / image->width)
        r = crn_error_set(
            error, -EFBIG,
            "%s: %d x %d x %d values are more than the workbench takes, 2^28; crop it, "
            "or use cernita-apply",
            path, image->planes, image->height, image->width);
    crn_picture_free(&picture);
    if (r == 0 && whole)
        r = crn_picture_read(path, &picture, error);
    crn_picture_free(&picture);
    return r;
}

int crn_task_open(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_error error = {0};
    int r = crn_facts_find(task->in, true, &report->pictures[0], &error);
    report->picture_count = r == 0;
    return crn_task_end(r, &error);
}
