/* cernita-apply ranklet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/common/operators/output/ranklet_out.h"
#include "tools/common/progress.h"

static const char *const endings[] = {".tif", ".tiff", ".csv", ".png", NULL};

typedef struct apply_ranklet_settings {
    crn_apply apply;
    bool pyramid, square;
    crn_windows windows;
} apply_ranklet_settings;

static void read_windows(const crn_tool *tool, const crn_option *option, const char *text,
                         void *settings)
{
    (void)option;
    crn_windows_parse(tool, text, &((apply_ranklet_settings *)settings)->windows);
}

static const crn_option options[] = {
    {.name = "windows",
     .value = "LIST",
     .help = "sizes of windows, N or WxH, even sides: 4,8x16",
     .read = read_windows},
    CRN_OPTION_AT("pyramid", NULL, apply_ranklet_settings, pyramid,
                  .help = "instead: the largest powers of two that fit, halved down to 2"),
    CRN_OPTION_AT("square", NULL, apply_ranklet_settings, square,
                  .help = "with --pyramid: square windows"),
    {0},
};

static void check_options(void *settings, const char *out)
{
    const apply_ranklet_settings *set = settings;
    (void)out;
    if (set->pyramid == (set->windows.count > 0))
        crn_usage_error(&set->apply.tool, "name the windows with either --windows or --pyramid");
    if (set->square && !set->pyramid)
        crn_usage_error(&set->apply.tool,
                        "--square is for --pyramid; --windows 8 is square already");
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

static int check_picture(void *settings, const char *in, const char *out, const crn_picture *probed,
                         crn_error *error)
{
    apply_ranklet_settings *set = settings;
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
    if (set->apply.backend == CRN_BACKEND_SERIAL)
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
static int make(apply_ranklet_settings *set, const char *path, const crn_image *image,
                float *values, crn_ranklet_out *out, crn_error *error)
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
        c.in.data = crn_image_element(image, plane, 0, 0);
        c.out = crn_image_dense(values, CRN_F32, CRN_CHW, 3, image->height - window.height + 1,
                                image->width - window.width + 1);
        r = crn_apply_run(&set->apply, run, &c);
        if (r < 0)
            crn_apply_refused(&set->apply, r, path, image, error);
        else
            r = crn_ranklet_out_add(out, plane, window, row, &c.out, error);
    }
    crn_progress_end(&progress);
    return r;
}

static int work(void *settings, const char *in, const char *path, crn_picture *picture,
                crn_error *error)
{
    apply_ranklet_settings *set = settings;
    crn_ranklet_out out = {0};
    size_t count = (size_t)max_positions(&picture->image, &set->windows) * 3;
    float *values = malloc(count * sizeof *values);
    int r = values ? crn_ranklet_out_open(path, &picture->image, &set->windows, &out, error)
                   : crn_error_set(error, -ENOMEM, "%s: no memory for the results of a window", in);
    if (r == 0)
        r = make(set, in, &picture->image, values, &out, error);
    if (r == 0)
        r = crn_ranklet_out_finish(&out, error);
    crn_ranklet_out_free(&out);
    free(values);
    return r;
}

const crn_operator crn_apply_ranklet = {
    .name = "ranklet",
    .summary = "rank statistics of one half of a window against the other",
    .about =
        "Ranklets of each plane (u8, u16; without alpha) for each window size: vertical,\n"
        "horizontal, diagonal. OUT.tif: three f32 pages per plane and window, one value per\n"
        "position; OUT.csv: one line per position; OUT.png, for viewing: one row per plane and\n"
        "window with captions, -1 to 1 as 0 to 255, the fourth picture is their sum.",
    .options = options,
    .endings = endings,
    .function = offsetof(crn_ops, ranklet),
    .settings_bytes = sizeof(apply_ranklet_settings),
    .hooks = {check_options, NULL, check_picture, work},
};
