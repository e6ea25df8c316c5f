/* cernita-apply convolve. */
#include <math.h>
#include <unistd.h>

#include "stages/kernel/kernel.h"
#include "stages/names.h"
#include "tools/common/operators/filter.h"

#define SIDE_MAX     127 /* the largest odd square of CRN_KERNEL_TAPS_MAX weights */
#define SIDE_DEFAULT 3

static const char *const endings[] = {".tif", ".tiff", ".png", NULL};

typedef struct apply_convolve_settings {
    crn_apply apply;
    const char *name;
    int32_t side;   /* 0: not given */
    int32_t border; /* crn_convolve_border */
    crn_kernel kernel;
} apply_convolve_settings;

static const crn_option options[] = {
    CRN_OPTION_AT(
        "kernel", "KERNEL", apply_convolve_settings, name, .required = true,
        .choices = crn_kernel_names,
        .help = "a file (rows of numbers, or a TIFF or PNG of one plane) or a name, the last\n"
                "three of size 3"),
    CRN_OPTION_AT("size", "N", apply_convolve_settings, side, .min = 1, .max = SIDE_MAX,
                  .initial = "3", .help = "side of a named kernel, odd, 1 to 127"),
    CRN_OPTION_AT("border", "BORDER", apply_convolve_settings, border,
                  .choices = crn_convolve_border_names, .initial = "replicate",
                  .help = "values outside the picture"),
    {0},
};

static void check_options(void *settings, const char *out)
{
    apply_convolve_settings *set = settings;
    const crn_tool *tool = &set->apply.tool;
    (void)out;
    if (crn_name_find(crn_kernel_names, set->name) < 0) {
        if (access(set->name, F_OK) < 0)
            crn_usage_error(tool, "--kernel '%s' is neither a kernel's name nor a file", set->name);
        if (set->side)
            crn_usage_error(tool, "--size is for kernels by name; %s has its own", set->name);
        return;
    }
    if (!set->side)
        set->side = SIDE_DEFAULT;
    crn_error error = {0};
    if (set->side % 2 == 0)
        crn_usage_error(tool, "--size %d: a named kernel has an odd side; use %d or %d", set->side,
                        set->side - 1, set->side + 1);
    if (crn_kernel_make(set->name, (crn_size){set->side, set->side}, &set->kernel, &error) < 0)
        crn_usage_error(tool, "--kernel %s --size %d: %s", set->name, set->side, error.text);
}

static int run(const crn_apply *apply, const void *argument, const crn_image *in, crn_image *out)
{
    const apply_convolve_settings *set = argument;
    crn_convolve_params params = {set->kernel.weights, set->kernel.size.width,
                                  set->kernel.size.height, (crn_convolve_border)set->border};
    return apply->ops->convolve(apply->context, &params, in, out);
}

/* Weights with sum 0 give results of both signs, but u8 and u16 hold only the positive ones. */
static void warn_of_cut(const apply_convolve_settings *set, const char *in)
{
    crn_picture probed = {0};
    double sum = 0, size = 0;
    for (int32_t i = 0; i < set->kernel.size.width * set->kernel.size.height; i++) {
        sum += (double)set->kernel.weights[i];
        size += fabs((double)set->kernel.weights[i]);
    }
    if (size <= 0 || fabs(sum) > 1e-3 * size || crn_picture_probe(in, &probed, NULL) < 0)
        return;
    if (probed.image.type == CRN_U8 || probed.image.type == CRN_U16)
        crn_tool_note(
            &set->apply.tool,
            "%s: is %s, which has no negative values: the negative results of --kernel %s "
            "become 0; a .tif of f32 keeps them",
            in, crn_type_name(probed.image.type), set->name);
    crn_picture_free(&probed);
}

static int prepare(void *settings, const char *in, crn_error *error)
{
    apply_convolve_settings *set = settings;
    int r = set->side ? 0
                      : crn_kernel_load(set->name, (crn_size){SIDE_DEFAULT, SIDE_DEFAULT},
                                        &set->kernel, error);
    if (r == 0)
        warn_of_cut(set, in);
    return r;
}

static int check_picture(void *settings, const char *in, const char *out, const crn_picture *probed,
                         crn_error *error)
{
    crn_filter filter = {settings, run, NULL};
    return crn_filter_check(settings, &filter, in, out, probed, error);
}

static int work(void *settings, const char *in, const char *out, crn_picture *picture,
                crn_error *error)
{
    crn_filter filter = {settings, run, NULL};
    return crn_filter_apply(settings, &filter, in, out, picture, error);
}

const crn_operator crn_apply_convolve = {
    .name = "convolve",
    .summary = "convolution with a kernel (correlation, as OpenCV's filter2D)",
    .about =
        "Correlates each plane with the kernel as written (OpenCV's filter2D): u8 is rounded and\n"
        "saturated, f32 unchanged, u16 computed in f32, rounded and saturated. Alpha is copied.\n"
        "OUT.tif, OUT.png (f32 is then scaled from its minimum to its maximum).",
    .options = options,
    .endings = endings,
    .function = offsetof(crn_ops, convolve),
    .settings_bytes = sizeof(apply_convolve_settings),
    .hooks = {check_options, prepare, check_picture, work},
};
