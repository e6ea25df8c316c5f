/* Small kernels in registers: u8, separable. */
#include "gpu/convolve/launch.cuh"

namespace
{
struct tunings {
    static constexpr int side_min = 5;
    static constexpr convolve_tuning of[6][3] = {
        {{16, 2, 3}, {16, 2, 3}, {8, 1, 5}}, /* 5 */
        {{16, 2, 3}, {16, 2, 3}, {8, 1, 4}}, /* 7 */
        {{16, 1, 2}, {16, 1, 2}, {8, 1, 3}}, /* 9 */
        {{16, 1, 2}, {16, 1, 2}, {8, 1, 3}}, /* 11 */
        {{16, 1, 2}, {16, 1, 2}, {4, 1, 3}}, /* 13 */
        {{8, 1, 3}, {8, 1, 3}, {4, 1, 2}},   /* 15 */
    };
};
} // namespace

int crn_convolve_small_product_u8(const crn_convolve_task *task)
{
    return launch_small<uint8_t, true, tunings>(task);
}
