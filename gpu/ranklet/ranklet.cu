/* Ranklets: the entry. Selects the kernel for a window (ranklet.cuh). */
#include "gpu/ranklet/ranklet.cuh"

/* Maximum sum of the windows' areas for direct.cu, which counts each window separately. */
#define DIRECT_PIXELS_MAX (INT64_C(64) << 20)

static crn_ranklet_job job_of(const crn_context *context, const crn_ranklet_params *params,
                              const crn_image *in, const crn_image *out)
{
    crn_ranklet_job job = {};
    job.width = params->width;
    job.height = params->height;
    job.rows = out->height;
    job.columns = out->width;
    job.planes = in->planes;
    job.images = in->planes * crn_context_views(context);
    job.is_u16 = in->type == CRN_U16;
    job.out = static_cast<float *>(out->data);
    job.out_step = out->step;
    job.out_row = out->row_stride;
    job.out_plane = out->plane_stride;
    job.out_view = crn_gpu_view_stride(out);
    int64_t half = static_cast<int64_t>(params->width) * params->height / 2;
    job.divisor = static_cast<double>(half * half);
    if ((half & (half - 1)) == 0 && half <= INT64_C(1) << 26)
        job.scale = static_cast<float>(1 / job.divisor);
    return job;
}

static bool is_few(const crn_ranklet_job *job)
{
    int64_t positions = static_cast<int64_t>(job->rows) * job->columns * job->images;
    int64_t area = static_cast<int64_t>(job->width) * job->height;
    return positions <= 64 && positions * area <= DIRECT_PIXELS_MAX;
}

int crn_ranklet_cuda(crn_context *context, const crn_ranklet_params *params, const crn_image *in,
                     crn_image *out)
{
    int r = crn_ranklet_check(params, in, out);
    if (r == 0)
        r = crn_gpu_check(context, in, out);
    if (r < 0)
        return r;
    if (in->planes > INT32_MAX / 3 / crn_context_views(context))
        return -EINVAL;
    const crn_gpu_limits *limits = crn_gpu_limits_of(context);
    crn_ranklet_job job = job_of(context, params, in, out);
    const bool is_small = crn_ranklet_is_small(&job);
    r = crn_ranklet_codes(context, in, !is_small, &job);
    crn_ranklet_tiling tiling;
    if (r == 0 && is_small)
        crn_ranklet_small(context, &job);
    else if (r == 0 && (is_few(&job) || !crn_ranklet_tiling_make(&job, limits, &tiling)))
        r = crn_ranklet_direct(context, &job);
    else if (r == 0)
        r = crn_ranklet_counts(context, &job, &tiling);
    int launched = crn_gpu_launch_error();
    return r < 0 ? r : launched;
}
