/**
 * @file
 * What the image of cernita.h offers inside: sizes, indices, questions about its strides, and
 * elements as f32.
 */
#ifndef CRN_STAGES_IMAGE_H
#define CRN_STAGES_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"
#include "stages/cernita.h"

CRN_C_BEGIN

/** Bytes per element; 0 for an invalid type. */
static inline size_t crn_type_bytes(crn_type type)
{
    return type == CRN_U8                       ? 1
           : type == CRN_F16 || type == CRN_U16 ? 2
           : type == CRN_F32                    ? 4
           : type == CRN_F64                    ? 8
                                                : 0;
}

/** "u8", "u16", "f16", "f32", "f64"; "no type" for an invalid value. Static. */
CRN_API const char *crn_type_name(crn_type type);

/** Index of an element, counted in elements from `data`. */
static inline ptrdiff_t crn_image_index(const crn_image *image, int32_t plane, int32_t y, int32_t x)
{
    return plane * image->plane_stride + y * image->row_stride + x * image->step;
}

/** Address of an element. */
static inline void *crn_image_element(const crn_image *image, int32_t plane, int32_t y, int32_t x)
{
    return (char *)image->data +
           crn_image_index(image, plane, y, x) * (ptrdiff_t)crn_type_bytes(image->type);
}

/** True if there is an image with memory and an element of a known type at least. */
static inline bool crn_image_is_usable(const crn_image *image)
{
    return image && image->data && crn_type_bytes(image->type) > 0 && image->planes > 0 &&
           image->height > 0 && image->width > 0;
}

/** True if both have the same numbers of planes, rows and columns. */
static inline bool crn_image_same_size(const crn_image *a, const crn_image *b)
{
    return a->planes == b->planes && a->height == b->height && a->width == b->width;
}

/** Number of elements in all planes. */
static inline size_t crn_image_elements(const crn_image *image)
{
    return (size_t)image->planes * (size_t)image->height * (size_t)image->width;
}

/** True if several planes are stored interleaved, each row as width x planes adjacent elements. */
static inline bool crn_image_is_interleaved(const crn_image *image)
{
    return image->planes > 1 && image->plane_stride == 1 && image->step == image->planes;
}

/** True if planar or interleaved without gaps, as crn_image_dense makes them. The plane stride of a
 * single plane is ignored. */
static inline bool crn_image_is_dense(const crn_image *image)
{
    ptrdiff_t planes = image->planes, width = image->width;
    bool planar = image->step == 1 && image->row_stride == width &&
                  (planes == 1 || image->plane_stride == width * image->height);
    bool interleaved =
        image->plane_stride == 1 && image->step == planes && image->row_stride == width * planes;
    return planar || interleaved;
}

/** binary16 to f32, exactly (subnormals, infinities and NaN included). */
CRN_API float crn_f16_to_f32(uint16_t half);

/** One element as f32: u8 and u16 by their integer value, f16 converted, f64 rounded. */
CRN_API float crn_image_at(const crn_image *image, int32_t plane, int32_t y, int32_t x);

/** One element of any type, exactly. */
double crn_image_value(const crn_image *image, int32_t plane, int32_t y, int32_t x);

CRN_C_END

#endif
