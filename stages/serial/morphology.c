/* Morphology, reference implementation: member by member. */
#include "stages/serial/morphology.h"

#include <errno.h>
#include <math.h>

#include "stages/context.h"
#include "stages/kernel/element.h"

enum { SLOT_FIRST, SLOT_SECOND };

int crn_morphology_check(const crn_morphology_params *params, const crn_image *in,
                         const crn_image *out)
{
    if (!params || !crn_image_is_usable(in) || !crn_image_is_usable(out))
        return -EINVAL;
    if ((unsigned)params->operation > CRN_BLACKHAT || !crn_image_same_size(in, out) ||
        in->type != out->type)
        return -EINVAL;
    return crn_element_check(&params->element, in->type);
}

/* The height of a member of the element, in the units of the picture's values. */
static float height_of(const crn_element *element, int32_t x, int32_t y)
{
    return element->heights ? element->heights[(size_t)y * (size_t)element->width + (size_t)x] : 0;
}

static float saturated(float value, crn_type type)
{
    if (type != CRN_U8)
        return value;
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

/* One pixel of the erosion, or of the dilation if `dilate`. */
static float extreme(const crn_element *element, bool dilate, const crn_image *in, int32_t plane,
                     int32_t y, int32_t x, crn_pace *pace)
{
    float none = dilate ? -INFINITY : INFINITY;
    float best = saturated(none, in->type);
    int32_t sign = dilate ? -1 : 1;
    for (int32_t j = 0; j < element->height && !crn_pace_over(pace, 8 * element->width); j++)
        for (int32_t i = 0; i < element->width; i++) {
            int32_t from_y = y + sign * (j - element->height / 2);
            int32_t from_x = x + sign * (i - element->width / 2);
            if (from_y < 0 || from_x < 0 || from_y >= in->height || from_x >= in->width ||
                !crn_element_has(element, i, j))
                continue;
            float value = crn_image_at(in, plane, from_y, from_x);
            if (isnan(value))
                value = none;
            value = saturated(value - (float)sign * height_of(element, i, j), in->type);
            if (dilate ? value > best : value < best)
                best = value;
        }
    return best + 0.0f; /* -0 becomes +0 */
}

static void set_pixel(const crn_image *out, int32_t plane, int32_t y, int32_t x, float value)
{
    ptrdiff_t index = crn_image_index(out, plane, y, x);
    if (out->type == CRN_U8)
        ((uint8_t *)out->data)[index] = (uint8_t)value;
    else
        ((float *)out->data)[index] = value;
}

static void morph(const crn_element *element, bool dilate, const crn_image *in,
                  const crn_image *out, crn_pace *pace)
{
    for (int32_t plane = 0; plane < in->planes; plane++)
        for (int32_t y = 0; y < in->height; y++)
            for (int32_t x = 0; x < in->width && !pace->over; x++)
                set_pixel(out, plane, y, x, extreme(element, dilate, in, plane, y, x, pace));
}

/* out = a - b. */
static void subtract(const crn_image *a, const crn_image *b, const crn_image *out, crn_pace *pace)
{
    for (int32_t plane = 0; plane < out->planes; plane++)
        for (int32_t y = 0; y < out->height && !crn_pace_over(pace, 8 * (int64_t)out->width); y++)
            for (int32_t x = 0; x < out->width; x++) {
                float d = crn_image_at(a, plane, y, x) - crn_image_at(b, plane, y, x);
                /* NaN has many encodings; the result has one of them. -0 becomes +0. */
                set_pixel(out, plane, y, x, isnan(d) ? NAN : saturated(d, out->type) + 0.0f);
            }
}

/* An image like `in` in scratch memory; data is NULL if there is none. */
static crn_image scratch_like(crn_context *context, int32_t slot, const crn_image *in)
{
    size_t bytes = crn_image_elements(in) * crn_type_bytes(in->type);
    void *memory = crn_context_scratch(context, slot, bytes);
    return crn_image_dense(memory, in->type, CRN_CHW, in->planes, in->height, in->width);
}

int crn_morphology_serial(crn_context *context, const crn_morphology_params *params,
                          const crn_image *in, crn_image *out)
{
    int r = crn_morphology_check(params, in, out);
    if (r < 0)
        return r;
    const crn_element *element = &params->element;
    crn_image first = scratch_like(context, SLOT_FIRST, in);
    crn_image second = scratch_like(context, SLOT_SECOND, in);
    if (!first.data || !second.data)
        return -ENOMEM;
    crn_pace pace = crn_pace_start(context);
    switch (params->operation) {
    case CRN_ERODE:
    case CRN_DILATE:
        morph(element, params->operation == CRN_DILATE, in, out, &pace);
        break;
    case CRN_OPEN:
    case CRN_CLOSE:
        morph(element, params->operation == CRN_CLOSE, in, &first, &pace);
        morph(element, params->operation == CRN_OPEN, &first, out, &pace);
        break;
    case CRN_GRADIENT:
        morph(element, true, in, &first, &pace);
        morph(element, false, in, &second, &pace);
        subtract(&first, &second, out, &pace);
        break;
    case CRN_TOPHAT:
        morph(element, false, in, &first, &pace);
        morph(element, true, &first, &second, &pace);
        subtract(in, &second, out, &pace);
        break;
    case CRN_BLACKHAT:
        morph(element, true, in, &first, &pace);
        morph(element, false, &first, &second, &pace);
        subtract(&second, in, out, &pace);
        break;
    }
    return crn_context_status(context);
}
