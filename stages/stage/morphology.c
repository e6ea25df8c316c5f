/* The stage `morphology`: a morphological operation on every map. */
#include "stages/kernel/element.h"
#include "stages/names.h"
#include "stages/stage/stage.h"

typedef struct morphology_settings {
    int32_t operation; /* crn_morphology_operation */
    char element[CRN_TEXT_BYTES];
    crn_size size;
    bool non_flat;
    crn_element_loaded loaded; /* set by prepare */
} morphology_settings;

static const crn_param params[] = {
    CRN_PARAM(morphology_settings, operation, .fallback = "open",
              .choices = crn_morphology_operation_names,
              .help = "open removes what is smaller than the element, close fills such gaps"),
    CRN_PARAM(morphology_settings, element, .fallback = "disk", .names = crn_element_shape_names,
              .help = "of a picture the pixels other than 0 are the element"),
    CRN_PARAM(morphology_settings, size, .fallback = "5", .min = 1, .max = CRN_ELEMENT_MAX,
              .help = "size of the element, in pixels; a picture has its own"),
    CRN_PARAM(morphology_settings, non_flat, .fallback = "false",
              .help = "a picture's values are its heights, in the maps' own values: u8 maps have 0 "
                      "to 255, others 0 to 1"),
    {.key = NULL},
};

static int morphology_prepare(void *settings, const crn_classes *classes, crn_error *error)
{
    morphology_settings *set = settings;
    (void)classes;
    return crn_element_load(set->element, set->size, set->non_flat, &set->loaded, error);
}

static int morphology_enqueue(const void *settings, crn_job *job)
{
    const morphology_settings *set = settings;
    int r = crn_job_widen(job);
    if (r < 0)
        return r;
    crn_morphology_params request = {.operation = (crn_morphology_operation)set->operation,
                                     .element = crn_element_of(&set->loaded)};
    crn_image output;
    r = crn_job_output(job, job->maps.type, &output);
    if (r == 0)
        r = job->ops->morphology(job->context, &request, &job->maps, &output);
    if (r == 0)
        job->maps = output;
    return r;
}

const crn_stage crn_stage_morphology = {
    .name = "morphology",
    .help = "removes specks, fills gaps, extracts borders: minima and maxima over an element",
    .kind = CRN_STAGE_IMAGE,
    .params = params,
    .settings_bytes = sizeof(morphology_settings),
    .prepare = morphology_prepare,
    .enqueue = morphology_enqueue,
};
