/* Kernels in registers: floats, a column times a row. */
#include "gpu/convolve_launch.cuh"

/* How many results a thread has beside each other, rows on their way and blocks of a
 * multiprocessor, by what registers allow: with 1 or 3 lanes, and (_ANY) with others. */
template <int SIDE, int ACROSS, int DEPTH, int BLOCKS, int ACROSS_ANY, int DEPTH_ANY,
          int BLOCKS_ANY>
static int launch_side(const crn_convolve_task *task, const float *weights)
{
    switch (task->shape.lanes) {
    case 1:
        return launch<float, SIDE, true, 1, ACROSS, DEPTH, BLOCKS>(task, weights);
    case 3:
        return launch<float, SIDE, true, 3, ACROSS, DEPTH, BLOCKS>(task, weights);
    default:
        return launch<float, SIDE, true, 0, ACROSS_ANY, DEPTH_ANY, BLOCKS_ANY>(task, weights);
    }
}

int crn_convolve_small_product_f32(const crn_convolve_task *task, const float *factors)
{
    switch (task->kernel_width) {
    case 5:
        return launch_side<5, 8, 1, 5, 4, 1, 6>(task, factors);
    case 7:
        return launch_side<7, 4, 1, 5, 4, 1, 4>(task, factors);
    case 9:
        return launch_side<9, 4, 1, 4, 4, 1, 3>(task, factors);
    case 11:
        return launch_side<11, 4, 1, 4, 4, 1, 3>(task, factors);
    case 13:
        return launch_side<13, 4, 1, 3, 4, 1, 2>(task, factors);
    case 15:
        return launch_side<15, 4, 1, 3, 4, 1, 2>(task, factors);
    default:
        return 0;
    }
}
