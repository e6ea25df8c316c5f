/* Structuring elements: membership and validation (element.h). */
#include "stages/kernel/element.h"

#include <errno.h>
#include <math.h>

/* (2x)^2 (H-1)^2 + (2y)^2 (W-1)^2 <= ((W-1)(H-1))^2 from the anchor, which stays below 2^50. */
static bool disk_has(const crn_element *element, int32_t x, int32_t y)
{
    int64_t across = element->width - 1, down = element->height - 1;
    int64_t from_anchor_x = 2 * (int64_t)(x - element->width / 2) * down;
    int64_t from_anchor_y = 2 * (int64_t)(y - element->height / 2) * across;
    return from_anchor_x * from_anchor_x + from_anchor_y * from_anchor_y <=
           across * across * down * down;
}

bool crn_element_has(const crn_element *element, int32_t x, int32_t y)
{
    switch (element->shape) {
    case CRN_ELEMENT_RECT:
        return true;
    case CRN_ELEMENT_DISK:
        return disk_has(element, x, y);
    case CRN_ELEMENT_CROSS:
        return x == element->width / 2 || y == element->height / 2;
    case CRN_ELEMENT_PICTURE:
        break;
    }
    return element->members[(size_t)y * (size_t)element->width + (size_t)x] != 0;
}

static bool is_height(float height, crn_type type)
{
    if (type == CRN_U8)
        return height >= -255 && height <= 255 && height == rintf(height);
    return isfinite(height);
}

/* Heights are only checked at members. */
static bool heights_are_fine(const crn_element *element, crn_type type)
{
    for (int32_t y = 0; y < element->height; y++)
        for (int32_t x = 0; x < element->width; x++) {
            size_t at = (size_t)y * (size_t)element->width + (size_t)x;
            if (crn_element_has(element, x, y) && !is_height(element->heights[at], type))
                return false;
        }
    return true;
}

static bool has_a_member(const crn_element *element)
{
    size_t pixels = (size_t)element->width * (size_t)element->height;
    for (size_t i = 0; i < pixels; i++)
        if (element->members[i])
            return true;
    return false;
}

int crn_element_check(const crn_element *element, crn_type type)
{
    if (!element || (type != CRN_U8 && type != CRN_F32))
        return -EINVAL;
    if ((unsigned)element->shape > CRN_ELEMENT_PICTURE)
        return -EINVAL;
    if (element->width < 1 || element->width > CRN_ELEMENT_MAX || element->height < 1 ||
        element->height > CRN_ELEMENT_MAX)
        return -EINVAL;
    bool is_picture = element->shape == CRN_ELEMENT_PICTURE;
    if (is_picture != (element->members != NULL))
        return -EINVAL;
    if (is_picture && !has_a_member(element))
        return -EINVAL;
    if (element->heights && !heights_are_fine(element, type))
        return -EINVAL;
    return 0;
}

crn_element crn_element_of(const crn_element_loaded *loaded)
{
    return (crn_element){
        .shape = loaded->shape,
        .width = loaded->size.width,
        .height = loaded->size.height,
        .members = loaded->shape == CRN_ELEMENT_PICTURE ? loaded->members : NULL,
        .heights = loaded->flat ? NULL : loaded->heights,
    };
}
