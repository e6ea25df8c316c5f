/* CPU ranklets, entry point: tiles, threads and scratch memory (ranklet.h). */
#include "stages/openmp/ranklet/codes.h"

#include <errno.h>
#include <string.h>

#include <omp.h>

#include "stages/serial/ranklet.h"

enum {
    SLOT_LINE,
    SLOT_VALUES,
    SLOT_RANKS,
    SLOT_CODES,
    SLOT_COUNTS,
    SLOT_SUMS,
    SLOT_PAIRS,
    SLOT_RINGS,
    SLOT_RESULTS,
    SLOTS,
};

/* Bytes of a tile's column counts and of its rows of pairs, which fit into the second- and
 * first-level cache. */
#define COUNTS_BYTES (640 << 10)
#define PAIRS_BYTES  (40 << 10)

/* Bytes of the sums of all rows of a tile, if it takes several sweeps. */
#define SUMS_BYTES (4 << 20)

/* With less work an extra thread costs more than it saves. */
#define NS_PER_THREAD 100000

/* More tiles than threads, for load balancing. */
#define TILES_PER_THREAD 4

static const crn_ranklet_target targets[CRN_TARGETS] = {
#define TARGET(name)                                                                               \
    {                                                                                              \
        crn_ranklet_columns_start_##name, crn_ranklet_columns_row_##name,                          \
            crn_ranklet_columns_advance_##name, crn_ranklet_pairs8_start_##name,                   \
            crn_ranklet_pairs8_row_##name, crn_ranklet_pairs8_advance_##name,                      \
            crn_ranklet_pairs16_start_##name, crn_ranklet_pairs16_row_##name,                      \
            crn_ranklet_pairs16_advance_##name, crn_ranklet_split_##name,                          \
            crn_ranklet_finish32_##name, crn_ranklet_finish64_##name                               \
    }
    [CRN_BASELINE] = TARGET(baseline),
    [CRN_AVX2] = TARGET(avx2),
    [CRN_AVX512] = TARGET(avx512),
};

/* Scratch memory of one thread. */
typedef struct ranklet_scratch {
    uint16_t *line;   /* a row of pixels, if rows are not dense */
    uint16_t *values; /* 16-bit codes of the tile */
    uint16_t *ranks;  /* by value */
    uint8_t *codes;
    void *counts, *sums, *pairs, *rings, *results[3];
    crn_pace pace;
} ranklet_scratch;

typedef struct ranklet_job {
    const crn_ranklet_params *params;
    const crn_image *in;
    crn_image *out;
    const crn_ranklet_variant *variant;
    const crn_ranklet_target *target;
    crn_ranklet_width counts_width;
    int32_t rows, columns;  /* maximum size of a tile */
    int32_t strips, stacks; /* numbers of tiles down and along a plane */
    ptrdiff_t stride;       /* of a row of codes, with padding */
    ptrdiff_t pairs_stride;
    size_t bytes[SLOTS]; /* per thread */
    uint8_t *memory[SLOTS];
} ranklet_job;

/* True if sums over pairs fit into their integer types, for codes of 8 bits or else 16. */
static bool pairs_fit(const crn_ranklet_params *params, int32_t code_bits)
{
    int64_t area = (int64_t)params->width * params->height, half = params->height / 2;
    return code_bits == 8 ? half * half <= INT8_MAX && area / 2 * (area / 2) <= INT16_MAX
                          : half * half <= INT16_MAX && area <= 92680;
}

crn_ranklet_width crn_ranklet_width_needed(const crn_ranklet_params *params)
{
    int64_t area = (int64_t)params->width * params->height;
    if (area <= INT16_MAX)
        return params->height <= INT8_MAX ? CRN_RANKLET_8 : CRN_RANKLET_16;
    if (params->height > INT16_MAX || area > INT32_MAX)
        return CRN_RANKLET_ANY;
    /* AW is at most a quarter of area^2. A step along the row adds and removes columns of a, each
     * pixel of which counts at most the area, and changes the score of every pixel of a by at most
     * 2 height. */
    if (area <= 92680)
        return CRN_RANKLET_32;
    return area * params->height <= (int64_t)1 << 30 ? CRN_RANKLET_WRAPPED : CRN_RANKLET_64;
}

/* --- a tile --- */

/* Estimated cost of a position, in nanoseconds of a busy machine. */
static double pairs_ns(const crn_ranklet_params *params, int32_t code_bits)
{
    return 0.006 * code_bits * params->width * params->height + 0.5;
}

static double columns_ns(crn_ranklet_width width)
{
    static const double ns[] = {33, 31, 75, 75, 110, 1000};
    return ns[width];
}

/* Cost of a row of positions, in the units of a pace. */
static int64_t row_work(const crn_ranklet_tile *tile, double ns)
{
    return (int64_t)((tile->columns + tile->width) * ns);
}

static void finish_row(const ranklet_job *j, ranklet_scratch *d, const crn_ranklet_pixels *p,
                       int32_t y, int32_t columns, bool wide)
{
    int64_t half = (int64_t)j->params->width * j->params->height / 2;
    for (int32_t i = 0; i < 3; i++) {
        ptrdiff_t at = crn_image_index(j->out, 3 * p->plane + i, p->y + y, p->x);
        crn_ranklet_finish finish = {.divisor = (double)(half * half),
                                     .sums = d->results[i],
                                     .columns = columns,
                                     .out = (float *)j->out->data + at,
                                     .step = j->out->step};
        if (wide)
            j->target->finish64(&finish);
        else
            j->target->finish32(&finish);
    }
}

static void run_pairs(const ranklet_job *j, ranklet_scratch *d, const crn_ranklet_pixels *p,
                      crn_ranklet_tile *tile, bool narrow, double ns)
{
    const crn_ranklet_target *t = j->target;
    uint8_t *codes8 = d->codes + j->params->width;
    uint16_t *codes16 = d->values + j->params->width;
    tile->codes = narrow ? (void *)codes8 : (void *)codes16;
    if (narrow)
        crn_ranklet_codes8(p, 128, codes8);
    else
        crn_ranklet_codes16(p, codes16);
    for (int32_t y = 0; y < tile->rows && !crn_pace_over(tile->pace, row_work(tile, ns)); y++) {
        if (y == 0)
            (narrow ? t->pairs8_start : t->pairs16_start)(tile, 0);
        else
            (narrow ? t->pairs8_advance : t->pairs16_advance)(tile, y - 1);
        (narrow ? t->pairs8_row : t->pairs16_row)(tile, y);
        finish_row(j, d, p, y, tile->columns, false);
    }
}

/* One sweep over all rows, for a range of values; `first` and `last` mark the first and
 * last sweep. */
static void run_columns_once(const ranklet_job *j, ranklet_scratch *d, const crn_ranklet_pixels *p,
                             crn_ranklet_tile *tile, bool first, bool last)
{
    size_t row_bytes = crn_ranklet_sums_bytes(tile);
    for (int32_t y = 0; y < tile->rows; y++) {
        if (y == 0)
            j->target->columns_start(tile, 0);
        else
            j->target->columns_advance(tile, y - 1);
        if (crn_pace_over(tile->pace, row_work(tile, columns_ns(tile->counts_width))))
            return;
        int32_t sums_row = first && last ? 0 : y;
        if (first)
            memset((uint8_t *)tile->sums + (size_t)sums_row * row_bytes, 0, row_bytes);
        j->target->columns_row(tile, sums_row);
        if (!last)
            continue;
        j->target->split(tile, sums_row);
        finish_row(j, d, p, y, tile->columns, tile->counts_width >= CRN_RANKLET_WRAPPED);
    }
}

static void run_columns8(const ranklet_job *j, ranklet_scratch *d, const crn_ranklet_pixels *p,
                         crn_ranklet_tile *tile)
{
    uint8_t *codes = d->codes + j->params->width;
    crn_ranklet_codes8(p, 0, codes);
    tile->codes = codes;
    tile->bins = p->max - p->min < CRN_RANKLET_BINS / 2 ? CRN_RANKLET_BINS / 2 : CRN_RANKLET_BINS;
    run_columns_once(j, d, p, tile, true, true);
}

static void run_columns16(const ranklet_job *j, ranklet_scratch *d, const crn_ranklet_pixels *p,
                          crn_ranklet_tile *tile, int32_t values)
{
    uint8_t *codes = d->codes + j->params->width;
    tile->codes = codes;
    tile->bins = CRN_RANKLET_BINS;
    tile->clipped = true;
    for (int32_t first = 0; first < values && !tile->pace->over; first += CRN_RANKLET_CLIPPED) {
        crn_ranklet_clip(p, d->values, first, codes);
        run_columns_once(j, d, p, tile, first == 0, first + CRN_RANKLET_CLIPPED >= values);
    }
}

static void run_tile(const ranklet_job *j, ranklet_scratch *d, int64_t k)
{
    const int32_t width = j->params->width, height = j->params->height;
    int64_t in_plane = k % ((int64_t)j->strips * j->stacks);
    crn_ranklet_pixels p = {.in = j->in,
                            .line = d->line,
                            .stride = j->stride,
                            .plane = (int32_t)(k / ((int64_t)j->strips * j->stacks)),
                            .y = (int32_t)(in_plane / j->stacks) * j->rows,
                            .x = (int32_t)(in_plane % j->stacks) * j->columns};
    crn_ranklet_tile tile = {.width = width, .height = height, .stride = j->stride};
    tile.rows = j->out->height - p.y < j->rows ? j->out->height - p.y : j->rows;
    tile.columns = j->out->width - p.x < j->columns ? j->out->width - p.x : j->columns;
    tile.counts_width = j->counts_width;
    tile.counts = d->counts;
    tile.sums = d->sums;
    tile.pairs = d->pairs;
    tile.rings = d->rings;
    tile.pairs_stride = j->pairs_stride;
    tile.pace = &d->pace;
    memcpy(tile.result, d->results, sizeof tile.result);
    p.pixel_rows = tile.rows + height - 1;
    p.pixel_columns = tile.columns + width - 1;
    if (crn_pace_over(tile.pace, (int64_t)p.pixel_rows * p.pixel_columns))
        return;
    crn_ranklet_find_range(&p);
    bool narrow = p.max - p.min <= UINT8_MAX;
    bool may_pair =
        pairs_fit(j->params, narrow ? 8 : 16) && j->variant->method != CRN_RANKLET_COLUMNS;
    bool requested = j->variant->method == CRN_RANKLET_PAIRS;
    double pairs = pairs_ns(j->params, narrow ? 8 : 16), columns = columns_ns(j->counts_width);
    if (may_pair && (requested || pairs < columns)) {
        run_pairs(j, d, &p, &tile, narrow, pairs);
    } else if (narrow) {
        run_columns8(j, d, &p, &tile);
    } else {
        int32_t values = crn_ranklet_rank(&p, d->ranks, d->values);
        if (may_pair && pairs < columns * (values / CRN_RANKLET_CLIPPED + 1))
            run_pairs(j, d, &p, &tile, false, pairs);
        else
            run_columns16(j, d, &p, &tile, values);
    }
}

/* --- all tiles --- */

static size_t rounded(size_t bytes)
{
    return (bytes + 127) / 64 * 64;
}

/* Sets the bytes that a thread needs of each slot. */
static void set_bytes(ranklet_job *j)
{
    const size_t width = (size_t)j->params->width, height = (size_t)j->params->height;
    const size_t columns = (size_t)j->columns, rows = (size_t)j->rows;
    size_t pixels = columns + width - 1;
    size_t of_codes = (rows + height - 1) * (size_t)j->stride + 2 * width + CRN_RANKLET_MARGIN;
    static const size_t count_bytes[] = {1, 2, 2, 2, 2, 8};
    bool is_u16 = j->in->type == CRN_U16;
    bool may_pair = pairs_fit(j->params, is_u16 ? 16 : 8);
    j->bytes[SLOT_LINE] = rounded(pixels * sizeof(uint16_t));
    j->bytes[SLOT_VALUES] = is_u16 ? rounded(of_codes * sizeof(uint16_t)) : 0;
    j->bytes[SLOT_RANKS] = is_u16 ? CRN_RANKLET_VALUES * sizeof(uint16_t) : 0;
    j->bytes[SLOT_CODES] = rounded(of_codes);
    j->bytes[SLOT_COUNTS] = rounded(pixels * 3 * CRN_RANKLET_BINS * count_bytes[j->counts_width]);
    j->bytes[SLOT_SUMS] = rounded((is_u16 ? rows : 1) * (columns + 1) * 32);
    size_t pairs_row = (size_t)j->pairs_stride * (is_u16 ? 2 : 1);
    j->bytes[SLOT_PAIRS] = may_pair ? rounded(3 * width * pairs_row) : 0;
    j->bytes[SLOT_RINGS] = may_pair ? rounded((height / 2 + 2) * 2 * pairs_row) : 0;
    j->bytes[SLOT_RESULTS] = 3 * rounded((columns + CRN_RANKLET_MARGIN) * sizeof(int64_t));
}

static int reserve(ranklet_job *j, crn_context *context)
{
    set_bytes(j);
    for (int32_t i = 0; i < SLOTS; i++) {
        size_t bytes = j->bytes[i] * (size_t)j->variant->threads;
        j->memory[i] = bytes ? crn_context_scratch(context, i, bytes) : NULL;
        if (bytes && !j->memory[i])
            return -ENOMEM;
    }
    return 0;
}

static ranklet_scratch scratch_of(const ranklet_job *j, int32_t thread, crn_context *context)
{
    uint8_t *m[SLOTS];
    for (int32_t i = 0; i < SLOTS; i++)
        m[i] = j->memory[i] ? j->memory[i] + j->bytes[i] * (size_t)thread : NULL;
    size_t result = j->bytes[SLOT_RESULTS] / 3;
    return (ranklet_scratch){
        .line = (uint16_t *)(void *)m[SLOT_LINE],
        .values = (uint16_t *)(void *)m[SLOT_VALUES],
        .ranks = (uint16_t *)(void *)m[SLOT_RANKS],
        .codes = m[SLOT_CODES],
        .counts = m[SLOT_COUNTS],
        .sums = m[SLOT_SUMS],
        .pairs = m[SLOT_PAIRS],
        .rings = m[SLOT_RINGS],
        .results = {m[SLOT_RESULTS], m[SLOT_RESULTS] + result, m[SLOT_RESULTS] + 2 * result},
        .pace = crn_pace_start(context)};
}

int crn_ranklet_openmp_with(const crn_ranklet_variant *variant, crn_context *context,
                            const crn_ranklet_params *params, const crn_image *in, crn_image *out)
{
    int r = crn_ranklet_check(params, in, out);
    if (r < 0)
        return r;
    ranklet_job j = {.params = params,
                     .in = in,
                     .out = out,
                     .variant = variant,
                     .target = &targets[variant->target]};
    crn_ranklet_width needed = crn_ranklet_width_needed(params);
    j.counts_width = variant->counts_width > needed ? variant->counts_width : needed;
    j.rows = variant->rows < out->height ? variant->rows : out->height;
    j.columns = variant->columns < out->width ? variant->columns : out->width;
    j.strips = (out->height - 1) / j.rows + 1;
    j.stacks = (out->width - 1) / j.columns + 1;
    j.stride = ((ptrdiff_t)j.columns + params->width + 63) / 64 * 64;
    j.pairs_stride = j.stride + CRN_RANKLET_MARGIN;
    r = reserve(&j, context);
    if (r < 0)
        return r;
    int64_t tiles = (int64_t)in->planes * j.strips * j.stacks;
    if (variant->threads == 1 || tiles == 1) {
        ranklet_scratch d = scratch_of(&j, 0, context);
        for (int64_t k = 0; k < tiles; k++)
            run_tile(&j, &d, k);
        return crn_context_status(context);
    }
#pragma omp parallel num_threads(variant->threads)
    {
        ranklet_scratch d = scratch_of(&j, omp_get_thread_num(), context);
#pragma omp for schedule(dynamic, 1)
        for (int64_t k = 0; k < tiles; k++)
            run_tile(&j, &d, k);
    }
    return crn_context_status(context);
}

static int32_t between(int64_t value, int64_t min, int64_t max)
{
    value = value > max ? max : value;
    return (int32_t)(value < min ? min : value);
}

/* Tiles as wide as the caches allow, and high enough to leave some for every thread. */
static void set_tiles(crn_ranklet_variant *variant, const crn_ranklet_params *params,
                      const crn_image *in, const crn_image *out, double ns)
{
    static const int64_t column_bytes[] = {768, 1536, 1536, 1536, 1536, 6144};
    crn_ranklet_width width = crn_ranklet_width_needed(params);
    bool pairs = ns < columns_ns(width);
    int64_t columns = pairs ? PAIRS_BYTES / (3 * params->width)
                            : COUNTS_BYTES / column_bytes[width] - params->width;
    variant->columns = between(columns, params->width > 128 ? params->width : 128, out->width);
    int64_t stacks = (out->width - 1) / variant->columns + 1, rows = out->height;
    if (variant->threads > 1) {
        /* Pairs start more cheaply with tiles beside each other, columns with tiles below
         * each other. */
        int64_t tiles = (int64_t)variant->threads * (pairs ? 2 : TILES_PER_THREAD);
        int64_t max = out->width / (6 * (int64_t)params->width) + 1;
        int64_t more = (tiles - 1) / in->planes + 1;
        more = more < max ? more : max;
        stacks = pairs && stacks < more ? more : stacks;
        int64_t strips = (tiles - 1) / (stacks * in->planes) + 1;
        int64_t min = pairs ? 2 * (int64_t)params->height : params->height / 2;
        rows = (out->height - 1) / strips + 1;
        rows = rows < min ? min : rows;
    }
    variant->columns = (int32_t)((out->width - 1) / stacks + 1);
    if (in->type == CRN_U16) {
        int64_t max = SUMS_BYTES / (32 * (int64_t)variant->columns);
        rows = rows > max ? max : rows;
    }
    variant->rows = between(rows, 16, out->height);
}

int crn_ranklet_openmp(crn_context *context, const crn_ranklet_params *params, const crn_image *in,
                       crn_image *out)
{
    int r = crn_ranklet_check(params, in, out);
    if (r < 0)
        return r;
    int32_t bits = in->type == CRN_U8 ? 8 : 16;
    double ns = columns_ns(crn_ranklet_width_needed(params));
    if (pairs_fit(params, bits) && pairs_ns(params, bits) < ns)
        ns = pairs_ns(params, bits);
    double positions = (double)in->planes * out->height * out->width;
    double threads = positions * ns / NS_PER_THREAD;
    int32_t max = crn_context_threads(context);
    crn_ranklet_variant variant = {.target = crn_target_best(),
                                   .threads = threads >= max ? max
                                              : threads < 1  ? 1
                                                             : (int32_t)threads};
    set_tiles(&variant, params, in, out, ns);
    return crn_ranklet_openmp_with(&variant, context, params, in, out);
}
