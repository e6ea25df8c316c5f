/* Verifies what `cernita-bench gpu` timed: repeats the work on the CPU and compares the results. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/backend.h"
#include "tools/bench/gpu/gpu.h"
#include "tools/bench/work.h"

/* Sums in another order may differ by this share of
 * the pixels' range (cernita.h, kernels of the rows). */
#define SUM_TOLERANCE 4e-6

/* Tolerance of contour positions after smoothing, in pixels. */
#define POINT_TOLERANCE_PX 1e-2

static bool is_close(const crn_gpu_work *work, const uint8_t *a, const uint8_t *b)
{
    bool close = true;
    size_t count = crn_image_elements(&work->inputs.picture);
    for (size_t i = 0; i < count; i++) {
        float left = a[i], right = b[i], tolerance = 1;
        if (work->inputs.picture.type == CRN_F32) {
            memcpy(&left, a + i * sizeof left, sizeof left);
            memcpy(&right, b + i * sizeof right, sizeof right);
            tolerance = (float)SUM_TOLERANCE;
        }
        close = close && fabsf(left - right) <= tolerance;
    }
    return close;
}

/* Skips the padding between the windows' results. */
static bool same_ranklets(const crn_gpu_work *work, const uint8_t *a, const uint8_t *b)
{
    bool same = true;
    for (int32_t i = 0; i < crn_bench_call_count(work->task.of); i++) {
        size_t at = crn_bench_window_offset(&work->inputs, i);
        same = same && memcmp(a + at, b + at, crn_bench_window_bytes(&work->inputs, i)) == 0;
    }
    return same;
}

static bool same_picture(const crn_gpu_work *work, const crn_bench_work *reference)
{
    crn_bench_operator op = work->task.of->op;
    uint8_t *back = malloc(work->out_bytes);
    bool same =
        back && work->task.gpu->download(work->context, back, work->out, work->out_bytes) == 0;
    /* Waits even after a failed enqueue, because `back` is about to be freed. */
    same = crn_gpu_work_wait(work) == 0 && same;
    size_t one = work->out_bytes / (size_t)work->views;
    if (same && op == CRN_BENCH_CONVOLVE)
        same = is_close(work, back, reference->out);
    else if (same && op == CRN_BENCH_RANKLET)
        same = same_ranklets(work, back, reference->out);
    else
        same = same && memcmp(back, reference->out, one) == 0;
    free(back);
    return same;
}

/* Every view must have the CPU's contours. */
static bool same_contours(const crn_gpu_work *work, const crn_contours *one)
{
    const crn_contours *all = work->contours;
    uint32_t views = (uint32_t)work->views;
    double tolerance_px = work->task.of->op == CRN_BENCH_CHAIN ? POINT_TOLERANCE_PX : 0;
    if (all->contour_count != views * one->contour_count ||
        all->point_count != views * one->point_count)
        return false;
    bool same = true;
    for (uint32_t i = 0; i < all->contour_count; i++) {
        const crn_contour *a = &all->contours[i], *b = &one->contours[i % one->contour_count];
        uint32_t view = i / one->contour_count;
        same = same && a->plane == b->plane + (int32_t)view * work->inputs.picture.planes &&
               a->closed == b->closed && a->count == b->count &&
               a->first == b->first + view * one->point_count;
    }
    for (uint32_t i = 0; i < all->point_count; i++) {
        const crn_point *a = &all->points[i], *b = &one->points[i % one->point_count];
        same = same && fabs(a->x - b->x) <= tolerance_px && fabs(a->y - b->y) <= tolerance_px;
    }
    return same;
}

int crn_gpu_work_compare(const crn_gpu_work *work)
{
    const char *why;
    const crn_ops *openmp = crn_backend_ops(CRN_BACKEND_OPENMP, &why);
    crn_bench_work *reference = NULL;
    crn_context *context = NULL;
    int r = crn_bench_work_create(work->task.of, work->task.frame, false, &reference);
    if (r == 0)
        r = crn_context_create((int32_t)sysconf(_SC_NPROCESSORS_ONLN), &context);
    if (r == 0)
        r = crn_bench_work_run(reference, openmp, context);
    if (r == 0)
        r = crn_gpu_work_wait(work);
    if (r == 0 && work->contours)
        r = same_contours(work, &reference->contours) ? 0 : -EBADMSG;
    else if (r == 0)
        r = same_picture(work, reference) ? 0 : -EBADMSG;
    crn_bench_work_free(&reference);
    crn_context_free(&context);
    return r;
}
