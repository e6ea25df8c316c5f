/* Small kernels in registers: f32, separable. */
#include "gpu/convolve/launch.cuh"

namespace
{
struct tunings {
    static constexpr int side_min = 5;
    static constexpr convolve_tuning of[6][3] = {
        {{8, 1, 6}, {8, 1, 5}, {4, 1, 6}}, /* 5 */
        {{8, 1, 5}, {8, 1, 4}, {4, 1, 4}}, /* 7 */
        {{8, 1, 4}, {8, 1, 3}, {4, 1, 3}}, /* 9 */
        {{8, 1, 3}, {4, 1, 4}, {4, 1, 3}}, /* 11 */
        {{8, 1, 3}, {8, 1, 2}, {4, 1, 2}}, /* 13 */
        {{8, 1, 3}, {8, 1, 2}, {4, 1, 2}}, /* 15 */
    };
};
} // namespace

int crn_convolve_small_product_f32(const crn_convolve_task *task)
{
    return launch_small<float, true, tunings>(task);
}
