/* Square kernels in registers: is a task of that kind, and of which? */
#include "gpu/convolve.cuh"

#include <math.h>

extern "C" {
#include "stages/openmp/convolve.h"
}

/* u8 sums are rounded by an addition that holds for sums below 2^22. */
static bool are_sums_small(const crn_convolve_task *task)
{
    double sum = 0;
    for (int32_t i = 0; i < task->kernel_width * task->kernel_height; i++)
        sum += fabs((double)task->weights[i]);
    return sum * 255 < 0x1p22;
}

int crn_convolve_small(const crn_convolve_task *task)
{
    const crn_convolve_shape *shape = &task->shape;
    int32_t side = task->kernel_width;
    bool rows_have_gaps = task->in.step != shape->lanes || task->out.step != shape->lanes;
    if (rows_have_gaps || (int64_t)shape->width * shape->lanes > CRN_CONVOLVE_SIZE_MOST ||
        shape->height > CRN_CONVOLVE_SIZE_MOST || shape->lanes > CRN_CONVOLVE_SIZE_MOST / 16)
        return 0;
    if (side != task->kernel_height || side % 2 == 0 || side < 3 || side > CRN_CONVOLVE_SIDE_MOST)
        return 0;
    bool bytes = task->type == CRN_U8;
    if (bytes && !are_sums_small(task))
        return 0;
    float factors[2 * CRN_CONVOLVE_SIDE_MOST];
    crn_convolve_params params;
    params.weights = task->weights;
    params.width = params.height = side;
    params.border = shape->border;
    if (side > 3 && crn_convolve_factor(&params, factors + side, factors))
        return bytes ? crn_convolve_small_product_u8(task, factors)
                     : crn_convolve_small_product_f32(task, factors);
    return bytes ? crn_convolve_small_u8(task) : crn_convolve_small_f32(task);
}
