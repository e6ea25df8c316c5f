#include "tools/bench/frame.h"

#include <errno.h>

#include "stages/picture/picture.h"

int crn_frame_read(const char *path, crn_image *ret_image, crn_error *error)
{
    crn_picture picture;
    int r = crn_picture_read(path, &picture, error);
    if (r < 0)
        return r;
    if (picture.image.type != CRN_F32) {
        crn_picture_free(&picture);
        return crn_error_set(error, -EINVAL,
                             "%s: its values are not float32; write it with numpy.save(path, "
                             "maps.astype('<f4'))",
                             path);
    }
    *ret_image = picture.image;
    picture.image.data = picture.memory = NULL; /* the caller's now */
    crn_picture_free(&picture);
    return 0;
}
