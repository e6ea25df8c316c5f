/* Cells and their segments: shared by the fast scan of inner cells and the general one of
 * boundary cells. */
#ifndef CRN_STAGES_OPENMP_CONTOURS_CELLS_H
#define CRN_STAGES_OPENMP_CONTOURS_CELLS_H

#include "stages/openmp/contours/contours.h"
#include "stages/openmp/simd.h"

/* Sides of a cell. Sides shared with cells scanned later (to the right or below) have the higher
 * numbers; left and right are odd. */
enum { TOP, LEFT, BOTTOM, RIGHT };

/* A cell's segments by its high corners (a bit mask): upper left 1, upper right 2, lower left 4,
 * lower right 8. Low values lie left of the direction of travel. */
typedef struct segment_kind {
    uint8_t from, to;
} segment_kind;

static const segment_kind segment_kinds[16] = {
    [1] = {TOP, LEFT},     [2] = {RIGHT, TOP},    [3] = {RIGHT, LEFT},   [4] = {LEFT, BOTTOM},
    [5] = {TOP, BOTTOM},   [7] = {RIGHT, BOTTOM}, [8] = {BOTTOM, RIGHT}, [10] = {BOTTOM, TOP},
    [11] = {BOTTOM, LEFT}, [12] = {LEFT, RIGHT},  [13] = {TOP, RIGHT},   [14] = {LEFT, TOP},
};

/* The saddles (high values on one diagonal only): 9 (odd) and 6, by connectivity. The second
 * segment is the one that touches the bottom. */
typedef struct saddle_kind {
    segment_kind first, second;
    bool second_is_right; /* the second segment also touches the right side */
} saddle_kind;

static const saddle_kind saddle_kinds[2][2] = {
    [CRN_CONNECT_LOW] = {{{RIGHT, TOP}, {LEFT, BOTTOM}, false},
                         {{TOP, LEFT}, {BOTTOM, RIGHT}, true}},
    [CRN_CONNECT_HIGH] = {{{LEFT, TOP}, {RIGHT, BOTTOM}, true},
                          {{TOP, RIGHT}, {BOTTOM, LEFT}, false}},
};

/* The two rows of values of a cell, and where each side's two values are among them. */
typedef struct crn_contours_rows {
    const void *above;    /* the upper row; the lower one is at a fixed distance from it */
    ptrdiff_t a[4], b[4]; /* by side: offset of the left or upper value, and of the other */
    double y[4];          /* by side */
    int32_t row;
    const uint64_t *inside, *shifted, *inside_above, *shifted_above;
    const uint64_t *valid, *valid_above; /* cells */
    const saddle_kind *saddles;          /* of this connectivity */
} crn_contours_rows;

/* Interpolation with infinite values: the point is the finite one, or half-way between two
 * infinite ones. */
double crn_contours_fraction_with_infinity(double a, double b);

CRN_INLINE double fraction_between(crn_contours_track *t, double a, double b)
{
    double fraction = (t->level - a) / (b - a);
    if (__builtin_expect(fraction != fraction, 0))
        fraction = crn_contours_fraction_with_infinity(a, b);
    double off_centre = __builtin_fabs(fraction - 0.5);
    t->extreme = off_centre > t->extreme ? off_centre : t->extreme;
    return fraction;
}

/* Corner bits of the 64 cells of a word: upper left, upper right, lower left, lower right. */
typedef struct crn_contours_corners {
    uint64_t words[4];
} crn_contours_corners;

CRN_INLINE unsigned corners_at(const crn_contours_corners *c, unsigned i)
{
    return (unsigned)((c->words[0] >> i & 1) | (c->words[1] >> i & 1) << 1 |
                      (c->words[2] >> i & 1) << 2 | (c->words[3] >> i & 1) << 3);
}

/* A word of a row shifted by one pixel: from the left, and from the right. */
CRN_INLINE uint64_t from_left(const uint64_t *row, ptrdiff_t word, uint32_t channels)
{
    ptrdiff_t whole = channels / 64;
    unsigned part = channels % 64;
    /* In two steps, since a shift by 64 is undefined. */
    return row[word - whole] << part | row[word - whole - 1] >> 1 >> (63 - part);
}

CRN_INLINE uint64_t from_right(const uint64_t *row, ptrdiff_t word, uint32_t channels)
{
    ptrdiff_t whole = channels / 64;
    unsigned part = channels % 64;
    return row[word + whole] >> part | row[word + whole + 1] << 1 << (63 - part);
}

/* Adds a cell that lacks a neighbour, at the border of the picture or strip or next to
 * invalid cells. */
void crn_contours_add_boundary_cell(const crn_contours_job *job, crn_contours_strip *strip,
                                    const crn_contours_rows *rows, uint32_t bit);

/* Begins and ends runs at the bottom sides of the previous row's cells below which there is no
 * cell. bottom_entries: by bit, or NULL. */
void crn_contours_close_bottom(const crn_contours_job *job, crn_contours_strip *strip,
                               const crn_contours_rows *rows, uint32_t *bottom_entries);

/* Finds the cells without a neighbour above, to the left or to the right. */
void crn_contours_find_boundary(const crn_contours_job *job, const uint64_t *valid,
                                const uint64_t *valid_above, uint64_t *ret_boundary);

/* Clears the bits of masked pixels. Returns true if there are any. */
bool crn_contours_mask_out(const crn_contours_job *job, int32_t y, uint64_t *bits);

/* Finds the cells whose four pixels are all valid. */
void crn_contours_find_valid_cells(const crn_contours_job *job, const uint64_t *pixels,
                                   const uint64_t *pixels_above, uint64_t *ret_cells);

/* A row's elements, dense: in place if possible, else copied. */
const void *crn_contours_elements(const crn_contours_job *job, const crn_contours_strip *strip,
                                  int32_t y);

#endif
