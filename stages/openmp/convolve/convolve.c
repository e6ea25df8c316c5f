/* CPU convolution, entry point: memory, strips, tiles, threads, order of the steps (convolve.h). */
#include "stages/openmp/convolve/convolve.h"

#include <errno.h>
#include <string.h>

#include <omp.h>

#include "stages/serial/convolve.h"
#include "stages/serial/convolve_factor.h"

enum {
    SLOT_RING,
    SLOT_EXTENDED,
    SLOT_ROWS,
    SLOT_RESULTS,
    SLOT_FACTORS,
};

/* With less work (multiplications) an extra thread costs more than it saves. */
#define WORK_PER_THREAD (1 << 24)

/* More strips than threads, for load balancing. */
#define STRIPS_PER_THREAD 4

/* Ring of a tile, in floats: half of a second-level cache of 1 MiB. */
#define RING_FLOATS (1 << 17)

/* In narrower tiles most of the work is at the borders. */
#define TILE_ELEMENTS_MIN 256

/* Rows at intervals of whole pages map to few sets of the first-level cache; more rows than this
 * are copied into the ring rather than read in place. */
#define DIRECT_ROWS_MAX 12

/* --- input and output of a filter --- */

static crn_convolve_rows rows_of(const crn_convolve_job *job, const crn_image *image, int32_t plane)
{
    size_t size = crn_type_bytes(image->type);
    ptrdiff_t bytes = (ptrdiff_t)size;
    return (crn_convolve_rows){.data = (uint8_t *)image->data + plane * image->plane_stride * bytes,
                               .row_bytes = image->row_stride * bytes,
                               .step = image->step * bytes,
                               .size = size,
                               .dense = image->step == job->channels};
}

/* One tile of one strip, filtered from top to bottom. */
typedef struct descent {
    const crn_convolve_job *job;
    crn_convolve_scratch *scratch;
    crn_convolve_rows in, out;
    crn_convolve_tile tile;
    size_t count;       /* elements of the tile */
    int64_t next, from; /* the next row to fetch, and the first one: may be < 0 */
} descent;

/* The elements under the kernel in one row, as f32: in place, or copied to `to`. */
static const float *get_extended(const descent *d, int32_t row, float *to)
{
    if (d->tile.direct && row >= 0) {
        ptrdiff_t x = d->tile.x - d->job->params->width / 2;
        const uint8_t *place = d->in.data + row * d->in.row_bytes + x * d->in.step;
        return (const float *)(const void *)place;
    }
    crn_convolve_extend(d->job, &d->in, row, &d->tile, to);
    return to;
}

/* Fetches row `next` into the ring. */
static void fetch_row(descent *d)
{
    const crn_convolve_job *job = d->job;
    int32_t slot = (int32_t)((d->next - d->from) % job->ring);
    float *kept = d->scratch->ring + (size_t)slot * job->pitch;
    int32_t row = crn_convolve_source(job->params->border, d->next, job->height);
    const float *place;
    if (job->separable) {
        const float *extended = get_extended(d, row, d->scratch->extended);
        void *to = kept;
        job->filters->to_f32(&job->first, &extended, d->count, 1, &to);
        place = kept;
    } else {
        place = get_extended(d, row, kept);
    }
    d->scratch->rows[slot] = d->scratch->rows[slot + job->ring] = place;
    d->next++;
}

static void scatter(const descent *d, const uint8_t *from, uint8_t *to)
{
    for (size_t i = 0; i < d->count; i++, to += d->out.step) {
        if (d->out.size == 1)
            *to = from[i];
        else
            memcpy(to, from + i * sizeof(float), sizeof(float));
    }
}

/* Computes `down` output rows from row y on. */
static void filter_rows(descent *d, int32_t y, int32_t down)
{
    const crn_convolve_job *job = d->job;
    int64_t taps = (int64_t)job->taps.width * job->taps.height + job->params->width;
    if (crn_pace_over(&d->scratch->pace, (int64_t)d->count * down * (8 + taps) / 8))
        return;
    int64_t first = (int64_t)y - job->params->height / 2;
    while (d->next < first + job->taps.height + down - 1)
        fetch_row(d);
    const float *const *rows = d->scratch->rows + (first - d->from) % job->ring;
    uint8_t *places[CRN_CONVOLVE_DOWN];
    void *out[CRN_CONVOLVE_DOWN];
    for (int32_t r = 0; r < down; r++) {
        places[r] = d->out.data + (y + r) * d->out.row_bytes + d->tile.x * d->out.step;
        out[r] =
            d->out.dense ? places[r] : d->scratch->results + (size_t)r * d->scratch->result_bytes;
    }
    crn_convolve_filter_fn *filter =
        job->type == CRN_U8 ? job->filters->to_u8 : job->filters->to_f32;
    filter(&job->taps, rows, d->count, down, out);
    for (int32_t r = 0; r < down && !d->out.dense; r++)
        scatter(d, out[r], places[r]);
}

/* --- tiles and strips --- */

/* Range of columns where the kernel stays inside the picture, if its rows may be read in place. */
static void find_direct(const crn_convolve_job *job, int32_t *ret_begin, int32_t *ret_end)
{
    *ret_begin = *ret_end = job->width;
    ptrdiff_t page = 4096 / sizeof(float), rest = job->in->row_stride % page;
    bool crowded = rest > -32 && rest < 32 && job->taps.height + 3 > DIRECT_ROWS_MAX;
    if (job->type != CRN_F32 || job->in->step != job->channels || (crowded && !job->separable))
        return;
    int32_t before = job->params->width / 2, after = job->params->width - 1 - before;
    if (job->width - before - after > before + after) {
        *ret_begin = before;
        *ret_end = job->width - after;
    }
}

static crn_convolve_tile tile_at(const crn_convolve_job *job, int32_t x)
{
    int32_t begin, end;
    find_direct(job, &begin, &end);
    int32_t limit = x < begin ? begin : x < end ? end : job->width;
    int32_t width = limit - x < job->tile_width ? limit - x : job->tile_width;
    bool direct = x >= begin && x < end && width * job->channels >= CRN_CONVOLVE_PADDING;
    return (crn_convolve_tile){x, width, direct};
}

/* Filters rows begin to end - 1 of a plane. */
static void filter_strip(const crn_convolve_job *job, crn_convolve_scratch *scratch, int32_t plane,
                         int32_t begin, int32_t end)
{
    int64_t first = (int64_t)begin - job->params->height / 2;
    descent d = {.job = job,
                 .scratch = scratch,
                 .in = rows_of(job, job->in, plane),
                 .out = rows_of(job, job->out, plane)};
    for (int32_t x = 0; x < job->width && !scratch->pace.over; x += d.tile.width) {
        d.tile = tile_at(job, x);
        d.count = (size_t)d.tile.width * (size_t)job->channels;
        d.next = d.from = first;
        int32_t y = begin;
        for (; end - y >= CRN_CONVOLVE_DOWN; y += CRN_CONVOLVE_DOWN)
            filter_rows(&d, y, CRN_CONVOLVE_DOWN);
        for (; y < end; y++)
            filter_rows(&d, y, 1);
    }
}

static void filter_item(const crn_convolve_job *job, crn_convolve_scratch *scratch, int32_t strips,
                        int64_t item)
{
    int64_t plane = item / strips, k = item % strips;
    filter_strip(job, scratch, (int32_t)plane, (int32_t)(job->height * k / strips),
                 (int32_t)(job->height * (k + 1) / strips));
}

/* --- whole pictures --- */

/* Compares the taps of two passes, plus the traffic through the ring, with those of one. */
static bool is_worth_two_passes(const crn_convolve_params *params)
{
    int32_t width = params->width, height = params->height;
    return width > 1 && height > 1 && width * height > 2 * width + height + 4;
}

static int set_taps(crn_convolve_job *job, const crn_convolve_variant *variant,
                    crn_context *context)
{
    const crn_convolve_params *params = job->params;
    job->taps = (crn_convolve_taps){params->weights, params->width, params->height, job->channels};
    size_t floats = (size_t)params->width + (size_t)params->height;
    float *column = crn_context_scratch(context, SLOT_FACTORS, floats * sizeof *column);
    if (!column)
        return -ENOMEM;
    float *row = column + params->height;
    bool wanted = variant->passes == CRN_CONVOLVE_FACTORED ||
                  (variant->passes == CRN_CONVOLVE_BY_COST && is_worth_two_passes(params));
    job->separable = wanted && crn_convolve_factor(params, column, row);
    if (job->separable) {
        job->first = (crn_convolve_taps){row, params->width, 1, job->channels};
        job->taps = (crn_convolve_taps){column, 1, params->height, job->channels};
    }
    return 0;
}

static void set_tiles(crn_convolve_job *job, const crn_convolve_variant *variant)
{
    job->ring = job->taps.height + CRN_CONVOLVE_DOWN - 1;
    int64_t halo = (int64_t)(job->params->width - 1) * job->channels;
    int64_t max = RING_FLOATS / job->ring - halo;
    int64_t min = halo > TILE_ELEMENTS_MIN ? halo : TILE_ELEMENTS_MIN;
    int64_t width = (max > min ? max : min) / job->channels;
    if (variant->tile_width)
        width = variant->tile_width;
    width = width < 1 ? 1 : width;
    int64_t tiles = (job->width + width - 1) / width;
    job->tile_width = (int32_t)((job->width + tiles - 1) / tiles);
    if (variant->tile_width)
        job->tile_width = variant->tile_width < job->width ? variant->tile_width : job->width;
    size_t pitch = (size_t)(job->tile_width * job->channels + halo + CRN_CONVOLVE_PADDING);
    pitch = (pitch + 15) / 16 * 16;
    /* Rows at intervals of whole pages would compete for the same cache sets. */
    job->pitch = pitch % 1024 < 48 ? pitch + 48 : pitch;
}

typedef struct convolve_memory {
    float *ring, *extended;
    const float **rows;
    uint8_t *results;
    size_t result_bytes;
} convolve_memory;

static int reserve(const crn_convolve_job *job, int32_t threads, crn_context *context,
                   convolve_memory *ret_memory)
{
    size_t each = (size_t)threads, ring = (size_t)job->ring;
    size_t result_bytes = job->pitch * crn_type_bytes(job->type);
    convolve_memory m = {
        .ring = crn_context_scratch(context, SLOT_RING, each * ring * job->pitch * sizeof *m.ring),
        .extended =
            crn_context_scratch(context, SLOT_EXTENDED, each * job->pitch * sizeof *m.extended),
        .rows = crn_context_scratch(context, SLOT_ROWS, each * 2 * ring * sizeof *m.rows),
        .results =
            crn_context_scratch(context, SLOT_RESULTS, each * CRN_CONVOLVE_DOWN * result_bytes),
        .result_bytes = result_bytes};
    if (!m.ring || !m.extended || !m.rows || !m.results)
        return -ENOMEM;
    *ret_memory = m;
    return 0;
}

static crn_convolve_scratch scratch_of(const crn_convolve_job *job, const convolve_memory *m,
                                       int32_t thread, crn_context *context)
{
    size_t i = (size_t)thread, ring = (size_t)job->ring;
    return (crn_convolve_scratch){.ring = m->ring + i * ring * job->pitch,
                                  .extended = m->extended + i * job->pitch,
                                  .rows = m->rows + i * 2 * ring,
                                  .results = m->results + i * CRN_CONVOLVE_DOWN * m->result_bytes,
                                  .result_bytes = m->result_bytes,
                                  .pace = crn_pace_start(context)};
}

int crn_convolve_openmp_with(const crn_convolve_variant *variant, crn_context *context,
                             const crn_convolve_params *params, const crn_image *in, crn_image *out)
{
    int r = crn_convolve_check(params, in, out);
    if (r < 0)
        return r;
    bool together = crn_image_is_interleaved(in) && crn_image_is_interleaved(out);
    crn_convolve_job job = {.params = params,
                            .filters = variant->filters,
                            .height = in->height,
                            .width = in->width,
                            .planes = together ? 1 : in->planes,
                            .channels = together ? in->planes : 1,
                            .type = in->type,
                            .in = in,
                            .out = out};
    r = set_taps(&job, variant, context);
    if (r < 0)
        return r;
    set_tiles(&job, variant);
    int32_t strips = variant->strips < job.height ? variant->strips : job.height;
    int64_t items = (int64_t)strips * job.planes;
    int32_t threads = variant->threads < items ? variant->threads : (int32_t)items;
    convolve_memory m;
    r = reserve(&job, threads, context, &m);
    if (r < 0)
        return r;
    if (threads == 1) {
        crn_convolve_scratch scratch = scratch_of(&job, &m, 0, context);
        for (int64_t item = 0; item < items; item++)
            filter_item(&job, &scratch, strips, item);
        return crn_context_status(context);
    }
#pragma omp parallel num_threads(threads)
    {
        crn_convolve_scratch scratch = scratch_of(&job, &m, omp_get_thread_num(), context);
#pragma omp for schedule(dynamic, 1)
        for (int64_t item = 0; item < items; item++)
            filter_item(&job, &scratch, strips, item);
    }
    return crn_context_status(context);
}

static const crn_convolve_filters *filters_of_this_processor(void)
{
    switch (crn_target_best()) {
    case CRN_AVX512:
        return &crn_convolve_filters_avx512;
    case CRN_AVX2:
        return &crn_convolve_filters_avx2;
    default:
        return &crn_convolve_filters_baseline;
    }
}

int crn_convolve_openmp(crn_context *context, const crn_convolve_params *params,
                        const crn_image *in, crn_image *out)
{
    int r = crn_convolve_check(params, in, out);
    if (r < 0)
        return r;
    double work = (double)in->planes * in->height * in->width;
    work *= 8.0 + params->width * params->height;
    double threads = work / WORK_PER_THREAD;
    int32_t limit = crn_context_threads(context);
    crn_convolve_variant variant = {
        .filters = filters_of_this_processor(), .strips = 1, .threads = limit};
    if (threads < limit)
        variant.threads = threads < 1 ? 1 : (int32_t)threads;
    /* A strip reads `height` of the kernel more rows than it writes. */
    int32_t max = in->height / (2 * params->height + 16);
    if (variant.threads > 1)
        variant.strips =
            STRIPS_PER_THREAD * variant.threads < max ? STRIPS_PER_THREAD * variant.threads : max;
    if (variant.strips < variant.threads)
        variant.strips = variant.threads;
    return crn_convolve_openmp_with(&variant, context, params, in, out);
}
