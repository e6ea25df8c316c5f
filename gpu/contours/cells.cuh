/*
 * Marching-squares cells and their segments: which cells of a word have segments, where a segment's
 * points lie, which segment comes next.
 */
#ifndef CRN_GPU_CONTOURS_CELLS_CUH
#define CRN_GPU_CONTOURS_CELLS_CUH

#include "gpu/contours/contours.cuh"

enum { CRN_SIDE_TOP, CRN_SIDE_LEFT, CRN_SIDE_RIGHT, CRN_SIDE_BOTTOM };

/* What one thread group works on: planes from `number` on, their bits and segments. */
typedef struct crn_contours_work {
    int32_t number, numbers;
    const uint32_t *bits; /* as in the job */
    bool has_invalid;     /* as in the job; false also if the plane has no invalid corner */
    uint32_t *prefix;
    uint32_t count;                 /* number of segments */
    crn_contours_link *links;       /* by segment (segments.cuh) */
    crn_contours_link *other_links; /* written by the next round of pointer jumping */
    uint32_t *cell; /* by segment: index in the plane; in the high bits, the side where it ends */
} crn_contours_work;

#define CRN_CELL_SIDE_SHIFT 30

/* 32 cells of a row: their corners, the cells with segments, and those with two of them. */
typedef struct crn_contours_cells {
    uint32_t upper_left, upper_right, lower_left, lower_right, active, saddle;
} crn_contours_cells;

/* Builds cells from the words of corners above and below, the next words to the right, the invalid
 * corners, and the number of cells left in the row. */
static __device__ crn_contours_cells crn_contours_cells_of(uint32_t up, uint32_t up_right,
                                                           uint32_t down, uint32_t down_right,
                                                           uint32_t invalid, uint32_t invalid_right,
                                                           int32_t cells)
{
    crn_contours_cells c;
    c.upper_left = up;
    c.lower_left = down;
    c.upper_right = __funnelshift_r(up, up_right, 1);
    c.lower_right = __funnelshift_r(down, down_right, 1);
    uint32_t any = c.upper_left | c.upper_right | c.lower_left | c.lower_right;
    uint32_t all = c.upper_left & c.upper_right & c.lower_left & c.lower_right;
    c.active = any & ~all &
               (cells >= 32  ? ~0u
                : cells <= 0 ? 0
                             : (1u << cells) - 1) &
               ~(invalid | __funnelshift_r(invalid, invalid_right, 1));
    c.saddle = c.active & (c.upper_left ^ c.upper_right) & (c.upper_left ^ c.lower_left) &
               ~(c.upper_left ^ c.lower_right);
    return c;
}

static __device__ crn_contours_cells crn_contours_cells_at(const crn_gpu_contours_job &job,
                                                           const crn_contours_work &work,
                                                           int32_t plane, int32_t row, int32_t word)
{
    const uint32_t *up =
        work.bits + (size_t)plane * job.plane_words + (uint32_t)(row * job.words + word);
    const uint32_t *down = up + job.words;
    bool more = word + 1 < job.words;
    uint32_t invalid = 0, invalid_right = 0;
    if (work.has_invalid) {
        invalid = up[job.corner_words] | down[job.corner_words];
        invalid_right = more ? up[job.corner_words + 1] | down[job.corner_words + 1] : 0;
    }
    return crn_contours_cells_of(up[0], more ? up[1] : 0, down[0], more ? down[1] : 0, invalid,
                                 invalid_right, job.cell_columns - 32 * word);
}

static inline __device__ uint32_t crn_contours_count(const crn_contours_cells &c, uint32_t mask)
{
    return __popc(c.active & mask) + __popc(c.saddle & mask);
}

/* Marching-squares case of a cell, a bit per high corner: upper left 1, upper right 2, lower
 * left 4, lower right 8. */
static inline __device__ uint32_t crn_contours_corners(const crn_contours_cells &c, int32_t bit)
{
    return (c.upper_left >> bit & 1) | (c.upper_right >> bit & 1) << 1 |
           (c.lower_left >> bit & 1) << 2 | (c.lower_right >> bit & 1) << 3;
}

/*
 * Entry and exit sides of a cell's segments by case, with low values left of the direction of
 * travel: two bits each, the second segment in the high nibble. The table is packed into two 64-bit
 * constants, a byte per case, because neighbouring threads have different cases and a lookup must
 * not branch. Cases 0 and 15 have no segment.
 */
static inline __device__ uint32_t crn_contours_sides(uint32_t corners, bool high)
{
#define CRN_CONTOURS_ONE(from, to)   ((uint64_t)(CRN_SIDE_##from | CRN_SIDE_##to << 2))
#define CRN_CONTOURS_TWO(a, b, c, d) (CRN_CONTOURS_ONE(a, b) | CRN_CONTOURS_ONE(c, d) << 4)
    uint64_t of_1_to_7 =
        CRN_CONTOURS_ONE(TOP, LEFT) << 8 | CRN_CONTOURS_ONE(RIGHT, TOP) << 16 |
        CRN_CONTOURS_ONE(RIGHT, LEFT) << 24 | CRN_CONTOURS_ONE(LEFT, BOTTOM) << 32 |
        CRN_CONTOURS_ONE(TOP, BOTTOM) << 40 | CRN_CONTOURS_TWO(RIGHT, TOP, LEFT, BOTTOM) << 48 |
        CRN_CONTOURS_ONE(RIGHT, BOTTOM) << 56;
    uint64_t of_8_to_14 =
        CRN_CONTOURS_ONE(BOTTOM, RIGHT) | CRN_CONTOURS_TWO(TOP, LEFT, BOTTOM, RIGHT) << 8 |
        CRN_CONTOURS_ONE(BOTTOM, TOP) << 16 | CRN_CONTOURS_ONE(BOTTOM, LEFT) << 24 |
        CRN_CONTOURS_ONE(LEFT, RIGHT) << 32 | CRN_CONTOURS_ONE(TOP, RIGHT) << 40 |
        CRN_CONTOURS_ONE(LEFT, TOP) << 48;
    uint32_t sides = (uint32_t)((corners < 8 ? of_1_to_7 : of_8_to_14) >> 8 * (corners & 7)) & 0xff;
    if (high && corners == 6)
        sides = (uint32_t)CRN_CONTOURS_TWO(LEFT, TOP, RIGHT, BOTTOM);
    if (high && corners == 9)
        sides = (uint32_t)CRN_CONTOURS_TWO(TOP, RIGHT, BOTTOM, LEFT);
    return sides;
#undef CRN_CONTOURS_ONE
#undef CRN_CONTOURS_TWO
}

/* Moves to the neighbouring cell across `side`; returns that side as the neighbour names it. */
static inline __device__ uint32_t crn_contours_cross(uint32_t side, int32_t *row, int32_t *column)
{
    *row += (side == CRN_SIDE_BOTTOM) - (side == CRN_SIDE_TOP);
    *column += (side == CRN_SIDE_RIGHT) - (side == CRN_SIDE_LEFT);
    return 3 - side;
}

static inline __device__ bool crn_contours_is_cell(const crn_gpu_contours_job &job, int32_t row,
                                                   int32_t column)
{
    return (uint32_t)row < (uint32_t)job.cell_rows && (uint32_t)column < (uint32_t)job.cell_columns;
}

/* Number of the cell's segment that enters by that side; CRN_CONTOURS_NONE if
 * the cell was skipped. */
static __device__ uint32_t crn_contours_segment_entering(const crn_gpu_contours_job &job,
                                                         const crn_contours_work &work,
                                                         int32_t plane, int32_t row, int32_t column,
                                                         uint32_t side)
{
    if (!crn_contours_is_cell(job, row, column))
        return CRN_CONTOURS_NONE;
    int32_t word = column / 32, bit = column % 32;
    crn_contours_cells c = crn_contours_cells_at(job, work, plane, row, word);
    if (!(c.active >> bit & 1))
        return CRN_CONTOURS_NONE;
    size_t at =
        ((size_t)plane * (size_t)job.cell_rows + (size_t)row) * (size_t)job.words + (size_t)word;
    uint32_t segment = work.prefix[at] + crn_contours_count(c, (1u << bit) - 1);
    if (c.saddle >> bit & 1)
        segment += (crn_contours_sides(crn_contours_corners(c, bit), job.high) & 3) != side;
    return segment;
}

/* True if a cell has a segment, given that a contour reaches it: it exists and was not skipped. */
static __device__ bool crn_contours_has_segment(const crn_gpu_contours_job &job,
                                                const crn_contours_work &work, int32_t plane,
                                                int32_t row, int32_t column)
{
    if (!crn_contours_is_cell(job, row, column))
        return false;
    if (!work.has_invalid)
        return true;
    crn_contours_cells c = crn_contours_cells_at(job, work, plane, row, column / 32);
    return c.active >> (column % 32) & 1;
}

/* Position of the level between a and b, as a fraction; stages/cernita.h defines it for infinities.
 */
static inline __device__ double crn_contours_fraction(double a, double b, double level)
{
    if (isinf(a) && isinf(b))
        return 0.5;
    if (isinf(a) || isinf(b))
        return isinf(a) ? 1 : 0;
    return (level - a) / (b - a);
}

/* A side of a cell, from left to right or from top to bottom: its two pixels. */
typedef struct crn_contours_edge {
    int32_t y, x;
    bool across;
    uint32_t a, b; /* raw bits, from crn_contours_load */
} crn_contours_edge;

static __device__ crn_contours_edge crn_contours_load_edge(const crn_gpu_contours_job &job,
                                                           int32_t number, int32_t row,
                                                           int32_t column, uint32_t side)
{
    crn_contours_edge e;
    e.y = row + job.origin + (side == CRN_SIDE_BOTTOM);
    e.x = column + job.origin + (side == CRN_SIDE_RIGHT);
    e.across = side == CRN_SIDE_TOP || side == CRN_SIDE_BOTTOM;
    e.a = crn_contours_load(job, number, e.y, e.x);
    e.b = crn_contours_load(job, number, e.y + !e.across, e.x + e.across);
    return e;
}

static __device__ crn_point crn_contours_point(const crn_gpu_contours_job &job, double level,
                                               const crn_contours_edge &e)
{
    double f =
        crn_contours_fraction(crn_contours_value(job, e.a), crn_contours_value(job, e.b), level);
    crn_point point = {e.x + (e.across ? f : 0), e.y + (e.across ? 0 : f)};
    return point;
}

/*
 * True if a segment's two points differ. They do unless both lie at the corner that its two sides
 * share, and an approximate division nearly always shows that the first one does not.
 */
static __device__ bool crn_contours_has_length(const crn_gpu_contours_job &job, int32_t number,
                                               int32_t row, int32_t column, uint32_t to,
                                               const crn_contours_edge &from)
{
    double level = crn_contours_level(job, number);
    double a = crn_contours_value(job, from.a), b = crn_contours_value(job, from.b);
    float about = __fdividef((float)(level - a), (float)(b - a));
    if (about > 0.001f && about < 0.999f)
        return true;
    crn_point first = crn_contours_point(job, level, from);
    crn_point second =
        crn_contours_point(job, level, crn_contours_load_edge(job, number, row, column, to));
    return first.x != second.x || first.y != second.y;
}

#endif
