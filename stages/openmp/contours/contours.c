/* CPU contours, entry point: scratch memory, strips, threads, order of the steps (contours.h). */
#include "stages/openmp/contours/cells.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include <omp.h>

#include "stages/openmp/simd.h"
#include "stages/serial/contours.h"

enum {
    SLOT_POINTS,
    SLOT_LINKS,
    SLOT_PATHS,
    SLOT_RUNS,
    SLOT_OPEN_RUNS,
    SLOT_ORDER,
    SLOT_STRIPS,
    SLOT_PARTS,
    SLOT_ENTRIES,
    SLOT_ROWS,
    SLOT_CONSTANTS,
};

/* Rows of bits: of one thread's scratch, and shared by all. */
#define SCRATCH_ROWS  10
#define CONSTANT_ROWS 4

/* With less work an extra thread costs more than it saves: waking one takes as long as a frame. */
#define ELEMENTS_PER_THREAD (1 << 19)

/* More strips than threads, for load balancing. */
#define STRIPS_PER_THREAD 4

/* Larger pictures are divided into strips even with one thread, so that segments are traced while
 * they are in the cache. */
#define ROWS_PER_STRIP 128

#define ELEMENTS_PER_STRIP (1 << 20)

/* Every strip holds a word for each bit at its top and its bottom: together at most so many, but
 * for load balancing. Many interleaved channels of a large picture would need gigabytes. */
#define ENTRIES_MAX (1 << 24)

static size_t row_words(const crn_contours_job *job)
{
    return 2 * (size_t)job->margin + job->words;
}

/* Entries of both lists, an even number: rows of f64 may follow. */
static size_t list_entries(const crn_contours_job *job)
{
    return ((size_t)job->bits + job->words + 1) / 2 * 2;
}

static size_t scratch_bytes(const crn_contours_job *job)
{
    size_t rows = SCRATCH_ROWS * row_words(job) * sizeof(uint64_t);
    size_t lists = list_entries(job) * sizeof(uint32_t);
    size_t gathered = 2 * (size_t)job->image.width * crn_type_bytes(job->image.type);
    return (rows + lists + gathered + 63) / 64 * 64;
}

/* The largest half <= level, as an integer in the order of halves. */
static int16_t half_below(double level)
{
    int32_t low = -0x7c01, high = 0x7c00;
    while (low < high) {
        int32_t middle = (low + high + 1) >> 1;
        uint16_t half = (uint16_t)(middle < 0 ? middle ^ 0x7fff : middle);
        if ((double)crn_f16_to_f32(half) <= level)
            low = middle;
        else
            high = middle - 1;
    }
    return (int16_t)low;
}

static float float_below(double level)
{
    float rounded = (float)level;
    return (double)rounded > level ? nextafterf(rounded, -INFINITY) : rounded;
}

/* Sets the threshold for which element > threshold, in the element's type, is equivalent to value >
 * level. A plane that lies entirely above its level has no contours, like one entirely below it;
 * nor has one without a level. */
static void set_threshold(void *thresholds, size_t i, crn_type type, double level)
{
    double whole = level >= 0 ? floor(level) : INFINITY;
    switch (type) {
    case CRN_U8:
        ((uint8_t *)thresholds)[i] = whole < UINT8_MAX ? (uint8_t)whole : UINT8_MAX;
        return;
    case CRN_U16:
        ((int16_t *)thresholds)[i] =
            (int16_t)((whole < UINT16_MAX ? (int32_t)whole : UINT16_MAX) + INT16_MIN);
        return;
    case CRN_F16:
        ((int16_t *)thresholds)[i] = isnan(level) ? INT16_MAX : half_below(level);
        return;
    case CRN_F32:
        ((float *)thresholds)[i] = float_below(level);
        return;
    case CRN_F64:
        ((double *)thresholds)[i] = level;
        return;
    }
}

static void set_thresholds(crn_contours_job *job, void *memory)
{
    const double *levels = job->params->levels + job->plane;
    crn_type type = job->image.type;
    size_t size = crn_type_bytes(type);
    bool uniform = true;
    for (uint32_t channel = 1; channel < job->channels; channel++)
        uniform = uniform && levels[channel] == levels[0];
    job->threshold = memory;
    job->threshold_step = uniform ? 0 : 64;
    size_t count = uniform ? 64 : (size_t)job->words * 64;
    for (size_t i = 0; i < count; i++)
        if (i < job->channels)
            set_threshold(memory, i, type, levels[i]);
        else
            memcpy((uint8_t *)memory + i * size, (uint8_t *)memory + (i - job->channels) * size,
                   size);
}

/* Constant rows of bits. Padding words are 0, except in `ones`: pixels outside are valid. */
static void set_constants(crn_contours_job *job, uint64_t *memory)
{
    size_t row = row_words(job);
    memset(memory, 0, CONSTANT_ROWS * row * sizeof *memory);
    memset(memory + row, 0xff, row * sizeof *memory);
    uint64_t *frame = memory + 2 * row + job->margin, *boundary = frame + row;
    uint32_t begin = job->closed ? 0 : job->channels;
    uint32_t end = job->closed ? job->bits : job->bits - job->channels;
    for (uint32_t word = 0; word < job->words; word++) {
        uint64_t low = word * 64;
        if (low + 64 > begin && low < end)
            frame[word] = ~(uint64_t)0;
        if (low < begin && low + 64 > begin)
            frame[word] &= ~(uint64_t)0 << (begin - low);
        if (low < end && low + 64 > end)
            frame[word] &= ~(uint64_t)0 >> (low + 64 - end);
    }
    job->zeros = memory + job->margin;
    job->ones = memory + row + job->margin;
    job->frame = frame;
    job->frame_boundary = boundary;
    crn_contours_find_boundary(job, frame, frame, boundary);
    set_thresholds(job, memory + CONSTANT_ROWS * row);
}

typedef struct contours_memory {
    crn_point *points;
    uint32_t *links;
    crn_point *path;
    crn_contours_run *runs;
    crn_open_run *open_runs;
    uint32_t *order;
    crn_contours_strip *strips;
    crn_contours_part *parts;
    uint32_t *entries;
    uint8_t *rows;
    uint64_t *constants;
} contours_memory;

/* Maximum sizes, in cells of one plane. */
typedef struct contours_extent {
    int32_t first_row, rows, rows_of_strip;
    size_t columns;
} contours_extent;

static int reserve(const crn_contours_job *job, const contours_extent *e, int32_t threads,
                   crn_context *context, contours_memory *ret_memory)
{
    size_t segments = 2 * (size_t)e->rows * e->columns * job->channels;
    size_t at_once = 2 * (size_t)e->rows_of_strip * e->columns * job->channels * (size_t)threads;
    size_t strips = (size_t)job->strip_count, entries = 2 * strips * job->bits;
    size_t thresholds = (size_t)job->words * 64 * crn_type_bytes(job->image.type);
    size_t constants = CONSTANT_ROWS * row_words(job) * sizeof(uint64_t) + thresholds;
    contours_memory m = {
        .points = crn_context_scratch(context, SLOT_POINTS, at_once * sizeof *m.points),
        .links = crn_context_scratch(context, SLOT_LINKS, at_once * sizeof *m.links),
        .path = crn_context_scratch(context, SLOT_PATHS, segments * sizeof *m.path),
        .runs = crn_context_scratch(context, SLOT_RUNS, segments * sizeof *m.runs),
        .open_runs = crn_context_scratch(context, SLOT_OPEN_RUNS, segments * sizeof *m.open_runs),
        .order = crn_context_scratch(context, SLOT_ORDER, segments * sizeof *m.order),
        .strips = crn_context_scratch(context, SLOT_STRIPS, strips * sizeof *m.strips),
        .parts = crn_context_scratch(context, SLOT_PARTS, strips * job->channels * sizeof *m.parts),
        .entries = crn_context_scratch(context, SLOT_ENTRIES, entries * sizeof *m.entries),
        .rows = crn_context_scratch(context, SLOT_ROWS, (size_t)threads * scratch_bytes(job)),
        .constants = crn_context_scratch(context, SLOT_CONSTANTS, constants),
    };
    if (!m.points || !m.links || !m.path || !m.runs || !m.open_runs || !m.order || !m.strips ||
        !m.parts || !m.entries || !m.rows || !m.constants)
        return -ENOMEM;
    *ret_memory = m;
    return 0;
}

static void set_strip(const crn_contours_job *job, const contours_extent *e,
                      const contours_memory *m, int32_t k)
{
    size_t from = (size_t)e->rows * (size_t)k / (size_t)job->strip_count;
    size_t to = (size_t)e->rows * ((size_t)k + 1) / (size_t)job->strip_count;
    crn_contours_strip strip = {.row = e->first_row + (int32_t)from,
                                .end = e->first_row + (int32_t)to,
                                .parts = m->parts + (size_t)k * job->channels};
    uint32_t *entries = m->entries + 2 * (size_t)k * job->bits;
    strip.top_entries = k == 0 ? NULL : entries;
    strip.bottom_entries = k == job->strip_count - 1 ? NULL : entries + job->bits;
    if (job->strip_count > 1)
        memset(entries, 0xff, 2 * (size_t)job->bits * sizeof *entries);
    for (uint32_t channel = 0; channel < job->channels; channel++) {
        size_t at = 2 * e->columns * (channel * (size_t)e->rows + from);
        strip.parts[channel] = (crn_contours_part){.path = m->path + at,
                                                   .runs = m->runs + at,
                                                   .open_runs = m->open_runs + at,
                                                   .order = m->order + at};
        strip.parts[channel].track.level = job->params->levels[job->plane + (int32_t)channel];
    }
    job->strips[k] = strip;
}

static crn_contours_scratch set_scratch(const crn_contours_job *job, const contours_extent *e,
                                        const contours_memory *m, int32_t thread,
                                        crn_context *context)
{
    size_t row = row_words(job);
    uint64_t *words = (uint64_t *)(void *)(m->rows + (size_t)thread * scratch_bytes(job));
    memset(words, 0, SCRATCH_ROWS * row * sizeof *words);
    memset(words, 0xff, 2 * row * sizeof *words); /* pixels outside are valid */
    uint64_t *rows[SCRATCH_ROWS];
    for (int i = 0; i < SCRATCH_ROWS; i++)
        rows[i] = words + (size_t)i * row + job->margin;
    uint32_t *lists = (uint32_t *)(words + SCRATCH_ROWS * row);
    size_t segments = 2 * (size_t)e->rows_of_strip * e->columns * job->channels * (size_t)thread;
    return (crn_contours_scratch){.valid_pixels = {rows[0], rows[1]},
                                  .valid_cells = {rows[2], rows[3]},
                                  .inside = {rows[4], rows[5]},
                                  .shifted = {rows[6], rows[7]},
                                  .active = rows[8],
                                  .boundary = rows[9],
                                  .above = lists,
                                  .list = lists + job->bits,
                                  .gathered = lists + list_entries(job),
                                  .points = m->points + segments,
                                  .links = m->links + segments,
                                  .pace = crn_pace_start(context)};
}

/* --- steps, each for one strip --- */

/* True if time is over, or was for another thread, whose part is then incomplete. */
static bool is_cut_short(crn_pace *pace, int64_t work)
{
    return crn_pace_over(pace, work) || crn_context_status(pace->context) < 0;
}

static void scan_strip(const crn_contours_job *job, const contours_extent *e,
                       const crn_contours_variant *variant, crn_contours_scratch *scratch,
                       int32_t k)
{
    crn_contours_strip *strip = &job->strips[k];
    strip->scratch = scratch;
    if (scratch->pace.over)
        return;
    for (uint32_t channel = 0; channel < job->channels; channel++) {
        size_t at = 2 * (size_t)e->rows_of_strip * e->columns * channel;
        strip->parts[channel].track.points = scratch->points + at;
        strip->parts[channel].track.links = scratch->links + at;
    }
    variant->scan(job, strip);
    for (uint32_t channel = 0; channel < job->channels && !scratch->pace.over; channel++)
        crn_contours_trace(job, &strip->parts[channel], &scratch->pace);
}

/* The next two steps run only if there is time left and everything that they read is complete. */
static void allocate_strip(const crn_contours_job *job, int32_t k, crn_pace *pace,
                           crn_contours *out)
{
    int64_t work = CRN_PACE_WORK / 8;
    for (uint32_t channel = 0; channel < job->channels && !is_cut_short(pace, work); channel++)
        crn_contours_allocate(job, k, channel, out);
}

static void copy_strip(const crn_contours_job *job, int32_t k, crn_pace *pace, crn_contours *out)
{
    int64_t work = CRN_PACE_WORK / 8;
    for (uint32_t channel = 0; channel < job->channels && !is_cut_short(pace, work); channel++)
        crn_contours_copy(job, k, channel, out);
}

/* Serial step in between: joins strips and computes the offset of every part's contours. */
static void join_strips(const crn_contours_job *job, crn_pace *pace, crn_contours *out)
{
    uint64_t contours = out->contour_count, points = out->point_count;
    bool is_full = false;
    for (uint32_t channel = 0; channel < job->channels; channel++) {
        if (is_cut_short(pace, CRN_PACE_WORK / 8))
            return;
        if (job->strip_count > 1)
            crn_contours_stitch(job, channel);
        for (int32_t k = 0; k < job->strip_count; k++) {
            crn_contours_part *part = &job->strips[k].parts[channel];
            part->contour_base = contours;
            part->point_base = points;
            part->left_out = is_full;
            contours += part->contour_count;
            points += part->point_count;
            if (contours > out->contour_capacity || points > out->point_capacity)
                is_full = true;
        }
    }
    out->truncated = is_full;
    if (is_full)
        return; /* the part in which the result fills up sets the counts */
    out->contour_count = (uint32_t)contours;
    out->point_count = (uint32_t)points;
}

static void run_alone(const crn_contours_job *job, const contours_extent *e,
                      const contours_memory *m, const crn_contours_variant *variant,
                      crn_context *context, crn_contours *out)
{
    crn_contours_scratch scratch = set_scratch(job, e, m, 0, context);
    for (int32_t k = 0; k < job->strip_count; k++)
        scan_strip(job, e, variant, &scratch, k);
    join_strips(job, &scratch.pace, out);
    for (int32_t k = 0; k < job->strip_count; k++)
        allocate_strip(job, k, &scratch.pace, out);
    for (int32_t k = 0; k < job->strip_count; k++)
        copy_strip(job, k, &scratch.pace, out);
}

static void run_together(const crn_contours_job *job, const contours_extent *e,
                         const contours_memory *m, const crn_contours_variant *variant,
                         crn_context *context, crn_contours *out)
{
#pragma omp parallel num_threads(variant->threads)
    {
        crn_contours_scratch scratch = set_scratch(job, e, m, omp_get_thread_num(), context);
#pragma omp for schedule(dynamic, 1)
        for (int32_t k = 0; k < job->strip_count; k++)
            scan_strip(job, e, variant, &scratch, k);
#pragma omp single
        join_strips(job, &scratch.pace, out);
#pragma omp for schedule(dynamic, 1)
        for (int32_t k = 0; k < job->strip_count; k++)
            allocate_strip(job, k, &scratch.pace, out);
#pragma omp for schedule(dynamic, 1)
        for (int32_t k = 0; k < job->strip_count; k++)
            copy_strip(job, k, &scratch.pace, out);
    }
}

/* Processes one job: one plane, or all channels of an interleaved picture. Appends to `out`. */
static int run_job(crn_contours_job *job, const crn_contours_variant *variant, crn_context *context,
                   crn_contours *out)
{
    int32_t more = job->closed ? 1 : -1;
    contours_extent e = {.first_row = job->closed ? 0 : 1,
                         .rows = job->image.height + more,
                         .columns = (size_t)(job->image.width + more)};
    job->strip_count = variant->strips < e.rows ? variant->strips : e.rows;
    e.rows_of_strip = (e.rows + job->strip_count - 1) / job->strip_count;
    contours_memory m;
    int r = reserve(job, &e, variant->threads, context, &m);
    if (r < 0)
        return r;
    set_constants(job, m.constants);
    job->strips = m.strips;
    for (int32_t k = 0; k < job->strip_count; k++)
        set_strip(job, &e, &m, k);
    if (variant->threads > 1 && job->strip_count > 1)
        run_together(job, &e, &m, variant, context, out);
    else
        run_alone(job, &e, &m, variant, context, out);
    return crn_context_status(context);
}

/* What the strips saw of their rows. */
static void gather_seen(const crn_contours_job *job, crn_values_watch *watch)
{
    crn_type type = job->image.type;
    for (int32_t k = 0; job->watch && k < job->strip_count; k++)
        watch->seen =
            crn_values_join(watch->seen, job->watch->judge(&job->strips[k].sight, type), type);
}

/* Sees a plane that has no contours to be found: nothing else reads it. */
static void see_plane(const crn_contours_job *job, crn_values_watch *watch)
{
    crn_values_sight sight = {.above = {0}, .below = {0}};
    size_t pixels = (size_t)job->image.height * (size_t)job->image.width;
    job->watch->see(&sight, job->image.data, pixels * crn_type_bytes(job->image.type),
                    job->image.type);
    watch->seen =
        crn_values_join(watch->seen, job->watch->judge(&sight, job->image.type), job->image.type);
}

static void set_job(crn_contours_job *job, const crn_contours_params *params, const crn_image *in,
                    int32_t plane, uint32_t channels)
{
    *job = (crn_contours_job){.params = params, .image = *in, .plane = plane, .channels = channels};
    ptrdiff_t offset = plane * in->plane_stride * (ptrdiff_t)crn_type_bytes(in->type);
    job->image.data = (uint8_t *)in->data + offset;
    job->image.planes = (int32_t)channels;
    job->closed = params->border == CRN_BORDER_CLOSED;
    job->gather = in->step != (ptrdiff_t)channels;
    job->bits = ((uint32_t)in->width + 1) * channels;
    job->words = (job->bits + 511) / 512 * 8;
    job->margin = (channels / 64 + 2 + 7) / 8 * 8;
    job->inverse = ((uint64_t)1 << 32) / channels + 1;
    int32_t longer = in->height > in->width ? in->height : in->width;
    job->near_pixel = 0.5 - longer * 0x1p-52;
}

/* True if all planes are stored interleaved. */
static bool is_interleaved(const crn_image *in)
{
    int64_t planes = in->planes;
    return crn_image_is_interleaved(in) && (in->width + (int64_t)1) * planes < (int64_t)1 << 30 &&
           (in->width + (int64_t)1) * planes * planes < (int64_t)1 << 32;
}

int crn_contours_openmp_with(const crn_contours_variant *variant, crn_context *context,
                             const crn_contours_params *params, const crn_image *in,
                             crn_contours *out)
{
    int r = crn_contours_check(params, in, out);
    if (r < 0)
        return r;
    crn_contours found = *out;
    found.point_count = found.contour_count = 0;
    found.truncated = false;
    bool together = is_interleaved(in);
    crn_values_watch *watch = crn_context_watched(context);
    if (watch && (watch->is_seen || watch->data != in->data || (!together && in->step != 1)))
        watch = NULL;
    for (int32_t plane = 0; plane < (together ? 1 : in->planes); plane++) {
        crn_contours_job job;
        set_job(&job, params, in, plane, together ? (uint32_t)in->planes : 1);
        job.watch = watch ? crn_values_kernels_best() : NULL;
        if (found.truncated || (!together && isnan(params->levels[plane]))) {
            if (watch)
                see_plane(&job, watch);
            continue;
        }
        r = run_job(&job, variant, context, &found);
        if (r < 0)
            return r;
        gather_seen(&job, watch);
    }
    if (watch)
        watch->is_seen = true;
    *out = found;
    return 0;
}

crn_contours_variant crn_contours_variant_for(const crn_image *in, int32_t threads_max)
{
    static crn_contours_scan_fn *const scans[CRN_TARGETS] = {
        crn_contours_scan_baseline, crn_contours_scan_avx2, crn_contours_scan_avx512};
    int64_t elements = (int64_t)in->height * in->width;
    if (is_interleaved(in))
        elements *= in->planes;
    int64_t threads = elements / ELEMENTS_PER_THREAD, strips = in->height / ROWS_PER_STRIP;
    if (threads > threads_max)
        threads = threads_max;
    if (threads < 1)
        threads = 1;
    /* Bounds the time per strip to milliseconds for wide pictures, too. */
    if (strips < elements / ELEMENTS_PER_STRIP)
        strips = elements / ELEMENTS_PER_STRIP;
    if (strips > ENTRIES_MAX / (2 * elements / in->height))
        strips = ENTRIES_MAX / (2 * elements / in->height);
    if (strips < 1)
        strips = 1;
    if (threads > 1 && strips < STRIPS_PER_THREAD * threads)
        strips = STRIPS_PER_THREAD * threads;
    return (crn_contours_variant){scans[crn_target_best()], (int32_t)strips, (int32_t)threads};
}

int crn_contours_openmp(crn_context *context, const crn_contours_params *params,
                        const crn_image *in, crn_contours *out)
{
    int r = crn_contours_check(params, in, out);
    if (r < 0)
        return r;
    crn_contours_variant variant = crn_contours_variant_for(in, crn_context_threads(context));
    return crn_contours_openmp_with(&variant, context, params, in, out);
}
