/* Structuring elements: which of their pixels are members; and elements by name or from a file. */
#ifndef CRN_STAGES_ELEMENT_H
#define CRN_STAGES_ELEMENT_H

#include "stages/base/error.h"
#include "stages/base/param.h"
#include "stages/ops.h"

/* Is pixel (x, y) of the element, from its top left, a member? (0, 0) <= (x, y) < its size. */
bool crn_element_has(const crn_element *element, int32_t x, int32_t y);

/* 0, or -EINVAL when no operator could take it for pictures of that type. */
int crn_element_check(const crn_element *element, crn_type type);

/* An element with the memory of its arrays in itself, so that it may be copied. */
typedef struct crn_element_loaded {
    crn_element_shape shape;
    crn_size size;
    bool flat;
    uint8_t members[CRN_KERNEL_TAPS_MAX];
    float heights[CRN_KERNEL_TAPS_MAX];
} crn_element_loaded;

/*
 * text: rect, disk or cross, of that size; or the path of a picture (TIFF or PNG, one plane, of at
 * most CRN_KERNEL_TAPS_MAX pixels), whose own size counts: its non-zero pixels are the members,
 * non_flat: its values are their heights. 0, or negative errno with one clause in *error (which
 * names the file).
 */
int crn_element_load(const char *text, crn_size size, bool non_flat,
                     crn_element_loaded *ret_element, crn_error *error);

/* The view of it that operators take; `loaded` outlives it. */
crn_element crn_element_of(const crn_element_loaded *loaded);

#endif
