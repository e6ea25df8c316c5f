/* cernita-apply morphology. */
#include <errno.h>
#include <getopt.h>
#include <unistd.h>

#include "stages/kernel/element.h"
#include "stages/names.h"
#include "tools/common/operators/filter.h"

static const crn_option options[] = {
    {"operation", "OP", "erode, dilate, open, close, gradient, tophat or blackhat (required)"},
    {"element", "ELEMENT",
     "rect, disk or cross, or a TIFF or PNG of one plane whose pixels\n"
     "other than 0 are the members (required)"},
    {"size", "N|WxH", "of a rect, disk or cross, sides from 1 to 4095 (required for these)"},
    {"non-flat", NULL, "the values of the element's picture are its heights"},
    CRN_APPLY_OPTIONS,
};
enum { OPTION_OPERATION, OPTION_ELEMENT, OPTION_SIZE, OPTION_NON_FLAT, OPTION_COMMON };

static const crn_value_range ranges[] = {
    [OPTION_OPERATION] = {CRN_VALUE_CHOICE, true, 0, 0, crn_morphology_operation_names, NULL},
    [OPTION_ELEMENT] = {CRN_VALUE_TEXT, true, 0, 0, crn_element_shape_names, NULL},
    [OPTION_SIZE] = {CRN_VALUE_SIZE, false, 1, CRN_ELEMENT_MAX, NULL, NULL},
    [OPTION_NON_FLAT] = {CRN_VALUE_TEXT, false, 0, 0, NULL, NULL},
};

static const crn_tool tool = {
    .name = "cernita-apply morphology",
    .operands = "IN OUT",
    .about =
        "Erosion, dilation and their combinations, of each plane; u8, u16 and f32. Pixels outside\n"
        "the picture do not count. Alpha is copied. OUT.tif, OUT.png (f32 is then scaled from its\n"
        "minimum to its maximum).",
    .options = options,
    .operands_min = 2,
    .operands_max = 2,
};

static const char *const endings[] = {".tif", ".tiff", ".png", NULL};

typedef struct apply_morphology_settings {
    int operation; /* crn_morphology_operation; -1: not given */
    const char *element;
    crn_size size; /* 0: not given */
    bool non_flat;
    crn_element_loaded loaded;
} apply_morphology_settings;

static void check_settings(const apply_morphology_settings *set)
{
    if (set->operation < 0)
        crn_usage_error(&tool, "--operation is missing");
    if (!set->element)
        crn_usage_error(&tool, "--element is missing");
    bool shape = crn_name_find(crn_element_shape_names, set->element) >= 0;
    if (shape && !set->size.width)
        crn_usage_error(&tool, "--size is missing: how large is the %s?", set->element);
    if (shape && set->non_flat)
        crn_usage_error(&tool, "--non-flat needs an element from a picture; a %s has no heights",
                        set->element);
    if (!shape && access(set->element, F_OK) < 0)
        crn_usage_error(&tool, "--element '%s' is neither rect, disk or cross nor a file",
                        set->element);
    if (!shape && set->size.width)
        crn_usage_error(&tool, "--size is for rect, disk and cross; %s has its own", set->element);
}

static void read_options(int argc, char **argv, crn_apply *apply, apply_morphology_settings *set)
{
    const char *text = NULL;
    int option;
    while ((option = crn_options_next(&tool, argc, argv, &text)) != CRN_OPTIONS_END) {
        switch (option) {
        case OPTION_OPERATION:
            set->operation = crn_operator_choice(&crn_apply_morphology, option, text);
            break;
        case OPTION_ELEMENT:
            set->element = text;
            break;
        case OPTION_SIZE:
            crn_operator_size(&crn_apply_morphology, option, text, &set->size.width,
                              &set->size.height);
            break;
        case OPTION_NON_FLAT:
            set->non_flat = true;
            break;
        default:
            crn_apply_option(apply, option - OPTION_COMMON, text);
        }
    }
    check_settings(set);
    crn_apply_check_ending(apply, argv[optind + 1], endings);
}

static int check_type(const void *argument, const char *path, crn_type type, crn_error *error)
{
    const apply_morphology_settings *set = argument;
    crn_element element = crn_element_of(&set->loaded);
    if (crn_element_check(&element, type) == 0)
        return 0;
    if (element.heights && type == CRN_U8)
        return crn_error_set(error, -EINVAL,
                             "%s: heights must be whole numbers from -255 to 255 for a u8 picture "
                             "such as %s",
                             set->element, path);
    return crn_error_set(
        error, -EINVAL,
        "%s: not a valid element: it needs a member and finite heights, and sides up to %d",
        set->element, CRN_ELEMENT_MAX);
}

static int run(const crn_apply *apply, const void *argument, const crn_image *in, crn_image *out)
{
    const apply_morphology_settings *set = argument;
    crn_morphology_params params = {(crn_morphology_operation)set->operation,
                                    crn_element_of(&set->loaded)};
    return apply->ops->morphology(apply->context, &params, in, out);
}

static int work(crn_apply *apply, apply_morphology_settings *set, const char *in, const char *out,
                crn_error *error)
{
    int r = crn_apply_open(apply, "morphology", out, error);
    if (r == 0)
        r = crn_element_load(set->element, set->size, set->non_flat, &set->loaded, error);
    crn_filter filter = {set, run, check_type};
    return r < 0 ? r : crn_filter_apply(apply, &filter, in, out, error);
}

static int run_command(int argc, char **argv)
{
    static apply_morphology_settings set = {.operation = -1}; /* static: large */
    crn_apply apply;
    crn_error error = {0};
    crn_apply_init(&tool, &apply);
    read_options(argc, argv, &apply, &set);
    int r = work(&apply, &set, argv[optind], argv[optind + 1], &error);
    return crn_apply_close(&apply, r, &error);
}

const crn_operator crn_apply_morphology = {
    .name = "morphology",
    .tool = &tool,
    .values = ranges,
    .value_count = OPTION_COMMON,
    .generates = false,
    .endings = endings,
    .run = run_command,
};
