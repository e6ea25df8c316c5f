/* cernita-apply morphology. */
#include <errno.h>
#include <unistd.h>

#include "stages/kernel/element.h"
#include "stages/names.h"
#include "tools/common/operators/filter.h"

static const char *const endings[] = {".tif", ".tiff", ".png", NULL};

typedef struct apply_morphology_settings {
    crn_apply apply;
    int32_t operation; /* crn_morphology_operation */
    const char *element;
    crn_size size; /* 0: not given */
    bool non_flat;
    crn_element_loaded loaded;
} apply_morphology_settings;

static const crn_option options[] = {
    CRN_OPTION_AT("operation", "OP", apply_morphology_settings, operation, .required = true,
                  .choices = crn_morphology_operation_names, .help = "what is done"),
    CRN_OPTION_AT("element", "ELEMENT", apply_morphology_settings, element, .required = true,
                  .choices = crn_element_shape_names,
                  .help =
                      "a TIFF or PNG of one plane whose pixels other than 0 are the members, or\n"
                      "a name"),
    CRN_OPTION_AT("size", "N|WxH", apply_morphology_settings, size, .min = 1,
                  .max = CRN_ELEMENT_MAX,
                  .help = "of a rect, disk or cross, sides from 1 to 4095 (required for these)"),
    CRN_OPTION_AT("non-flat", NULL, apply_morphology_settings, non_flat,
                  .help = "the values of the element's picture are its heights"),
    {0},
};

static void check_options(void *settings, const char *out)
{
    const apply_morphology_settings *set = settings;
    const crn_tool *tool = &set->apply.tool;
    (void)out;
    bool shape = crn_name_find(crn_element_shape_names, set->element) >= 0;
    if (shape && !set->size.width)
        crn_usage_error(tool, "--size is missing: how large is the %s?", set->element);
    if (shape && set->non_flat)
        crn_usage_error(tool, "--non-flat needs an element from a picture; a %s has no heights",
                        set->element);
    if (!shape && access(set->element, F_OK) < 0)
        crn_usage_error(tool, "--element '%s' is neither rect, disk or cross nor a file",
                        set->element);
    if (!shape && set->size.width)
        crn_usage_error(tool, "--size is for rect, disk and cross; %s has its own", set->element);
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

static int prepare(void *settings, const char *in, crn_error *error)
{
    apply_morphology_settings *set = settings;
    (void)in;
    return crn_element_load(set->element, set->size, set->non_flat, &set->loaded, error);
}

static int check_picture(void *settings, const char *in, const char *out, const crn_picture *probed,
                         crn_error *error)
{
    crn_filter filter = {settings, run, check_type};
    return crn_filter_check(settings, &filter, in, out, probed, error);
}

static int work(void *settings, const char *in, const char *out, crn_picture *picture,
                crn_error *error)
{
    crn_filter filter = {settings, run, check_type};
    return crn_filter_apply(settings, &filter, in, out, picture, error);
}

const crn_operator crn_apply_morphology = {
    .name = "morphology",
    .summary = "erosion, dilation, opening, closing, gradient, top hat, black hat",
    .about =
        "Erosion, dilation and their combinations, of each plane; u8, u16 and f32. Pixels outside\n"
        "the picture do not count. Alpha is copied. OUT.tif, OUT.png (f32 is then scaled from its\n"
        "minimum to its maximum).",
    .options = options,
    .endings = endings,
    .function = offsetof(crn_ops, morphology),
    .settings_bytes = sizeof(apply_morphology_settings),
    .hooks = {check_options, prepare, check_picture, work},
};
