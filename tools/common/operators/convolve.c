/* cernita-apply convolve. */
#include <getopt.h>
#include <math.h>
#include <unistd.h>

#include "stages/kernel/kernel.h"
#include "stages/names.h"
#include "tools/common/operators/filter.h"

#define SIDE_MAX     127 /* the largest odd square of CRN_KERNEL_TAPS_MAX weights */
#define SIDE_DEFAULT 3

static const crn_option options[] = {
    {"kernel", "KERNEL",
     "blur, gaussian, sharpen, edge (any odd size), emboss, sobel-x, sobel-y\n"
     "(3), or a file: rows of numbers, or a TIFF or PNG of one plane (required)"},
    {"size", "N", "side of a named kernel, odd, 1 to 127 (3)"},
    {"border", "BORDER",
     "values outside the picture: replicate, reflect, wrap or zero (replicate)"},
    CRN_APPLY_OPTIONS,
};
enum { OPTION_KERNEL, OPTION_SIZE, OPTION_BORDER, OPTION_COMMON };

static const crn_value_range ranges[] = {
    [OPTION_KERNEL] = {CRN_VALUE_TEXT, true, 0, 0, crn_kernel_names, NULL},
    [OPTION_SIZE] = {CRN_VALUE_INTEGER, false, 1, SIDE_MAX, NULL, "3"},
    [OPTION_BORDER] = {CRN_VALUE_CHOICE, false, 0, 0, crn_convolve_border_names, "replicate"},
};

static const crn_tool tool = {
    .name = "cernita-apply convolve",
    .operands = "IN OUT",
    .about =
        "Correlates each plane with the kernel as written (OpenCV's filter2D): u8 is rounded and\n"
        "saturated, f32 unchanged, u16 computed in f32, rounded and saturated. Alpha is copied.\n"
        "OUT.tif, OUT.png (f32 is then scaled from its minimum to its maximum).",
    .options = options,
    .operands_min = 2,
    .operands_max = 2,
};

static const char *const endings[] = {".tif", ".tiff", ".png", NULL};

typedef struct apply_convolve_settings {
    const char *name;
    int32_t side; /* 0: not given */
    int border;   /* crn_convolve_border */
    crn_kernel kernel;
} apply_convolve_settings;

static void check_settings(apply_convolve_settings *set)
{
    if (!set->name)
        crn_usage_error(&tool, "--kernel is missing");
    if (crn_name_find(crn_kernel_names, set->name) < 0) {
        if (access(set->name, F_OK) < 0)
            crn_usage_error(&tool, "--kernel '%s' is neither a kernel's name nor a file",
                            set->name);
        if (set->side)
            crn_usage_error(&tool, "--size is for kernels by name; %s has its own", set->name);
        return;
    }
    if (!set->side)
        set->side = SIDE_DEFAULT;
    crn_error error = {0};
    if (set->side % 2 == 0)
        crn_usage_error(&tool, "--size %d: a named kernel has an odd side; use %d or %d", set->side,
                        set->side - 1, set->side + 1);
    if (crn_kernel_make(set->name, (crn_size){set->side, set->side}, &set->kernel, &error) < 0)
        crn_usage_error(&tool, "--kernel %s --size %d: %s", set->name, set->side, error.text);
}

static void read_options(int argc, char **argv, crn_apply *apply, apply_convolve_settings *set)
{
    const char *text = NULL;
    int option;
    while ((option = crn_options_next(&tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        switch (option) {
        case OPTION_KERNEL:
            set->name = text;
            break;
        case OPTION_SIZE:
            set->side = (int32_t)crn_operator_integer(&crn_apply_convolve, option, text);
            break;
        case OPTION_BORDER:
            set->border = crn_operator_choice(&crn_apply_convolve, option, text);
            break;
        default:
            crn_apply_option(apply, option - OPTION_COMMON, text);
        }
    }
    check_settings(set);
    crn_apply_check_ending(apply, argv[optind + 1], endings);
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
            &tool,
            "%s: is %s, which has no negative values: the negative results of --kernel %s "
            "become 0; a .tif of f32 keeps them",
            in, crn_type_name(probed.image.type), set->name);
    crn_picture_free(&probed);
}

static int work(crn_apply *apply, apply_convolve_settings *set, const char *in, const char *out,
                crn_error *error)
{
    int r = crn_apply_open(apply, "convolve", out, error);
    if (r == 0 && !set->side)
        r = crn_kernel_load(set->name, (crn_size){SIDE_DEFAULT, SIDE_DEFAULT}, &set->kernel, error);
    if (r == 0)
        warn_of_cut(set, in);
    crn_filter filter = {set, run, NULL};
    return r < 0 ? r : crn_filter_apply(apply, &filter, in, out, error);
}

static int run_command(int argc, char **argv)
{
    static apply_convolve_settings set; /* static: large */
    crn_apply apply;
    crn_error error = {0};
    crn_apply_init(&tool, &apply);
    read_options(argc, argv, &apply, &set);
    int r = work(&apply, &set, argv[optind], argv[optind + 1], &error);
    return crn_apply_close(&apply, r, &error);
}

const crn_operator crn_apply_convolve = {
    .name = "convolve",
    .tool = &tool,
    .values = ranges,
    .value_count = OPTION_COMMON,
    .generates = false,
    .endings = endings,
    .run = run_command,
};
