/* cernita-apply ranklet. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/common/operators/output/ranklet_out.h"
#include "tools/common/progress.h"

static const crn_option options[] = {
    {"windows", "LIST", "sizes of windows, N or WxH, even sides: 4,8x16"},
    {"pyramid", NULL, "instead: the largest powers of two that fit, halved down to 2"},
    {"square", NULL, "with --pyramid: square windows"},
    CRN_APPLY_OPTIONS,
};
enum { OPTION_WINDOWS, OPTION_PYRAMID, OPTION_SQUARE, OPTION_COMMON };

static const crn_value_range ranges[] = {
    [OPTION_WINDOWS] = {CRN_VALUE_TEXT, false, 0, 0, NULL, NULL},
    [OPTION_PYRAMID] = {CRN_VALUE_TEXT, false, 0, 0, NULL, NULL},
    [OPTION_SQUARE] = {CRN_VALUE_TEXT, false, 0, 0, NULL, NULL},
};

static const crn_tool tool = {
    .name = "cernita-apply ranklet",
    .operands = "IN OUT",
    .about =
        "Ranklets of each plane (u8, u16; without alpha) for each window size: vertical,\n"
        "horizontal, diagonal. OUT.tif: three f32 pages per plane and window, one value per\n"
        "position; OUT.csv: one line per position; OUT.png, for viewing: one row per plane and\n"
        "window with captions, -1 to 1 as 0 to 255, the fourth picture is their sum.",
    .options = options,
    .operands_min = 2,
    .operands_max = 2,
};

static const char *const endings[] = {".tif", ".tiff", ".csv", ".png", NULL};

typedef struct apply_ranklet_settings {
    bool pyramid, square;
    crn_windows windows;
} apply_ranklet_settings;

static void read_options(int argc, char **argv, crn_apply *apply, apply_ranklet_settings *set)
{
    const char *text = NULL;
    int option;
    while ((option = crn_options_next(&tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        switch (option) {
        case OPTION_WINDOWS:
            crn_windows_parse(&tool, text, &set->windows);
            break;
        case OPTION_PYRAMID:
            set->pyramid = true;
            break;
        case OPTION_SQUARE:
            set->square = true;
            break;
        default:
            crn_apply_option(apply, option - OPTION_COMMON, text);
        }
    }
    if (set->pyramid == (set->windows.count > 0))
        crn_usage_error(&tool, "name the windows with either --windows or --pyramid");
    if (set->square && !set->pyramid)
        crn_usage_error(&tool, "--square is for --pyramid; --windows 8 is square already");
    crn_apply_check_ending(apply, argv[optind + 1], endings);
}

static int64_t positions(const crn_image *image, crn_size window)
{
    return (int64_t)(image->width - window.width + 1) * (image->height - window.height + 1);
}

/* Largest number of positions over the windows; results are kept for one window at a time. */
static int64_t max_positions(const crn_image *image, const crn_windows *windows)
{
    int64_t max = 0;
    for (int32_t i = 0; i < windows->count; i++) {
        int64_t count = positions(image, windows->item[i]);
        max = count > max ? count : max;
    }
    return max;
}

static int check_picture(const crn_apply *apply, apply_ranklet_settings *set, const char *in,
                         const char *out, const crn_picture *probed, crn_error *error)
{
    const crn_image *image = &probed->image;
    if (image->type != CRN_U8 && image->type != CRN_U16)
        return crn_error_set(error, -EINVAL,
                             "%s: is %s; ranklets need u8 or u16, so convert it to "
                             "one of these first",
                             in, crn_type_name(image->type));
    if (set->pyramid)
        crn_windows_pyramid(image->width, image->height, set->square, &set->windows);
    if (!set->windows.count)
        return crn_error_set(error, -EINVAL,
                             "%s: %dx%d pixels contain no window; the smallest is 2x2", in,
                             image->width, image->height);
    for (int32_t i = 0; i < set->windows.count; i++) {
        crn_size window = set->windows.item[i];
        if (window.width > image->width || window.height > image->height)
            return crn_error_set(error, -EINVAL,
                                 "%s: a window of %dx%d is larger than the picture, %dx%d; use "
                                 "smaller ones",
                                 in, window.width, window.height, image->width, image->height);
    }
    uint64_t bytes = 0;
    int r = crn_ranklet_out_bytes(out, image, &set->windows, &bytes, error);
    if (r < 0)
        return r;
    bytes += (uint64_t)max_positions(image, &set->windows) * 3 * sizeof(float);
    if (apply->backend == CRN_BACKEND_SERIAL)
        bytes += crn_apply_plane_bytes(image, CRN_U16); /* ranks */
    return crn_apply_check_memory(in, probed, bytes, error);
}

typedef struct ranklet_call {
    crn_ranklet_params params;
    crn_image in, out;
} ranklet_call;

static int run(const crn_apply *apply, void *argument)
{
    ranklet_call *c = argument;
    return apply->ops->ranklet(apply->context, &c->params, &c->in, &c->out);
}

/* Computes all windows of all planes; each is written before the next starts. */
static int make(crn_apply *apply, const apply_ranklet_settings *set, const char *path,
                const crn_image *image, float *values, crn_ranklet_out *out, crn_error *error)
{
    int32_t windows = set->windows.count;
    crn_progress progress;
    crn_progress_begin(&progress, "windows", (uint64_t)image->planes * (uint64_t)windows);
    int r = 0;
    for (int32_t row = 0; r == 0 && row < image->planes * windows; row++) {
        int32_t plane = row / windows;
        crn_size window = set->windows.item[row % windows];
        char note[32];
        snprintf(note, sizeof note, "%dx%d", window.width, window.height);
        crn_progress_update(&progress, (uint64_t)row, note);
        ranklet_call c = {.params = {window.width, window.height}, .in = *image};
        c.in.planes = 1;
        c.in.data = (char *)image->data +
                    crn_image_index(image, plane, 0, 0) * (ptrdiff_t)crn_type_bytes(image->type);
        c.out = crn_image_dense(values, CRN_F32, CRN_CHW, 3, image->height - window.height + 1,
                                image->width - window.width + 1);
        r = crn_apply_run(apply, run, &c);
        if (r < 0)
            crn_apply_refused(apply, r, path, image, error);
        else
            r = crn_ranklet_out_add(out, plane, window, row, &c.out, error);
    }
    crn_progress_end(&progress);
    return r;
}

static int work(crn_apply *apply, apply_ranklet_settings *set, const char *in, const char *path,
                crn_error *error)
{
    crn_picture probed = {0}, picture = {0};
    crn_ranklet_out out = {0};
    float *values = NULL;
    int r = crn_apply_open(apply, "ranklet", path, error);
    if (r == 0)
        r = crn_picture_probe(in, &probed, error);
    if (r == 0)
        r = check_picture(apply, set, in, path, &probed, error);
    if (r == 0)
        r = crn_apply_begin(apply);
    if (r == 0)
        r = crn_apply_read(apply, in, &picture, error);
    if (r == 0) {
        values = malloc((size_t)max_positions(&picture.image, &set->windows) * 3 * sizeof *values);
        if (!values)
            r = crn_error_set(error, -ENOMEM, "%s: no memory for the results of a window", in);
    }
    if (r == 0)
        r = crn_ranklet_out_open(path, &picture.image, &set->windows, &out, error);
    if (r == 0)
        r = make(apply, set, in, &picture.image, values, &out, error);
    if (r == 0)
        r = crn_ranklet_out_finish(&out, error);
    crn_ranklet_out_free(&out);
    free(values);
    crn_picture_free(&probed);
    crn_picture_free(&picture);
    return r;
}

static int run_command(int argc, char **argv)
{
    apply_ranklet_settings set = {0};
    crn_apply apply;
    crn_error error = {0};
    crn_apply_init(&tool, &apply);
    read_options(argc, argv, &apply, &set);
    int r = work(&apply, &set, argv[optind], argv[optind + 1], &error);
    return crn_apply_close(&apply, r, &error);
}

const crn_operator crn_apply_ranklet = {
    .name = "ranklet",
    .tool = &tool,
    .values = ranges,
    .value_count = OPTION_COMMON,
    .generates = false,
    .endings = endings,
    .run = run_command,
};
