#include <errno.h>
#include <inttypes.h>

#include "stages/kernel/element.h"
#include "stages/kernel/plane_load.h"
#include "stages/names.h"

/* The shape of that name, or CRN_ELEMENT_PICTURE if there is none. */
static crn_element_shape shape_of(const char *text)
{
    int shape = crn_name_find(crn_element_shape_names, text);
    return shape < 0 ? CRN_ELEMENT_PICTURE : (crn_element_shape)shape;
}

static int check_named(const char *name, crn_size size, bool non_flat, crn_error *error)
{
    if (non_flat)
        return crn_error_set(error, -EINVAL,
                             "the element %s is flat; one that is not comes from a picture", name);
    if (size.width < 1 || size.width > CRN_ELEMENT_MAX || size.height < 1 ||
        size.height > CRN_ELEMENT_MAX)
        return crn_error_set(error, -EINVAL,
                             "the element %s cannot be %" PRId32 "x%" PRId32
                             "; each side is from 1 to %d",
                             name, size.width, size.height, CRN_ELEMENT_MAX);
    return 0;
}

static int load_picture(const char *path, bool non_flat, crn_element_loaded *element,
                        crn_error *error)
{
    static const crn_plane_use use = {"an element", "pixels", CRN_ELEMENT_MAX};
    int r = crn_plane_load(path, &use, element->heights, &element->size, error);
    if (r == -ENOENT)
        return crn_error_set(
            error, r, "%s: is not an element (rect, disk, cross), and there is no such file", path);
    bool any = false;
    for (int32_t i = 0; !r && i < element->size.width * element->size.height; i++) {
        element->members[i] = element->heights[i] != 0;
        any = any || element->members[i];
        if (!non_flat)
            element->heights[i] = 0;
    }
    if (!r && !any)
        r = crn_error_set(error, -EINVAL,
                          "%s: all pixels are 0; those of an element's members are not", path);
    return r;
}

int crn_element_load(const char *text, crn_size size, bool non_flat,
                     crn_element_loaded *ret_element, crn_error *error)
{
    crn_element_loaded element = {.shape = shape_of(text), .size = size, .flat = !non_flat};
    int r = element.shape == CRN_ELEMENT_PICTURE ? load_picture(text, non_flat, &element, error)
                                                 : check_named(text, size, non_flat, error);
    if (!r)
        *ret_element = element;
    return r;
}
