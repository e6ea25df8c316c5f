/* Rows of bits of a strip become segments linked to their neighbours; compiled once per target. */
#include "stages/openmp/contours/cells.h"

#include <string.h>

static const double runs_along_x[4] = {[TOP] = 1, [BOTTOM] = 1};
static const double runs_along_y[4] = {[LEFT] = 1, [RIGHT] = 1};

CRN_INLINE double value_of(const void *row, ptrdiff_t i, crn_type type)
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
    case CRN_F64:
        return ((const double *)row)[i];
    }
    return (double)((const float *)row)[i];
}

/* Adds a segment of an inner cell; `above` is the segment that touches its upper side. Branchless,
 * since branches are unpredictable in maps with many contours. */
CRN_INLINE void add_segment(crn_contours_track *t, const crn_contours_rows *rows, crn_type type,
                            segment_kind kind, uint32_t bit, int32_t x, uint32_t above)
{
    uint32_t s = t->count++, left = t->left;
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

CRN_INLINE void add_cell(crn_contours_track *t, uint32_t *above, const crn_contours_rows *rows,
                         crn_type type, unsigned corners, uint32_t bit, int32_t x)
{
    uint32_t up = above[bit], s = t->count;
    if (corners == 6 || corners == 9) {
        const saddle_kind *saddle = &rows->saddles[corners & 1];
        add_segment(t, rows, type, saddle->first, bit, x, up);
        add_segment(t, rows, type, saddle->second, bit, x, up);
        t->left = s + saddle->second_is_right;
        above[bit] = s + 1;
        return;
    }
    add_segment(t, rows, type, segment_kinds[corners], bit, x, up);
    /* If the segment does not touch that side, the value is never read. */
    t->left = s;
    above[bit] = s;
}

/* Lists the words with active cells. Branchless, since their positions are unpredictable. */
CRN_INLINE uint32_t list_words(const crn_contours_job *job, const crn_contours_scratch *scratch)
{
    uint32_t count = 0;
    for (uint32_t word = 0; word < job->words; word++) {
        scratch->list[count] = word;
        count += scratch->active[word] != 0;
    }
    return count;
}

/* Rows may have millions of cells, so time is also checked once per WORDS active words; WORD_WORK
 * is the cost of a word of mostly active cells, in the units of a pace. */
#define WORDS     16
#define WORD_WORK 512

/* Scans the active cells of a row. `boundary`: cells that lack a neighbour. */
CRN_INLINE void scan_row(const crn_contours_job *job, crn_contours_strip *strip,
                         const crn_contours_rows *rows, const uint64_t *boundary, crn_type type,
                         bool is_planar)
{
    crn_contours_scratch *scratch = strip->scratch;
    uint32_t count = list_words(job, scratch);
    /* A single plane's track stays in registers. */
    crn_contours_track track = strip->parts[0].track;
    for (uint32_t k = 0; k < count; k++) {
        if (k % WORDS == 0 && crn_pace_over(&scratch->pace, WORD_WORK * (int64_t)WORDS))
            return;
        uint32_t word = scratch->list[k];
        const crn_contours_corners corners = {{rows->shifted_above[word], rows->inside_above[word],
                                               rows->shifted[word], rows->inside[word]}};
        uint64_t careful = boundary[word];
        for (uint64_t active = scratch->active[word]; active; active &= active - 1) {
            unsigned i = (unsigned)__builtin_ctzll(active);
            uint32_t bit = word * 64 + i, x = bit;
            crn_contours_track *t = &track;
            if (careful >> i & 1) {
                if (is_planar)
                    strip->parts[0].track = track;
                crn_contours_add_boundary_cell(job, strip, rows, bit);
                if (is_planar)
                    track = strip->parts[0].track;
                continue;
            }
            if (!is_planar) {
                x = (uint32_t)(bit * job->inverse >> 32);
                t = &strip->parts[bit - x * job->channels].track;
            }
            add_cell(t, scratch->above, rows, type, corners_at(&corners, i), bit, (int32_t)x);
        }
    }
    if (is_planar)
        strip->parts[0].track = track;
}

CRN_INLINE void scan_row_of(const crn_contours_job *job, crn_contours_strip *strip,
                            const crn_contours_rows *rows, const uint64_t *boundary, crn_type type)
{
    if (job->channels == 1)
        scan_row(job, strip, rows, boundary, type, true);
    else
        scan_row(job, strip, rows, boundary, type, false);
}

/* Active cells: not all four corners on the same side. Returns true if there are any. */
static bool find_active(const crn_contours_job *job, const uint64_t *restrict inside,
                        const uint64_t *restrict inside_above,
                        const uint64_t *restrict shifted_above, const uint64_t *restrict valid,
                        uint64_t *restrict ret_shifted, uint64_t *restrict ret_active)
{
    ptrdiff_t whole = job->channels / 64;
    unsigned part = job->channels % 64;
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

static void scan_active(const crn_contours_job *job, crn_contours_strip *strip,
                        const crn_contours_rows *rows, const uint64_t *boundary)
{
    switch (job->image.type) {
    case CRN_U8:
        scan_row_of(job, strip, rows, boundary, CRN_U8);
        return;
    case CRN_U16:
        scan_row_of(job, strip, rows, boundary, CRN_U16);
        return;
    case CRN_F16:
        scan_row_of(job, strip, rows, boundary, CRN_F16);
        return;
    case CRN_F32:
        scan_row_of(job, strip, rows, boundary, CRN_F32);
        return;
    case CRN_F64:
        scan_row_of(job, strip, rows, boundary, CRN_F64);
        return;
    }
}

static void set_values(const crn_contours_job *job, crn_contours_rows *rows, const void *above,
                       const void *below)
{
    ptrdiff_t channels = job->channels, down = 0;
    if (above && below)
        down = ((const uint8_t *)below - (const uint8_t *)above) /
               (ptrdiff_t)crn_type_bytes(job->image.type);
    rows->above = above;
    rows->saddles = saddle_kinds[job->params->connectivity];
    rows->a[TOP] = rows->a[LEFT] = -channels;
    rows->a[BOTTOM] = rows->b[LEFT] = down - channels;
    rows->a[RIGHT] = rows->b[TOP] = 0;
    rows->b[BOTTOM] = rows->b[RIGHT] = down;
    rows->y[TOP] = rows->y[LEFT] = rows->y[RIGHT] = rows->row - 1;
    rows->y[BOTTOM] = rows->row;
}

static size_t row_bytes(const crn_contours_job *job)
{
    return (size_t)job->image.width * job->channels * crn_type_bytes(job->image.type);
}

/* Thresholds a row of pixels; outside of the picture no bit is set. `sight`: validates them, too;
 * NULL: does not. Returns true if some are invalid. */
static bool read_row(const crn_contours_job *job, crn_contours_scratch *scratch, int32_t y,
                     const void *elements, crn_values_sight *sight)
{
    uint64_t *inside = scratch->inside[y & 1];
    if (!elements) {
        memset(inside, 0, job->words * sizeof *inside);
        return false;
    }
    if (sight) /* the row is in the cache now */
        job->watch->see(sight, elements, row_bytes(job), job->image.type);
    uint64_t *valid = scratch->valid_pixels[y & 1];
    bool is_cut = CRN_TARGETED(crn_contours_row_inside)(job, elements, inside);
    if (is_cut) {
        CRN_TARGETED(crn_contours_row_nan)(job, elements, valid);
        for (uint32_t word = 0; word < job->words; word++)
            valid[word] = ~valid[word];
    } else if (job->params->mask) {
        memset(valid, 0xff, job->words * sizeof *valid);
    }
    if (job->params->mask && crn_contours_mask_out(job, y, valid))
        is_cut = true;
    return is_cut;
}

static const void *elements_of(const crn_contours_job *job, const crn_contours_strip *strip,
                               int32_t y)
{
    if (y < 0 || y >= job->image.height)
        return NULL;
    return crn_contours_elements(job, strip, y);
}

/* The valid cells between two rows of pixels. */
static const uint64_t *valid_cells(const crn_contours_job *job, crn_contours_scratch *scratch,
                                   int32_t y, bool is_cut, bool was_cut)
{
    if (!is_cut && !was_cut)
        return job->frame;
    int now = y & 1;
    crn_contours_find_valid_cells(job, is_cut ? scratch->valid_pixels[now] : job->ones,
                                  was_cut ? scratch->valid_pixels[now ^ 1] : job->ones,
                                  scratch->valid_cells[now]);
    return scratch->valid_cells[now];
}

/* The cells of a row that lack a neighbour, or a corner of which lies outside of the picture. */
static const uint64_t *boundary_cells(const crn_contours_job *job, const crn_contours_strip *strip,
                                      const crn_contours_rows *rows)
{
    if (rows->row == job->image.height)
        return job->ones;
    if (rows->valid == job->frame && rows->valid_above == job->frame)
        return job->frame_boundary;
    crn_contours_find_boundary(job, rows->valid, rows->valid_above, strip->scratch->boundary);
    return strip->scratch->boundary;
}

static void move_on(const crn_contours_scratch *scratch, crn_contours_rows *rows, int32_t y)
{
    int now = y & 1;
    rows->row = y;
    rows->inside = scratch->inside[now];
    rows->shifted = scratch->shifted[now];
    rows->inside_above = scratch->inside[now ^ 1];
    rows->shifted_above = scratch->shifted[now ^ 1];
    rows->valid_above = rows->valid;
}

void CRN_TARGETED(crn_contours_scan)(const crn_contours_job *job, crn_contours_strip *strip)
{
    crn_contours_scratch *scratch = strip->scratch;
    crn_contours_rows rows = {.valid = job->zeros};
    const void *above = elements_of(job, strip, strip->row - 1);
    /* The row above is another strip's to see, but where none begins with it. */
    crn_values_sight *sight = job->watch ? &strip->sight : NULL;
    bool was_cut = read_row(job, scratch, strip->row - 1, above, strip->row == 1 ? sight : NULL);
    move_on(scratch, &rows, strip->row - 1);
    find_active(job, rows.inside, job->zeros, job->zeros, job->zeros,
                scratch->shifted[(strip->row - 1) & 1], scratch->active);

    for (int32_t y = strip->row; y < strip->end; y++) {
        if (crn_pace_over(&scratch->pace, job->bits))
            return;
        const void *below = elements_of(job, strip, y);
        bool is_cut = read_row(job, scratch, y, below, sight);
        move_on(scratch, &rows, y);
        rows.valid = valid_cells(job, scratch, y, is_cut, was_cut);
        if (rows.valid != job->frame || rows.valid_above != job->frame)
            crn_contours_close_bottom(job, strip, &rows, NULL);
        if (find_active(job, rows.inside, rows.inside_above, rows.shifted_above, rows.valid,
                        scratch->shifted[y & 1], scratch->active)) {
            set_values(job, &rows, above, below);
            scan_active(job, strip, &rows, boundary_cells(job, strip, &rows));
        }
        above = below;
        was_cut = is_cut;
    }
    move_on(scratch, &rows, strip->end);
    rows.valid = job->zeros;
    crn_contours_close_bottom(job, strip, &rows, strip->bottom_entries);
}
