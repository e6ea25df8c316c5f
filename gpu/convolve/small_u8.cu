/* Small kernels in registers: u8. */
#include "gpu/convolve/launch.cuh"

namespace
{
struct tunings {
    static constexpr int side_min = 3;
    static constexpr convolve_tuning of[7][3] = {
        {{16, 2, 5}, {16, 2, 5}, {8, 1, 8}}, /* 3 */
        {{16, 1, 3}, {16, 1, 3}, {8, 1, 4}}, /* 5 */
        {{16, 1, 3}, {16, 1, 3}, {8, 1, 3}}, /* 7 */
        {{16, 1, 2}, {16, 1, 2}, {8, 1, 2}}, /* 9 */
        {{16, 1, 2}, {16, 1, 2}, {4, 1, 3}}, /* 11 */
        {{8, 1, 2}, {8, 1, 2}, {4, 1, 3}},   /* 13 */
        {{8, 1, 2}, {8, 1, 2}, {4, 1, 2}},   /* 15 */
    };
};
} // namespace

int crn_convolve_small_u8(const crn_convolve_task *task)
{
    return launch_small<uint8_t, false, tunings>(task);
}
