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
enum { EVENT_BEGIN, EVENT_UPLOADED, EVENT_RAN, EVENT_DOWNLOADED };

/* Attached to the caller's context. */
typedef struct device_state {
    const crn_gpu *gpu;
    crn_context *device;
    crn_contours *contours; /* pinned, and so are its arrays */
    void *rows;             /* download buffer for images that are not dense */
    size_t rows_bytes;
    crn_gpu_times times;
} device_state;

static void free_contours(device_state *state)
{
    if (state->contours) {
        state->gpu->pinned_free(state->contours->points);
        state->gpu->pinned_free(state->contours->contours);
        state->gpu->pinned_free(state->contours);
    }
    state->contours = NULL;
}

static void free_state(void *what)
{
    device_state *state = what;
    free_contours(state);
    crn_context_free(&state->device);
    free(state->rows);
    free(state);
}

/* Returns the device state attached to the caller's context; the first call creates it. */
static int state_of(crn_context *context, device_state **ret_state)
{
    device_state *state = crn_context_attached(context);
    if (!state) {
        const char *why;
        state = calloc(1, sizeof *state);
        if (!state)
            return -ENOMEM;
        state->gpu = crn_gpu_get(&why);
        int r = state->gpu ? state->gpu->context_create(0, 1, &state->device) : -ENODEV;
        if (r < 0) {
            free(state);
            return r;
        }
        crn_context_attach(context, state, free_state);
    }
    *ret_state = state;
    return state->gpu->use(state->device);
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
static int reserve_on_device(device_state *state, int32_t slot, const crn_image *image,
                             crn_image *ret_device_image, size_t *ret_bytes)
{
    ptrdiff_t low, high;
    extent_of(image, &low, &high);
    size_t size = crn_type_bytes(image->type);
    *ret_bytes = (size_t)(high - low) * size;
    char *memory = crn_context_scratch(state->device, slot, *ret_bytes);
    if (!memory)
        return -ENOMEM;
    *ret_device_image = *image;
    ret_device_image->data = memory - low * (ptrdiff_t)size;
    return 0;
}

static int upload(device_state *state, int32_t slot, const crn_image *image,
                  crn_image *ret_device_image)
{
    size_t bytes;
    int r = reserve_on_device(state, slot, image, ret_device_image, &bytes);
    if (r < 0)
        return r;
    ptrdiff_t low, high;
    extent_of(image, &low, &high);
    ptrdiff_t before = low * (ptrdiff_t)crn_type_bytes(image->type);
    return state->gpu->upload(state->device, (char *)ret_device_image->data + before,
                              (const char *)image->data + before, bytes);
}

/* Memory for the result. An image that is not dense is uploaded first, so that the download
 * preserves the bytes between its elements. */
static int reserve_result(device_state *state, const crn_image *out, crn_image *ret_device_image)
{
    size_t bytes;
    return crn_image_is_dense(out)
               ? reserve_on_device(state, SLOT_OUT, out, ret_device_image, &bytes)
               : upload(state, SLOT_OUT, out, ret_device_image);
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

static int download(device_state *state, const crn_image *device_image, const crn_image *out)
{
    ptrdiff_t low, high;
    extent_of(out, &low, &high);
    ptrdiff_t size = (ptrdiff_t)crn_type_bytes(out->type);
    size_t bytes = (size_t)((high - low) * size);
    const char *device = (const char *)device_image->data + low * size;
    int r;
    if (crn_image_is_dense(out)) {
        r = state->gpu->download(state->device, out->data, device, bytes);
    } else {
        if (state->rows_bytes < bytes) {
            free(state->rows);
            state->rows = malloc(bytes);
            state->rows_bytes = state->rows ? bytes : 0;
            if (!state->rows)
                return -ENOMEM;
        }
        r = state->gpu->download(state->device, state->rows, device, bytes);
    }
    if (r == 0)
        r = state->gpu->record_event(state->device, EVENT_DOWNLOADED);
    if (r == 0)
        r = crn_gpu_wait(state->gpu, state->device, LIMIT_NS);
    if (r == 0 && !crn_image_is_dense(out)) {
        crn_image rows = *out;
        rows.data = (char *)state->rows - low * size;
        scatter(&rows, out);
    }
    return r;
}

/* Only valid when the stream is idle. */
static int read_times(device_state *state)
{
    int r =
        state->gpu->elapsed(state->device, EVENT_BEGIN, EVENT_UPLOADED, &state->times.upload_ns);
    if (r == 0)
        r = state->gpu->elapsed(state->device, EVENT_UPLOADED, EVENT_RAN, &state->times.kernel_ns);
    if (r == 0)
        r = state->gpu->elapsed(state->device, EVENT_RAN, EVENT_DOWNLOADED,
                                &state->times.download_ns);
    return r;
}

int crn_gpu_times_of(const crn_context *context, crn_gpu_times *ret_times)
{
    const device_state *state = crn_context_attached(context);
    if (!state)
        return -EINVAL;
    *ret_times = state->times;
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
    device_state *state;
    int r = state_of(context, &state);
    if (r < 0)
        return r;
    const crn_gpu *gpu = state->gpu;
    crn_image device_in = {0}, device_out;
    r = gpu->record_event(state->device, EVENT_BEGIN);
    if (r == 0 && in)
        r = upload(state, SLOT_IN, in, &device_in);
    if (r == 0)
        r = reserve_result(state, out, &device_out);
    if (r == 0)
        r = gpu->record_event(state->device, EVENT_UPLOADED);
    if (r == 0)
        r = run(gpu->ops, state->device, params, &device_in, &device_out);
    if (r == 0)
        r = gpu->record_event(state->device, EVENT_RAN);
    if (r == 0)
        r = download(state, &device_out, out);
    if (r < 0)
        crn_gpu_wait(gpu, state->device, LIMIT_NS); /* the device no longer reads the caller's
                                                      memory */
    return r == 0 ? read_times(state) : r;
}

/* Makes the pinned buffers at least as large as requested. */
static int reserve_contours(device_state *state, uint32_t points, uint32_t contours)
{
    const crn_gpu *gpu = state->gpu;
    crn_contours *it = state->contours;
    if (it && it->point_capacity >= points && it->contour_capacity >= contours)
        return 0;
    free_contours(state);
    it = gpu->pinned_create(sizeof *it);
    if (!it)
        return -ENOMEM;
    *it = (crn_contours){.points = gpu->pinned_create(points * sizeof *it->points),
                         .contours = gpu->pinned_create(contours * sizeof *it->contours),
                         .point_capacity = points,
                         .contour_capacity = contours};
    state->contours = it;
    if (it->points && it->contours)
        return 0;
    free_contours(state);
    return -ENOMEM;
}

static int run_contours(device_state *state, const crn_contours_params *params, const crn_image *in)
{
    const crn_gpu *gpu = state->gpu;
    crn_image device_image;
    int r = gpu->record_event(state->device, EVENT_BEGIN);
    if (r == 0)
        r = upload(state, SLOT_IN, in, &device_image);
    if (r == 0)
        r = gpu->record_event(state->device, EVENT_UPLOADED);
    if (r == 0)
        r = gpu->ops->contours(state->device, params, &device_image, state->contours);
    if (r == 0)
        r = gpu->record_event(state->device, EVENT_RAN);
    if (r == 0)
        r = gpu->record_event(state->device, EVENT_DOWNLOADED);
    int waited = crn_gpu_wait(gpu, state->device, LIMIT_NS);
    return r == 0 ? waited : r;
}

static uint32_t min_u32(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static int contours_on_host(crn_context *context, const crn_contours_params *params,
                            const crn_image *in, crn_contours *out)
{
    int r = crn_contours_check(params, in, out);
    if (r < 0 || in->type == CRN_F64)
        return -EINVAL;
    device_state *state;
    r = state_of(context, &state);
    uint64_t points = POINTS_FIRST, contours = CONTOURS_FIRST;
    if (r == 0 && state->contours) {
        points = state->contours->point_capacity;
        contours = state->contours->contour_capacity;
    }
    for (bool again = r == 0; again;) {
        r = reserve_contours(state, (uint32_t)points, (uint32_t)contours);
        crn_contours full_size;
        if (r == 0) {
            /* Never above the caller's capacity: where the result is truncated depends on it. */
            full_size = *state->contours;
            state->contours->point_capacity = min_u32(points, out->point_capacity);
            state->contours->contour_capacity = min_u32(contours, out->contour_capacity);
            r = run_contours(state, params, in);
            again = r == 0 && state->contours->truncated &&
                    (points < out->point_capacity || contours < out->contour_capacity);
            state->contours->point_capacity = full_size.point_capacity;
            state->contours->contour_capacity = full_size.contour_capacity;
        }
        if (r < 0)
            return r;
        if (again && points < out->point_capacity)
            points = min_u32(8 * points, out->point_capacity);
        if (again && contours < out->contour_capacity)
            contours = min_u32(8 * contours, out->contour_capacity);
    }
    if (r < 0)
        return r;
    const crn_contours *found = state->contours;
    memcpy(out->points, found->points, found->point_count * sizeof *out->points);
    memcpy(out->contours, found->contours, found->contour_count * sizeof *out->contours);
    out->point_count = found->point_count;
    out->contour_count = found->contour_count;
    out->truncated = found->truncated;
    return read_times(state);
}

/* An operator that maps an image to an image, and its adapter for run_on_images. */
#define ON_HOST(name)                                                                              \
    static int run_##name(const crn_ops *ops, crn_context *device, const void *params,             \
                          const crn_image *in, crn_image *out)                                     \
    {                                                                                              \
        return ops->name(device, params, in, out);                                                 \
    }                                                                                              \
    static int name##_on_host(crn_context *context, const crn_##name##_params *params,             \
                              const crn_image *in, crn_image *out)                                 \
    {                                                                                              \
        return run_on_images(context, run_##name, params, in, out);                                \
    }

ON_HOST(morphology)
ON_HOST(convolve)
ON_HOST(haar)
ON_HOST(ranklet)

static int run_diamond_square(const crn_ops *ops, crn_context *device, const void *params,
                              const crn_image *in, crn_image *out)
{
    (void)in;
    return ops->diamond_square(device, params, out);
}

static int diamond_square_on_host(crn_context *context, const crn_diamond_square_params *params,
                                  crn_image *out)
{
    return run_on_images(context, run_diamond_square, params, NULL, out);
}

static int run_widen(const crn_ops *ops, crn_context *device, const void *params,
                     const crn_image *in, crn_image *out)
{
    (void)params;
    return ops->widen(device, in, out);
}

static int widen_on_host(crn_context *context, const crn_image *in, crn_image *out)
{
    return run_on_images(context, run_widen, NULL, in, out);
}

/* What the finish halves of stages read lies in host memory here. */
static const crn_ops host_ops = CRN_OPS("cuda", , _on_host, widen_on_host, crn_narrow, crn_sum_runs,
                                        crn_mean_boxes, crn_see_values);

const crn_ops *crn_gpu_ops(const char **ret_why)
{
    return crn_gpu_get(ret_why) ? &host_ops : NULL;
}
