/* The stage `haar`: wavelet denoising of every map. */
#include "stages/stage/stage.h"

typedef struct haar_settings {
    int64_t levels;
    double threshold;
} haar_settings;

static const crn_param params[] = {
    CRN_PARAM(haar_settings, levels, .fallback = "2", .min = 1, .max = 31,
              .help = "how often the maps are halved: the more, the larger the noise that is "
                      "removed; at most as often as a map can be"),
    CRN_PARAM(haar_settings, threshold, .fallback = "0.05", .min = 0, .max = 1e9,
              .help = "soft threshold: differences of probabilities shrink by this, smaller ones "
                      "become 0"),
    {.key = NULL},
};

static int haar_enqueue(const void *settings, crn_job *job)
{
    const haar_settings *set = settings;
    int r = crn_job_widen(job);
    if (r < 0)
        return r;
    int32_t max = crn_haar_levels_max(job->maps.height, job->maps.width);
    crn_haar_params request = {.direction = CRN_HAAR_DENOISE,
                               .levels = set->levels < max ? (int32_t)set->levels : max,
                               .threshold = (float)set->threshold,
                               .unit = true};
    crn_image output;
    r = crn_job_output(job, CRN_F32, &output);
    if (r == 0)
        r = job->ops->haar(job->context, &request, &job->maps, &output);
    if (r == 0)
        job->maps = output;
    return r;
}

const crn_stage crn_stage_haar = {
    .name = "haar",
    .help = "denoises every map: a soft threshold on its Haar transform",
    .kind = CRN_STAGE_IMAGE,
    .params = params,
    .settings_bytes = sizeof(haar_settings),
    .enqueue = haar_enqueue,
};
