/* Verifies what `cernita-bench gpu` timed: repeats the work on the CPU and compares the results. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/gpu_internal.h"

/* Sums in another order may differ by this share of
 * the pixels' range (ops.h, kernels of the rows). */
#define SUM_TOLERANCE 4e-6

/* Tolerance of contour positions after smoothing, in pixels. */
#define POINT_TOLERANCE_PX 1e-2

static void free_twin(crn_gpu_place *twin)
{
    free(twin->out);
    free(twin->smoothed);
    free(twin->opened);
    if (twin->contours) {
        free(twin->contours->points);
        free(twin->contours->contours);
    }
    free(twin->contours);
    crn_context_free(&twin->context);
}

static int make_contours(const crn_contours *like, crn_contours **ret_contours)
{
    crn_contours *it = calloc(1, sizeof *it);
    if (!it)
        return -ENOMEM;
    *ret_contours = it;
    it->point_capacity = like->point_capacity;
    it->contour_capacity = like->contour_capacity;
    it->points = malloc(it->point_capacity * sizeof *it->points);
    it->contours = malloc(it->contour_capacity * sizeof *it->contours);
    return it->points && it->contours ? 0 : -ENOMEM;
}

/* Allocates CPU buffers and repeats one view's work on all processors. */
static int make_twin(const crn_gpu_work *work, crn_gpu_place *twin)
{
    static const crn_ops openmp = {.name = "openmp",
                                   .contours = crn_contours_openmp,
                                   .morphology = crn_morphology_openmp,
                                   .convolve = crn_convolve_openmp,
                                   .haar = crn_haar_openmp,
                                   .ranklet = crn_ranklet_openmp,
                                   .diamond_square = crn_diamond_square_openmp};
    size_t views = (size_t)work->views;
    *twin = (crn_gpu_place){.ops = &openmp,
                            .in = work->picture.data,
                            .out = malloc(work->out_bytes / views + 1),
                            .smoothed = malloc(work->in_bytes / views),
                            .opened = malloc(work->in_bytes / views)};
    int r = twin->out && twin->smoothed && twin->opened ? 0 : -ENOMEM;
    if (r == 0 && work->contours)
        r = make_contours(work->contours, &twin->contours);
    if (r == 0)
        r = crn_context_create((int32_t)sysconf(_SC_NPROCESSORS_ONLN), &twin->context);
    return r == 0 ? crn_gpu_enqueue(work, twin) : r;
}

static bool near(const crn_gpu_work *work, const uint8_t *a, const uint8_t *b)
{
    bool is_near = true;
    size_t count = crn_image_elements(&work->picture);
    for (size_t i = 0; i < count; i++) {
        float left = a[i], right = b[i], most = 1;
        if (work->row->type == CRN_F32) {
            memcpy(&left, a + i * sizeof left, sizeof left);
            memcpy(&right, b + i * sizeof right, sizeof right);
            most = (float)SUM_TOLERANCE;
        }
        is_near = is_near && fabsf(left - right) <= most;
    }
    return is_near;
}

/* Skips the padding between the windows' results. */
static bool same_ranklets(const crn_gpu_work *work, const uint8_t *a, const uint8_t *b)
{
    bool same = true;
    size_t at = 0;
    for (int32_t side = work->row->a; side <= work->row->b; side *= 2) {
        size_t places = (size_t)(work->picture.height - side + 1);
        places *= (size_t)(work->picture.width - side + 1);
        same = same && memcmp(a + at, b + at, 3 * sizeof(float) * places) == 0;
        at += crn_gpu_window_bytes(&work->picture, side);
    }
    return same;
}

static bool same_picture(const crn_gpu *gpu, const crn_gpu_work *work, const crn_gpu_place *twin)
{
    uint8_t *back = malloc(work->out_bytes);
    bool same = back && gpu->download(work->context, back, work->out, work->out_bytes) == 0;
    /* Waits even after a failed enqueue, because `back` is about to be freed. */
    same = crn_gpu_wait(gpu, work->context, CRN_BENCH_GPU_LIMIT_NS) == 0 && same;
    size_t one = work->out_bytes / (size_t)work->views;
    if (same && work->row->task == CRN_GPU_CONVOLVE)
        same = near(work, back, twin->out);
    else if (same && work->row->task == CRN_GPU_RANKLET)
        same = same_ranklets(work, back, twin->out);
    else
        same = same && memcmp(back, twin->out, one) == 0;
    free(back);
    return same;
}

/* Every view must have the CPU's contours. */
static bool same_outlines(const crn_gpu_work *work, const crn_contours *one)
{
    const crn_contours *all = work->contours;
    uint32_t views = (uint32_t)work->views;
    double most_px = work->row->task == CRN_GPU_CHAIN ? POINT_TOLERANCE_PX : 0;
    if (all->contour_count != views * one->contour_count ||
        all->point_count != views * one->point_count)
        return false;
    bool same = true;
    for (uint32_t i = 0; i < all->contour_count; i++) {
        const crn_contour *a = &all->contours[i], *b = &one->contours[i % one->contour_count];
        uint32_t view = i / one->contour_count;
        same = same && a->plane == b->plane + (int32_t)view * work->picture.planes &&
               a->closed == b->closed && a->count == b->count &&
               a->first == b->first + view * one->point_count;
    }
    for (uint32_t i = 0; i < all->point_count; i++) {
        const crn_point *a = &all->points[i], *b = &one->points[i % one->point_count];
        same = same && fabs(a->x - b->x) <= most_px && fabs(a->y - b->y) <= most_px;
    }
    return same;
}

int crn_gpu_work_compare(const crn_gpu *gpu, crn_gpu_work *work)
{
    crn_gpu_place twin = {0};
    int r = make_twin(work, &twin);
    if (r == 0)
        r = crn_gpu_wait(gpu, work->context, CRN_BENCH_GPU_LIMIT_NS);
    if (r == 0 && work->contours)
        r = same_outlines(work, twin.contours) ? 0 : -EBADMSG;
    else if (r == 0)
        r = same_picture(gpu, work, &twin) ? 0 : -EBADMSG;
    free_twin(&twin);
    return r;
}
