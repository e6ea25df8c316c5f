/* One erosion or dilation of a tile: rows are read, levels are computed from them, and levels are
 * merged into output rows (morphology.h). */
#include "stages/openmp/morphology/morphology.h"

#include <string.h>

static size_t size_of(const crn_morphology_pass *pass)
{
    return crn_morphology_is_f32(pass->kind) ? sizeof(float) : sizeof(uint8_t);
}

/* Bytes from a pixel to its right neighbour. */
static ptrdiff_t unit_of(const crn_morphology_pass *pass)
{
    return (ptrdiff_t)size_of(pass) * pass->channels;
}

static size_t bytes_of_result(const crn_morphology_pass *pass)
{
    return (size_t)(pass->end - pass->first) * (size_t)unit_of(pass);
}

static void set_neutral(crn_morphology_kind kind, void *to, size_t bytes)
{
    if (!crn_morphology_is_f32(kind)) {
        memset(to, kind == CRN_MORPHOLOGY_MIN_U8 ? UINT8_MAX : 0, bytes);
        return;
    }
    float *f = to;
    for (size_t i = 0; i < bytes / sizeof *f; i++)
        f[i] = kind == CRN_MORPHOLOGY_MIN_F32 ? __builtin_inff() : -__builtin_inff();
}

/* --- memory --------------------------------------------------------------------------------- */

/* Bump allocator; only counts if `memory` is NULL. */
typedef struct pass_ground {
    uint8_t *memory;
    size_t taken;
} pass_ground;

static void *take(pass_ground *g, size_t bytes)
{
    size_t at = g->taken;
    g->taken += (bytes + 63) / 64 * 64;
    return g->memory ? g->memory + at : NULL;
}

static uint8_t *take_row(pass_ground *g, size_t bytes, size_t padding)
{
    uint8_t *row = take(g, bytes + 2 * padding);
    return row ? row + padding : NULL;
}

static size_t padding_of(const crn_morphology_pass *pass)
{
    return pass->plan->rhombus ? CRN_MORPHOLOGY_RHOMBUS_PADDING : CRN_MORPHOLOGY_PADDING;
}

static bool keeps(const crn_morphology_pass *pass, const crn_morphology_level *level)
{
    return level->used || (level == pass->plan->levels && !pass->keeps_levels);
}

static crn_morphology_ring take_ring(const crn_morphology_pass *pass,
                                     const crn_morphology_level *level, pass_ground *g)
{
    const crn_morphology_plan *plan = pass->plan;
    bool is_base = level == plan->levels;
    int32_t columns = pass->end - pass->first + plan->left + plan->right - (level->length - 1);
    crn_morphology_ring ring = {.rows = is_base ? pass->block : 1,
                                .bytes = (size_t)columns * (size_t)unit_of(pass)};
    if (keeps(pass, level))
        ring.rows = plan->above + plan->below + pass->block;
    /* An odd number of cache lines, so that rows are spread over the cache's sets. */
    ring.stride = ((ring.bytes + 2 * padding_of(pass) + 64 + 63) / 64 | 1) * 64;
    uint8_t *memory = take(g, ring.stride * (size_t)ring.rows);
    /* Aligns rows so that the run that reads this level begins at a cache line. */
    size_t ahead = (size_t)(unit_of(pass) * (plan->left + (level->used ? level->dx : 0)));
    if (memory)
        ring.memory = memory + padding_of(pass) + (64 - ahead % 64) % 64;
    return ring;
}

static size_t lay_out(crn_morphology_pass *pass, uint8_t *memory)
{
    const crn_morphology_plan *plan = pass->plan;
    pass_ground g = {memory, 0};
    int32_t levels = pass->keeps_levels ? plan->level_count : 1;
    crn_morphology_ring *rings = take(&g, (size_t)levels * sizeof *rings);
    for (int32_t i = 0; i < levels; i++) {
        crn_morphology_ring ring = take_ring(pass, &plan->levels[i], &g);
        if (rings)
            rings[i] = ring;
    }
    size_t columns = (size_t)(pass->end - pass->first + plan->left + plan->right);
    size_t whole = columns * (size_t)unit_of(pass);
    pass->rings = rings;
    pass->neutral = take_row(&g, whole + 64, padding_of(pass));
    if (memory)
        pass->neutral += (64 - (size_t)(plan->left * unit_of(pass)) % 64) % 64;
    pass->gathered = take_row(&g, whole, padding_of(pass));
    pass->run = take_row(&g, pass->keeps_levels ? 0 : whole, padding_of(pass));
    pass->best = take_row(&g, pass->keeps_levels && !plan->rhombus ? 0 : whole, padding_of(pass));
    size_t rows = plan->run_count + (size_t)pass->block + 4;
    pass->rows = take(&g, rows * sizeof *pass->rows);
    pass->raised = take(&g, plan->member_count * sizeof *pass->raised);
    pass->block_rows = take(&g, (size_t)pass->block * sizeof *pass->block_rows);
    return g.taken;
}

size_t crn_morphology_pass_bytes(const crn_morphology_pass *pass)
{
    crn_morphology_pass copy = *pass;
    return lay_out(&copy, NULL);
}

/* Offset of the picture's first column in a row of level 0. */
static ptrdiff_t data_offset(const crn_morphology_pass *pass)
{
    return (pass->data_first - (pass->first - pass->plan->left)) * unit_of(pass);
}

static size_t data_bytes(const crn_morphology_pass *pass)
{
    return (size_t)((pass->data_end - pass->data_first) * unit_of(pass));
}

void crn_morphology_pass_start(crn_morphology_pass *pass, void *memory, int32_t row)
{
    const crn_morphology_plan *plan = pass->plan;
    lay_out(pass, memory);
    int32_t first = pass->first - plan->left, end = pass->end + plan->right;
    pass->data_first = first > 0 ? first : 0;
    pass->data_end = end < pass->width ? end : pass->width;
    pass->next = row > plan->above ? row - plan->above : 0;
    const crn_morphology_ring *base = &pass->rings[0];
    size_t before = (size_t)data_offset(pass), after = before + data_bytes(pass);
    for (int32_t i = 0; i < base->rows; i++) {
        uint8_t *to = base->memory + (size_t)i * base->stride;
        set_neutral(pass->kind, to, before);
        set_neutral(pass->kind, to + after, base->bytes - after);
    }
    int32_t reach = plan->left + plan->right;
    set_neutral(pass->kind, pass->neutral, bytes_of_result(pass) + (size_t)(reach * unit_of(pass)));
}

/* --- input rows ----------------------------------------------------------------------------- */

const void *crn_morphology_row(const crn_morphology_rows *rows, int32_t row, int32_t first,
                               int32_t end, size_t size, void *gathered)
{
    const uint8_t *from = rows->data + row * rows->row_stride + first * rows->step;
    if (rows->is_dense)
        return from;
    int32_t count = end - first;
    if (size == sizeof(uint8_t)) {
        uint8_t *to = gathered;
        for (int32_t i = 0; i < count; i++)
            to[i] = from[i * rows->step];
    } else {
        float *to = gathered;
        for (int32_t i = 0; i < count; i++)
            memcpy(&to[i], from + i * rows->step, sizeof *to);
    }
    return gathered;
}

static uint8_t *ring_row(const crn_morphology_ring *ring, int32_t row)
{
    return ring->memory + (size_t)(ring->rows == 1 ? 0 : row % ring->rows) * ring->stride;
}

/* Works on whole cache lines; rows have padding on both sides. */
static void make_level(const crn_morphology_pass *pass, int32_t index, int32_t row)
{
    const crn_morphology_level *level = &pass->plan->levels[index];
    const crn_morphology_ring *ring = &pass->rings[index];
    uint8_t *to = ring_row(ring, row);
    size_t lead = (uintptr_t)to % 64;
    const uint8_t *from = ring_row(&pass->rings[level->from], row) - lead;
    const void *parts[3];
    for (int32_t i = 0; i < level->parts; i++)
        parts[i] = from + level->offsets[i] * unit_of(pass);
    size_t bytes = (ring->bytes + lead + 63) / 64 * 64;
    pass->kernels->merge(pass->kind, to - lead, parts, (size_t)level->parts, bytes);
}

static void read_rows(crn_morphology_pass *pass, int32_t end)
{
    while (pass->next < end && !pass->pace->over) {
        int32_t count = end - pass->next < pass->block ? end - pass->next : pass->block;
        for (int32_t i = 0; i < count; i++)
            pass->block_rows[i] = ring_row(&pass->rings[0], pass->next + i) + data_offset(pass);
        if (pass->before)
            crn_morphology_pass_make(pass->before, pass->next, count, pass->block_rows);
        for (int32_t i = 0; i < count; i++) {
            if (!pass->before)
                pass->kernels->load(pass->kind, pass->block_rows[i],
                                    crn_morphology_row(pass->source, pass->next + i,
                                                       pass->data_first, pass->data_end,
                                                       size_of(pass), pass->gathered),
                                    data_bytes(pass));
            for (int32_t k = 1; pass->keeps_levels && k < pass->plan->level_count; k++)
                make_level(pass, k, pass->next + i);
        }
        pass->next += count;
    }
}

/* --- output rows ---------------------------------------------------------------------------- */

static bool is_on_picture(const crn_morphology_pass *pass, int32_t row)
{
    return row >= 0 && row < pass->height;
}

static const uint8_t *run_begin(const crn_morphology_pass *pass, const crn_morphology_run *run,
                                int32_t row)
{
    const crn_morphology_ring *ring = &pass->rings[pass->keeps_levels ? run->level : 0];
    return ring_row(ring, row) + (run->dx + pass->plan->left) * unit_of(pass);
}

static void make_stack(const crn_morphology_pass *pass, int32_t row, int32_t count, void *const *to)
{
    const crn_morphology_plan *plan = pass->plan;
    int32_t window = (int32_t)plan->run_count;
    const crn_morphology_run *last = &plan->runs[window - 1];
    const crn_morphology_run *top = last->dy < plan->runs[0].dy ? last : &plan->runs[0];
    for (int32_t i = 0; i < count + window - 1; i++) {
        int32_t from = row + top->dy + i;
        pass->rows[i] = is_on_picture(pass, from) ? run_begin(pass, top, from) : pass->neutral;
    }
    pass->kernels->stack(pass->kind, to, pass->rows, window, count, bytes_of_result(pass));
}

/* If the block is not full, surplus output rows go into a dummy row. */
static void make_rhombus(const crn_morphology_pass *pass, int32_t row, int32_t count,
                         void *const *to)
{
    int32_t radius = pass->plan->rhombus, rows = pass->rings[0].rows;
    size_t unit = (size_t)unit_of(pass), ahead = (size_t)radius * unit;
    void *all[CRN_MORPHOLOGY_RHOMBUS_BLOCK];
    for (int32_t i = 0; i < CRN_MORPHOLOGY_RHOMBUS_BLOCK; i++)
        all[i] = i < count ? to[i] : pass->best;
    int32_t number = (row % rows + rows - radius) % rows;
    for (int32_t i = 0; i < CRN_MORPHOLOGY_RHOMBUS_BLOCK + 2 * radius; i++) {
        bool counts = i < count + 2 * radius && is_on_picture(pass, row - radius + i);
        const crn_morphology_ring *ring = &pass->rings[0];
        pass->rows[i] =
            (counts ? ring->memory + (size_t)number * ring->stride : pass->neutral) + ahead;
        number = number + 1 < rows ? number + 1 : 0;
    }
    pass->kernels->rhombus(pass->kind, radius, all, pass->rows, unit, bytes_of_result(pass));
}

static void make_merged(const crn_morphology_pass *pass, int32_t row, void *to)
{
    const crn_morphology_plan *plan = pass->plan;
    ptrdiff_t unit = unit_of(pass);
    int32_t rows = plan->above + plan->below + pass->block, at = row % rows;
    size_t count = 0;
    for (size_t i = 0; i < plan->run_count; i++) {
        const crn_morphology_run *run = &plan->runs[i];
        if (!is_on_picture(pass, row + run->dy))
            continue;
        const crn_morphology_ring *ring = &pass->rings[run->level];
        int32_t number = at + run->dy; /* mod `rows`, which is the same for all levels used */
        number = number < 0 ? number + rows : number < rows ? number : number - rows;
        pass->rows[count++] =
            ring->memory + (size_t)number * ring->stride + (run->dx + plan->left) * unit;
    }
    if (count == 0)
        pass->rows[count++] = pass->neutral;
    pass->kernels->merge(pass->kind, to, pass->rows, count, bytes_of_result(pass));
}

/* Merges one run into pass->best, doubling the length by repeated merging. */
static void merge_run(const crn_morphology_pass *pass, const crn_morphology_run *run, int32_t row)
{
    ptrdiff_t unit = unit_of(pass);
    size_t bytes = bytes_of_result(pass);
    const uint8_t *from = run_begin(pass, run, row);
    int32_t length = 1;
    for (; 2 * length <= run->length; length *= 2) {
        const void *parts[2] = {from, from + length * unit};
        pass->kernels->merge(pass->kind, pass->run, parts, 2,
                             bytes + (size_t)((run->length - 2 * length) * unit));
        from = pass->run;
    }
    const void *parts[3] = {pass->best, from, from + (run->length - length) * unit};
    pass->kernels->merge(pass->kind, pass->best, parts, 3, bytes);
}

static void make_slowly(const crn_morphology_pass *pass, int32_t row, void *to)
{
    const crn_morphology_plan *plan = pass->plan;
    memcpy(pass->best, pass->neutral, bytes_of_result(pass));
    for (size_t i = 0; i < plan->run_count; i++)
        if (is_on_picture(pass, row + plan->runs[i].dy))
            merge_run(pass, &plan->runs[i], row + plan->runs[i].dy);
    memcpy(to, pass->best, bytes_of_result(pass));
}

static void make_raised(const crn_morphology_pass *pass, int32_t row, void *to)
{
    const crn_morphology_plan *plan = pass->plan;
    ptrdiff_t columns = pass->end - pass->first;
    size_t count = 0;
    for (size_t i = 0; i < plan->member_count; i++) {
        const crn_morphology_member *m = &plan->members[i];
        if (!is_on_picture(pass, row + m->dy))
            continue;
        ptrdiff_t first = -m->dx - (ptrdiff_t)pass->first;
        ptrdiff_t end = first + pass->width;
        first = first > 0 ? first : 0;
        end = end < columns ? end : columns;
        if (first >= end)
            continue;
        /* No height makes an infinite value finite, so for f32 neutral elements outside of the
         * picture may be read. */
        bool everywhere = crn_morphology_is_f32(pass->kind);
        pass->raised[count++] = (crn_morphology_raised){
            .row = ring_row(&pass->rings[0], row + m->dy) + (m->dx + plan->left) * unit_of(pass),
            .first = everywhere ? 0 : first * pass->channels,
            .end = (everywhere ? columns : end) * pass->channels,
            .height = m->height,
        };
    }
    pass->kernels->raise(pass->kind, to, pass->raised, count, bytes_of_result(pass));
}

/* Cost of a row, in the units of a pace. */
static int64_t row_work(const crn_morphology_pass *pass)
{
    const crn_morphology_plan *plan = pass->plan;
    size_t merged =
        plan->is_flat ? plan->run_count + (size_t)plan->level_count : plan->member_count;
    return (int64_t)(bytes_of_result(pass) / 32 * (merged + 2));
}

void crn_morphology_pass_make(crn_morphology_pass *pass, int32_t row, int32_t count,
                              void *const *to)
{
    const crn_morphology_plan *plan = pass->plan;
    int64_t work = row_work(pass);
    if (crn_pace_over(pass->pace, work * count))
        return;
    int32_t end = row + count + plan->below;
    read_rows(pass, end < pass->height ? end : pass->height);
    if (plan->is_flat && plan->is_stack && pass->keeps_levels) {
        make_stack(pass, row, count, to);
        return;
    }
    if (plan->rhombus && pass->keeps_levels) {
        make_rhombus(pass, row, count, to);
        return;
    }
    for (int32_t i = 0; i < count && !crn_pace_over(pass->pace, work); i++) {
        if (!plan->is_flat)
            make_raised(pass, row + i, to[i]);
        else if (pass->keeps_levels)
            make_merged(pass, row + i, to[i]);
        else
            make_slowly(pass, row + i, to[i]);
    }
}
