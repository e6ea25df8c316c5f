/* CPU diamond-square, entry point: tiles, threads, memory, the cascade of
 * levels (diamond_square.h). */
#include "stages/openmp/diamond_square/diamond_square.h"

#include <emmintrin.h>
#include <errno.h>
#include <string.h>

#include <omp.h>

enum { SLOT_TILES };

#define BLOCK  CRN_DIAMOND_SQUARE_BLOCK
#define LEVELS CRN_DIAMOND_SQUARE_EXPONENT_MAX

/* Padding of a row for blocks that begin before it or end after it. */
#define ROW_MARGIN 192

/* With less work an extra thread costs more than it saves. */
#define ELEMENTS_PER_THREAD (1 << 19)

/* Maximum tile size: wide for long rows, narrow enough for the rows of all levels to stay in the
 * caches; with several threads, high enough to keep the rows that neighbouring tiles both compute a
 * small part. */
#define TILE_COLUMNS     8448
#define TILE_ROWS_LEAST  256
#define TILES_PER_THREAD 4

/* An f32 result larger than the last-level cache is written with non-temporal stores: ordinary ones
 * first read each line, which takes as long as all else. STREAM_BLOCKS blocks at a time are
 * computed into a buffer that stays in the first-level cache. */
#define STREAM_BYTES  ((size_t)32 << 20)
#define STREAM_BLOCKS 16

typedef struct target_functions {
    crn_diamond_square_columns_fn *columns;
    crn_diamond_square_pair_fn *pair;
} target_functions;

static const target_functions functions[CRN_TARGETS] = {
    [CRN_BASELINE] = {crn_diamond_square_columns_baseline, crn_diamond_square_pair_baseline},
    [CRN_AVX2] = {crn_diamond_square_columns_avx2, crn_diamond_square_pair_avx2},
    [CRN_AVX512] = {crn_diamond_square_columns_avx512, crn_diamond_square_pair_avx512},
};

typedef struct diamond_square_job {
    const crn_diamond_square_params *params;
    const crn_image *out;
    const target_functions *run;
    crn_diamond_square_keys keys;
    int32_t rows, columns; /* maximum size of a tile */
    int32_t tiles_across, tiles_down;
    uint8_t *memory; /* tile_bytes per thread */
    size_t tile_bytes;
    bool stream; /* non-temporal stores */
} diamond_square_job;

/* One step of the cascade: computes grid level + 1 from grid level, two rows at a time, from
 * the top. */
typedef struct diamond_square_step {
    float amplitude;
    int32_t next;         /* the a of the next row pair */
    int32_t last_row;     /* 2^level */
    int32_t start, count; /* range of x */
    int32_t last;         /* the last x that is needed */
    int32_t offset;       /* of `start` in rows of grid `level` */
    float *rows[4]; /* of grid level + 1, row y at index y mod 4, from column 2 start on; the last
                       step only uses two, for elements that are not stored directly */
    float *diamonds;
    crn_diamond_square_columns columns[2]; /* by phase */
} diamond_square_step;

/* One rectangle of the field, computed by one thread. */
typedef struct diamond_square_tile {
    const diamond_square_job *job;
    int32_t x0, y0, x1, y1; /* in the field, x1 and y1 inclusive */
    float *corners[2];
    diamond_square_step steps[LEVELS];
} diamond_square_tile;

/* --- memory --- */

/* Elements of a row of grid `level`, with padding. A tile that needs w columns of a grid needs less
 * than w / 2 + 3 of the previous one. */
static size_t row_capacity(const diamond_square_job *j, int32_t level)
{
    size_t needed = ((size_t)j->columns >> (j->params->exponent - level)) + 6;
    return (needed + ROW_MARGIN + 15) / 16 * 16;
}

/* Bytes of a tile's memory; if `t` is given, assigns its buffers from `memory` on. */
static size_t lay_out(const diamond_square_job *j, diamond_square_tile *t, uint8_t *memory)
{
    size_t at = 0, row = row_capacity(j, 0) * sizeof(float);
    for (int i = 0; i < 2; i++, at += row)
        if (t)
            t->corners[i] = (float *)(void *)(memory + at);
    for (int32_t level = 0; level < j->params->exponent; level++) {
        diamond_square_step *s = t ? &t->steps[level] : NULL;
        row = row_capacity(j, level + 1) * sizeof(float);
        for (int i = 0; i < 4; i++, at += row)
            if (s)
                s->rows[i] = (float *)(void *)(memory + at);
        /* Half as many diamonds, and as many bytes per array of column state: 8 for each 4 x. */
        row = (row / 2 + 127) / 64 * 64;
        if (s)
            s->diamonds = (float *)(void *)(memory + at + 64);
        at += row;
        for (int i = 0; i < 2; i++, at += 2 * row)
            if (s)
                s->columns[i] = (crn_diamond_square_columns){
                    (uint64_t *)(void *)(memory + at), (uint64_t *)(void *)(memory + at + row)};
    }
    return (at + 4095) / 4096 * 4096;
}

/* --- the cascade --- */

static int32_t half_down(int32_t n)
{
    return n > 0 ? (n - 1) / 2 : 0;
}

/* Sets the range that each step must compute, from the last step, which computes the rectangle, to
 * the first. */
static void plan(diamond_square_tile *t)
{
    const crn_diamond_square_params *params = t->job->params;
    int32_t x0 = t->x0, x1 = t->x1, y0 = t->y0;
    for (int32_t level = params->exponent - 1; level >= 0; level--) {
        diamond_square_step *s = &t->steps[level];
        s->amplitude = crn_diamond_square_amplitude(params->roughness, level);
        s->last_row = 1 << level;
        s->last = x1 / 2;
        y0 = s->next = half_down(y0);
        x0 = half_down(x0);
        x1 = x1 / 2 + 1 > s->last_row ? s->last_row : x1 / 2 + 1;
        s->start = x0 / 16 * 16;
        s->count = (s->last - s->start + BLOCK) / BLOCK * BLOCK;
    }
    for (int32_t level = 0; level < params->exponent; level++) {
        diamond_square_step *s = &t->steps[level];
        s->offset = level ? s->start - 2 * t->steps[level - 1].start : 0;
        for (int phase = 0; phase < 2; phase++)
            t->job->run->columns(&t->job->keys, level, (crn_diamond_square_phase)phase, s->start,
                                 s->count, &s->columns[phase]);
    }
    for (int32_t j = 0; j < 2; j++)
        for (int32_t i = 0; i < 2; i++)
            t->corners[j][i] = crn_diamond_square_corner(params->seed, i, j);
}

/* Row y of grid `level`, at the first x of that level's step. */
static const float *source_row(const diamond_square_tile *t, int32_t level, int32_t y)
{
    const float *row = level ? t->steps[level - 1].rows[y & 3] : t->corners[y];
    return row + t->steps[level].offset;
}

static crn_diamond_square_row row_of(const crn_diamond_square_keys *keys, int32_t level, int32_t j)
{
    uint32_t word = (uint32_t)((uint64_t)CRN_PHILOX_FACTOR1 * (uint32_t)level >> 32);
    uint64_t product = (uint64_t)CRN_PHILOX_FACTOR0 * (word ^ (uint32_t)j ^ keys->round[0][0]);
    return (crn_diamond_square_row){(uint32_t)(product >> 32) ^ keys->round[1][1],
                                    (uint32_t)product};
}

/* The next row pair of a step, without its output pointers. */
static crn_diamond_square_pair next_pair(const diamond_square_tile *t, int32_t level)
{
    const diamond_square_step *s = &t->steps[level];
    const crn_diamond_square_keys *keys = &t->job->keys;
    int32_t a = s->next;
    return (crn_diamond_square_pair){
        .above = source_row(t, level, a),
        .below = a < s->last_row ? source_row(t, level, a + 1) : NULL,
        .diamonds = s->diamonds,
        .top = a == 0,
        .amplitude = s->amplitude,
        .keys = keys,
        .diamond_columns = s->columns[CRN_PHASE_DIAMOND],
        .square_columns = s->columns[CRN_PHASE_SQUARE],
        .diamond_row = row_of(keys, level, a),
        .even_row = row_of(keys, level, 2 * a),
        .odd_row = row_of(keys, level, 2 * a + 1),
        .count = s->count,
    };
}

/* The point at the left or right end of row 2a + 1, the mean of three neighbours. */
static float border_point(const diamond_square_tile *t, int32_t level,
                          const crn_diamond_square_pair *p, int32_t x)
{
    const diamond_square_step *s = &t->steps[level];
    int32_t at = x - s->start;
    float beside = x == 0 ? p->diamonds[0] : p->diamonds[at - 1];
    float mean = ((p->above[at] + beside) + p->below[at]) * (1.0f / 3.0f);
    return mean + crn_diamond_square_noise(t->job->params->seed, level, CRN_PHASE_SQUARE, x,
                                           2 * s->next + 1, s->amplitude);
}

/* Computes the rows of grid `level` up to row y. */
static void reach(diamond_square_tile *t, int32_t level, int32_t y)
{
    if (level == 0)
        return;
    diamond_square_step *s = &t->steps[level - 1];
    for (; s->next <= y / 2; s->next++) {
        int32_t a = s->next;
        reach(t, level - 1, a < s->last_row ? a + 1 : a);
        crn_diamond_square_pair p = next_pair(t, level - 1);
        float *odd = s->rows[(2 * a + 1) & 3];
        p.type = CRN_F32;
        p.even = s->rows[(2 * a) & 3];
        p.odd = odd;
        t->job->run->pair(&p);
        if (!p.below)
            continue;
        if (s->start == 0)
            odd[0] = border_point(t, level - 1, &p, 0);
        if (s->last == s->last_row)
            odd[2 * (s->last - s->start)] = border_point(t, level - 1, &p, s->last);
    }
}

/* --- last step: writing the image --- */

/* Address of the field's element (y, x) in the image, or NULL if row y is outside of the tile. */
static uint8_t *image_row(const diamond_square_tile *t, int32_t y, int32_t x)
{
    if (y < t->y0 || y > t->y1)
        return NULL;
    const crn_image *out = t->job->out;
    return crn_image_element(out, 0, y - t->job->params->y, x - t->job->params->x);
}

/* Copies columns x to end of a row of the field from `line`, which begins at column `origin`. */
static void copy_columns(const diamond_square_tile *t, int32_t y, int32_t x, int32_t end,
                         const void *line, int32_t origin)
{
    const crn_image *out = t->job->out;
    x = x < t->x0 ? t->x0 : x;
    end = end > t->x1 + 1 ? t->x1 + 1 : end;
    uint8_t *to = image_row(t, y, x);
    if (!to || x >= end)
        return;
    size_t size = crn_type_bytes(out->type);
    const uint8_t *from = (const uint8_t *)line + (size_t)(x - origin) * size;
    if (out->step == 1) {
        memcpy(to, from, (size_t)(end - x) * size);
        return;
    }
    for (; x < end; x++, from += size, to += out->step * (ptrdiff_t)size)
        memcpy(to, from, size);
}

/* Computes blocks from .. end of a pair into `even` and `odd`, which begin at the first of them. */
static void run_blocks(const diamond_square_tile *t, const crn_diamond_square_pair *whole,
                       int32_t from, int32_t end, void *even, void *odd)
{
    if (from >= end)
        return;
    crn_diamond_square_pair p = *whole;
    int32_t x = from * BLOCK;
    p.above += x;
    p.below = p.below ? p.below + x : NULL;
    p.diamonds += x;
    p.diamond_columns.first += x / 4;
    p.diamond_columns.second += x / 4;
    p.square_columns.first += x / 4;
    p.square_columns.second += x / 4;
    p.count = (end - from) * BLOCK;
    p.even = even;
    p.odd = odd;
    t->job->run->pair(&p);
}

/* memcpy with non-temporal stores. */
static void stream_bytes(uint8_t *to, const uint8_t *from, size_t count)
{
    size_t head = -(uintptr_t)to & 63, at = head < count ? head : count;
    memcpy(to, from, at);
    for (; count - at >= 64; at += 64)
        for (size_t i = at; i < at + 64; i += 16)
            _mm_stream_si128((__m128i *)(void *)(to + i),
                             _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
    memcpy(to + at, from + at, count - at);
}

/* Computes a few blocks at a time into the line buffers and streams them to the image. */
static void stream_pair(const diamond_square_tile *t, const crn_diamond_square_pair *p, int32_t y)
{
    const diamond_square_step *s = &t->steps[t->job->params->exponent - 1];
    const int32_t blocks = s->count / BLOCK;
    for (int32_t from = 0, end; from < blocks; from = end) {
        end = from + STREAM_BLOCKS < blocks ? from + STREAM_BLOCKS : blocks;
        run_blocks(t, p, from, end, s->rows[0], s->rows[1]);
        int32_t origin = 2 * (s->start + BLOCK * from), x = origin < t->x0 ? t->x0 : origin;
        int32_t end_x = 2 * (s->start + BLOCK * end);
        end_x = end_x > t->x1 + 1 ? t->x1 + 1 : end_x;
        for (int i = 0; i < 2 && x < end_x; i++) {
            uint8_t *to = image_row(t, y + i, x);
            if (to)
                stream_bytes(to, (const uint8_t *)(s->rows[i] + (x - origin)),
                             (size_t)(end_x - x) * sizeof(float));
        }
    }
}

/* Blocks entirely inside the tile are computed in place if the image's elements are adjacent; those
 * at the tile's sides go through the line buffers. */
static void place_pair(const diamond_square_tile *t, const crn_diamond_square_pair *p, int32_t y)
{
    const diamond_square_step *s = &t->steps[t->job->params->exponent - 1];
    const size_t size = crn_type_bytes(p->type);
    int32_t origin = 2 * s->start, blocks = s->count / BLOCK;
    int32_t from = origin < t->x0 ? 1 : 0;
    int32_t end = origin + 2 * BLOCK * blocks > t->x1 + 1 ? blocks - 1 : blocks;
    if (t->job->out->step != 1 || end < from)
        from = end = 0;
    uint8_t *line[2] = {(uint8_t *)s->rows[0], (uint8_t *)s->rows[1]}, *place[2];
    for (int i = 0; i < 2; i++) {
        place[i] = from < end ? image_row(t, y + i, origin + 2 * BLOCK * from) : NULL;
        if (!place[i])
            place[i] = line[i] + (size_t)(2 * BLOCK * from) * size;
    }
    run_blocks(t, p, 0, from, line[0], line[1]);
    run_blocks(t, p, from, end, place[0], place[1]);
    size_t done = (size_t)(2 * BLOCK * end) * size;
    run_blocks(t, p, end, blocks, line[0] + done, line[1] + done);
    for (int i = 0; i < 2; i++) {
        copy_columns(t, y + i, origin, origin + 2 * BLOCK * from, line[i], origin);
        copy_columns(t, y + i, origin + 2 * BLOCK * end, t->x1 + 1, line[i], origin);
    }
}

/* Computes the next rows 2a and 2a + 1 of the field in the last step. */
static void finish_pair(const diamond_square_tile *t)
{
    const crn_image *out = t->job->out;
    const crn_diamond_square_params *params = t->job->params;
    const int32_t level = params->exponent - 1;
    const diamond_square_step *s = &t->steps[level];
    crn_diamond_square_pair p = next_pair(t, level);
    p.type = out->type;
    if (t->job->stream)
        stream_pair(t, &p, 2 * s->next);
    else
        place_pair(t, &p, 2 * s->next);
    int32_t y = 2 * s->next + 1;
    if (!p.below || y < t->y0 || y > t->y1)
        return;
    if (t->x0 == 0)
        crn_diamond_square_put(out, y - params->y, -params->x, border_point(t, level, &p, 0));
    if (t->x1 == 2 * s->last_row)
        crn_diamond_square_put(out, y - params->y, t->x1 - params->x,
                               border_point(t, level, &p, s->last_row));
}

/* --- tiles --- */

static void make_tile(const diamond_square_job *j, int32_t number, uint8_t *memory)
{
    diamond_square_tile t = {.job = j};
    int32_t down = number / j->tiles_across, across = number % j->tiles_across;
    int32_t last_x = j->params->x + j->out->width - 1, last_y = j->params->y + j->out->height - 1;
    t.x0 = j->params->x + across * j->columns;
    t.y0 = j->params->y + down * j->rows;
    t.x1 = last_x - t.x0 < j->columns ? last_x : t.x0 + j->columns - 1;
    t.y1 = last_y - t.y0 < j->rows ? last_y : t.y0 + j->rows - 1;
    lay_out(j, &t, memory);
    plan(&t);
    diamond_square_step *s = &t.steps[j->params->exponent - 1];
    for (; s->next <= t.y1 / 2; s->next++) {
        reach(&t, j->params->exponent - 1, s->next < s->last_row ? s->next + 1 : s->next);
        finish_pair(&t);
    }
    if (j->stream)
        _mm_sfence(); /* orders non-temporal stores before the stores that publish them */
}

static void run_tiles(const diamond_square_job *j, int32_t threads)
{
    int32_t tiles = j->tiles_across * j->tiles_down;
    if (threads == 1 || tiles == 1) {
        for (int32_t i = 0; i < tiles; i++)
            make_tile(j, i, j->memory);
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int32_t i = 0; i < tiles; i++)
        make_tile(j, i, j->memory + (size_t)omp_get_thread_num() * j->tile_bytes);
}

/* Divides `whole` into parts of equal size, at most `max`; the last may be smaller. Returns
 * their number. */
static int32_t parts(int32_t whole, int32_t max, int32_t *ret_each)
{
    int32_t count = (whole - 1) / max + 1;
    *ret_each = (whole - 1) / count + 1;
    return (whole - 1) / *ret_each + 1;
}

static crn_diamond_square_keys keys_of(uint64_t seed)
{
    crn_diamond_square_keys keys;
    for (uint32_t i = 0; i < CRN_PHILOX_ROUNDS; i++) {
        keys.round[i][0] = (uint32_t)seed + i * CRN_PHILOX_WEYL0;
        keys.round[i][1] = (uint32_t)(seed >> 32) + i * CRN_PHILOX_WEYL1;
    }
    return keys;
}

int crn_diamond_square_openmp_with(const crn_diamond_square_variant *variant, crn_context *context,
                                   const crn_diamond_square_params *params, crn_image *out)
{
    int r = crn_diamond_square_check(params, out);
    if (r < 0)
        return r;
    if (params->exponent == 0) {
        for (int32_t y = 0; y < out->height; y++)
            for (int32_t x = 0; x < out->width; x++)
                crn_diamond_square_put(
                    out, y, x,
                    crn_diamond_square_corner(params->seed, x + params->x, y + params->y));
        return 0;
    }
    diamond_square_job j = {.params = params, .out = out, .run = &functions[variant->target]};
    j.stream = variant->stream && out->type == CRN_F32 && out->step == 1;
    j.keys = keys_of(params->seed);
    j.tiles_across = parts(out->width, variant->columns, &j.columns);
    j.tiles_down = parts(out->height, variant->rows, &j.rows);
    j.tile_bytes = lay_out(&j, NULL, NULL);
    j.memory = crn_context_scratch(context, SLOT_TILES, j.tile_bytes * (size_t)variant->threads);
    if (!j.memory)
        return -ENOMEM;
    run_tiles(&j, variant->threads);
    return 0;
}

int crn_diamond_square_openmp(crn_context *context, const crn_diamond_square_params *params,
                              crn_image *out)
{
    int r = crn_diamond_square_check(params, out);
    if (r < 0)
        return r;
    int64_t threads = (int64_t)out->height * out->width / ELEMENTS_PER_THREAD;
    if (threads > crn_context_threads(context))
        threads = crn_context_threads(context);
    if (threads < 1)
        threads = 1;
    /* The same number of tiles for each thread, more than one if they are high enough. */
    int64_t each = threads == 1 ? 1 : out->height / (threads * TILE_ROWS_LEAST);
    each = each < 1 ? 1 : each > TILES_PER_THREAD ? TILES_PER_THREAD : each;
    int32_t rows = (int32_t)((out->height - 1) / (threads * each) + 1);
    size_t bytes = (size_t)out->height * (size_t)out->width * crn_type_bytes(out->type);
    crn_diamond_square_variant variant = {crn_target_best(), (int32_t)threads, rows, TILE_COLUMNS,
                                          bytes >= STREAM_BYTES};
    return crn_diamond_square_openmp_with(&variant, context, params, out);
}
