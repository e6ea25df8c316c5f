#include "tools/common/operators/filter.h"

#include <stddef.h>

#include "tools/common/operators/output/map.h"
#include "tools/common/progress.h"

#define GROUP_PIXELS (1 << 22) /* per call: some milliseconds for most operators */

typedef struct group_call {
    const crn_filter *filter;
    crn_image in, out;
} group_call;

static int call_group(const crn_apply *apply, void *argument)
{
    group_call *group = argument;
    return group->filter->run(apply, group->filter->settings, &group->in, &group->out);
}

static crn_image planes_of(const crn_image *image, int32_t first, int32_t count)
{
    crn_image some = *image;
    some.data = crn_image_element(image, first, 0, 0);
    some.planes = count;
    return some;
}

int crn_filter_planes(crn_apply *apply, const crn_filter *filter, const char *path,
                      const crn_image *in, const crn_image *out, crn_error *error)
{
    int64_t pixels = (int64_t)in->height * in->width;
    int32_t group_planes = pixels < GROUP_PIXELS ? (int32_t)(GROUP_PIXELS / pixels) : 1;
    if (in->plane_stride == 1) /* interleaved planes cannot be split */
        group_planes = in->planes;
    crn_progress progress;
    crn_progress_begin(&progress, "planes", (uint64_t)in->planes);
    int r = 0;
    for (int32_t first = 0; r == 0 && first < in->planes; first += group_planes) {
        int32_t left = in->planes - first, count = group_planes < left ? group_planes : left;
        group_call group = {filter, planes_of(in, first, count), planes_of(out, first, count)};
        r = crn_apply_run(apply, call_group, &group);
        crn_progress_update(&progress, (uint64_t)(first + count), NULL);
    }
    crn_progress_end(&progress);
    return r < 0 ? crn_apply_refused(apply, r, path, in, error) : 0;
}

/* Memory for results and intermediate pictures. */
static uint64_t bytes_needed(const crn_apply *apply, const crn_picture *probed, bool png)
{
    const crn_image *image = &probed->image;
    uint64_t planes = (uint64_t)image->planes;
    bool wide = image->type != CRN_U8;
    uint64_t worked = planes * crn_apply_plane_bytes(image, wide ? CRN_F32 : CRN_U8);
    uint64_t bytes = worked;
    if (wide && image->type != CRN_F32)
        bytes += worked; /* the picture converted to f32 */
    if (image->type == CRN_U16)
        bytes += planes * crn_apply_plane_bytes(image, CRN_U16);
    if (png && wide)
        bytes += planes * crn_apply_plane_bytes(image, CRN_U8);
    /* Scratch: serial operators keep whole intermediate pictures, the others parts of a plane. */
    if (apply->backend == CRN_BACKEND_SERIAL)
        return bytes + 2 * worked;
    return bytes + crn_apply_plane_bytes(image, wide ? CRN_F32 : CRN_U8);
}

int crn_filter_check(const crn_apply *apply, const crn_filter *filter, const char *in,
                     const char *out, const crn_picture *probed, crn_error *error)
{
    bool png = crn_apply_ends(out, ".png");
    int r = crn_apply_check_shape(out, probed, error);
    if (r == 0 && filter->check)
        r = filter->check(filter->settings, in, probed->image.type == CRN_U8 ? CRN_U8 : CRN_F32,
                          error);
    return r < 0 ? r : crn_apply_check_memory(in, probed, bytes_needed(apply, probed, png), error);
}

/* Processes the picture in place, leaving the result in the output type. */
static int work(crn_apply *apply, const crn_filter *filter, const char *path, crn_picture *picture,
                crn_picture *ret_result, crn_error *error)
{
    crn_type type = picture->image.type;
    int r = 0;
    if (type == CRN_U16 || type == CRN_F16)
        r = crn_map_widen(path, picture, error);
    if (r == 0)
        r = crn_map_create(path, picture, picture->image.type, ret_result, error);
    if (r == 0)
        r = crn_filter_planes(apply, filter, path, &picture->image, &ret_result->image, error);
    if (r == 0 && type == CRN_U16) {
        crn_picture narrow = {0};
        r = crn_map_create(path, ret_result, CRN_U16, &narrow, error);
        if (r == 0) {
            crn_map_narrow(&ret_result->image, &narrow.image);
            crn_picture_free(ret_result);
            *ret_result = narrow;
        }
    }
    if (r == 0)
        crn_map_hand_alpha(picture, ret_result);
    return r;
}

int crn_filter_apply(crn_apply *apply, const crn_filter *filter, const char *in, const char *out,
                     crn_picture *picture, crn_error *error)
{
    crn_picture result = {0};
    int r = work(apply, filter, in, picture, &result, error);
    if (r == 0)
        r = crn_map_write(apply, out, &result, error);
    crn_picture_free(&result);
    return r;
}
