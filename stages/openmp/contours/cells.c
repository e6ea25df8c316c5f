/* The general part of the scan: boundary cells, invalid cells, rows that are not dense. */
#include "stages/openmp/contours/cells.h"

#include <math.h>
#include <string.h>

/* Interpolation with infinite values: the point is the finite one, or half-way between two
 * infinite ones. */
double crn_contours_fraction_with_infinity(double a, double b)
{
    return isinf(a) && isinf(b) ? 0.5 : isinf(a) ? 1 : 0;
}

static double value_at(const crn_contours_job *job, uint32_t channel, int32_t y, int32_t x)
{
    if (y < 0 || x < 0 || y >= job->image.height || x >= job->image.width)
        return 0;
    return crn_image_value(&job->image, (int32_t)channel, y, x);
}

static crn_point point_on(const crn_contours_job *job, crn_contours_track *t, uint32_t channel,
                          int side, int32_t y, int32_t x)
{
    bool along_x = side == TOP || side == BOTTOM;
    int32_t ay = y - (side != BOTTOM), ax = x - (side != RIGHT);
    double a = value_at(job, channel, ay, ax),
           b = value_at(job, channel, ay + !along_x, ax + along_x);
    double fraction = fraction_between(t, a, b);
    crn_point point = {ax + (along_x ? fraction : 0), ay + (along_x ? 0 : fraction)};
    return point;
}

static void open_run(crn_contours_part *part, uint32_t segment, crn_point first_point,
                     uint32_t *entry)
{
    crn_open_run *open = &part->open_runs[part->open_count];
    open->first_point = first_point;
    open->segment = segment;
    open->enters_from_strip = entry != NULL;
    if (entry)
        *entry = part->open_count;
    part->open_count++;
}

void crn_contours_add_boundary_cell(const crn_contours_job *job, crn_contours_strip *strip,
                                    const crn_contours_rows *rows, uint32_t bit)
{
    uint32_t channel = bit % job->channels, word = bit / 64, shift = bit % 64;
    int32_t x = (int32_t)(bit / job->channels), y = rows->row;
    crn_contours_part *part = &strip->parts[channel];
    crn_contours_track *t = &part->track;
    const crn_contours_corners words = {{rows->shifted_above[word], rows->inside_above[word],
                                         rows->shifted[word], rows->inside[word]}};
    unsigned corners = corners_at(&words, shift);
    bool no_left = ~from_left(rows->valid, word, job->channels) >> shift & 1;
    bool no_right = ~from_right(rows->valid, word, job->channels) >> shift & 1;
    bool no_top = ~rows->valid_above[word] >> shift & 1;
    const bool boundary[4] = {[TOP] = no_top, [LEFT] = no_left, [RIGHT] = no_right};
    bool is_saddle = corners == 6 || corners == 9;
    const saddle_kind *saddle = &saddle_kinds[job->params->connectivity][corners & 1];
    uint32_t slots[4] = {[TOP] = strip->scratch->above[bit], [LEFT] = t->left};
    uint32_t *entry = strip->top_entries && y == strip->row ? &strip->top_entries[bit] : NULL;
    for (int i = 0; i <= is_saddle; i++) {
        segment_kind kind = !is_saddle ? segment_kinds[corners]
                            : i        ? saddle->second
                                       : saddle->first;
        uint32_t s = t->count++;
        t->points[s] = point_on(job, t, channel, kind.to, y, x);
        t->links[s] = kind.to < BOTTOM ? slots[kind.to] : CRN_NONE;
        if (boundary[kind.to])
            t->links[s] = kind.to == TOP && entry ? CRN_LINK_END | bit : CRN_NONE;
        if (boundary[kind.from])
            open_run(part, s, point_on(job, t, channel, kind.from, y, x),
                     kind.from == TOP ? entry : NULL);
        else if (kind.from < BOTTOM)
            t->links[slots[kind.from]] = s;
        slots[kind.from] = slots[kind.to] = s;
        strip->scratch->above[bit] = s;
    }
    t->left = slots[RIGHT];
}

void crn_contours_close_bottom(const crn_contours_job *job, crn_contours_strip *strip,
                               const crn_contours_rows *rows, uint32_t *bottom_entries)
{
    for (uint32_t word = 0; word < job->words; word++) {
        uint64_t right = rows->inside_above[word], left = rows->shifted_above[word];
        uint64_t open = rows->valid_above[word] & ~rows->valid[word] & (right ^ left);
        for (; open; open &= open - 1) {
            unsigned i = (unsigned)__builtin_ctzll(open);
            uint32_t bit = word * 64 + i, channel = bit % job->channels,
                     s = strip->scratch->above[bit];
            crn_contours_part *part = &strip->parts[channel];
            /* If the right pixel is high, the direction of travel is up. */
            if (right >> i & 1)
                open_run(part, s,
                         point_on(job, &part->track, channel, TOP, rows->row,
                                  (int32_t)(bit / job->channels)),
                         bottom_entries ? &bottom_entries[bit] : NULL);
            else if (bottom_entries)
                part->track.links[s] = CRN_LINK_END | CRN_LINK_BOTTOM | bit;
        }
    }
}

void crn_contours_find_boundary(const crn_contours_job *job, const uint64_t *valid,
                                const uint64_t *valid_above, uint64_t *ret_boundary)
{
    for (ptrdiff_t i = 0; i < (ptrdiff_t)job->words; i++)
        ret_boundary[i] = ~valid_above[i] | ~from_left(valid, i, job->channels) |
                          ~from_right(valid, i, job->channels);
}

static void clear_bits(uint64_t *bits, size_t from, size_t to)
{
    while (from < to) {
        size_t low = from % 64, high = to - from < 64 - low ? low + (to - from) : 64;
        bits[from / 64] &= ~(~(uint64_t)0 >> (64 - (high - low)) << low);
        from += high - low;
    }
}

bool crn_contours_mask_out(const crn_contours_job *job, int32_t y, uint64_t *bits)
{
    size_t width = (size_t)job->image.width;
    const uint8_t *mask = job->params->mask + (size_t)y * width, *end = mask + width, *p = mask;
    bool any = false;
    while ((p = memchr(p, 0, (size_t)(end - p)))) {
        size_t from = (size_t)(p - mask);
        while (p < end && !*p)
            p++;
        clear_bits(bits, from * job->channels, (size_t)(p - mask) * job->channels);
        any = true;
    }
    return any;
}

void crn_contours_find_valid_cells(const crn_contours_job *job, const uint64_t *pixels,
                                   const uint64_t *pixels_above, uint64_t *ret_cells)
{
    for (ptrdiff_t i = 0; i < (ptrdiff_t)job->words; i++)
        ret_cells[i] = job->frame[i] & pixels[i] & from_left(pixels, i, job->channels) &
                       pixels_above[i] & from_left(pixels_above, i, job->channels);
}

CRN_INLINE void gather(uint8_t *to, const uint8_t *from, ptrdiff_t step, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++, from += step * (ptrdiff_t)size)
        memcpy(to + i * size, from, size);
}

const void *crn_contours_elements(const crn_contours_job *job, const crn_contours_strip *strip,
                                  int32_t y)
{
    const crn_image *image = &job->image;
    size_t size = crn_type_bytes(image->type);
    const uint8_t *row = (const uint8_t *)image->data + y * image->row_stride * (ptrdiff_t)size;
    if (!job->gather)
        return row;
    size_t width = (size_t)image->width;
    uint8_t *gathered = (uint8_t *)strip->scratch->gathered + (y & 1 ? width * size : 0);
    if (size == 1)
        gather(gathered, row, image->step, width, 1);
    else if (size == 2)
        gather(gathered, row, image->step, width, 2);
    else if (size == 4)
        gather(gathered, row, image->step, width, 4);
    else
        gather(gathered, row, image->step, width, 8);
    return gathered;
}
