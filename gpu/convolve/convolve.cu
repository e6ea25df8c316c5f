/* Convolution: the entry. Describes the images to the kernels, and selects a
 * kernel (convolve.cuh). */
#include "gpu/convolve/convolve.cuh"

extern "C" {
#include "stages/serial/convolve.h"
}

/* Planes of a view and views are equally spaced, so each plane counts as an image; interleaved
 * planes (`interleaved`) make one image per view. */
static crn_convolve_images images_of(const crn_image *image, bool interleaved)
{
    crn_convolve_images p;
    p.data = image->data;
    p.image = interleaved || image->planes == 1 ? crn_gpu_view_stride(image) : image->plane_stride;
    p.row = image->row_stride;
    p.step = image->step;
    p.channel = interleaved ? image->plane_stride : 0;
    return p;
}

static int convolve(crn_context *context, const crn_convolve_params *params, const crn_image *in,
                    const crn_image *out, int32_t views)
{
    bool interleaved = crn_image_is_interleaved(in) && crn_image_is_interleaved(out);
    int64_t count = interleaved ? views : (int64_t)views * in->planes;
    if (count > INT32_MAX)
        return -EINVAL;
    crn_convolve_task task;
    task.context = context;
    task.kernel = *params;
    task.type = in->type;
    task.in = images_of(in, interleaved);
    task.out = images_of(out, interleaved);
    task.shape.count = (int32_t)count;
    task.shape.height = in->height;
    task.shape.width = in->width;
    task.shape.channels = interleaved ? in->planes : 1;
    task.shape.border = params->border;
    int r = crn_convolve_small(&task);
    if (r == 0)
        r = crn_convolve_product(&task);
    if (r == 0)
        r = crn_convolve_tiles(&task);
    return r < 0 ? r : 0;
}

int crn_convolve_cuda(crn_context *context, const crn_convolve_params *params, const crn_image *in,
                      crn_image *out)
{
    int r = crn_convolve_check(params, in, out);
    if (r == 0)
        r = crn_gpu_check(context, in, out);
    if (r < 0)
        return r;
    int32_t views = crn_context_views(context);
    bool alike = crn_image_is_interleaved(in) == crn_image_is_interleaved(out);
    if (views == 1 || alike)
        return convolve(context, params, in, out, views);
    /* Between planar and interleaved: views and planes are spaced differently in `in` and `out`. */
    crn_image from = *in, to = *out;
    ptrdiff_t bytes = crn_gpu_view_stride(in) * (ptrdiff_t)crn_type_bytes(in->type);
    for (int32_t view = 0; r == 0 && view < views; view++) {
        from.data = static_cast<uint8_t *>(in->data) + view * bytes;
        to.data = static_cast<uint8_t *>(out->data) + view * bytes;
        r = convolve(context, params, &from, &to, 1);
    }
    return r;
}
