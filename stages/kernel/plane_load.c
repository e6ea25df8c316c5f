#include "stages/kernel/plane_load.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "stages/picture/picture.h"

static int check_shape(const char *path, const crn_plane_use *use, const crn_picture *picture,
                       crn_error *error)
{
    const crn_image *image = &picture->image;
    char sides[40] = "";
    if (image->planes != 1 || picture->alpha.planes)
        return crn_error_set(error, -EINVAL,
                             "%s: has %" PRId32 " planes%s, %s has one: save it as grey", path,
                             image->planes, picture->alpha.planes ? " and alpha" : "", use->noun);
    if (use->side_max)
        snprintf(sides, sizeof sides, " and sides up to %" PRId32, use->side_max);
    if ((int64_t)image->width * image->height > CRN_KERNEL_TAPS_MAX ||
        (use->side_max && (image->width > use->side_max || image->height > use->side_max)))
        return crn_error_set(
            error, -EINVAL, "%s: is %" PRId32 "x%" PRId32 ", %s has at most %d %s%s", path,
            image->width, image->height, use->noun, CRN_KERNEL_TAPS_MAX, use->unit, sides);
    return 0;
}

int crn_plane_load(const char *path, const crn_plane_use *use, float *ret_values,
                   crn_size *ret_size, crn_error *error)
{
    crn_picture picture = {0};
    int r = crn_picture_probe(path, &picture, error);
    if (!r)
        r = check_shape(path, use, &picture, error);
    if (!r)
        r = crn_picture_read(path, &picture, error);
    const crn_image *image = &picture.image;
    *ret_size = (crn_size){image->width, image->height};
    for (int32_t i = 0; !r && i < image->width * image->height; i++) {
        int32_t x = i % image->width, y = i / image->width;
        ret_values[i] = crn_image_at(image, 0, y, x);
        if (!isfinite(ret_values[i]))
            r = crn_error_set(error, -EINVAL,
                              "%s: pixel %" PRId32 ",%" PRId32 " is %s; %s's are finite", path, x,
                              y, isnan(ret_values[i]) ? "NaN" : "infinite", use->noun);
    }
    crn_picture_free(&picture);
    return r;
}
