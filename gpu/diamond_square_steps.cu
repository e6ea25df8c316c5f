/* The diamond-square level by level: a grid of the one before, both in the device's memory
 * (diamond_square.cuh). */
#include "gpu/diamond_square_strip.cuh"

/* CTAs that a multiprocessor's registers shall suffice for. */
#define STEPS_AT_ONCE 3

/* Every warp a strip of its own. */
template <crn_diamond_square_way WAY>
static __global__ void __launch_bounds__(CRN_DIAMOND_SQUARE_THREADS, STEPS_AT_ONCE)
    step_kernel(const __grid_constant__ crn_diamond_square_job job)
{
    int32_t strip =
        (int32_t)(blockIdx.x * CRN_DIAMOND_SQUARE_WARPS + threadIdx.x / CRN_DIAMOND_SQUARE_WARP);
    if (strip >= job.tiles)
        return;
    int32_t x = strip % job.tiles_across, y = strip / job.tiles_across;
    int32_t group = job.first_group + CRN_DIAMOND_SQUARE_GROUPS * x - 1;
    crn_diamond_square_strip s = crn_diamond_square_strip_of<WAY>(job, group, 0);
    int32_t a = job.first_pair + job.pairs * y;
    int32_t end = min(a + job.pairs, (job.y + job.height - 1) / 2 + 1);
    /* Lanes beyond what is there read something else, and nobody what they make of it. */
    int32_t column = min(max(4 * s.group - job.from_x, 0), job.from_stride - 8);
    const float *from = job.from + column;
    crn_diamond_square_walk_down<WAY>(job, s, a, end, [=](int32_t row) {
        return from + (ptrdiff_t)(row - job.from_y) * job.from_stride;
    });
}

typedef void kernel_fn(crn_diamond_square_job job);

int crn_diamond_square_launch_step(crn_context *context, crn_diamond_square_way way,
                                   const crn_diamond_square_job *job)
{
    kernel_fn *kernel = way == CRN_DIAMOND_SQUARE_BYTES    ? step_kernel<CRN_DIAMOND_SQUARE_BYTES>
                        : way == CRN_DIAMOND_SQUARE_FLOATS ? step_kernel<CRN_DIAMOND_SQUARE_FLOATS>
                                                           : step_kernel<CRN_DIAMOND_SQUARE_ANY>;
    size_t bytes = (size_t)crn_diamond_square_stage_floats(way) * sizeof(float);
    uint32_t ctas = (uint32_t)crn_gpu_blocks(job->tiles, CRN_DIAMOND_SQUARE_WARPS);
    kernel<<<ctas, CRN_DIAMOND_SQUARE_THREADS, bytes, crn_gpu_stream(context)>>>(*job);
    return crn_gpu_launched();
}

int32_t crn_diamond_square_strips_at_once(const crn_context *context)
{
    return crn_gpu_limits_of(context)->multiprocessors * STEPS_AT_ONCE * CRN_DIAMOND_SQUARE_WARPS;
}
