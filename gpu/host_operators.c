/*
 * CUDA operators on images in host memory: upload, run, download, one after the other. For tools
 * and tests; the engine keeps its images on the device.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "stages/serial/contours.h"

/* Timeout for the work queued by one call; far above the slowest operator. */
#define LIMIT_NS INT64_C(60000000000)

/* Initial capacities; they grow when a result is truncated. */
#define POINTS_FIRST   65536u
#define CONTOURS_FIRST 8192u

/* Scratch slots of the device context, and its timing events. */
enum { SLOT_IN = 16, SLOT_OUT };
enum { MARK_BEGIN, MARK_UPLOADED, MARK_RAN, MARK_DOWNLOADED };

/* Attached to the caller's context. */
typedef struct host_side {
    const crn_gpu *gpu;
    crn_context *device;
    crn_contours *contours; /* pinned, and so are its arrays */
    void *rows;             /* download buffer for images that are not dense */
    size_t rows_bytes;
    crn_gpu_times times;
} host_side;

static void free_contours(host_side *side)
{
    if (side->contours) {
        side->gpu->pinned_free(side->contours->points);
        side->gpu->pinned_free(side->contours->contours);
        side->gpu->pinned_free(side->contours);
    }
    side->contours = NULL;
}

static void free_side(void *what)
{
    host_side *side = what;
    free_contours(side);
    crn_context_free(&side->device);
    free(side->rows);
    free(side);
}

/* Returns the device state attached to the caller's context; the first call creates it. */
static int side_of(crn_context *context, host_side **ret_side)
{
    host_side *side = crn_context_attached(context);
    if (!side) {
        const char *why;
        side = calloc(1, sizeof *side);
        if (!side)
            return -ENOMEM;
        side->gpu = crn_gpu_get(&why);
        int r = side->gpu ? side->gpu->context_create(0, 1, &side->device) : -ENODEV;
        if (r < 0) {
            free(side);
            return r;
        }
        crn_context_attach(context, side, free_side);
    }
    *ret_side = side;
    return side->gpu->use(side->device);
}

/* Offsets of the lowest element and of one past the highest, relative to element (0, 0, 0). */
static void extent_of(const crn_image *image, ptrdiff_t *ret_low, ptrdiff_t *ret_high)
{
    ptrdiff_t ends[3] = {(image->planes - 1) * image->plane_stride,
                         (image->height - 1) * image->row_stride, (image->width - 1) * image->step};
    *ret_low = 0;
    *ret_high = 1;
    for (int i = 0; i < 3; i++)
        *(ends[i] < 0 ? ret_low : ret_high) += ends[i];
}

/* Reserves scratch memory for the image on the device, with the same strides. */
static int place_on_device(host_side *side, int32_t slot, const crn_image *image,
                           crn_image *ret_placed, size_t *ret_bytes)
{
    ptrdiff_t low, high;
    extent_of(image, &low, &high);
    size_t size = crn_type_bytes(image->type);
    *ret_bytes = (size_t)(high - low) * size;
    char *memory = crn_context_scratch(side->device, slot, *ret_bytes);
    if (!memory)
        return -ENOMEM;
    *ret_placed = *image;
    ret_placed->data = memory - low * (ptrdiff_t)size;
    return 0;
}

static int upload(host_side *side, int32_t slot, const crn_image *image, crn_image *ret_placed)
{
    size_t bytes;
    int r = place_on_device(side, slot, image, ret_placed, &bytes);
    if (r < 0)
        return r;
    ptrdiff_t low, high;
    extent_of(image, &low, &high);
    ptrdiff_t before = low * (ptrdiff_t)crn_type_bytes(image->type);
    return side->gpu->upload(side->device, (char *)ret_placed->data + before,
                             (const char *)image->data + before, bytes);
}

/* Memory for the result. An image that is not dense is uploaded first, so that the download
 * preserves the bytes between its elements. */
static int place_result(host_side *side, const crn_image *out, crn_image *ret_placed)
{
    size_t bytes;
    return crn_image_is_dense(out) ? place_on_device(side, SLOT_OUT, out, ret_placed, &bytes)
                                   : upload(side, SLOT_OUT, out, ret_placed);
}

/* Copies element by element: the bytes between the caller's elements stay untouched. */
static void scatter(const crn_image *from, const crn_image *to)
{
    size_t size = crn_type_bytes(to->type);
    for (int32_t plane = 0; plane < to->planes; plane++)
        for (int32_t y = 0; y < to->height; y++)
            for (int32_t x = 0; x < to->width; x++) {
                ptrdiff_t at = crn_image_index(to, plane, y, x) * (ptrdiff_t)size;
                memcpy((char *)to->data + at, (const char *)from->data + at, size);
            }
}

static int download(host_side *side, const crn_image *placed, const crn_image *out)
{
    ptrdiff_t low, high;
    extent_of(out, &low, &high);
    ptrdiff_t size = (ptrdiff_t)crn_type_bytes(out->type);
    size_t bytes = (size_t)((high - low) * size);
    const char *device = (const char *)placed->data + low * size;
    int r;
    if (crn_image_is_dense(out)) {
        r = side->gpu->download(side->device, out->data, device, bytes);
    } else {
        if (side->rows_bytes < bytes) {
            free(side->rows);
            side->rows = malloc(bytes);
            side->rows_bytes = side->rows ? bytes : 0;
            if (!side->rows)
                return -ENOMEM;
        }
        r = side->gpu->download(side->device, side->rows, device, bytes);
    }
    if (r == 0)
        r = side->gpu->mark(side->device, MARK_DOWNLOADED);
    if (r == 0)
        r = crn_gpu_wait(side->gpu, side->device, LIMIT_NS);
    if (r == 0 && !crn_image_is_dense(out)) {
        crn_image rows = *out;
        rows.data = (char *)side->rows - low * size;
        scatter(&rows, out);
    }
    return r;
}

/* Only valid when the stream is idle. */
static int read_times(host_side *side)
{
    int r = side->gpu->elapsed(side->device, MARK_BEGIN, MARK_UPLOADED, &side->times.upload_ns);
    if (r == 0)
        r = side->gpu->elapsed(side->device, MARK_UPLOADED, MARK_RAN, &side->times.kernel_ns);
    if (r == 0)
        r = side->gpu->elapsed(side->device, MARK_RAN, MARK_DOWNLOADED, &side->times.download_ns);
    return r;
}

int crn_gpu_times_of(const crn_context *context, crn_gpu_times *ret_times)
{
    const host_side *side = crn_context_attached(context);
    if (!side)
        return -EINVAL;
    *ret_times = side->times;
    return 0;
}

/* Adapter that calls one image operator of `ops`. */
typedef int run_fn(const crn_ops *ops, crn_context *device, const void *params, const crn_image *in,
                   crn_image *out);

/* Rejects images that no operator accepts before any resource is taken. */
static bool has_elements(const crn_image *image)
{
    return image->data && image->planes > 0 && image->height > 0 && image->width > 0 &&
           crn_type_bytes(image->type) > 0;
}

/* `in` is NULL for an operator that generates its image. */
static int run_on_images(crn_context *context, run_fn *run, const void *params, const crn_image *in,
                         crn_image *out)
{
    if ((in && !has_elements(in)) || !has_elements(out))
        return -EINVAL;
    host_side *side;
    int r = side_of(context, &side);
    if (r < 0)
        return r;
    const crn_gpu *gpu = side->gpu;
    crn_image placed_in = {0}, placed_out;
    r = gpu->mark(side->device, MARK_BEGIN);
    if (r == 0 && in)
        r = upload(side, SLOT_IN, in, &placed_in);
    if (r == 0)
        r = place_result(side, out, &placed_out);
    if (r == 0)
        r = gpu->mark(side->device, MARK_UPLOADED);
    if (r == 0)
        r = run(gpu->ops, side->device, params, &placed_in, &placed_out);
    if (r == 0)
        r = gpu->mark(side->device, MARK_RAN);
    if (r == 0)
        r = download(side, &placed_out, out);
    if (r < 0)
        crn_gpu_wait(gpu, side->device, LIMIT_NS); /* the device no longer reads the caller's
                                                      memory */
    return r == 0 ? read_times(side) : r;
}

/* Makes the pinned buffers at least as large as requested. */
static int take_contours(host_side *side, uint32_t points, uint32_t contours)
{
    const crn_gpu *gpu = side->gpu;
    crn_contours *it = side->contours;
    if (it && it->point_capacity >= points && it->contour_capacity >= contours)
        return 0;
    free_contours(side);
    it = gpu->pinned_create(sizeof *it);
    if (!it)
        return -ENOMEM;
    *it = (crn_contours){.points = gpu->pinned_create(points * sizeof *it->points),
                         .contours = gpu->pinned_create(contours * sizeof *it->contours),
                         .point_capacity = points,
                         .contour_capacity = contours};
    side->contours = it;
    if (it->points && it->contours)
        return 0;
    free_contours(side);
    return -ENOMEM;
}

static int run_contours(host_side *side, const crn_contours_params *params, const crn_image *in)
{
    const crn_gpu *gpu = side->gpu;
    crn_image placed;
    int r = gpu->mark(side->device, MARK_BEGIN);
    if (r == 0)
        r = upload(side, SLOT_IN, in, &placed);
    if (r == 0)
        r = gpu->mark(side->device, MARK_UPLOADED);
    if (r == 0)
        r = gpu->ops->contours(side->device, params, &placed, side->contours);
    if (r == 0)
        r = gpu->mark(side->device, MARK_RAN);
    if (r == 0)
        r = gpu->mark(side->device, MARK_DOWNLOADED);
    int waited = crn_gpu_wait(gpu, side->device, LIMIT_NS);
    return r == 0 ? waited : r;
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static int contours_on_host(crn_context *context, const crn_contours_params *params,
                            const crn_image *in, crn_contours *out)
{
    int r = crn_contours_check(params, in, out);
    if (r < 0)
        return r;
    host_side *side;
    r = side_of(context, &side);
    uint64_t points = POINTS_FIRST, contours = CONTOURS_FIRST;
    if (r == 0 && side->contours) {
        points = side->contours->point_capacity;
        contours = side->contours->contour_capacity;
    }
    for (bool again = r == 0; again;) {
        r = take_contours(side, (uint32_t)points, (uint32_t)contours);
        crn_contours asked;
        if (r == 0) {
            /* Never above the caller's capacity: where the result is truncated depends on it. */
            asked = *side->contours;
            side->contours->point_capacity = least(points, out->point_capacity);
            side->contours->contour_capacity = least(contours, out->contour_capacity);
            r = run_contours(side, params, in);
            again = r == 0 && side->contours->truncated &&
                    (points < out->point_capacity || contours < out->contour_capacity);
            side->contours->point_capacity = asked.point_capacity;
            side->contours->contour_capacity = asked.contour_capacity;
        }
        if (r < 0)
            return r;
        if (again && points < out->point_capacity)
            points = least(8 * points, out->point_capacity);
        if (again && contours < out->contour_capacity)
            contours = least(8 * contours, out->contour_capacity);
    }
    if (r < 0)
        return r;
    const crn_contours *found = side->contours;
    memcpy(out->points, found->points, found->point_count * sizeof *out->points);
    memcpy(out->contours, found->contours, found->contour_count * sizeof *out->contours);
    out->point_count = found->point_count;
    out->contour_count = found->contour_count;
    out->truncated = found->truncated;
    return read_times(side);
}

/* Adapters for run_on_images. */
static int run_morphology(const crn_ops *ops, crn_context *device, const void *params,
                          const crn_image *in, crn_image *out)
{
    return ops->morphology(device, params, in, out);
}

static int run_convolve(const crn_ops *ops, crn_context *device, const void *params,
                        const crn_image *in, crn_image *out)
{
    return ops->convolve(device, params, in, out);
}

static int run_haar(const crn_ops *ops, crn_context *device, const void *params,
                    const crn_image *in, crn_image *out)
{
    return ops->haar(device, params, in, out);
}

static int run_ranklet(const crn_ops *ops, crn_context *device, const void *params,
                       const crn_image *in, crn_image *out)
{
    return ops->ranklet(device, params, in, out);
}

static int run_diamond_square(const crn_ops *ops, crn_context *device, const void *params,
                              const crn_image *in, crn_image *out)
{
    (void)in;
    return ops->diamond_square(device, params, out);
}

static int run_widen(const crn_ops *ops, crn_context *device, const void *params,
                     const crn_image *in, crn_image *out)
{
    (void)params;
    return ops->widen(device, in, out);
}

static int morphology_on_host(crn_context *context, const crn_morphology_params *params,
                              const crn_image *in, crn_image *out)
{
    return run_on_images(context, run_morphology, params, in, out);
}

static int convolve_on_host(crn_context *context, const crn_convolve_params *params,
                            const crn_image *in, crn_image *out)
{
    return run_on_images(context, run_convolve, params, in, out);
}

static int haar_on_host(crn_context *context, const crn_haar_params *params, const crn_image *in,
                        crn_image *out)
{
    return run_on_images(context, run_haar, params, in, out);
}

static int ranklet_on_host(crn_context *context, const crn_ranklet_params *params,
                           const crn_image *in, crn_image *out)
{
    return run_on_images(context, run_ranklet, params, in, out);
}

static int diamond_square_on_host(crn_context *context, const crn_diamond_square_params *params,
                                  crn_image *out)
{
    return run_on_images(context, run_diamond_square, params, NULL, out);
}

static int widen_on_host(crn_context *context, const crn_image *in, crn_image *out)
{
    return run_on_images(context, run_widen, NULL, in, out);
}

static const crn_ops host_ops = {
    .name = "cuda",
    .contours = contours_on_host,
    .morphology = morphology_on_host,
    .convolve = convolve_on_host,
    .haar = haar_on_host,
    .ranklet = ranklet_on_host,
    .diamond_square = diamond_square_on_host,
    .widen = widen_on_host,
};

const crn_ops *crn_gpu_ops(const char **ret_why)
{
    return crn_gpu_get(ret_why) ? &host_ops : NULL;
}
