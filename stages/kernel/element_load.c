#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "stages/kernel/element.h"
#include "stages/names.h"
#include "stages/picture/picture.h"

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

/* 0, or an error if a picture of this size and type cannot be an element. */
static int check_shape(const char *path, const crn_picture *picture, crn_error *error)
{
    const crn_image *image = &picture->image;
    if (image->planes != 1 || picture->alpha.planes)
        return crn_error_set(error, -EINVAL,
                             "%s: has %" PRId32 " planes%s, an element has one: save it as grey",
                             path, image->planes, picture->alpha.planes ? " and alpha" : "");
    if (image->width > CRN_ELEMENT_MAX || image->height > CRN_ELEMENT_MAX ||
        (int64_t)image->width * image->height > CRN_KERNEL_TAPS_MAX)
        return crn_error_set(
            error, -EINVAL,
            "%s: is %" PRId32 "x%" PRId32 ", an element has at most %d pixels and sides up to %d",
            path, image->width, image->height, CRN_KERNEL_TAPS_MAX, CRN_ELEMENT_MAX);
    return 0;
}

static int take_pixels(const char *path, const crn_image *image, bool non_flat,
                       crn_element_loaded *element, crn_error *error)
{
    bool any = false;
    for (int32_t y = 0; y < image->height; y++)
        for (int32_t x = 0; x < image->width; x++) {
            float value = crn_image_at(image, 0, y, x);
            int32_t at = y * image->width + x;
            if (!isfinite(value))
                return crn_error_set(error, -EINVAL,
                                     "%s: pixel %" PRId32 ",%" PRId32 " is %s; an element's are "
                                     "finite",
                                     path, x, y, isnan(value) ? "NaN" : "infinite");
            element->members[at] = value != 0;
            element->heights[at] = non_flat ? value : 0;
            any = any || value != 0;
        }
    if (!any)
        return crn_error_set(error, -EINVAL,
                             "%s: all pixels are 0; those of an element's members are not", path);
    return 0;
}

static int load_picture(const char *path, bool non_flat, crn_element_loaded *element,
                        crn_error *error)
{
    crn_picture picture = {0};
    int r = crn_picture_probe(path, &picture, error);
    if (r == -ENOENT)
        return crn_error_set(
            error, r, "%s: is not an element (rect, disk, cross), and there is no such file", path);
    if (!r)
        r = check_shape(path, &picture, error);
    if (!r)
        r = crn_picture_read(path, &picture, error);
    if (!r) {
        element->size = (crn_size){picture.image.width, picture.image.height};
        r = take_pixels(path, &picture.image, non_flat, element, error);
    }
    crn_picture_free(&picture);
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
