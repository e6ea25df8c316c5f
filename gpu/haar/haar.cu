/* The Haar transform: the entry. Decides number and shape of the launches (haar.cuh). */
#include "gpu/haar/haar.cuh"

extern "C" {
#include "stages/serial/haar.h"
}

enum { STEPS_MAX = 3 };

/* Averages between launches, and their denoised counterparts. */
enum { SLOT_AVERAGES, SLOT_DENOISED = SLOT_AVERAGES + STEPS_MAX - 1 };

/* Up to so many pixels per plane, one CTA does all remaining levels. */
#define TAIL_PIXELS (128 * 128)

/* Threads per multiprocessor below which blocks should be smaller. */
#define THREADS_BUSY 256

/* Levels of one launch. */
typedef struct haar_step {
    int32_t height, width, levels;
    bool is_tail;
} haar_step;

typedef struct gpu_haar_plan {
    crn_context *context;
    const crn_haar_params *params;
    const crn_image *in, *out;
    int32_t vec, packs, views;
    bool interleaved;
    haar_step steps[STEPS_MAX];
    int32_t count;
    crn_haar_view averages[STEPS_MAX - 1], denoised[STEPS_MAX - 1]; /* of step i + 1's size */
} gpu_haar_plan;

static int32_t min_int(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* --- images --- */

static bool is_multiple(ptrdiff_t value, ptrdiff_t of)
{
    return value % of == 0;
}

static bool has_aligned_rows(const gpu_haar_plan *p, const crn_haar_view *view, bool u8)
{
    ptrdiff_t row = u8 ? 8 : 4;
    return view->step == 1 && is_multiple((ptrdiff_t)(uintptr_t)view->data, u8 ? 8 : 16) &&
           is_multiple(view->row_stride, row) &&
           (p->packs == 1 || is_multiple(view->pack_stride, row)) &&
           (p->views == 1 || is_multiple(view->view_stride, row));
}

static crn_haar_view view_of(const gpu_haar_plan *p, const crn_image *image)
{
    crn_haar_view view = {image->data, image->row_stride, image->step, image->plane_stride * p->vec,
                          crn_gpu_view_stride(image)};
    return view;
}

/* Takes scratch memory for a step's pixels, with aligned rows. */
static int take_view(const gpu_haar_plan *p, int32_t slot, const haar_step *s,
                     crn_haar_view *ret_view)
{
    ptrdiff_t planes = p->in->planes, step = p->interleaved ? planes : 1;
    ptrdiff_t row = ((ptrdiff_t)s->width * step + 3) / 4 * 4;
    ptrdiff_t pack = p->interleaved ? p->vec : row * s->height;
    ptrdiff_t view_stride = row * s->height * (p->interleaved ? 1 : planes);
    void *memory = crn_context_scratch(p->context, slot, (size_t)view_stride * sizeof(float));
    if (!memory)
        return -ENOMEM;
    crn_haar_view view = {memory, row, step, pack, view_stride};
    *ret_view = view;
    return 0;
}

/* --- steps --- */

/* True if four interleaved planes can be read and written at once. */
static bool has_fours(const crn_image *image)
{
    uintptr_t bytes = 4 * crn_type_bytes(image->type);
    return is_multiple(image->planes, 4) && image->plane_stride == 1 &&
           is_multiple(image->step, 4) && is_multiple(image->row_stride, 4) &&
           (uintptr_t)image->data % bytes == 0;
}

/* True if blocks of that many pixels give enough threads to keep the device busy. */
static bool has_enough(const gpu_haar_plan *p, int64_t block_pixels)
{
    int64_t pixels = (int64_t)p->in->height * p->in->width * p->views;
    int64_t threads = pixels * p->in->planes / block_pixels;
    return threads >= (int64_t)THREADS_BUSY * crn_gpu_limits_of(p->context)->multiprocessors;
}

static int32_t levels_max(const gpu_haar_plan *p)
{
    return p->interleaved ? CRN_HAAR_FIRST_LEVELS_MAX - 1 : CRN_HAAR_FIRST_LEVELS_MAX;
}

static void set_steps(gpu_haar_plan *p)
{
    int32_t height = p->in->height, width = p->in->width, left = p->params->levels;
    p->count = 0;
    do {
        haar_step *s = &p->steps[p->count];
        bool few = (int64_t)height * width <= TAIL_PIXELS && p->count > 0;
        s->height = height;
        s->width = width;
        s->is_tail = left > levels_max(p) && (few || p->count == STEPS_MAX - 1);
        s->levels = s->is_tail ? left : min_int(left, levels_max(p));
        height = crn_haar_halved(height, s->levels);
        width = crn_haar_halved(width, s->levels);
        left -= s->levels;
        p->count++;
    } while (left > 0);
}

static int set_plan(gpu_haar_plan *p)
{
    p->interleaved = p->in->planes > 1 && p->in->plane_stride == 1 && p->out->plane_stride == 1;
    p->views = crn_context_views(p->context);
    bool fours = has_fours(p->in) && has_fours(p->out) && has_enough(p, 4 * 4 * 4);
    p->vec = fours ? 4 : 1;
    p->packs = p->in->planes / p->vec;
    set_steps(p);
    for (int32_t i = 0; i + 1 < p->count; i++) {
        int r = take_view(p, SLOT_AVERAGES + i, &p->steps[i + 1], &p->averages[i]);
        if (r == 0 && p->params->direction == CRN_HAAR_DENOISE)
            r = take_view(p, SLOT_DENOISED + i, &p->steps[i + 1], &p->denoised[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- launches --- */

static crn_gpu_haar_job job_of(const gpu_haar_plan *p, int32_t i)
{
    crn_gpu_haar_job job = {};
    job.height = p->steps[i].height;
    job.width = p->steps[i].width;
    job.levels = p->steps[i].levels;
    job.packs = p->packs;
    job.views = p->views;
    job.threshold = p->params->threshold;
    job.unit = p->params->unit;
    return job;
}

/* True if blocks of that side can be read and written by whole rows. `u8`: the
 * type of what is read. */
static bool has_aligned_blocks(const gpu_haar_plan *p, crn_haar_direction direction, bool u8,
                               const crn_gpu_haar_job *job, int32_t side_log2)
{
    bool from_pixels = direction != CRN_HAAR_INVERSE;
    bool aligned = has_aligned_rows(p, &job->pixels, from_pixels && u8) &&
                   (!job->details.data || has_aligned_rows(p, &job->details, !from_pixels && u8)) &&
                   (!job->denoised.data || has_aligned_rows(p, &job->denoised, false));
    if (job->averages.data && job->levels <= side_log2)
        aligned &= has_aligned_rows(p, &job->averages, u8 && !job->averages_are_floats);
    for (int32_t k = 1; k <= side_log2 && k <= job->levels && job->details.data; k++)
        aligned &= is_multiple(crn_haar_halved(job->width, k), min_int(4, 1 << side_log2 >> k));
    return aligned;
}

/* Chooses the CTA's blocks: as many as its levels need, wide rather than high, and no
 * wider than the image. */
static void set_shape(const gpu_haar_plan *p, crn_haar_block_kind kind, crn_gpu_haar_job *job)
{
    const int32_t side_log2 = kind == CRN_HAAR_SINGLE ? 3 : 2;
    int32_t needed = job->levels > side_log2 ? job->levels - side_log2 : 0;
    int32_t most = kind == CRN_HAAR_FOUR ? 4 : 16; /* packs per CTA */
    int32_t groups = crn_gpu_blocks(p->packs, most);
    job->packs_per_cta = p->interleaved ? crn_gpu_blocks(p->packs, groups) : 1;
    if (needed > 0) {
        /* As high as wide. */
        int32_t usual = job->packs_per_cta > 4                       ? 2
                        : kind == CRN_HAAR_NARROW && !p->interleaved ? 4
                                                                     : 3;
        job->across_log2 = job->down_log2 = needed > usual ? needed : usual;
    } else {
        job->across_log2 = p->interleaved ? 3 : kind == CRN_HAAR_NARROW ? 5 : 4;
        job->down_log2 = p->interleaved ? 1 : 2;
    }
    while (job->across_log2 > needed && job->width <= 1 << (side_log2 + job->across_log2 - 1)) {
        job->across_log2--;
        job->down_log2++;
    }
    /* Several packs of many blocks would exceed the maximum number of threads. */
    while (job->packs_per_cta << (job->across_log2 + job->down_log2) > CRN_HAAR_THREADS_MAX)
        job->packs_per_cta--;
    job->tiles_across = crn_gpu_blocks(job->width, 1 << (side_log2 + job->across_log2));
    job->tiles_down = crn_gpu_blocks(job->height, 1 << (side_log2 + job->down_log2));
    job->pack_groups = crn_gpu_blocks(p->packs, job->packs_per_cta);
}

/* All views of the job must be set. `u8`: the type of what is read. */
static int launch(const gpu_haar_plan *p, const haar_step *s, crn_haar_direction direction, bool u8,
                  crn_gpu_haar_job *job)
{
    if (s->is_tail) {
        /* One plane per pack. */
        crn_haar_view *views[3] = {&job->pixels, &job->details, &job->averages};
        for (int32_t i = 0; i < 3; i++)
            views[i]->pack_stride /= p->vec;
        job->packs = p->in->planes;
        return crn_haar_launch_tail(p->context, direction, u8, job);
    }
    crn_haar_block_kind kind = CRN_HAAR_FOUR;
    if (p->vec == 1) {
        kind = has_enough(p, 8 * 8) && has_aligned_blocks(p, direction, u8, job, 3)
                   ? CRN_HAAR_SINGLE
                   : CRN_HAAR_NARROW;
        job->aligned = kind == CRN_HAAR_SINGLE || has_aligned_blocks(p, direction, u8, job, 2);
    }
    set_shape(p, kind, job);
    return crn_haar_launch(p->context, direction, kind, u8, job);
}

static crn_haar_view pixels_of(const gpu_haar_plan *p, int32_t i, const crn_image *whole)
{
    return i == 0 ? view_of(p, whole) : p->averages[i - 1];
}

static int forward(const gpu_haar_plan *p, int32_t i, bool details)
{
    bool last = i + 1 == p->count, u8 = i == 0 && p->in->type == CRN_U8;
    crn_gpu_haar_job job = job_of(p, i);
    job.pixels = pixels_of(p, i, p->in);
    if (details)
        job.details = view_of(p, p->out);
    job.averages = last ? view_of(p, p->out) : p->averages[i];
    job.averages_are_floats = true;
    return launch(p, &p->steps[i], CRN_HAAR_FORWARD, u8, &job);
}

static int inverse(const gpu_haar_plan *p, int32_t i)
{
    bool last = i + 1 == p->count, u8 = p->in->type == CRN_U8;
    crn_gpu_haar_job job = job_of(p, i);
    job.pixels = pixels_of(p, i, p->out);
    job.details = view_of(p, p->in);
    job.averages = last ? job.details : p->averages[i];
    job.averages_are_floats = !last || !u8;
    return launch(p, &p->steps[i], CRN_HAAR_INVERSE, u8, &job);
}

static int denoise(const gpu_haar_plan *p, int32_t i)
{
    bool last = i + 1 == p->count, u8 = i == 0 && p->in->type == CRN_U8;
    crn_gpu_haar_job job = job_of(p, i);
    job.pixels = pixels_of(p, i, p->in);
    if (!last)
        job.averages = p->steps[i + 1].is_tail ? p->averages[i] : p->denoised[i];
    job.averages_are_floats = true;
    job.denoised = i == 0 ? view_of(p, p->out) : p->denoised[i - 1];
    return launch(p, &p->steps[i], CRN_HAAR_DENOISE, u8, &job);
}

int crn_haar_cuda(crn_context *context, const crn_haar_params *params, const crn_image *in,
                  crn_image *out)
{
    int r = crn_haar_check(params, in, out);
    if (r == 0)
        r = crn_gpu_check(context, in, out);
    if (r < 0)
        return r;
    gpu_haar_plan p = {};
    p.context = context;
    p.params = params;
    p.in = in;
    p.out = out;
    r = set_plan(&p);
    bool forward_only = params->direction == CRN_HAAR_FORWARD;
    if (params->direction == CRN_HAAR_INVERSE) {
        for (int32_t i = p.count - 1; r == 0 && i >= 0; i--)
            r = inverse(&p, i);
        return r;
    }
    /* Denoising goes down with the averages only; the way back recomputes the differences. */
    for (int32_t i = 0; r == 0 && i < (forward_only ? p.count : p.count - 1); i++)
        r = forward(&p, i, forward_only);
    for (int32_t i = p.count - 1; r == 0 && !forward_only && i >= 0; i--)
        r = denoise(&p, i);
    return r;
}
