/* The rows of `cernita-bench gpu`, and the calls that each makes to the operators. */
#include <errno.h>

#include "tools/bench/gpu_internal.h"

#define FRAME 12, 95, 511
#define PHOTO 1920, 2560
#define UHD   3, 2160, 3840

/* Waves of 62 pixels in 4096 x 4096 have 0.9 million segments. */
const crn_gpu_row crn_gpu_rows[] = {
    {"contours frame f32, device to host", CRN_GPU_CONTOURS, CRN_GPU_TO_HOST, CRN_F32, FRAME, 60,
     CRN_BORDER_OPEN, 0.040},
    {"contours frame f32, closed border", CRN_GPU_CONTOURS, CRN_GPU_TO_HOST, CRN_F32, FRAME, 60,
     CRN_BORDER_CLOSED, 0.040},
    {"contours frame f32, host to host", CRN_GPU_CONTOURS, CRN_GPU_FROM_HOST, CRN_F32, FRAME, 60,
     CRN_BORDER_OPEN, 0.110},
    {"contours frame u8, host to host", CRN_GPU_CONTOURS, CRN_GPU_FROM_HOST, CRN_U8, FRAME, 60,
     CRN_BORDER_OPEN, 0.070},
    {"contours smooth f32 4096x4096", CRN_GPU_CONTOURS, CRN_GPU_TO_HOST, CRN_F32, 1, 4096, 4096, 62,
     CRN_BORDER_OPEN, 1.5},
    {"opening u8 RGB 1920x2560, rect 3", CRN_GPU_OPENING, CRN_GPU_ON_DEVICE, CRN_U8, 3, PHOTO,
     CRN_ELEMENT_RECT, 3, 0.025},
    {"opening u8 RGB 1920x2560, rect 11", CRN_GPU_OPENING, CRN_GPU_ON_DEVICE, CRN_U8, 3, PHOTO,
     CRN_ELEMENT_RECT, 11, 0.035},
    {"opening u8 RGB 1920x2560, rect 21", CRN_GPU_OPENING, CRN_GPU_ON_DEVICE, CRN_U8, 3, PHOTO,
     CRN_ELEMENT_RECT, 21, 0.050},
    {"opening u8 1920x2560, disk 11", CRN_GPU_OPENING, CRN_GPU_ON_DEVICE, CRN_U8, 1, PHOTO,
     CRN_ELEMENT_DISK, 11, 0.040},
    {"opening u8 RGB 1920x2560, disk 11", CRN_GPU_OPENING, CRN_GPU_ON_DEVICE, CRN_U8, 3, PHOTO,
     CRN_ELEMENT_DISK, 11, 0},
    {"convolve u8 RGB 2160x3840, dense 3", CRN_GPU_CONVOLVE, CRN_GPU_ON_DEVICE, CRN_U8, UHD, 0, 3,
     0.030},
    {"convolve u8 RGB 2160x3840, dense 5", CRN_GPU_CONVOLVE, CRN_GPU_ON_DEVICE, CRN_U8, UHD, 0, 5,
     0.050},
    {"convolve u8 RGB 2160x3840, dense 7", CRN_GPU_CONVOLVE, CRN_GPU_ON_DEVICE, CRN_U8, UHD, 0, 7,
     0.090},
    {"haar f32 1800x2880, 3 levels forward", CRN_GPU_HAAR, CRN_GPU_ON_DEVICE, CRN_F32, 1, 1800,
     2880, CRN_HAAR_FORWARD, 3, 0.018},
    {"haar f32 1800x2880, 3 levels inverse", CRN_GPU_HAAR, CRN_GPU_ON_DEVICE, CRN_F32, 1, 1800,
     2880, CRN_HAAR_INVERSE, 3, 0},
    {"ranklet u8 1024x1024, pyramid", CRN_GPU_RANKLET, CRN_GPU_ON_DEVICE, CRN_U8, 1, 1024, 1024, 2,
     1024, 4},
    {"ranklet u8 4096x4096, pyramid", CRN_GPU_RANKLET, CRN_GPU_ON_DEVICE, CRN_U8, 1, 4096, 4096, 2,
     4096, 150},
    {"diamond_square u8 8193x8193", CRN_GPU_DIAMOND_SQUARE, CRN_GPU_ON_DEVICE, CRN_U8, 1, 8193,
     8193, 13, 0, 0.15},
    {"convolve frame f32, gaussian 3", CRN_GPU_CONVOLVE, CRN_GPU_ON_DEVICE, CRN_F32, FRAME, 1, 3,
     0},
    {"opening frame f32, disk 5", CRN_GPU_OPENING, CRN_GPU_ON_DEVICE, CRN_F32, FRAME,
     CRN_ELEMENT_DISK, 5, 0},
    {"opening frame u8, disk 5", CRN_GPU_OPENING, CRN_GPU_ON_DEVICE, CRN_U8, FRAME,
     CRN_ELEMENT_DISK, 5, 0},
    {"chain f32, one view", CRN_GPU_CHAIN, CRN_GPU_FROM_HOST, CRN_F32, FRAME, 60, 0, 0.180},
    {"chain u8, one view", CRN_GPU_CHAIN, CRN_GPU_FROM_HOST, CRN_U8, FRAME, 60, 0, 0},
    {"chain f32, sustained", CRN_GPU_CHAIN, CRN_GPU_SUSTAINED, CRN_F32, FRAME, 60, 0, 0},
    {"chain u8, sustained", CRN_GPU_CHAIN, CRN_GPU_SUSTAINED, CRN_U8, FRAME, 60, 0, 0},
};

const int32_t crn_gpu_row_count = sizeof crn_gpu_rows / sizeof *crn_gpu_rows;

size_t crn_gpu_window_bytes(const crn_image *picture, int32_t side)
{
    return crn_gpu_rounded((size_t)(picture->height - side + 1) *
                           (size_t)(picture->width - side + 1) * 3 * sizeof(float));
}

/* Every window size from a to b, doubling, each with its own results. */
static int ask_ranklets(const crn_gpu_work *work, const crn_gpu_place *place, const crn_image *in)
{
    int r = 0;
    uint8_t *out = place->out;
    for (int32_t side = work->row->a; r == 0 && side <= work->row->b; side *= 2) {
        crn_ranklet_params params = {side, side};
        crn_image result = crn_image_dense(out, CRN_F32, CRN_CHW, 3 * in->planes,
                                           in->height - side + 1, in->width - side + 1);
        r = place->ops->ranklet(place->context, &params, in, &result);
        out += crn_gpu_window_bytes(in, side);
    }
    return r;
}

static int ask_chain(const crn_gpu_work *work, const crn_gpu_place *place, const crn_image *in)
{
    const crn_ops *ops = place->ops;
    crn_image smoothed = *in, opened = *in;
    smoothed.data = place->smoothed;
    opened.data = place->opened;
    crn_convolve_params gaussian = {work->weights, 3, 3, CRN_CONVOLVE_REPLICATE};
    crn_morphology_params opening = {CRN_OPEN,
                                     {.shape = CRN_ELEMENT_DISK, .width = 5, .height = 5}};
    crn_contours_params outlines = {.levels = work->levels, .border = CRN_BORDER_CLOSED};
    int r = ops->convolve(place->context, &gaussian, in, &smoothed);
    if (r == 0)
        r = ops->morphology(place->context, &opening, &smoothed, &opened);
    return r == 0 ? ops->contours(place->context, &outlines, &opened, place->contours) : r;
}

int crn_gpu_enqueue(const crn_gpu_work *work, const crn_gpu_place *place)
{
    const crn_gpu_row *row = work->row;
    const crn_ops *ops = place->ops;
    crn_image in = work->picture, out = work->picture;
    in.data = place->in;
    out.data = place->out;
    out.type = row->task == CRN_GPU_HAAR ? CRN_F32 : row->type;
    crn_morphology_params opening = {
        CRN_OPEN, {.shape = (crn_element_shape)row->a, .width = row->b, .height = row->b}};
    crn_convolve_params dense = {work->weights, row->b, row->b, CRN_CONVOLVE_REPLICATE};
    crn_haar_params haar = {.direction = (crn_haar_direction)row->a, .levels = row->b};
    crn_contours_params contours = {.levels = work->levels, .border = (crn_border)row->b};
    crn_diamond_square_params field = {.exponent = row->a, .seed = 1, .roughness = 0.5};
    switch (row->task) {
    case CRN_GPU_CONTOURS:
        return ops->contours(place->context, &contours, &in, place->contours);
    case CRN_GPU_OPENING:
        return ops->morphology(place->context, &opening, &in, &out);
    case CRN_GPU_CONVOLVE:
        return ops->convolve(place->context, &dense, &in, &out);
    case CRN_GPU_HAAR:
        return ops->haar(place->context, &haar, &in, &out);
    case CRN_GPU_RANKLET:
        return ask_ranklets(work, place, &in);
    case CRN_GPU_DIAMOND_SQUARE:
        return ops->diamond_square(place->context, &field, &out);
    case CRN_GPU_CHAIN:
        return ask_chain(work, place, &in);
    }
    return -EINVAL;
}
