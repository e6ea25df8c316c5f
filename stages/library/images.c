/* Refuses images that no operator accepts: products of sizes and strides that overflow, elements
 * that are not aligned, results that overlap the pixels that they are computed from. */
#include <errno.h>
#include <inttypes.h>

#include "stages/image.h"
#include "stages/library/library.h"
#include "stages/serial/contours.h"

/* An image of more cannot be in memory; less than this, and no product of sizes overflows. */
#define SIDE_MAX     (((int32_t)1 << 30) - 1)
#define ELEMENTS_MAX ((int64_t)1 << 42)
#define REACH_MAX    ((ptrdiff_t)1 << 58) /* in elements, to either side */

/* The bytes from the first to the last in memory, relative to `data`. */
typedef struct extent {
    ptrdiff_t first, end;
} extent;

/* Adds a direction's extent. False if that overflows. */
static bool add_direction(int32_t count, ptrdiff_t stride, extent *all)
{
    ptrdiff_t reach;
    if (count == 1)
        return true;
    if (__builtin_mul_overflow((ptrdiff_t)count - 1, stride, &reach))
        return false;
    return reach < 0 ? !__builtin_add_overflow(all->first, reach, &all->first)
                     : !__builtin_add_overflow(all->end, reach, &all->end);
}

/* In elements; `end` is that of the last one. */
static bool find_extent(const crn_image *image, extent *ret_all)
{
    *ret_all = (extent){0, 1};
    return add_direction(image->planes, image->plane_stride, ret_all) &&
           add_direction(image->height, image->row_stride, ret_all) &&
           add_direction(image->width, image->step, ret_all) && ret_all->first >= -REACH_MAX &&
           ret_all->end <= REACH_MAX;
}

int crn_library_check_image(const char *name, const crn_image *image, crn_error *error)
{
    extent all;
    /* The operators themselves refuse others, with more to say about it. */
    if (!crn_image_is_usable(image))
        return 0;
    size_t bytes = crn_type_bytes(image->type);
    if (image->planes > SIDE_MAX || image->height > SIDE_MAX || image->width > SIDE_MAX ||
        (int64_t)image->height * image->width > ELEMENTS_MAX / image->planes)
        return crn_error_set(error, -EINVAL,
                             "%s is %d x %d x %d (planes x height x width); each must be below "
                             "2^30, and all together at most 2^42",
                             name, (int)image->planes, (int)image->height, (int)image->width);
    if (!find_extent(image, &all))
        return crn_error_set(error, -EINVAL,
                             "%s has the strides %td, %td and %td (plane, row, step), which reach "
                             "beyond any memory",
                             name, image->plane_stride, image->row_stride, image->step);
    if ((uintptr_t)image->data % bytes)
        return crn_error_set(error, -EINVAL,
                             "%s.data is %p; %s must lie at a multiple of %zu: copy it", name,
                             image->data, crn_type_name(image->type), bytes);
    return 0;
}

int crn_library_check_contours_size(const char *name, crn_border border, const crn_image *image,
                                    crn_error *error)
{
    bool closed = border == CRN_BORDER_CLOSED;
    int32_t min = closed ? 1 : 2;
    if (image->height < min || image->width < min)
        return crn_error_set(error, -EINVAL, "%s is %d x %d; %sit must be at least %d x %d", name,
                             (int)image->height, (int)image->width,
                             closed ? "" : "with an open border ", (int)min, (int)min);
    int64_t more = closed ? 1 : -1;
    if ((image->height + more) * (image->width + more) >= CRN_CONTOURS_CELLS_MAX)
        return crn_error_set(error, -EINVAL,
                             "%s is %d x %d; with %s border (height %c 1) x (width %c 1), its "
                             "cells, must be below 2^30",
                             name, (int)image->height, (int)image->width,
                             closed ? "a closed" : "an open", closed ? '+' : '-',
                             closed ? '+' : '-');
    return 0;
}

static ptrdiff_t usable_stride(int32_t count, ptrdiff_t stride)
{
    return count == 1 && (stride > ELEMENTS_MAX || stride < -ELEMENTS_MAX) ? 0 : stride;
}

crn_image *crn_library_usable(const crn_image *image, crn_image *ret_usable)
{
    if (!image)
        return NULL;
    *ret_usable = *image;
    ret_usable->plane_stride = usable_stride(image->planes, image->plane_stride);
    ret_usable->row_stride = usable_stride(image->height, image->row_stride);
    ret_usable->step = usable_stride(image->width, image->step);
    return ret_usable;
}

/* True if two of its elements surely lie in one place. */
static bool overlaps_itself(const crn_image *image)
{
    return (image->planes > 1 && image->plane_stride == 0) ||
           (image->height > 1 && image->row_stride == 0) || (image->width > 1 && image->step == 0);
}

/* True if both surely share an element. Images that lie between each other's pixels do not. */
static bool share(const crn_image *in, const crn_image *out)
{
    extent a, b;
    if (in->data == out->data)
        return true;
    if (!crn_image_is_dense(in) || !crn_image_is_dense(out) || !find_extent(in, &a) ||
        !find_extent(out, &b))
        return false;
    const char *in_first = in->data, *out_first = out->data;
    return in_first < out_first + b.end * (ptrdiff_t)crn_type_bytes(out->type) &&
           out_first < in_first + a.end * (ptrdiff_t)crn_type_bytes(in->type);
}

int crn_library_check_images(const crn_image *in, const crn_image *out, crn_error *error)
{
    int r = crn_library_check_image("in", in, error);
    if (r == 0)
        r = crn_library_check_image("out", out, error);
    if (r < 0 || !crn_image_is_usable(out))
        return r;
    if (overlaps_itself(out))
        return crn_error_set(error, -EINVAL,
                             "out has a stride of 0, which puts its elements in one place");
    if (crn_image_is_usable(in) && share(in, out))
        return crn_error_set(error, -EINVAL,
                             "out shares memory with in; give it memory of its own");
    return 0;
}
