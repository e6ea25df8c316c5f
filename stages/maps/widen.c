/* Conversion of binary16 maps to f32. */
#include <string.h>

#include "stages/context.h"

/* crn_f16_to_f32 without branches, so that it vectorises, and without subnormal floats, which are
 * slow and frequent in maps. */
static void widen(const uint16_t *restrict halves, float *restrict floats, size_t count)
{
    const uint32_t rebias = UINT32_C(112) << 23; /* the exponents' biases: 127 less 15 */
    const float smallest = 0x1p-14f;             /* the smallest normal half */
    uint32_t smallest_bits;
    memcpy(&smallest_bits, &smallest, sizeof smallest_bits);
    for (size_t i = 0; i < count; i++) {
        uint32_t magnitude = (uint32_t)(halves[i] & 0x7fffu) << 13;
        uint32_t exponent = halves[i] & 0x7c00u;
        /* A subnormal is its fraction added to the smallest normal, less that. */
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

int crn_widen(crn_context *context, const crn_image *in, crn_image *out)
{
    const size_t count = crn_image_elements(out), max = CRN_PACE_WORK;
    crn_pace pace = crn_pace_start(context);
    for (size_t i = 0; i < count && !crn_pace_over(&pace, CRN_PACE_WORK); i += max)
        widen((const uint16_t *)in->data + i, (float *)out->data + i,
              count - i < max ? count - i : max);
    return crn_context_status(context);
}
