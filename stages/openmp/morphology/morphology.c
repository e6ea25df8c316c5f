/* CPU morphology, entry point: memory, tiles, threads, the passes of each
 * operation (morphology.h). */
#include "stages/openmp/morphology/morphology.h"

#include <errno.h>

#include <omp.h>

#include "stages/openmp/simd.h"
#include "stages/serial/morphology.h"

enum {
    SLOT_ERODE,               /* 3 slots of the erosion's plan */
    SLOT_DILATE = 3,          /* 3 slots of the dilation's plan */
    SLOT_THREADS = 6,         /* scratch of all threads */
    CACHE_BYTES = 3 << 20,    /* per tile: a little more than the second-level cache */
    MEMORY_BYTES = 256 << 20, /* per thread: beyond that, levels are not kept */
    COLUMNS_MIN = 256,        /* minimum width of a tile, in elements */
    ROWS_MIN = 64,            /* minimum height of a strip, unless the variant says otherwise */
    ELEMENTS_PER_THREAD = 1 << 19,
};

/* Row buffers of a tile: the operands of a difference, and the result. */
enum { SET_FIRST, SET_SECOND, SET_OUT, SETS };

typedef struct morphology_job {
    const crn_morphology_variant *variant;
    crn_morphology_operation operation;
    crn_type type;
    bool saves_memory;
    crn_morphology_plan erode, dilate;
    crn_morphology_rows in, out;
    int32_t strips, tiles;
} morphology_job;

typedef struct morphology_tile {
    int32_t row, row_end, first, end;
} morphology_tile;

/* Scratch of one thread. */
typedef struct morphology_scratch {
    crn_morphology_pass passes[2];
    uint8_t *memory[2];
    void *sets[SETS][CRN_MORPHOLOGY_BLOCK];
} morphology_scratch;

static bool erodes(crn_morphology_operation operation)
{
    return operation != CRN_DILATE;
}

static bool dilates(crn_morphology_operation operation)
{
    return operation != CRN_ERODE;
}

/* True if the second pass reads the first one's output. */
static bool is_chain(crn_morphology_operation operation)
{
    return operation == CRN_OPEN || operation == CRN_CLOSE || operation == CRN_TOPHAT ||
           operation == CRN_BLACKHAT;
}

static bool is_difference(crn_morphology_operation operation)
{
    return operation == CRN_GRADIENT || operation == CRN_TOPHAT || operation == CRN_BLACKHAT;
}

static int32_t pass_count(crn_morphology_operation operation)
{
    return erodes(operation) && dilates(operation) ? 2 : 1;
}

/* True if pass `index` is a dilation. In a gradient, the first one is. */
static bool pass_dilates(crn_morphology_operation operation, int32_t index)
{
    switch (operation) {
    case CRN_ERODE:
        return false;
    case CRN_DILATE:
        return true;
    case CRN_OPEN:
    case CRN_TOPHAT:
        return index == 1;
    case CRN_CLOSE:
    case CRN_BLACKHAT:
    case CRN_GRADIENT:
        break;
    }
    return index == 0;
}

static const crn_morphology_plan *plan_of(const morphology_job *j, int32_t index)
{
    return pass_dilates(j->operation, index) ? &j->dilate : &j->erode;
}

static size_t row_bytes(const morphology_job *j, int32_t columns)
{
    return (size_t)columns * (size_t)j->in.channels * crn_type_bytes(j->type);
}

static crn_morphology_pass make_pass(const morphology_job *j, int32_t index, int32_t first,
                                     int32_t end)
{
    const crn_morphology_plan *plan = plan_of(j, index);
    bool dilate = pass_dilates(j->operation, index);
    crn_morphology_pass pass = {
        .kernels = j->variant->kernels,
        .plan = plan,
        .kind = j->type == CRN_U8 ? dilate ? CRN_MORPHOLOGY_MAX_U8 : CRN_MORPHOLOGY_MIN_U8
                : dilate          ? CRN_MORPHOLOGY_MAX_F32
                                  : CRN_MORPHOLOGY_MIN_F32,
        .keeps_levels = !j->saves_memory,
        .source = &j->in,
        .first = first,
        .end = end,
        .height = j->in.height,
        .width = j->in.width,
        .channels = j->in.channels,
        .block = plan->rhombus    ? CRN_MORPHOLOGY_RHOMBUS_BLOCK
                 : plan->is_stack ? CRN_MORPHOLOGY_BLOCK
                                  : CRN_MORPHOLOGY_BLOCK / 4,
    };
    return pass;
}

/* The passes of a tile; in a chain, the first pass also computes the columns that the second one
 * reads outside of the tile. */
static void make_passes(const morphology_job *j, int32_t first, int32_t end,
                        crn_morphology_pass *passes)
{
    int32_t count = pass_count(j->operation);
    passes[count - 1] = make_pass(j, count - 1, first, end);
    if (count == 1)
        return;
    if (is_chain(j->operation)) {
        const crn_morphology_plan *last = passes[1].plan;
        int32_t width = j->in.width;
        first = first > last->left ? first - last->left : 0;
        end = end < width - last->right ? end + last->right : width;
    }
    passes[0] = make_pass(j, 0, first, end);
}

/* --- memory --------------------------------------------------------------------------------- */

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t set_bytes(const morphology_job *j, int32_t columns)
{
    return rounded(row_bytes(j, columns)) + 2 * CRN_MORPHOLOGY_PADDING;
}

/* Bytes for the passes of any tile of that many columns. */
static size_t pass_bytes(const morphology_job *j, int32_t columns)
{
    crn_morphology_pass passes[2];
    make_passes(j, 0, columns, passes);
    if (is_chain(j->operation)) {
        int32_t max = columns + passes[1].plan->left + passes[1].plan->right;
        passes[0].end = max < j->in.width ? max : j->in.width;
    }
    size_t bytes = 0;
    for (int32_t i = 0; i < pass_count(j->operation); i++)
        bytes += rounded(crn_morphology_pass_bytes(&passes[i]));
    return bytes;
}

static size_t scratch_bytes(const morphology_job *j, int32_t columns)
{
    return rounded(sizeof(morphology_scratch)) + pass_bytes(j, columns) +
           SETS * CRN_MORPHOLOGY_BLOCK * set_bytes(j, columns);
}

static int32_t tile_columns(const morphology_job *j)
{
    return (j->in.width + j->tiles - 1) / j->tiles;
}

static morphology_scratch *set_scratch(const morphology_job *j, uint8_t *memory)
{
    morphology_scratch *d = (morphology_scratch *)(void *)memory;
    int32_t columns = tile_columns(j);
    uint8_t *at = memory + rounded(sizeof *d);
    for (int32_t set = 0; set < SETS; set++)
        for (int32_t i = 0; i < CRN_MORPHOLOGY_BLOCK; i++) {
            d->sets[set][i] = at + CRN_MORPHOLOGY_PADDING;
            at += set_bytes(j, columns);
        }
    d->memory[0] = at;
    return d;
}

/* --- a tile --------------------------------------------------------------------------------- */

static void scatter(const crn_morphology_rows *out, int32_t row, int32_t first, int32_t end,
                    size_t size, const void *from)
{
    uint8_t *to = out->data + row * out->row_stride + first * out->step;
    const uint8_t *bytes = from;
    for (int32_t i = 0; i < end - first; i++, to += out->step, bytes += size) {
        for (size_t k = 0; k < size; k++)
            to[k] = bytes[k];
    }
}

/* The result's rows in the image if it is dense, else temporary rows to be scattered. */
static void **rows_of_result(const morphology_job *j, const morphology_tile *t, int32_t row,
                             int32_t count, morphology_scratch *d)
{
    if (j->out.is_dense)
        for (int32_t i = 0; i < count; i++)
            d->sets[SET_OUT][i] =
                j->out.data + (row + i) * j->out.row_stride + t->first * j->out.step;
    return d->sets[SET_OUT];
}

static void subtract(const morphology_job *j, const morphology_tile *t, int32_t row, int32_t count,
                     morphology_scratch *d, void *const *to)
{
    void **a = d->sets[SET_FIRST], **b = d->sets[SET_SECOND];
    for (int32_t i = 0; i < count; i++) {
        const void *from = b[i];
        if (j->operation != CRN_GRADIENT)
            from = crn_morphology_row(&j->in, row + i, t->first, t->end, crn_type_bytes(j->type),
                                      b[i]);
        bool reversed = j->operation == CRN_TOPHAT;
        j->variant->kernels->subtract(j->type == CRN_F32, to[i], reversed ? from : a[i],
                                      reversed ? a[i] : from, row_bytes(j, t->end - t->first));
    }
}

static void run_block(const morphology_job *j, const morphology_tile *t, int32_t row, int32_t count,
                      morphology_scratch *d)
{
    void **to = rows_of_result(j, t, row, count, d);
    int32_t last = pass_count(j->operation) - 1;
    if (!is_difference(j->operation)) {
        crn_morphology_pass_make(&d->passes[last], row, count, to);
    } else {
        crn_morphology_pass *first = &d->passes[is_chain(j->operation) ? last : 0];
        crn_morphology_pass_make(first, row, count, d->sets[SET_FIRST]);
        if (j->operation == CRN_GRADIENT)
            crn_morphology_pass_make(&d->passes[1], row, count, d->sets[SET_SECOND]);
        subtract(j, t, row, count, d, to);
    }
    if (!j->out.is_dense)
        for (int32_t i = 0; i < count; i++)
            scatter(&j->out, row + i, t->first, t->end, crn_type_bytes(j->type), to[i]);
}

static void run_tile(const morphology_job *j, const morphology_tile *t, uint8_t *memory,
                     crn_pace *pace)
{
    morphology_scratch *d = set_scratch(j, memory);
    make_passes(j, t->first, t->end, d->passes);
    int32_t row = t->row;
    d->memory[1] = d->memory[0] + rounded(crn_morphology_pass_bytes(&d->passes[0]));
    for (int32_t i = pass_count(j->operation) - 1; i >= 0; i--) {
        d->passes[i].pace = pace;
        crn_morphology_pass_start(&d->passes[i], d->memory[i], row);
        if (i == 1 && is_chain(j->operation)) {
            d->passes[1].before = &d->passes[0];
            row = d->passes[1].next;
        }
    }
    int32_t block = d->passes[0].block;
    for (row = t->row; row < t->row_end && !pace->over; row += block) {
        int32_t left = t->row_end - row;
        run_block(j, t, row, left < block ? left : block, d);
    }
}

/* --- all tiles ------------------------------------------------------------------------------ */

static int32_t part(int32_t whole, int32_t index, int32_t parts)
{
    return (int32_t)((int64_t)whole * index / parts);
}

static void run_task(const morphology_job *j, int32_t index, uint8_t *memory, crn_pace *pace)
{
    int32_t strip = index / j->tiles, column = index % j->tiles;
    int32_t columns = tile_columns(j), width = j->in.width;
    morphology_tile t = {.row = part(j->in.height, strip, j->strips),
                         .row_end = part(j->in.height, strip + 1, j->strips),
                         .first = column * columns,
                         .end = (column + 1) * columns < width ? (column + 1) * columns : width};
    if (t.first < t.end && !pace->over)
        run_tile(j, &t, memory, pace);
}

/* The smallest number of tiles side by side whose rows stay in the cache, limited because the
 * overlap of neighbouring tiles is computed twice. */
static int32_t choose_tiles(const morphology_job *j)
{
    int32_t width = j->in.width, tiles = 1;
    int64_t shared = 0;
    for (int32_t i = 0; i < pass_count(j->operation); i++)
        shared += plan_of(j, i)->left + plan_of(j, i)->right;
    int64_t min = 2 * shared + COLUMNS_MIN / j->in.channels + 1;
    while (width / (tiles + 1) >= min && pass_bytes(j, (width + tiles - 1) / tiles) > CACHE_BYTES)
        tiles++;
    return tiles;
}

static int run_rows(morphology_job *j, crn_context *context)
{
    int32_t columns = j->variant->columns;
    j->tiles = columns > 0 ? (j->in.width + columns - 1) / columns : choose_tiles(j);
    j->saves_memory = j->variant->saves_memory || scratch_bytes(j, tile_columns(j)) > MEMORY_BYTES;
    j->strips = j->variant->strips < j->in.height ? j->variant->strips : j->in.height;
    int32_t tasks = j->strips * j->tiles;
    int32_t threads = j->variant->threads < tasks ? j->variant->threads : tasks;
    size_t bytes = scratch_bytes(j, tile_columns(j));
    uint8_t *memory = crn_context_scratch(context, SLOT_THREADS, bytes * (size_t)threads);
    if (!memory)
        return -ENOMEM;
    if (threads == 1) {
        crn_pace pace = crn_pace_start(context);
        for (int32_t i = 0; i < tasks; i++)
            run_task(j, i, memory, &pace);
        return crn_context_status(context);
    }
#pragma omp parallel num_threads(threads)
    {
        crn_pace pace = crn_pace_start(context);
#pragma omp for schedule(dynamic, 1)
        for (int32_t i = 0; i < tasks; i++)
            run_task(j, i, memory + (size_t)omp_get_thread_num() * bytes, &pace);
    }
    return crn_context_status(context);
}

static crn_morphology_rows rows_of(const crn_image *image, int32_t plane, int32_t channels)
{
    ptrdiff_t size = (ptrdiff_t)crn_type_bytes(image->type);
    return (crn_morphology_rows){
        .data = (uint8_t *)image->data + plane * image->plane_stride * size,
        .row_stride = image->row_stride * size,
        .step = image->step * size,
        .height = image->height,
        .width = image->width,
        .channels = channels,
        .is_dense = image->step == channels,
    };
}

static int make_plans(morphology_job *j, crn_context *context, const crn_element *element)
{
    int r = 0;
    if (erodes(j->operation))
        r = crn_morphology_make_plan(context, SLOT_ERODE, element, false, j->in.height, j->in.width,
                                     &j->erode);
    if (r == 0 && dilates(j->operation))
        r = crn_morphology_make_plan(context, SLOT_DILATE, element, true, j->in.height, j->in.width,
                                     &j->dilate);
    return r;
}

int crn_morphology_openmp_with(const crn_morphology_variant *variant, crn_context *context,
                               const crn_morphology_params *params, const crn_image *in,
                               crn_image *out)
{
    int r = crn_morphology_check(params, in, out);
    if (r < 0)
        return r;
    int32_t channels =
        crn_image_is_interleaved(in) && crn_image_is_interleaved(out) ? in->planes : 1;
    morphology_job j = {.variant = variant,
                        .operation = params->operation,
                        .type = in->type,
                        .in = rows_of(in, 0, channels),
                        .out = rows_of(out, 0, channels)};
    r = make_plans(&j, context, &params->element);
    for (int32_t plane = 0; r == 0 && plane < in->planes; plane += channels) {
        j.in = rows_of(in, plane, channels);
        j.out = rows_of(out, plane, channels);
        r = run_rows(&j, context);
    }
    return r;
}

const crn_morphology_kernels *crn_morphology_kernels_of(int target)
{
    return target == CRN_AVX512 ? &crn_morphology_kernels_avx512
           : target == CRN_AVX2 ? &crn_morphology_kernels_avx2
                                : &crn_morphology_kernels_baseline;
}

int crn_morphology_openmp(crn_context *context, const crn_morphology_params *params,
                          const crn_image *in, crn_image *out)
{
    int r = crn_morphology_check(params, in, out);
    if (r < 0)
        return r;
    int64_t elements = (int64_t)in->height * in->width;
    if (crn_image_is_interleaved(in) && crn_image_is_interleaved(out))
        elements *= in->planes;
    int64_t threads = elements / ELEMENTS_PER_THREAD, strips = in->height / ROWS_MIN;
    threads = threads < crn_context_threads(context) ? threads : crn_context_threads(context);
    threads = threads > 1 ? threads : 1;
    strips = strips < 4 * threads ? strips : 4 * threads;
    crn_morphology_variant variant = {.kernels = crn_morphology_kernels_of(crn_target_best()),
                                      .threads = (int32_t)threads,
                                      .strips = threads > 1 && strips > 1 ? (int32_t)strips : 1};
    return crn_morphology_openmp_with(&variant, context, params, in, out);
}
