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
static void *take(crn_context *context, int32_t slot, size_t bytes)
{
    size_t views = (size_t)crn_context_views(context);
    return crn_context_scratch(context, slot, (bytes + views - 1) / views);
}

/* A mask too large for crn_gpu_constants is uploaded on every call; a graph reads the caller's. */
static int place_mask(crn_context *context, const crn_contours_params *params,
                      crn_contours_plan *plan)
{
    size_t bytes = (size_t)plan->height * (size_t)plan->width;
    if (!params->mask)
        return 0;
    if (bytes <= CRN_GPU_CONSTANT_BYTES_MAX) {
        plan->mask = static_cast<const uint8_t *>(crn_gpu_constants(context, params->mask, bytes));
        return plan->mask ? 0 : -ENOMEM;
    }
    void *mask = take(context, SLOT_MASK, bytes);
    if (!mask)
        return -ENOMEM;
    plan->mask = static_cast<const uint8_t *>(mask);
    cudaMemcpyAsync(mask, params->mask, bytes, cudaMemcpyHostToDevice, crn_gpu_stream(context));
    return crn_gpu_launch_error();
}

static int place_levels(crn_context *context, const crn_contours_params *params,
                        crn_contours_plan *plan)
{
    size_t bytes = (size_t)plan->planes * sizeof *plan->levels;
    if (plan->planes <= CRN_CONTOURS_LEVELS) {
        for (int32_t i = 0; i < plan->planes; i++)
            plan->levels[i] = params->levels[i];
        return 0;
    }
    plan->more_levels =
        static_cast<const double *>(crn_gpu_constants(context, params->levels, bytes));
    return plan->more_levels ? 0 : -ENOMEM;
}

static crn_contours_plan plan_of(const crn_context *context, const crn_contours_params *params,
                                 const crn_image *in, crn_contours *out)
{
    bool closed = params->border == CRN_BORDER_CLOSED;
    crn_contours_plan plan = {};
    plan.data = in->data;
    plan.view_stride = crn_gpu_view_stride(in);
    plan.plane_stride = in->plane_stride;
    plan.row_stride = in->row_stride;
    plan.step = in->step;
    plan.type = in->type;
    plan.planes = in->planes;
    plan.numbers = in->planes * crn_context_views(context);
    plan.height = in->height;
    plan.width = in->width;
    plan.origin = closed ? -1 : 0;
    plan.cell_rows = in->height + (closed ? 1 : -1);
    plan.cell_columns = in->width + (closed ? 1 : -1);
    plan.words = (plan.cell_columns + 1 + 31) / 32;
    plan.by_pixel =
        in->planes > 1 && (in->plane_stride < 0 ? -in->plane_stride : in->plane_stride) <
                              (in->step < 0 ? -in->step : in->step);
    plan.high = params->connectivity == CRN_CONNECT_HIGH;
    plan.reversed = params->orientation == CRN_ORIENT_HIGH;
    plan.out = out;
    plan.points = out->points;
    plan.contours = out->contours;
    plan.point_capacity = out->point_capacity;
    plan.contour_capacity = out->contour_capacity;
    return plan;
}

static int take_memory(crn_context *context, bool alone, int32_t group, crn_contours_plan *plan)
{
    size_t cells = (size_t)plan->cell_rows * (size_t)plan->cell_columns;
    size_t bits = (size_t)plan->numbers * plan->plane_words;
    size_t prefix = alone ? 0 : (size_t)group * plan->corner_words;
    size_t segments = 2 * cells * (size_t)(alone ? 1 : group);
    segments = (segments + 3) / 4 * 4;
    plan->segments_max = (uint32_t)segments;

    plan->control = static_cast<crn_contours_control *>(
        take(context, SLOT_CONTROL,
             sizeof *plan->control + (size_t)plan->numbers * sizeof *plan->control->status));
    plan->bits =
        static_cast<uint32_t *>(take(context, SLOT_BITS, (bits + prefix) * sizeof *plan->bits));
    plan->segments = static_cast<char *>(
        take(context, SLOT_SEGMENTS,
             segments * (size_t)(alone ? plan->numbers : 1) * CRN_CONTOURS_SEGMENT_BYTES));
    if (!plan->control || !plan->bits || !plan->segments)
        return -ENOMEM;
    plan->prefix = plan->bits + bits;
    if (alone)
        return 0;
    size_t entries = crn_contours_entries(context, plan, group);
    plan->entries =
        static_cast<uint32_t *>(take(context, SLOT_ENTRIES, entries * sizeof *plan->entries));
    return plan->entries ? 0 : -ENOMEM;
}

static int trace(crn_context *context, bool alone, int32_t group, crn_contours_plan *plan)
{
    if (alone)
        return crn_contours_trace_planes(context, plan);
    int r = 0;
    for (plan->first = 0; r == 0 && plan->first < plan->numbers; plan->first += plan->count) {
        int32_t left = plan->numbers - plan->first;
        plan->count = left < group ? left : group;
        r = crn_contours_trace_group(context, plan);
    }
    return r;
}

int crn_contours_cuda(crn_context *context, const crn_contours_params *params, const crn_image *in,
                      crn_contours *out)
{
    int r = crn_contours_check(params, in, out);
    if (r < 0)
        return r;
    if (!crn_gpu_limits_of(context) || (crn_context_views(context) > 1 && !crn_image_is_dense(in)))
        return -EINVAL;
    crn_contours_plan plan = plan_of(context, params, in, out);
    int64_t cells = (int64_t)plan.cell_rows * plan.cell_columns;
    int64_t group = GROUP_SEGMENTS / (2 * cells);
    group = group < 1 ? 1 : group > plan.numbers ? plan.numbers : group;

    r = place_levels(context, params, &plan);
    if (r == 0)
        r = place_mask(context, params, &plan);
    plan.lacks = plan.mask || plan.type == CRN_F16 || plan.type == CRN_F32;
    plan.corner_words = (uint32_t)((plan.cell_rows + 1) * plan.words + 3) / 4 * 4;
    plan.plane_words = (plan.lacks ? 2 : 1) * plan.corner_words;
    /* With one block per plane, the points of all planes are counted in 32 bits. */
    bool alone = cells <= PLANE_CELLS && crn_contours_planes_fit(context, &plan) &&
                 4 * cells * plan.numbers <= UINT32_MAX;
    if (r == 0)
        r = take_memory(context, alone, (int32_t)group, &plan);
    if (r == 0)
        r = crn_contours_bits(context, &plan);
    if (r == 0)
        r = trace(context, alone, (int32_t)group, &plan);
    return r;
}
