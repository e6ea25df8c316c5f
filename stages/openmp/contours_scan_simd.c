/* A strip's rows of bits become segments, linked to their neighbours; compiled once per target. */
#include "stages/openmp/contours_cells.h"

#include <string.h>

#if defined(CRN_TARGET_avx512)
#define contours_scan crn_contours_scan_avx512
#define row_inside    crn_contours_row_inside_avx512
#elif defined(CRN_TARGET_avx2)
#define contours_scan crn_contours_scan_avx2
#define row_inside    crn_contours_row_inside_avx2
#else
#define contours_scan crn_contours_scan_plain
#define row_inside    crn_contours_row_inside_plain
#endif

static const double runs_along_x[4] = {[TOP] = 1, [BOTTOM] = 1};
static const double runs_along_y[4] = {[LEFT] = 1, [RIGHT] = 1};

static always_inline double value_of(const void *row, ptrdiff_t i, crn_type type)
{
    switch (type) {
    case CRN_U8:
        return ((const uint8_t *)row)[i];
    case CRN_U16:
        return ((const uint16_t *)row)[i];
    case CRN_F16:
        return (double)crn_f16_to_f32(((const uint16_t *)row)[i]);
    case CRN_F32:
        break;
    }
    return (double)((const float *)row)[i];
}

/* One segment of a cell all of whose neighbours are there; `above` and `left` are the segments that
 * touch its upper and left side. No branch: in a busy map none could be foretold. */
static always_inline void add_segment(crn_contours_track *t, const crn_contours_rows *rows,
                                      crn_type type, segment_kind kind, uint32_t bit, int32_t x,
                                      uint32_t above, uint32_t left)
{
    uint32_t s = t->count++;
    uint32_t before = kind.from & 1 ? left : above, after = kind.to & 1 ? left : above;
    t->links[kind.from < BOTTOM ? before : s] = s;
    t->links[s] = kind.to < BOTTOM ? after : CRN_NONE;

    double a = value_of(rows->above, (ptrdiff_t)bit + rows->a[kind.to], type);
    double b = value_of(rows->above, (ptrdiff_t)bit + rows->b[kind.to], type);
    double fraction = fraction_between(t, a, b);
    double column = x - (kind.to != RIGHT);
    t->points[s].x = column + fraction * runs_along_x[kind.to];
    t->points[s].y = rows->y[kind.to] + fraction * runs_along_y[kind.to];
}

static always_inline void add_cell(const crn_contours_job *job, crn_contours_track *t,
                                   uint32_t *above, const crn_contours_rows *rows, crn_type type,
                                   unsigned corners, uint32_t bit, int32_t x)
{
    uint32_t up = above[bit], left = t->left, s = t->count;
    if (corners == 6 || corners == 9) {
        const saddle_kind *saddle = &saddle_kinds[job->params->connectivity][corners & 1];
        add_segment(t, rows, type, saddle->first, bit, x, up, left);
        add_segment(t, rows, type, saddle->second, bit, x, up, left);
        t->left = s + saddle->second_is_right;
        above[bit] = s + 1;
        return;
    }
    add_segment(t, rows, type, segment_kinds[corners], bit, x, up, left);
    /* Where the segment does not touch the side, nobody will ask. */
    t->left = s;
    above[bit] = s;
}

/* The active cells of a row. `lonely`: the words with cells that lack a neighbour. */
static always_inline void scan_row(const crn_contours_job *job, crn_contours_strip *strip,
                                   const crn_contours_rows *rows, const uint64_t *lonely,
                                   crn_type type, bool is_planar)
{
    /* A single plane's track stays in registers. */
    crn_contours_track track = strip->parts[0].track;
    for (uint32_t word = 0; word < job->words; word++) {
        uint64_t active = strip->active[word];
        if (!active)
            continue;
        if (active & lonely[word]) {
            if (is_planar)
                strip->parts[0].track = track;
            crn_contours_add_lonely_cells(job, strip, rows, word, active);
            if (is_planar)
                track = strip->parts[0].track;
            continue;
        }
        for (; active; active &= active - 1) {
            unsigned i = (unsigned)__builtin_ctzll(active);
            uint32_t bit = word * 64 + i, x = bit;
            crn_contours_track *t = &track;
            if (!is_planar) {
                x = (uint32_t)(bit * job->inverse >> 32);
                t = &strip->parts[bit - x * job->lanes].track;
            }
            add_cell(job, t, strip->above, rows, type, corners_at(rows, word, i), bit, (int32_t)x);
        }
    }
    if (is_planar)
        strip->parts[0].track = track;
}

static always_inline void scan_row_of(const crn_contours_job *job, crn_contours_strip *strip,
                                      const crn_contours_rows *rows, const uint64_t *lonely,
                                      crn_type type)
{
    if (job->lanes == 1)
        scan_row(job, strip, rows, lonely, type, true);
    else
        scan_row(job, strip, rows, lonely, type, false);
}

/* Active: not all four corners on one side. Says whether any cell is. */
static bool find_active(const crn_contours_job *job, const uint64_t *restrict inside,
                        const uint64_t *restrict inside_above,
                        const uint64_t *restrict shifted_above, const uint64_t *restrict valid,
                        uint64_t *restrict ret_shifted, uint64_t *restrict ret_active)
{
    ptrdiff_t whole = job->lanes / 64;
    unsigned part = job->lanes % 64;
    uint64_t any = 0;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)job->words; i++) {
        uint64_t shifted = inside[i - whole] << part | inside[i - whole - 1] >> 1 >> (63 - part);
        ret_shifted[i] = shifted;
        ret_active[i] = ((inside[i] ^ shifted) | (inside_above[i] ^ shifted_above[i]) |
                         (inside[i] ^ inside_above[i])) &
                        valid[i];
        any |= ret_active[i];
    }
    return any != 0;
}

/* Reads the row above the strip's first row of cells. */
static bool begin(const crn_contours_job *job, crn_contours_strip *strip)
{
    int32_t y = strip->row - 1;
    uint64_t *inside = strip->inside[y & 1];
    bool may_hold_nan = false;
    if (y < 0)
        memset(inside, 0, job->words * sizeof *inside);
    else
        may_hold_nan = row_inside(job, crn_contours_elements(job, strip, y), inside);
    find_active(job, inside, job->zeros, job->zeros, job->zeros, strip->shifted[y & 1],
                strip->active);
    return y >= 0 &&
           crn_contours_find_valid_pixels(job, y, may_hold_nan, strip->valid_pixels[y & 1]);
}

static void scan_active(const crn_contours_job *job, crn_contours_strip *strip,
                        const crn_contours_rows *rows, const uint64_t *lonely)
{
    switch (job->image.type) {
    case CRN_U8:
        scan_row_of(job, strip, rows, lonely, CRN_U8);
        return;
    case CRN_U16:
        scan_row_of(job, strip, rows, lonely, CRN_U16);
        return;
    case CRN_F16:
        scan_row_of(job, strip, rows, lonely, CRN_F16);
        return;
    case CRN_F32:
        scan_row_of(job, strip, rows, lonely, CRN_F32);
        return;
    }
}

static void set_values(const crn_contours_job *job, crn_contours_rows *rows, const void *above,
                       const void *below)
{
    ptrdiff_t lanes = job->lanes, down = 0;
    if (above && below)
        down = ((const uint8_t *)below - (const uint8_t *)above) /
               (ptrdiff_t)crn_type_bytes(job->image.type);
    rows->above = above;
    rows->a[TOP] = rows->a[LEFT] = -lanes;
    rows->a[BOTTOM] = rows->b[LEFT] = down - lanes;
    rows->a[RIGHT] = rows->b[TOP] = 0;
    rows->b[BOTTOM] = rows->b[RIGHT] = down;
    rows->y[TOP] = rows->y[LEFT] = rows->y[RIGHT] = rows->row - 1;
    rows->y[BOTTOM] = rows->row;
}

void contours_scan(const crn_contours_job *job, crn_contours_strip *strip)
{
    bool was_cut = begin(job, strip);
    const void *above = strip->row > 0 ? crn_contours_elements(job, strip, strip->row - 1) : NULL;
    crn_contours_rows rows = {.valid = job->zeros};
    for (int32_t y = strip->row; y < strip->end; y++) {
        int now = y & 1, before = now ^ 1;
        bool is_padding = y == job->image.height, is_cut = false, may_hold_nan = false;
        const void *below = is_padding ? NULL : crn_contours_elements(job, strip, y);
        if (is_padding)
            memset(strip->inside[now], 0, job->words * sizeof(uint64_t));
        else
            may_hold_nan = row_inside(job, below, strip->inside[now]);
        if (!is_padding)
            is_cut = crn_contours_find_valid_pixels(job, y, may_hold_nan, strip->valid_pixels[now]);

        rows.row = y;
        rows.inside = strip->inside[now], rows.inside_above = strip->inside[before];
        rows.shifted = strip->shifted[now], rows.shifted_above = strip->shifted[before];
        rows.valid_above = rows.valid;
        rows.valid = job->frame;
        if (is_cut || was_cut) {
            crn_contours_find_valid_cells(job, is_cut ? strip->valid_pixels[now] : job->ones,
                                          was_cut ? strip->valid_pixels[before] : job->ones,
                                          strip->valid_cells[now]);
            rows.valid = strip->valid_cells[now];
        }
        bool any = find_active(job, rows.inside, rows.inside_above, rows.shifted_above, rows.valid,
                               strip->shifted[now], strip->active);
        const uint64_t *lonely = job->frame_lonely;
        if (y == strip->row || is_padding) {
            lonely = job->ones; /* and the padding has no values to read */
        } else if (rows.valid != job->frame || rows.valid_above != job->frame) {
            crn_contours_find_lonely(job, rows.valid, rows.valid_above, strip->lonely);
            lonely = strip->lonely;
        }
        if (y > strip->row && (rows.valid != job->frame || rows.valid_above != job->frame))
            crn_contours_close_bottom(job, strip, &rows, NULL);
        if (any) {
            set_values(job, &rows, above, below);
            scan_active(job, strip, &rows, lonely);
        }
        above = below;
        was_cut = is_cut;
    }
    rows.row = strip->end;
    rows.inside_above = strip->inside[(strip->end - 1) & 1];
    rows.shifted_above = strip->shifted[(strip->end - 1) & 1];
    rows.valid_above = rows.valid;
    rows.valid = job->zeros;
    crn_contours_close_bottom(job, strip, &rows, strip->bottom_entries);
}
