/* Strips of rows through several levels at once: a level's averages are used while they are in the
 * cache, and every pixel is read once and written once. */
#include "stages/openmp/haar/haar.h"

#include <string.h>

/* Floats of a row that are streamed at once. */
#define PART_FLOATS 2048

/* Granularity in pixels: half of it is whole cache lines, so that no line is written in
 * two parts. */
#define PART_STEP 32

/* Sizes of the averages by level; 0 is the picture. */
typedef struct sizes {
    int32_t height[CRN_HAAR_FUSED_MAX + 1], width[CRN_HAAR_FUSED_MAX + 1];
} sizes;

/* Row buffers of one thread. */
typedef struct strips_scratch {
    float *rows[CRN_HAAR_FUSED_MAX + 1][2]; /* averages by level; 0: rows that are not dense */
    float *halves[4];                       /* the same for the transformed rows */
    float *zeros, *discarded;
} strips_scratch;

size_t crn_haar_strip_floats(const crn_haar_job *job)
{
    size_t whole = crn_haar_row_floats(job, job->in.width);
    size_t half = crn_haar_row_floats(job, crn_haar_halved(job->in.width, 1));
    size_t floats = 3 * whole + 5 * half;
    for (int32_t level = 1; level <= job->levels; level++)
        floats += 2 * crn_haar_row_floats(job, crn_haar_halved(job->in.width, level));
    return floats;
}

static sizes set_sizes(const crn_haar_job *job)
{
    sizes s;
    for (int32_t level = 0; level <= job->levels; level++) {
        s.height[level] = crn_haar_halved(job->in.height, level);
        s.width[level] = crn_haar_halved(job->in.width, level);
    }
    return s;
}

static strips_scratch set_scratch(const crn_haar_job *job, const sizes *s, float *memory)
{
    strips_scratch d;
    size_t whole = crn_haar_row_floats(job, s->width[0]),
           half = crn_haar_row_floats(job, s->width[1]);
    for (int i = 0; i < 2; i++, memory += whole)
        d.rows[0][i] = memory;
    for (int i = 0; i < 4; i++, memory += half)
        d.halves[i] = memory;
    d.zeros = memory;
    d.discarded = memory + half;
    memset(d.zeros, 0, half * sizeof *d.zeros);
    memory += half + whole;
    for (int32_t level = 1; level <= job->levels; level++)
        for (int i = 0; i < 2; i++, memory += crn_haar_row_floats(job, s->width[level]))
            d.rows[level][i] = memory;
    return d;
}

/* Streamed rows are processed in parts, to alternate quickly between reads and writes. */
static int32_t part_width(const crn_haar_job *job, int32_t width)
{
    int32_t part = PART_FLOATS / job->channels / PART_STEP * PART_STEP;
    part = part < PART_STEP ? PART_STEP : part;
    return job->stream && part < width ? part : width;
}

/* Pixels x to x + width - 1, x even, of two rows of a level's input, and row `r` of the averages
 * and differences that they transform to. */
typedef struct strips_part {
    int32_t level, r, x, width;
} strips_part;

/* --- forward --- */

/* Sets the next two rows of pixels, for prefetching. */
static void forward_prefetch(const crn_haar_job *job, int32_t level, int32_t r, int32_t x,
                             crn_haar_rows *g)
{
    g->prefetch[0] = g->top;
    g->prefetch[1] = g->bottom;
    if (level == 1) {
        g->prefetch[0] = crn_haar_prefetch_row(job, &job->in, 2 * (int64_t)r + 2, x, g->top);
        g->prefetch[1] = crn_haar_prefetch_row(job, &job->in, 2 * (int64_t)r + 3, x, g->bottom);
    }
}

static void forward_part(const crn_haar_job *job, const sizes *s, const strips_scratch *d,
                         const strips_part *p, float *top, float *bottom)
{
    const int32_t level = p->level, r = p->r, x = p->x, width = p->width;
    const crn_image *out = &job->out, *averages = &job->averages;
    bool is_last = level == job->levels, is_pair = top != bottom;
    int32_t high = s->height[level], wide = s->width[level], half = x / 2, narrow = width / 2;
    ptrdiff_t element = (ptrdiff_t)x * job->channels;
    crn_haar_rows g = {
        .width = width, .channels = job->channels, .is_large = job->stream, .top = top + element};
    g.bottom = bottom + element;
    g.average = d->rows[level][r & 1] + element / 2;
    if (is_last)
        g.average = crn_haar_target_row(job, averages, r, half, d->halves[0], &g.streamed[0]);
    if (narrow)
        g.row = crn_haar_target_row(job, out, r, wide + half, d->halves[1], &g.streamed[1]);
    g.column = d->discarded;
    g.diagonal = d->halves[3];
    if (is_pair)
        g.column = crn_haar_target_row(job, out, high + r, half, d->halves[2], &g.streamed[2]);
    if (is_pair && narrow)
        g.diagonal =
            crn_haar_target_row(job, out, high + r, wide + half, d->halves[3], &g.streamed[3]);
    if (job->stream)
        forward_prefetch(job, level, r, x, &g);
    job->kernels->forward(&g);
    if (is_last)
        crn_haar_finish_row(job, averages, r, half, width - narrow, g.average);
    crn_haar_finish_row(job, out, r, wide + half, narrow, g.row);
    if (is_pair) {
        crn_haar_finish_row(job, out, high + r, half, width - narrow, g.column);
        crn_haar_finish_row(job, out, high + r, wide + half, narrow, g.diagonal);
    }
}

static void forward_rows(const crn_haar_job *job, const sizes *s, const strips_scratch *d,
                         int32_t level, int32_t r, float *top, float *bottom)
{
    int32_t width = s->width[level - 1], step = part_width(job, width);
    for (int64_t x = 0; x < width; x += step) {
        strips_part p = {level, r, (int32_t)x, (int32_t)(width - x < step ? width - x : step)};
        forward_part(job, s, d, &p, top, bottom);
    }
}

void crn_haar_strip_forward(const crn_haar_job *job, int32_t begin, int32_t end, float *memory)
{
    sizes s = set_sizes(job);
    strips_scratch d = set_scratch(job, &s, memory);
    for (int64_t y = begin; y < end && !crn_haar_is_over(job, 2); y += 2) {
        float *top = crn_haar_read_row(job, &job->in, (int32_t)y, 0, s.width[0], d.rows[0][0]),
              *bottom = top;
        if (y + 1 < s.height[0])
            bottom = crn_haar_read_row(job, &job->in, (int32_t)y + 1, 0, s.width[0], d.rows[0][1]);
        /* Every second row of averages yields one of the next level. */
        int32_t r = (int32_t)(y / 2);
        for (int32_t level = 1;; level++, r /= 2) {
            forward_rows(job, &s, &d, level, r, top, bottom);
            bool is_unpaired = r % 2 == 0 && r == s.height[level] - 1;
            if (level == job->levels || (r % 2 == 0 && !is_unpaired))
                break;
            top = d.rows[level][0];
            bottom = is_unpaired ? top : d.rows[level][1];
        }
    }
    crn_haar_fence();
}

/* --- inverse --- */

/* Sets the next rows of averages and differences of a level, for prefetching. */
static void inverse_prefetch(const crn_haar_job *job, const sizes *s, int32_t level, int32_t r,
                             int32_t x, crn_haar_rows *g)
{
    const crn_image *in = &job->in;
    int32_t wide = s->width[level], half = x / 2;
    int64_t next = (int64_t)r + 1, below = next + s->height[level];
    g->prefetch[0] = g->average;
    if (level == job->levels)
        g->prefetch[0] = crn_haar_prefetch_row(job, &job->averages, next, half, g->average);
    g->prefetch[1] = crn_haar_prefetch_row(job, in, next, wide + half, g->row);
    g->prefetch[2] = crn_haar_prefetch_row(job, in, below, half, g->column);
    g->prefetch[3] = crn_haar_prefetch_row(job, in, below, wide + half, g->diagonal);
}

static void inverse_part(const crn_haar_job *job, const sizes *s, const strips_scratch *d,
                         const strips_part *p)
{
    const int32_t level = p->level, r = p->r, x = p->x, width = p->width;
    const crn_image *in = &job->in, *out = &job->out;
    int32_t high = s->height[level], wide = s->width[level], half = x / 2, narrow = width / 2;
    ptrdiff_t element = (ptrdiff_t)x * job->channels;
    bool is_pair = 2 * r + 1 < s->height[level - 1], is_first = level == 1;
    crn_haar_rows g = {.width = width, .channels = job->channels, .is_large = job->stream};
    g.average = d->rows[level][r & 1] + element / 2;
    if (level == job->levels)
        g.average = crn_haar_read_row(job, &job->averages, r, half, width - narrow, d->halves[0]);
    g.row = g.average; /* not read, as there are no pairs */
    if (narrow)
        g.row = crn_haar_read_row(job, in, r, wide + half, narrow, d->halves[1]);
    g.column = g.diagonal = d->zeros;
    if (is_pair)
        g.column = crn_haar_read_row(job, in, high + r, half, width - narrow, d->halves[2]);
    if (is_pair && narrow)
        g.diagonal = crn_haar_read_row(job, in, high + r, wide + half, narrow, d->halves[3]);
    g.top = d->rows[level - 1][0] + element;
    g.bottom = is_pair ? d->rows[level - 1][1] + element : d->discarded;
    if (is_first)
        g.top = crn_haar_target_row(job, out, 2 * r, x, d->rows[0][0], &g.streamed[0]);
    if (is_first && is_pair)
        g.bottom = crn_haar_target_row(job, out, 2 * r + 1, x, d->rows[0][1], &g.streamed[1]);
    if (job->stream)
        inverse_prefetch(job, s, level, r, x, &g);
    job->kernels->inverse(&g);
    if (is_first)
        crn_haar_finish_row(job, out, 2 * r, x, width, g.top);
    if (is_first && is_pair)
        crn_haar_finish_row(job, out, 2 * r + 1, x, width, g.bottom);
}

static void inverse_rows(const crn_haar_job *job, const sizes *s, const strips_scratch *d,
                         int32_t level, int32_t r)
{
    int32_t width = s->width[level - 1], step = level == 1 ? part_width(job, width) : width;
    for (int64_t x = 0; x < width; x += step) {
        strips_part p = {level, r, (int32_t)x, (int32_t)(width - x < step ? width - x : step)};
        inverse_part(job, s, d, &p);
    }
}

void crn_haar_strip_inverse(const crn_haar_job *job, int32_t begin, int32_t end, float *memory)
{
    sizes s = set_sizes(job);
    strips_scratch d = set_scratch(job, &s, memory);
    for (int64_t y = begin; y < end && !crn_haar_is_over(job, 2); y += 2) {
        /* Levels for which a new row of averages is needed. */
        int32_t level = 1;
        while (level < job->levels && y % ((int64_t)2 << level) == 0)
            level++;
        for (; level >= 1; level--)
            inverse_rows(job, &s, &d, level, (int32_t)(y >> level));
    }
    crn_haar_fence();
}
