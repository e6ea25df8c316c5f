/**
 * @file
 * Structuring elements: membership of pixels, validation, and loading by name or from a file.
 */
#ifndef CRN_STAGES_KERNEL_ELEMENT_H
#define CRN_STAGES_KERNEL_ELEMENT_H

#include "stages/base/api.h"
#include "stages/base/error.h"
#include "stages/base/param.h"
#include "stages/ops.h"

/**
 * True if pixel (x, y), counted from the element's top left, is a member. (0, 0) <= (x, y) < size.
 */
CRN_API bool crn_element_has(const crn_element *element, int32_t x, int32_t y);

/**
 * Checks an element for pictures of that type.
 *
 * @return 0, or -EINVAL if operators cannot use it
 */
CRN_API int crn_element_check(const crn_element *element, crn_type type);

/** An element that contains its arrays, so that it may be copied. */
typedef struct crn_element_loaded {
    crn_element_shape shape;
    crn_size size;
    bool flat;
    uint8_t members[CRN_KERNEL_TAPS_MAX];
    float heights[CRN_KERNEL_TAPS_MAX];
} crn_element_loaded;

/**
 * Makes an element from its name, or reads it from a file.
 *
 * @param text rect, disk or cross; or the path of a picture (TIFF or PNG, one plane, at most
 *        CRN_KERNEL_TAPS_MAX pixels) whose non-zero pixels are the members
 * @param size of a named shape; a picture has its own
 * @param non_flat the picture's values are the heights of its members
 * @return 0, or negative errno with one clause in *error that names the file
 */
CRN_API int crn_element_load(const char *text, crn_size size, bool non_flat,
                             crn_element_loaded *ret_element, crn_error *error);

/** The element in the form that operators take; it points into `loaded`, which must outlive it. */
CRN_API crn_element crn_element_of(const crn_element_loaded *loaded);

#endif
