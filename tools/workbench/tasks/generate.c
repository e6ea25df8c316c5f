/* Pictures to begin with: fractal fields and synthetic fruits. */
#include <errno.h>
#include <stdlib.h>

#include "stages/backend.h"
#include "tools/common/scene/scene.h"
#include "tools/workbench/tasks/tasks.h"

#define VIEW_WIDTH  511
#define VIEW_HEIGHT 95
#define VIEWS       4

int crn_task_field(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    const char *why;
    const crn_ops *ops = crn_backend_ops(CRN_BACKEND_OPENMP, &why);
    int32_t side = (1 << task->count) + 1;
    crn_diamond_square_params params = {.exponent = (int32_t)task->count,
                                        .seed = (uint64_t)task->first,
                                        .roughness = task->roughness};
    crn_context *context = NULL;
    crn_picture field = {0};
    crn_error error = {0};
    int r = crn_context_create(1, &context);
    if (r == 0)
        r = crn_picture_create(CRN_U8, 1, 1, side, side, &field);
    if (r == 0)
        r = ops->diamond_square(context, &params, &field.image);
    if (r < 0)
        crn_error_set(&error, r, "no memory for a field of %d x %d", side, side);
    else
        r = crn_picture_write(task->out, &field, &error);
    if (r == 0)
        r = crn_facts_find(task->out, false, &report->pictures[0], &error);
    report->picture_count = r == 0;
    crn_picture_free(&field);
    crn_context_free(&context);
    return crn_task_end(r, &error);
}

/* One page of all classes, interleaved as CNNs give them, would be a colour picture of 12 samples;
 * viewers expect a page per class. */
static int write_fruit(const crn_task *task, float *maps, unsigned char *photograph,
                       crn_job_report *report, crn_error *error)
{
    crn_picture picture = {.pages = CRN_SCENE_CLASSES, .samples = 1};
    picture.image =
        crn_image_dense(maps, CRN_F32, CRN_HWC, CRN_SCENE_CLASSES, VIEW_HEIGHT, VIEW_WIDTH);
    int r = crn_picture_write(task->out, &picture, error);
    if (r < 0)
        return r;
    picture = (crn_picture){.pages = 1, .samples = 1};
    picture.image = crn_image_dense(photograph, CRN_U8, CRN_CHW, 1, VIEW_HEIGHT, VIEW_WIDTH);
    r = crn_picture_write(task->out_photograph, &picture, error);
    if (r == 0)
        r = crn_facts_find(task->out, false, &report->pictures[0], error);
    return r < 0 ? r : crn_facts_find(task->out_photograph, false, &report->pictures[1], error);
}

int crn_task_fruit(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    size_t pixels = (size_t)VIEW_WIDTH * VIEW_HEIGHT;
    float *maps = malloc(pixels * CRN_SCENE_CLASSES * sizeof *maps);
    unsigned char *photograph = malloc(pixels);
    crn_scene scene = {0};
    crn_error error = {0};
    int r = crn_scene_create((uint64_t)task->first, VIEW_HEIGHT, VIEW_WIDTH, CRN_SCENE_CLASSES,
                             VIEWS, &scene);
    if (r < 0 || !maps || !photograph) {
        r = crn_error_set(&error, -ENOMEM, "no memory for a view");
    } else {
        crn_scene_render(&scene, 1, (int32_t)task->count, maps, photograph);
        r = write_fruit(task, maps, photograph, report, &error);
    }
    report->picture_count = r == 0 ? 2 : 0;
    crn_scene_free(&scene);
    free(maps);
    free(photograph);
    return crn_task_end(r, &error);
}
