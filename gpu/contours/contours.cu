/*
 * Contours: the entry. Takes memory, passes levels and mask, and selects the kernel.
 *
 * Corners are thresholded into bits (bits.cu). Small planes are then traced in shared memory by one
 * block each, all at once; large ones grid-wide, in as few groups of planes as the memory for their
 * segments allows (trace.cu). The host decides nothing after the launch, so the calls can be
 * captured into a graph, which holds the output's addresses and capacities, the levels and the
 * mask.
 */
#include "gpu/contours/contours.cuh"

extern "C" {
#include "stages/serial/contours.h"
}

/* Scratch slots. */
enum { SLOT_CONTROL, SLOT_BITS, SLOT_SEGMENTS, SLOT_ENTRIES, SLOT_MASK };

/* Segments per group of planes that share memory; a single plane may need more. */
#define GROUP_SEGMENTS ((int64_t)1 << 26)

/* Planes with more cells are traced grid-wide. */
#define PLANE_CELLS ((int64_t)1 << 17)

/* Scratch memory is sized per view; `bytes` is the total for all views. */
static void *take_scratch(crn_context *context, int32_t slot, size_t bytes)
{
    size_t views = (size_t)crn_context_views(context);
    return crn_context_scratch(context, slot, (bytes + views - 1) / views);
}

/* A mask too large for crn_gpu_constants is uploaded on every call; a graph reads the caller's. */
static int set_mask(crn_context *context, const crn_contours_params *params,
                    crn_gpu_contours_job *job)
{
    size_t bytes = (size_t)job->height * (size_t)job->width;
    if (!params->mask)
        return 0;
    if (bytes <= CRN_GPU_CONSTANT_BYTES_MAX) {
        job->mask = static_cast<const uint8_t *>(crn_gpu_constants(context, params->mask, bytes));
        return job->mask ? 0 : -ENOMEM;
    }
    void *mask = take_scratch(context, SLOT_MASK, bytes);
    if (!mask)
        return -ENOMEM;
    job->mask = static_cast<const uint8_t *>(mask);
    cudaMemcpyAsync(mask, params->mask, bytes, cudaMemcpyHostToDevice, crn_gpu_stream(context));
    return crn_gpu_launch_error();
}

static int set_levels(crn_context *context, const crn_contours_params *params,
                      crn_gpu_contours_job *job)
{
    size_t bytes = (size_t)job->planes * sizeof *job->levels;
    if (job->planes <= CRN_CONTOURS_LEVELS) {
        for (int32_t i = 0; i < job->planes; i++)
            job->levels[i] = params->levels[i];
        return 0;
    }
    job->more_levels =
        static_cast<const double *>(crn_gpu_constants(context, params->levels, bytes));
    return job->more_levels ? 0 : -ENOMEM;
}

static crn_gpu_contours_job job_of(const crn_context *context, const crn_contours_params *params,
                                   const crn_image *in, crn_contours *out)
{
    bool closed = params->border == CRN_BORDER_CLOSED;
    crn_gpu_contours_job job = {};
    job.data = in->data;
    job.view_stride = crn_gpu_view_stride(in);
    job.plane_stride = in->plane_stride;
    job.row_stride = in->row_stride;
    job.step = in->step;
    job.type = in->type;
    job.planes = in->planes;
    job.numbers = in->planes * crn_context_views(context);
    job.height = in->height;
    job.width = in->width;
    job.origin = closed ? -1 : 0;
    job.cell_rows = in->height + (closed ? 1 : -1);
    job.cell_columns = in->width + (closed ? 1 : -1);
    job.words = (job.cell_columns + 1 + 31) / 32;
    job.by_pixel = in->planes > 1 && (in->plane_stride < 0 ? -in->plane_stride : in->plane_stride) <
                                         (in->step < 0 ? -in->step : in->step);
    job.high = params->connectivity == CRN_CONNECT_HIGH;
    job.reversed = params->orientation == CRN_ORIENT_HIGH;
    job.out = out;
    job.points = out->points;
    job.contours = out->contours;
    job.point_capacity = out->point_capacity;
    job.contour_capacity = out->contour_capacity;
    return job;
}

static int take_memory(crn_context *context, bool block_per_plane, int32_t group,
                       crn_gpu_contours_job *job)
{
    size_t cells = (size_t)job->cell_rows * (size_t)job->cell_columns;
    size_t bits = (size_t)job->numbers * job->plane_words;
    size_t prefix = block_per_plane ? 0 : (size_t)group * job->corner_words;
    size_t segments = 2 * cells * (size_t)(block_per_plane ? 1 : group);
    segments = (segments + 3) / 4 * 4;
    job->segments_max = (uint32_t)segments;

    job->control = static_cast<crn_contours_control *>(
        take_scratch(context, SLOT_CONTROL,
                     sizeof *job->control + (size_t)job->numbers * sizeof *job->control->status));
    job->bits = static_cast<uint32_t *>(
        take_scratch(context, SLOT_BITS, (bits + prefix) * sizeof *job->bits));
    job->segments = static_cast<char *>(take_scratch(
        context, SLOT_SEGMENTS,
        segments * (size_t)(block_per_plane ? job->numbers : 1) * CRN_CONTOURS_SEGMENT_BYTES));
    if (!job->control || !job->bits || !job->segments)
        return -ENOMEM;
    job->prefix = job->bits + bits;
    if (block_per_plane)
        return 0;
    size_t entries = crn_contours_entries(context, job, group);
    job->entries = static_cast<uint32_t *>(
        take_scratch(context, SLOT_ENTRIES, entries * sizeof *job->entries));
    return job->entries ? 0 : -ENOMEM;
}

static int trace(crn_context *context, bool block_per_plane, int32_t group,
                 crn_gpu_contours_job *job)
{
    if (block_per_plane)
        return crn_contours_trace_planes(context, job);
    int r = 0;
    for (job->first = 0; r == 0 && job->first < job->numbers; job->first += job->count) {
        int32_t left = job->numbers - job->first;
        job->count = left < group ? left : group;
        r = crn_contours_trace_group(context, job);
    }
    return r;
}

int crn_contours_cuda(crn_context *context, const crn_contours_params *params, const crn_image *in,
                      crn_contours *out)
{
    int r = crn_contours_check(params, in, out);
    if (r < 0 || in->type == CRN_F64 || crn_gpu_check(context, in, NULL) < 0)
        return -EINVAL;
    crn_gpu_contours_job job = job_of(context, params, in, out);
    int64_t cells = (int64_t)job.cell_rows * job.cell_columns;
    int64_t group = GROUP_SEGMENTS / (2 * cells);
    group = group < 1 ? 1 : group > job.numbers ? job.numbers : group;

    r = set_levels(context, params, &job);
    if (r == 0)
        r = set_mask(context, params, &job);
    job.has_invalid = job.mask || job.type == CRN_F16 || job.type == CRN_F32;
    job.corner_words = (uint32_t)((job.cell_rows + 1) * job.words + 3) / 4 * 4;
    job.plane_words = (job.has_invalid ? 2 : 1) * job.corner_words;
    /* With one block per plane, the points of all planes are counted in 32 bits. */
    bool block_per_plane = cells <= PLANE_CELLS && crn_contours_planes_fit(context, &job) &&
                           4 * cells * job.numbers <= UINT32_MAX;
    if (r == 0)
        r = take_memory(context, block_per_plane, (int32_t)group, &job);
    if (r == 0)
        r = crn_contours_bits(context, &job);
    if (r == 0)
        r = trace(context, block_per_plane, (int32_t)group, &job);
    return r;
}
