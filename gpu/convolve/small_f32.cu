/* Small kernels in registers: f32. */
#include "gpu/convolve/launch.cuh"

namespace
{
struct tunings {
    static constexpr int side_min = 3;
    static constexpr convolve_tuning of[7][3] = {
        {{8, 1, 6}, {8, 1, 6}, {4, 1, 8}}, /* 3 */
        {{8, 1, 5}, {8, 1, 5}, {4, 1, 6}}, /* 5 */
        {{8, 2, 4}, {8, 1, 4}, {4, 1, 4}}, /* 7 */
        {{8, 1, 3}, {8, 1, 3}, {4, 1, 3}}, /* 9 */
        {{8, 1, 3}, {8, 1, 3}, {4, 1, 3}}, /* 11 */
        {{8, 1, 2}, {8, 1, 2}, {4, 1, 2}}, /* 13 */
        {{8, 1, 2}, {8, 1, 2}, {4, 1, 2}}, /* 15 */
    };
};
} // namespace

int crn_convolve_small_f32(const crn_convolve_task *task)
{
    return launch_small<float, false, tunings>(task);
}
