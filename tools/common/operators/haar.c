/* cernita-apply haar. */
#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "tools/common/operators/filter.h"
#include "tools/common/operators/output/map.h"

static const char *const endings[] = {".tif", ".tiff", ".png", NULL};

typedef struct apply_haar_settings {
    crn_apply apply;
    int32_t levels;
    bool inverse;
    double threshold; /* NaN: not given */
} apply_haar_settings;

static const crn_option options[] = {
    CRN_OPTION_AT("levels", "N", apply_haar_settings, levels, .required = true, .max = 31,
                  .help = "number of levels, 0 to ceil(log2(longer side))"),
    CRN_OPTION_AT("inverse", NULL, apply_haar_settings, inverse,
                  .help = "from coefficients (f32) back to the picture"),
    CRN_OPTION_AT("threshold", "T", apply_haar_settings, threshold, .max = 3e38,
                  .help = "denoise: transform, soft threshold T on all differences, inverse; T in "
                          "the\nfile's values"),
    {0},
};

static void check_options(void *settings, const char *out)
{
    const apply_haar_settings *set = settings;
    (void)out;
    if (set->inverse && !isnan(set->threshold))
        crn_usage_error(&set->apply.tool,
                        "--threshold transforms forward and back; leave --inverse out");
}

static int run(const crn_apply *apply, const void *argument, const crn_image *in, crn_image *out)
{
    const apply_haar_settings *set = argument;
    bool denoise = !isnan(set->threshold);
    crn_haar_params params = {
        .direction = denoise        ? CRN_HAAR_DENOISE
                     : set->inverse ? CRN_HAAR_INVERSE
                                    : CRN_HAAR_FORWARD,
        .levels = set->levels,
        .threshold = denoise ? (float)set->threshold : 0,
    };
    return apply->ops->haar(apply->context, &params, in, out);
}

static int check_picture(void *settings, const char *in, const char *out, const crn_picture *probed,
                         crn_error *error)
{
    const apply_haar_settings *set = settings;
    const crn_image *image = &probed->image;
    int32_t levels_max = crn_haar_levels_max(image->height, image->width);
    if (set->levels > levels_max)
        return crn_error_set(error, -EINVAL,
                             "%s: --levels %d is more than a picture of %dx%d has; "
                             "ceil(log2(%d)) = %d is the maximum",
                             in, set->levels, image->width, image->height,
                             image->width > image->height ? image->width : image->height,
                             levels_max);
    if (set->inverse && image->type != CRN_F32)
        return crn_error_set(error, -EINVAL,
                             "%s: is %s; --inverse needs coefficients in f32, as haar writes them "
                             "into a .tif",
                             in, crn_type_name(image->type));
    uint64_t plane = crn_apply_plane_bytes(image, CRN_F32), planes = (uint64_t)image->planes;
    uint64_t more = planes * plane + plane; /* the result; scratch for one plane */
    if (image->type == CRN_U16 || image->type == CRN_F16)
        more += planes * plane;
    if (crn_apply_ends(out, ".png"))
        more += planes * plane / 2; /* 8 or 16 bit output */
    crn_picture shape = {.image = *image, .pages = probed->pages, .samples = probed->samples};
    shape.image.type = CRN_F32;
    int r = crn_apply_check_shape(out, &shape, error);
    return r < 0 ? r : crn_apply_check_memory(in, probed, more, error);
}

/* Writes coefficients by quadrant, a denoised picture
 * in its input type, else as any f32 picture. */
static int write_png(const apply_haar_settings *set, crn_type type, const char *out,
                     crn_picture *result, crn_error *error)
{
    bool coefficients = !set->inverse && isnan(set->threshold);
    if (!coefficients && type != CRN_U8 && type != CRN_U16)
        return crn_map_write(&set->apply, out, result, error);
    crn_picture picture = {0};
    int r = crn_map_create(out, result, coefficients ? CRN_U8 : type, &picture, error);
    if (r == 0) {
        if (coefficients)
            crn_map_haar(&result->image, set->levels, &picture.image);
        else
            crn_map_narrow(&result->image, &picture.image);
        r = crn_picture_write(out, &picture, error);
    }
    crn_picture_free(&picture);
    return r;
}

static int transform(apply_haar_settings *set, const char *in, const char *out,
                     crn_picture *picture, crn_picture *result, crn_error *error)
{
    crn_type type = picture->image.type;
    int r = 0;
    if (type == CRN_U16 || type == CRN_F16)
        r = crn_map_widen(in, picture, error);
    if (r == 0)
        r = crn_map_create(in, picture, CRN_F32, result, error);
    crn_filter filter = {set, run, NULL};
    if (r == 0)
        r = crn_filter_planes(&set->apply, &filter, in, &picture->image, &result->image, error);
    if (r < 0)
        return r;
    if (crn_apply_ends(out, ".png"))
        return write_png(set, type, out, result, error);
    return crn_picture_write(out, result, error);
}

static int work(void *settings, const char *in, const char *out, crn_picture *picture,
                crn_error *error)
{
    crn_picture result = {0};
    int r = transform(settings, in, out, picture, &result, error);
    crn_picture_free(&result);
    return r;
}

const crn_operator crn_apply_haar = {
    .name = "haar",
    .summary = "the Haar transform, its inverse, and denoising",
    .about =
        "The orthonormal Haar transform of each plane in quadrant layout, in f32, without alpha.\n"
        "OUT.tif, or for viewing OUT.png: coefficients by quadrant (averages scaled to their "
        "range,\n"
        "differences around mid-grey); a denoised u8 or u16 picture as such.",
    .options = options,
    .endings = endings,
    .function = offsetof(crn_ops, haar),
    .settings_bytes = sizeof(apply_haar_settings),
    .initial = &(const apply_haar_settings){.threshold = NAN},
    .hooks = {check_options, NULL, check_picture, work},
};
