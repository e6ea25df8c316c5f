/* Kernels in registers: bytes, a column times a row. */
#include "gpu/convolve_launch.cuh"

/* By side, 5 to 15: with 1 lane, with 3, with any number (little pictures too). */
static constexpr convolve_plan plans[6][3] = {
    {{16, 2, 3}, {16, 2, 3}, {8, 1, 5}}, /* 5 */
    {{16, 2, 3}, {16, 2, 3}, {8, 1, 4}}, /* 7 */
    {{16, 1, 2}, {16, 1, 2}, {4, 1, 4}}, /* 9 */
    {{16, 1, 2}, {16, 1, 2}, {4, 1, 4}}, /* 11 */
    {{8, 1, 3}, {8, 1, 3}, {4, 1, 3}},   /* 13 */
    {{8, 1, 3}, {8, 1, 3}, {4, 1, 2}},   /* 15 */
};

template <int SIDE> static int launch_side(const crn_convolve_task *task, const float *weights)
{
    constexpr int row = (SIDE - 5) / 2;
    constexpr convolve_plan one = plans[row][0], three = plans[row][1], any = plans[row][2];
    switch (crn_convolve_is_little(task) ? 0 : task->shape.lanes) {
    case 1:
        return launch<uint8_t, SIDE, true, 1, one.across, one.depth, one.blocks>(task, weights);
    case 3:
        return launch<uint8_t, SIDE, true, 3, three.across, three.depth, three.blocks>(task,
                                                                                       weights);
    default:
        return launch<uint8_t, SIDE, true, 0, any.across, any.depth, any.blocks>(task, weights);
    }
}

int crn_convolve_small_product_u8(const crn_convolve_task *task, const float *factors)
{
    switch (task->kernel_width) {
    case 5:
        return launch_side<5>(task, factors);
    case 7:
        return launch_side<7>(task, factors);
    case 9:
        return launch_side<9>(task, factors);
    case 11:
        return launch_side<11>(task, factors);
    case 13:
        return launch_side<13>(task, factors);
    case 15:
        return launch_side<15>(task, factors);
    default:
        return 0;
    }
}
