/* CPU Haar transform, entry point: scratch memory, planes, strips, threads, order of the passes. */
#include "stages/openmp/haar/haar.h"

#include <errno.h>

#include <omp.h>

#include "stages/openmp/simd.h"
#include "stages/serial/haar.h"

enum { SLOT_PLANES, SLOT_SCRATCH };

/* With less work an extra thread costs more than it saves: waking one takes as long as a frame. */
#define ELEMENTS_PER_THREAD (1 << 21)

/* More strips than threads, for load balancing. */
#define STRIPS_PER_THREAD 4

/* Larger results do not stay in the cache until they are read. */
#define STREAMED_BYTES (1 << 23)

/* Levels per pass of denoise: a tile then stays in the lower cache levels. */
#define LEVELS_OF_TILE 3

/* Levels per pass with several threads: the remaining averages are a thousandth of the picture. */
#define LEVELS_OF_STRIP 5

/* At most CRN_HAAR_FUSED_MAX passes of one level, forward and back. */
#define PASSES_MAX (2 * CRN_HAAR_FUSED_MAX)

/* One pass over the strips of all planes. */
typedef struct pass {
    crn_haar_strip_fn *strip;
    crn_haar_job job; /* for the first plane */
    int32_t strips;
} pass;

/* The sequence of passes. A group is one plane, or all channels of an interleaved picture. */
typedef struct haar_plan {
    int32_t groups;
    pass passes[PASSES_MAX];
    int32_t pass_count;
    size_t scratch_floats; /* per thread */
} haar_plan;

/* Intermediate images between passes: the averages, and for the inverse their results. */
typedef struct stages {
    crn_image averages[CRN_HAAR_FUSED_MAX + 1], results[CRN_HAAR_FUSED_MAX + 1];
    int32_t count; /* number of passes */
} stages;

/* The rectangle of a picture that holds the averages after `levels` levels. */
static crn_image corner(const crn_image *image, int32_t levels)
{
    crn_image part = *image;
    part.height = crn_haar_halved(image->height, levels);
    part.width = crn_haar_halved(image->width, levels);
    return part;
}

static size_t set_stage(const crn_image *picture, int32_t channels, int32_t levels, float *memory,
                        crn_image *ret_stage)
{
    crn_image stage = corner(picture, levels);
    stage.type = CRN_F32;
    stage.data = memory;
    stage.step = channels;
    stage.row_stride = (ptrdiff_t)stage.width * channels;
    stage.plane_stride = stage.row_stride * stage.height;
    *ret_stage = stage;
    return (size_t)stage.plane_stride * (size_t)(picture->planes / channels);
}

/* Allocates the intermediate images. */
static int set_stages(const crn_haar_variant *variant, const crn_haar_params *params,
                      const crn_image *in, const crn_image *out, int32_t channels,
                      crn_context *context, stages *ret_stages)
{
    stages s = {.count = (params->levels + variant->fused - 1) / variant->fused};
    size_t floats = 0;
    crn_image stage;
    for (int32_t i = 1; i < s.count; i++)
        floats += 2 * set_stage(in, channels, i * variant->fused, NULL, &stage);
    float *memory = NULL;
    if (floats) {
        memory = crn_context_scratch(context, SLOT_PLANES, floats * sizeof *memory);
        if (!memory)
            return -ENOMEM;
    }
    s.averages[0] = *in;
    s.results[0] = *out;
    for (int32_t i = 1; i < s.count; i++) {
        memory += set_stage(in, channels, i * variant->fused, memory, &s.averages[i]);
        memory += set_stage(in, channels, i * variant->fused, memory, &s.results[i]);
    }
    *ret_stages = s;
    return 0;
}

static void add_pass(haar_plan *p, const crn_haar_variant *variant, crn_haar_strip_fn *strip,
                     const crn_haar_job *job)
{
    int64_t square = (int64_t)1 << job->levels;
    int64_t squares = (job->in.height + square - 1) / square;
    int32_t strips = variant->strips < squares ? variant->strips : (int32_t)squares;
    p->passes[p->pass_count++] = (pass){strip, *job, strips};
    bool is_tiled = strip == crn_haar_strip_denoise || strip == crn_haar_strip_average;
    size_t floats = is_tiled ? crn_haar_tile_floats(job) : crn_haar_strip_floats(job);
    p->scratch_floats = floats > p->scratch_floats ? floats : p->scratch_floats;
}

/* Number of levels of pass `i`. */
static void set_levels(const crn_haar_variant *variant, const crn_haar_params *params, int32_t i,
                       crn_haar_job *job)
{
    int32_t left = params->levels - i * variant->fused;
    job->levels = left < variant->fused ? left : variant->fused;
}

static void plan_forward(const crn_haar_variant *variant, const crn_haar_params *params,
                         const stages *s, crn_haar_job *job, haar_plan *p)
{
    for (int32_t i = 0; i < s->count; i++) {
        set_levels(variant, params, i, job);
        job->in = s->averages[i];
        job->out = corner(&s->results[0], i * variant->fused);
        job->stream = variant->stream;
        job->stream_averages = variant->stream && i + 1 == s->count;
        job->averages =
            i + 1 < s->count ? s->averages[i + 1] : corner(&s->results[0], params->levels);
        add_pass(p, variant, crn_haar_strip_forward, job);
    }
}

static void plan_inverse(const crn_haar_variant *variant, const crn_haar_params *params,
                         const stages *s, crn_haar_job *job, haar_plan *p)
{
    for (int32_t i = s->count - 1; i >= 0; i--) {
        set_levels(variant, params, i, job);
        job->in = corner(&s->averages[0], i * variant->fused);
        job->out = s->results[i];
        job->stream = variant->stream && i == 0;
        job->averages =
            i + 1 < s->count ? s->results[i + 1] : corner(&s->averages[0], params->levels);
        add_pass(p, variant, crn_haar_strip_inverse, job);
    }
}

static void plan_denoise(const crn_haar_variant *variant, const crn_haar_params *params,
                         const stages *s, crn_haar_job *job, haar_plan *p)
{
    for (int32_t i = 0; i + 1 < s->count; i++) {
        set_levels(variant, params, i, job);
        job->in = s->averages[i];
        job->averages = s->averages[i + 1];
        add_pass(p, variant, crn_haar_strip_average, job);
    }
    for (int32_t i = s->count - 1; i >= 0; i--) {
        set_levels(variant, params, i, job);
        job->in = s->averages[i];
        job->out = s->results[i];
        job->stream = variant->stream && i == 0;
        job->averages = i + 1 < s->count ? s->results[i + 1] : (crn_image){.data = NULL};
        add_pass(p, variant, crn_haar_strip_denoise, job);
    }
}

/* --- execution --- */

static void shift(crn_image *image, int32_t plane)
{
    if (image->data)
        image->data = (uint8_t *)image->data +
                      plane * image->plane_stride * (ptrdiff_t)crn_type_bytes(image->type);
}

static void do_task(const pass *w, int32_t task, float *scratch, crn_pace *pace)
{
    if (pace->over)
        return;
    crn_haar_job job = w->job;
    job.pace = pace;
    int32_t group = task / w->strips, k = task % w->strips;
    shift(&job.in, group);
    shift(&job.out, group);
    shift(&job.averages, group);
    int64_t square = (int64_t)1 << job.levels, height = job.in.height;
    int64_t squares = (height + square - 1) / square;
    int64_t begin = squares * k / w->strips * square;
    int64_t end = squares * (k + 1) / w->strips * square;
    w->strip(&job, (int32_t)begin, (int32_t)(end < height ? end : height), scratch);
}

static void run_alone(const haar_plan *p, float *scratch, crn_context *context)
{
    crn_pace pace = crn_pace_start(context);
    for (int32_t i = 0; i < p->pass_count; i++)
        for (int32_t task = 0; task < p->groups * p->passes[i].strips; task++)
            do_task(&p->passes[i], task, scratch, &pace);
}

static void run_together(const haar_plan *p, int32_t threads, float *memory, crn_context *context)
{
#pragma omp parallel num_threads(threads)
    {
        float *scratch = memory + p->scratch_floats * (size_t)omp_get_thread_num();
        crn_pace pace = crn_pace_start(context);
        for (int32_t i = 0; i < p->pass_count; i++) {
#pragma omp for schedule(dynamic, 1)
            for (int32_t task = 0; task < p->groups * p->passes[i].strips; task++)
                do_task(&p->passes[i], task, scratch, &pace);
        }
    }
}

int crn_haar_openmp_with(const crn_haar_variant *variant, crn_context *context,
                         const crn_haar_params *params, const crn_image *in, crn_image *out)
{
    int r = crn_haar_check(params, in, out);
    if (r < 0)
        return r;
    int32_t channels =
        crn_image_is_interleaved(in) && crn_image_is_interleaved(out) ? in->planes : 1;
    haar_plan p; /* large, so unused elements are not initialised */
    p.groups = in->planes / channels;
    p.pass_count = 0;
    p.scratch_floats = 0;
    crn_haar_job job = {.kernels = variant->kernels,
                        .in = *in,
                        .out = *out,
                        .channels = channels,
                        .unit = params->unit,
                        .threshold = params->threshold};
    if (params->levels == 0) {
        add_pass(&p, variant, crn_haar_strip_copy, &job);
    } else {
        stages s;
        r = set_stages(variant, params, in, out, channels, context, &s);
        if (r < 0)
            return r;
        if (params->direction == CRN_HAAR_FORWARD)
            plan_forward(variant, params, &s, &job, &p);
        else if (params->direction == CRN_HAAR_INVERSE)
            plan_inverse(variant, params, &s, &job, &p);
        else
            plan_denoise(variant, params, &s, &job, &p);
    }
    /* Whole cache lines, with padding between threads. */
    p.scratch_floats = p.scratch_floats / 16 * 16 + 32;
    float *memory = crn_context_scratch(
        context, SLOT_SCRATCH, p.scratch_floats * (size_t)variant->threads * sizeof *memory);
    if (!memory)
        return -ENOMEM;
    if (variant->threads > 1)
        run_together(&p, variant->threads, memory, context);
    else
        run_alone(&p, memory, context);
    return crn_context_status(context);
}

static crn_haar_variant variant_for(const crn_context *context, const crn_haar_params *params,
                                    const crn_image *in)
{
    static const crn_haar_kernels *const kernels[CRN_TARGETS] = {
        [CRN_BASELINE] = &crn_haar_kernels_baseline,
        [CRN_AVX2] = &crn_haar_kernels_avx2,
        [CRN_AVX512] = &crn_haar_kernels_avx512,
    };
    crn_haar_variant variant = {kernels[crn_target_best()], CRN_HAAR_FUSED_MAX, 1, 1, false};
    int64_t elements = (int64_t)in->planes * in->height * in->width;
    int64_t useful = elements / ELEMENTS_PER_THREAD, threads = crn_context_threads(context);
    variant.threads = (int32_t)(useful < 1 ? 1 : useful < threads ? useful : threads);
    if (variant.threads > 1) {
        variant.strips = STRIPS_PER_THREAD * variant.threads;
        variant.fused = LEVELS_OF_STRIP;
        while (variant.fused > 1 && in->height >> variant.fused < variant.strips)
            variant.fused--;
    }
    if (params->direction == CRN_HAAR_DENOISE && variant.fused > LEVELS_OF_TILE)
        variant.fused = LEVELS_OF_TILE;
    variant.stream = elements * (int64_t)sizeof(float) >= STREAMED_BYTES;
    return variant;
}

int crn_haar_openmp(crn_context *context, const crn_haar_params *params, const crn_image *in,
                    crn_image *out)
{
    int r = crn_haar_check(params, in, out);
    if (r < 0)
        return r;
    crn_haar_variant variant = variant_for(context, params, in);
    return crn_haar_openmp_with(&variant, context, params, in, out);
}
