/* The stage `convolve`: filters every map with a convolution kernel. */
#include "stages/kernel/kernel.h"
#include "stages/names.h"
#include "stages/stage/stage.h"

typedef struct convolve_settings {
    char kernel[CRN_TEXT_BYTES];
    crn_size size;
    int32_t border;    /* crn_convolve_border */
    crn_kernel loaded; /* set by prepare */
} convolve_settings;

static const crn_param params[] = {
    CRN_PARAM(convolve_settings, kernel, .fallback = "gaussian", .names = crn_kernel_names,
              .help = "a file has rows of numbers, or is a picture"),
    CRN_PARAM(convolve_settings, size, .fallback = "3", .min = 1, .max = 127,
              .help =
                  "size of a kernel by name, a square of odd side, in pixels; a file has its own"),
    CRN_PARAM(convolve_settings, border, .fallback = "replicate",
              .choices = crn_convolve_border_names, .help = "values outside of the maps"),
    {.key = NULL},
};

static int convolve_prepare(void *settings, const crn_classes *classes, crn_error *error)
{
    convolve_settings *set = settings;
    (void)classes;
    return crn_kernel_load(set->kernel, set->size, &set->loaded, error);
}

static int convolve_enqueue(const void *settings, crn_job *job)
{
    const convolve_settings *set = settings;
    int r = crn_job_widen(job);
    if (r < 0)
        return r;
    crn_convolve_params request = {.weights = set->loaded.weights,
                                   .width = set->loaded.size.width,
                                   .height = set->loaded.size.height,
                                   .border = (crn_convolve_border)set->border};
    crn_image output;
    r = crn_job_output(job, job->maps.type, &output);
    if (r == 0)
        r = job->ops->convolve(job->context, &request, &job->maps, &output);
    if (r == 0)
        job->maps = output;
    return r;
}

const crn_stage crn_stage_convolve = {
    .name = "convolve",
    .help = "convolves every map with a kernel: smoothing, sharpening, edges",
    .kind = CRN_STAGE_IMAGE,
    .params = params,
    .settings_bytes = sizeof(convolve_settings),
    .prepare = convolve_prepare,
    .enqueue = convolve_enqueue,
};
