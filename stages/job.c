/* What image stages share: where they write, and maps widened for operators that know no f16. */
#include <errno.h>
#include <string.h>

#include "stages/stage.h"

int crn_job_output(crn_job *job, crn_type type, crn_image *ret_output)
{
    const crn_image *maps = &job->maps;
    /* As much as any type needs, so that a slot never moves while the maps lie in it. */
    size_t bytes = crn_image_elements(maps) * sizeof(float);
    void *memory = crn_context_scratch(job->context, CRN_SLOT_MAPS_0, bytes);
    if (memory && memory == maps->data)
        memory = crn_context_scratch(job->context, CRN_SLOT_MAPS_1, bytes);
    if (!memory)
        return -ENOMEM;
    crn_layout layout = maps->step == 1 ? CRN_CHW : CRN_HWC;
    *ret_output = crn_image_dense(memory, type, layout, maps->planes, maps->height, maps->width);
    return 0;
}

/* crn_f16_to_f32 without branches, so that it is done for many at once, and without subnormal
 * floats, which are slow: maps are full of them. */
static void widen(const uint16_t *restrict halves, float *restrict floats, size_t count)
{
    const uint32_t rebias = UINT32_C(112) << 23; /* the exponents' biases: 127 less 15 */
    const float smallest = 0x1p-14f;             /* the first normal half */
    uint32_t smallest_bits;
    memcpy(&smallest_bits, &smallest, sizeof smallest_bits);
    for (size_t i = 0; i < count; i++) {
        uint32_t magnitude = (uint32_t)(halves[i] & 0x7fffu) << 13;
        uint32_t exponent = halves[i] & 0x7c00u;
        /* A subnormal is its fraction beside the smallest normal, less that. */
        uint32_t shifted = magnitude + smallest_bits;
        float small;
        memcpy(&small, &shifted, sizeof small);
        small -= smallest;
        uint32_t small_bits;
        memcpy(&small_bits, &small, sizeof small_bits);
        uint32_t bits = exponent == 0         ? small_bits
                        : exponent == 0x7c00u ? magnitude | 0x7f800000u
                                              : magnitude + rebias;
        bits |= (uint32_t)(halves[i] & 0x8000u) << 16;
        memcpy(&floats[i], &bits, sizeof bits);
    }
}

int crn_job_widen(crn_job *job)
{
    if (job->maps.type != CRN_F16)
        return 0;
    crn_image output;
    int r = crn_job_output(job, CRN_F32, &output);
    if (r < 0)
        return r;
    /* Both are dense and of one layout. */
    widen(job->maps.data, output.data, crn_image_elements(&output));
    job->maps = output;
    return 0;
}
