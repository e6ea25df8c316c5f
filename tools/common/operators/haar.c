/* cernita-apply haar. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>

#include "tools/common/operators/filter.h"
#include "tools/common/operators/output/map.h"

static const crn_option options[] = {
    {"levels", "N", "number of levels, 0 to ceil(log2(longer side)) (required)"},
    {"inverse", NULL, "from coefficients (f32) back to the picture"},
    {"threshold", "T",
     "denoise: transform, soft threshold T on all differences, inverse; T in the\n"
     "file's values"},
    CRN_APPLY_OPTIONS,
};
enum { OPTION_LEVELS, OPTION_INVERSE, OPTION_THRESHOLD, OPTION_COMMON };

static const crn_value_range ranges[] = {
    [OPTION_LEVELS] = {CRN_VALUE_INTEGER, true, 0, 31, NULL, NULL},
    [OPTION_INVERSE] = {CRN_VALUE_TEXT, false, 0, 0, NULL, NULL},
    [OPTION_THRESHOLD] = {CRN_VALUE_REAL, false, 0, 3e38, NULL, NULL},
};

static const crn_tool tool = {
    .name = "cernita-apply haar",
    .operands = "IN OUT",
    .about =
        "The orthonormal Haar transform of each plane in quadrant layout, in f32, without alpha.\n"
        "OUT.tif, or for viewing OUT.png: coefficients by quadrant (averages scaled to their "
        "range,\n"
        "differences around mid-grey); a denoised u8 or u16 picture as such.",
    .options = options,
    .operands_min = 2,
    .operands_max = 2,
};

static const char *const endings[] = {".tif", ".tiff", ".png", NULL};

typedef struct apply_haar_settings {
    int32_t levels; /* -1: not given */
    bool inverse;
    double threshold; /* NaN: not given */
} apply_haar_settings;

static void read_options(int argc, char **argv, crn_apply *apply, apply_haar_settings *set)
{
    const char *text = NULL;
    int option;
    while ((option = crn_options_next(&tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        switch (option) {
        case OPTION_LEVELS:
            set->levels = (int32_t)crn_operator_integer(&crn_apply_haar, option, text);
            break;
        case OPTION_INVERSE:
            set->inverse = true;
            break;
        case OPTION_THRESHOLD:
            set->threshold = crn_operator_real(&crn_apply_haar, option, text);
            break;
        default:
            crn_apply_option(apply, option - OPTION_COMMON, text);
        }
    }
    if (set->levels < 0)
        crn_usage_error(&tool, "--levels is missing");
    if (set->inverse && !isnan(set->threshold))
        crn_usage_error(&tool, "--threshold goes there and back by itself; leave --inverse out");
    crn_apply_check_ending(apply, argv[optind + 1], endings);
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

static int check_picture(const apply_haar_settings *set, const char *in, const char *out,
                         const crn_picture *probed, crn_error *error)
{
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
static int write_png(const crn_apply *apply, const apply_haar_settings *set, crn_type type,
                     const char *out, crn_picture *result, crn_error *error)
{
    bool coefficients = !set->inverse && isnan(set->threshold);
    if (!coefficients && type != CRN_U8 && type != CRN_U16)
        return crn_map_write(apply, out, result, error);
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

static int transform(crn_apply *apply, const apply_haar_settings *set, const char *in,
                     const char *out, crn_picture *picture, crn_picture *result, crn_error *error)
{
    crn_type type = picture->image.type;
    int r = 0;
    if (type == CRN_U16 || type == CRN_F16)
        r = crn_map_widen(in, picture, error);
    if (r == 0)
        r = crn_map_create(in, picture, CRN_F32, result, error);
    crn_filter filter = {set, run, NULL};
    if (r == 0)
        r = crn_filter_planes(apply, &filter, in, &picture->image, &result->image, error);
    if (r < 0)
        return r;
    if (crn_apply_ends(out, ".png"))
        return write_png(apply, set, type, out, result, error);
    return crn_picture_write(out, result, error);
}

static int work(crn_apply *apply, const apply_haar_settings *set, const char *in, const char *out,
                crn_error *error)
{
    crn_picture probed = {0}, picture = {0}, result = {0};
    int r = crn_apply_open(apply, "haar", out, error);
    if (r == 0)
        r = crn_picture_probe(in, &probed, error);
    if (r == 0)
        r = check_picture(set, in, out, &probed, error);
    if (r == 0)
        r = crn_apply_begin(apply);
    if (r == 0)
        r = crn_apply_read(apply, in, &picture, error);
    if (r == 0)
        r = transform(apply, set, in, out, &picture, &result, error);
    crn_picture_free(&probed);
    crn_picture_free(&picture);
    crn_picture_free(&result);
    return r;
}

static int run_command(int argc, char **argv)
{
    apply_haar_settings set = {.levels = -1, .threshold = NAN};
    crn_apply apply;
    crn_error error = {0};
    crn_apply_init(&tool, &apply);
    read_options(argc, argv, &apply, &set);
    int r = work(&apply, &set, argv[optind], argv[optind + 1], &error);
    return crn_apply_close(&apply, r, &error);
}

const crn_operator crn_apply_haar = {
    .name = "haar",
    .tool = &tool,
    .values = ranges,
    .value_count = OPTION_COMMON,
    .generates = false,
    .endings = endings,
    .run = run_command,
};
