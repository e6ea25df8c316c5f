/* Conversion of maps of probabilities to 8 bits. */
#include <math.h>

#include "stages/context.h"

/* Rounded half to even; NaN becomes 0. */
static uint8_t to_8_bits(float probability)
{
    double value = 255.0 * (double)probability; /* exact */
    return (uint8_t)lrint(value > 0 ? value < 255 ? value : 255 : 0);
}

int crn_narrow(crn_context *context, const crn_image *in, crn_image *out)
{
    uint8_t *bytes = out->data;
    crn_pace pace = crn_pace_start(context);
    for (int32_t plane = 0; plane < in->planes; plane++)
        for (int32_t y = 0; y < in->height; y++) {
            if (crn_pace_over(&pace, 4 * (int64_t)in->width))
                return crn_context_status(context);
            for (int32_t x = 0; x < in->width; x++)
                *bytes++ = to_8_bits(crn_image_at(in, plane, y, x));
        }
    return crn_context_status(context);
}
