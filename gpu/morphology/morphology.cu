/* Morphology: the entry. Selects the kernel for an image and element (morphology.cuh). */
#include "gpu/morphology/tile.cuh"

extern "C" {
#include "stages/serial/morphology.h"
}

/* Alignment of every row's address in bytes: 16, 8, 4 or 1. */
static int32_t alignment_of(const crn_image *image, int32_t views)
{
    ptrdiff_t size = (ptrdiff_t)crn_type_bytes(image->type);
    uintptr_t all = (uintptr_t)image->data | (uintptr_t)(image->row_stride * size);
    if (image->plane_stride != 1 && image->planes > 1)
        all |= (uintptr_t)(image->plane_stride * size);
    if (views > 1)
        all |= (uintptr_t)(crn_gpu_view_stride(image) * size);
    return all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 1;
}

bool crn_tile_images_of(const crn_context *context, const crn_morphology_params *params,
                        const crn_image *in, const crn_image *out, crn_tile_images *ret_images)
{
    bool planar = in->step == 1 && out->step == 1;
    bool interleaved = crn_image_is_interleaved(in) && crn_image_is_interleaved(out);
    int32_t views = crn_context_views(context), channels = interleaved ? in->planes : 1;
    int32_t planes = interleaved ? 1 : in->planes;
    if ((!planar && !interleaved) || (int64_t)in->width * channels > CRN_TILE_ROW_MAX ||
        (int64_t)planes * views > 65535)
        return false;
    ptrdiff_t size = (ptrdiff_t)crn_type_bytes(in->type);
    ptrdiff_t in_row = in->row_stride * size, out_row = out->row_stride * size;
    if (in_row > CRN_TILE_ROW_MAX || in_row < -CRN_TILE_ROW_MAX || out_row > CRN_TILE_ROW_MAX ||
        out_row < -CRN_TILE_ROW_MAX)
        return false;
    crn_tile_images p = {static_cast<const char *>(in->data), static_cast<char *>(out->data),
                         (int32_t)in_row, (int32_t)out_row};
    p.in_plane = in->plane_stride * size;
    p.in_view = crn_gpu_view_stride(in) * size;
    p.out_plane = out->plane_stride * size;
    p.out_view = crn_gpu_view_stride(out) * size;
    p.planes = crn_divider_of(planes);
    p.height = in->height;
    p.columns = in->width * channels;
    p.channels = channels;
    p.in_aligned = alignment_of(in, views);
    p.in_aligned = p.in_aligned == 8 ? 4 : p.in_aligned;
    p.out_aligned = alignment_of(out, views);
    p.recipe = crn_morphology_recipe_of(params->operation);
    *ret_images = p;
    return true;
}

double crn_tile_cost(const crn_gpu_limits *limits, const crn_tile_images *images, int32_t planes,
                     double work, double in_fours, crn_tile_launch *launch)
{
    double tiles = (double)crn_gpu_blocks(images->columns, images->columns_at) *
                   crn_gpu_blocks(images->height, images->rows_at) * planes;
    /* A block's own shared memory, and 1 KiB that the system reserves. */
    int32_t fit = (int32_t)((limits->shared_bytes + 1024) / (launch->bytes + 1024));
    launch->threads = fit >= 4 ? CRN_TILE_THREADS_MAX / 2 : CRN_TILE_THREADS_MAX;
    int32_t resident = fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
    double rounds = tiles / limits->multiprocessors;
    double whole = (double)(int64_t)(rounds / resident + 0.999) * resident;
    /* A partial last wave is shorter, but not by much. */
    rounds = rounds < 1 ? 1 : rounds < resident ? rounds : (rounds + whole) / 2;
    /* Constant cost per tile: even one without pixels waits for its passes. */
    return rounds * (work + 25000) * (resident == 1 ? 1.25 : resident == 2 ? 1 : in_fours);
}

int crn_morphology_cuda(crn_context *context, const crn_morphology_params *params,
                        const crn_image *in, crn_image *out)
{
    int r = crn_morphology_check(params, in, out);
    if (r == 0)
        r = crn_gpu_check(context, in, out);
    if (r < 0)
        return r;
    crn_tile_images images;
    r = -ENOTSUP;
    if (!params->element.heights && crn_tile_images_of(context, params, in, out, &images)) {
        if (params->element.shape == CRN_ELEMENT_RECT)
            r = crn_morphology_rect(context, params, &images, in->type);
        else
            r = crn_morphology_chords(context, params, &images, in->type);
    }
    return r == -ENOTSUP ? crn_morphology_general(context, params, in, out) : r;
}
