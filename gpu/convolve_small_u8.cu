/* Kernels in registers: bytes. */
#include "gpu/convolve_launch.cuh"

/* By side, 3 to 15: with 1 lane, with 3, with any number (little pictures too). */
static constexpr convolve_plan plans[7][3] = {
    {{16, 2, 5}, {16, 2, 5}, {8, 1, 8}}, /* 3 */
    {{16, 1, 3}, {16, 1, 3}, {8, 1, 4}}, /* 5 */
    {{16, 1, 3}, {16, 1, 3}, {8, 1, 3}}, /* 7 */
    {{16, 1, 2}, {16, 1, 2}, {8, 1, 2}}, /* 9 */
    {{16, 1, 2}, {16, 1, 2}, {4, 1, 3}}, /* 11 */
    {{8, 1, 2}, {8, 1, 2}, {4, 1, 3}},   /* 13 */
    {{8, 1, 2}, {8, 1, 2}, {4, 1, 2}},   /* 15 */
};

template <int SIDE> static int launch_side(const crn_convolve_task *task)
{
    constexpr int row = (SIDE - 3) / 2;
    constexpr convolve_plan one = plans[row][0], three = plans[row][1], any = plans[row][2];
    switch (is_little(task) ? 0 : task->shape.lanes) {
    case 1:
        return launch<uint8_t, SIDE, false, 1, one.across, one.depth, one.blocks>(task);
    case 3:
        return launch<uint8_t, SIDE, false, 3, three.across, three.depth, three.blocks>(task);
    default:
        return launch<uint8_t, SIDE, false, 0, any.across, any.depth, any.blocks>(task);
    }
}

int crn_convolve_small_u8(const crn_convolve_task *task)
{
    switch (task->kernel_width) {
    case 3:
        return launch_side<3>(task);
    case 5:
        return launch_side<5>(task);
    case 7:
        return launch_side<7>(task);
    case 9:
        return launch_side<9>(task);
    case 11:
        return launch_side<11>(task);
    case 13:
        return launch_side<13>(task);
    case 15:
        return launch_side<15>(task);
    default:
        return 0;
    }
}
