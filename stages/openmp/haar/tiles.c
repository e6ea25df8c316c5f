/* Denoising tile by tile, forward and back through several levels at once: differences are
 * recomputed from pixels in the first-level cache instead of being stored, and the picture is read
 * and written once. */
#include "stages/openmp/haar/haar.h"

#include <string.h>

/* Pixels of a tile, in floats: with its averages it is a small part of the second-level cache; with
 * narrower tiles, rows end before the hardware prefetcher has started. */
#define TILE_FLOATS 12288

/* Granularity in pixels: whole cache lines. */
#define TILE_STEP 16

/* Whole squares of the last level, except at the picture's end. */
typedef struct haar_tile {
    int32_t y, x;
    int32_t height[CRN_HAAR_FUSED_MAX + 1], width[CRN_HAAR_FUSED_MAX + 1]; /* by level */
    ptrdiff_t stride[CRN_HAAR_FUSED_MAX + 1];
    float *averages[CRN_HAAR_FUSED_MAX + 1]; /* level 0: the pixels */
    float *results[CRN_HAAR_FUSED_MAX + 1];  /* after soft thresholding */
    float *spare[2];                         /* buffers for rows that are not dense */
} haar_tile;

static int32_t tile_width(const crn_haar_job *job)
{
    int64_t side = (int64_t)1 << job->levels;
    int64_t step = side > TILE_STEP ? side : TILE_STEP;
    int64_t steps = TILE_FLOATS / (side * step * job->channels), whole = job->in.width;
    int64_t width = (steps < 1 ? 1 : steps) * step, tiles = (whole + width - 1) / width;
    /* Tiles of equal width, so that none is narrow. */
    width = ((whole + tiles - 1) / tiles + step - 1) / step * step;
    return width < whole ? (int32_t)width : job->in.width;
}

static int32_t tile_height(const crn_haar_job *job)
{
    int64_t side = (int64_t)1 << job->levels;
    return side < job->in.height ? (int32_t)side : job->in.height;
}

/* Floats of one level. */
static size_t level_floats(const crn_haar_job *job, int32_t level)
{
    return crn_haar_row_floats(job, crn_haar_halved(tile_width(job), level)) *
           (size_t)crn_haar_halved(tile_height(job), level);
}

size_t crn_haar_tile_floats(const crn_haar_job *job)
{
    size_t floats = level_floats(job, 0) + 2 * crn_haar_row_floats(job, tile_width(job));
    for (int32_t level = 1; level <= job->levels; level++)
        floats += 2 * level_floats(job, level);
    return floats;
}

static float *row_of(const haar_tile *t, float *const *levels, int32_t level, int32_t r)
{
    return levels[level] + r * t->stride[level];
}

/* Sets the two rows that row `r` of a level is computed from, or that it yields. */
static void set_pixels(const haar_tile *t, int32_t level, int32_t r, crn_haar_rows *g)
{
    bool is_pair = 2 * r + 1 < t->height[level - 1];
    g->width = t->width[level - 1];
    g->top = row_of(t, t->averages, level - 1, 2 * r);
    g->bottom = is_pair ? row_of(t, t->averages, level - 1, 2 * r + 1) : g->top;
}

/* Sets the next tile's rows at the position of this tile's row `r` of the first level,
 * for prefetching. */
static void set_prefetch(const crn_haar_job *job, const haar_tile *t, int32_t r, crn_haar_rows *g)
{
    int64_t y = (int64_t)t->y + 2 * r, x = (int64_t)t->x + t->width[0];
    if (x == job->in.width) {
        y += tile_height(job);
        x = 0;
    }
    /* For a narrower tile, with the columns before it. */
    int32_t last = job->in.width - t->width[0];
    x = x < last ? x : last;
    g->prefetch[0] = crn_haar_prefetch_row(job, &job->in, y, (int32_t)x, g->top);
    g->prefetch[1] = crn_haar_prefetch_row(job, &job->in, y + 1, (int32_t)x, g->bottom);
}

static void set_tile(const crn_haar_job *job, int32_t y, int32_t x, float *memory, haar_tile *t)
{
    int32_t height = tile_height(job), width = tile_width(job);
    t->y = y;
    t->x = x;
    height = job->in.height - y < height ? job->in.height - y : height;
    width = job->in.width - x < width ? job->in.width - x : width;
    for (int32_t level = 0; level <= job->levels; level++) {
        t->height[level] = crn_haar_halved(height, level);
        t->width[level] = crn_haar_halved(width, level);
        t->stride[level] = (ptrdiff_t)crn_haar_row_floats(job, t->width[level]);
        t->averages[level] = memory;
        t->results[level] = memory + (level > 0 ? level_floats(job, level) : 0);
        memory = t->results[level] + level_floats(job, level);
    }
    for (int i = 0; i < 2; i++, memory += crn_haar_row_floats(job, tile_width(job)))
        t->spare[i] = memory;
    if (crn_haar_is_in_place(job, &job->in)) {
        t->averages[0] = crn_haar_read_row(job, &job->in, y, x, width, NULL);
        t->stride[0] = job->in.row_stride;
    } else {
        for (int32_t r = 0; r < height; r++)
            crn_haar_read_row(job, &job->in, y + r, x, width, row_of(t, t->averages, 0, r));
    }
}

/* Computes the averages of one level. */
static void average_level(const crn_haar_job *job, const haar_tile *t, int32_t level)
{
    for (int32_t r = 0; r < t->height[level]; r++) {
        crn_haar_rows g = {.channels = job->channels, .average = row_of(t, t->averages, level, r)};
        set_pixels(t, level, r, &g);
        job->kernels->average(&g);
    }
}

/* Computes the previous level's averages with soft-thresholded differences; those of level 0 are
 * the result. */
static void denoise_level(const crn_haar_job *job, const haar_tile *t, int32_t level)
{
    for (int32_t r = 0; r < t->height[level]; r++) {
        crn_haar_rows g = {.channels = job->channels};
        set_pixels(t, level, r, &g);
        if (level < job->levels)
            g.average = row_of(t, t->results, level, r);
        else if (job->averages.data)
            g.average = crn_haar_read_row(job, &job->averages, (t->y >> level) + r, t->x >> level,
                                          t->width[level], t->spare[0]);
        bool is_pair = g.top != g.bottom;
        int32_t y = t->y + 2 * r;
        if (level > 1) {
            g.soft_top = row_of(t, t->results, level - 1, 2 * r);
            g.soft_bottom = is_pair ? g.soft_top + t->stride[level - 1] : t->spare[1];
            job->kernels->denoise(&g, job->threshold);
            continue;
        }
        g.soft_top = crn_haar_target_row(job, &job->out, y, t->x, t->spare[0], &g.streamed[0]);
        g.soft_bottom = t->spare[1];
        if (is_pair)
            g.soft_bottom =
                crn_haar_target_row(job, &job->out, y + 1, t->x, t->spare[1], &g.streamed[1]);
        g.is_large = job->stream;
        if (job->stream)
            set_prefetch(job, t, r, &g);
        job->kernels->denoise(&g, job->threshold);
        crn_haar_finish_row(job, &job->out, y, t->x, g.width, g.soft_top);
        if (is_pair)
            crn_haar_finish_row(job, &job->out, y + 1, t->x, g.width, g.soft_bottom);
    }
}

void crn_haar_strip_denoise(const crn_haar_job *job, int32_t begin, int32_t end, float *memory)
{
    haar_tile t;
    for (int64_t y = begin; y < end && !crn_haar_is_over(job, tile_height(job));
         y += tile_height(job))
        for (int64_t x = 0; x < job->in.width; x += tile_width(job)) {
            set_tile(job, (int32_t)y, (int32_t)x, memory, &t);
            for (int32_t level = 1; level < job->levels; level++)
                average_level(job, &t, level);
            for (int32_t level = job->levels; level >= 1; level--)
                denoise_level(job, &t, level);
        }
    crn_haar_fence();
}

void crn_haar_strip_average(const crn_haar_job *job, int32_t begin, int32_t end, float *memory)
{
    haar_tile t;
    for (int64_t y = begin; y < end && !crn_haar_is_over(job, tile_height(job));
         y += tile_height(job))
        for (int64_t x = 0; x < job->in.width; x += tile_width(job)) {
            set_tile(job, (int32_t)y, (int32_t)x, memory, &t);
            for (int32_t level = 1; level <= job->levels; level++)
                average_level(job, &t, level);
            bool streamed;
            for (int32_t r = 0; r < t.height[job->levels]; r++)
                memcpy(crn_haar_target_row(job, &job->averages, (t.y >> job->levels) + r,
                                           t.x >> job->levels, NULL, &streamed),
                       row_of(&t, t.averages, job->levels, r),
                       (size_t)t.width[job->levels] * (size_t)job->channels * sizeof(float));
        }
}
