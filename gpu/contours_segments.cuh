/*
 * Cells become segments, numbered in canonical order, and segments links: each finds out which one
 * ends its contour, and how far away that is. Here for a block that has a plane for itself.
 */
#ifndef CRN_GPU_CONTOURS_SEGMENTS_CUH
#define CRN_GPU_CONTOURS_SEGMENTS_CUH

#include "gpu/contours_crew.cuh"

/*
 * A link (uint4) tells of the segments from its own up to that before x, going along the contour:
 * the greatest key among them is y; z of them with a length, from its own to that with the greatest
 * key, both counted; w in all. In rounds x runs ahead by ever more segments.
 *
 * The key of a segment with a length is its number + 1, of one without 0, of the last of an open
 * contour LAST | number: what the greatest key belongs to ends the contour, open or closed.
 */
#define LAST    0x80000000u
#define NO_SIZE 0x80000000u /* in x: the segment itself has no length */
#define HEAD    0x80000000u /* in z: nothing precedes it; in an order: its first point is meant */

static __device__ crn_contours_cells cells_of_word(const crn_contours_plan &plan,
                                                   const crn_contours_work &work, uint32_t index)
{
    uint32_t row = index / (uint32_t)plan.words, plane = row / (uint32_t)plan.cell_rows;
    return crn_contours_cells_at(plan, work, (int32_t)plane,
                                 (int32_t)(row - plane * (uint32_t)plan.cell_rows),
                                 (int32_t)(index - row * (uint32_t)plan.words));
}

static __device__ uint32_t count_of_word(const crn_contours_plan &plan,
                                         const crn_contours_work &work, uint32_t index,
                                         uint32_t end)
{
    return index < end ? crn_contours_count(cells_of_word(plan, work, index), ~0u) : 0;
}

/* Every word's first segment; how many there are. */
template <bool EVERYBODY>
static __device__ void number_segments(const crn_contours_plan &plan, crn_contours_work *work)
{
    uint32_t words = (uint32_t)(work->numbers * plan.cell_rows) * (uint32_t)plan.words;
    stretch my = my_stretch<EVERYBODY>(words);
    uint64_t before = 0, all = 0;
    if (EVERYBODY) {
        uint64_t mine = 0;
        for (uint32_t i = my.begin + threadIdx.x; i < my.end; i += blockDim.x)
            mine += count_of_word(plan, *work, i, my.end);
        scan_block(mine, &all);
        before = scan_blocks(plan.control->sums[0], all, &all);
        work->count = (uint32_t)all;
    }
    for (uint32_t tile = my.begin; tile < my.end; tile += blockDim.x * IN_A_ROW) {
        uint32_t first = tile + threadIdx.x * IN_A_ROW, count[IN_A_ROW], sum = 0;
#pragma unroll
        for (uint32_t i = 0; i < IN_A_ROW; i++)
            sum += count[i] = count_of_word(plan, *work, first + i, my.end);
        uint64_t at = before + scan_block(sum, &all);
        before += all;
#pragma unroll
        for (uint32_t i = 0; i < IN_A_ROW; i++) {
            if (first + i < my.end)
                work->prefix[first + i] = (uint32_t)at;
            at += count[i];
        }
    }
    if (!EVERYBODY)
        work->count = (uint32_t)before;
    meet<EVERYBODY>();
}

/* In which cell of a word its n-th segment lies, and is it that cell's second? */
static __device__ int32_t cell_of(const crn_contours_cells &c, uint32_t n, uint32_t *ret_second)
{
    int32_t bit = 0;
#pragma unroll
    for (int32_t step = 16; step > 0; step /= 2)
        bit += crn_contours_count(c, (1u << (bit + step)) - 1) <= n ? step : 0;
    *ret_second = n - crn_contours_count(c, (1u << bit) - 1);
    return bit;
}

/* Knowing its successor alone. */
static __device__ uint4 first_link(uint32_t segment, uint32_t successor, bool has_length, bool head)
{
    bool last = successor == CRN_CONTOURS_NONE;
    uint4 link;
    link.x = (last ? segment : successor) | (has_length ? 0 : NO_SIZE);
    link.y = last ? LAST | segment : has_length ? segment + 1 : 0;
    link.z = has_length | (head ? HEAD : 0);
    link.w = has_length;
    return link;
}

/* What a link learns from that of the segment where it ends. true: of another end. */
static __device__ bool learn(uint4 *link, const uint4 &there)
{
    bool more = there.y > link->y;
    if (more) {
        link->y = there.y;
        link->z = (link->z & HEAD) | (link->w + (there.z & ~HEAD));
    }
    link->w += there.w;
    link->x = (link->x & NO_SIZE) | (there.x & ~NO_SIZE);
    return more;
}

/* The n-th segment of the index-th word of a plane becomes a link to its successor. */
static __device__ void make_segment(const crn_contours_plan &plan, const crn_contours_work &work,
                                    uint32_t segment, uint32_t index, const crn_contours_cells &c,
                                    uint32_t n)
{
    uint32_t second;
    int32_t bit = cell_of(c, n, &second);
    uint32_t sides = crn_contours_sides(crn_contours_corners(c, bit), plan.high) >> 4 * second;
    uint32_t from = sides & 3, to = sides >> 2 & 3;
    int32_t row = (int32_t)(index / (uint32_t)plan.words);
    int32_t column = ((int32_t)index - row * plan.words) * 32 + bit;

    int32_t other_row = row, other_column = column;
    crn_contours_cross(from, &other_row, &other_column);
    bool head = !crn_contours_has_segment(plan, work, 0, other_row, other_column);
    other_row = row, other_column = column;
    uint32_t side = crn_contours_cross(to, &other_row, &other_column);
    uint32_t successor = crn_contours_beginning(plan, work, 0, other_row, other_column, side);
    bool has_length = crn_contours_has_length(plan, work.number, row, column, from, to);
    work.now[segment] = first_link(segment, successor, has_length, head);
    work.cell[segment] = (uint32_t)(row * plan.cell_columns + column) | to << CRN_CELL_SIDE_SHIFT;
}

/* A warp takes 32 words at a time and shares their segments out evenly. */
static __device__ void make_segments(const crn_contours_plan &plan, const crn_contours_work &work)
{
    uint32_t words = (uint32_t)plan.cell_rows * (uint32_t)plan.words;
    uint32_t lane = threadIdx.x % 32;
    for (uint32_t base = threadIdx.x / 32 * 32; base < words; base += blockDim.x) {
        crn_contours_cells mine = {};
        uint32_t first = work.prefix[base];
        if (base + lane < words)
            mine = cells_of_word(plan, work, base + lane);
        uint32_t count = crn_contours_count(mine, ~0u), up_to = count;
        for (uint32_t d = 1; d < 32; d *= 2) {
            uint32_t other = __shfl_up_sync(~0u, up_to, d);
            up_to += lane >= d ? other : 0;
        }
        uint32_t before = up_to - count, all = __shfl_sync(~0u, up_to, 31);
        for (uint32_t turn = 0; turn < all; turn += 32) {
            uint32_t n = turn + lane, from = 0;
            for (uint32_t step = 16; step > 0; step /= 2)
                from += __shfl_sync(~0u, before, from + step) <= n ? step : 0;
            crn_contours_cells c;
            c.upper_left = __shfl_sync(~0u, mine.upper_left, from);
            c.upper_right = __shfl_sync(~0u, mine.upper_right, from);
            c.lower_left = __shfl_sync(~0u, mine.lower_left, from);
            c.lower_right = __shfl_sync(~0u, mine.lower_right, from);
            c.active = __shfl_sync(~0u, mine.active, from);
            c.saddle = __shfl_sync(~0u, mine.saddle, from);
            uint32_t skipped = __shfl_sync(~0u, before, from);
            if (n < all)
                make_segment(plan, work, first + n, base + from, c, n - skipped);
        }
    }
    __syncthreads();
}

/* Until every link knows the end of its contour: in the worst case after 32 rounds. */
static __device__ void run_ahead(const crn_contours_plan &plan, crn_contours_work *work)
{
    for (uint32_t round = 0;; round++) {
        bool changed = false;
        for (uint32_t s = threadIdx.x; s < work->count; s += blockDim.x) {
            uint4 link = work->now[s];
            if (!(link.y & LAST))
                changed |= learn(&link, work->now[link.x & ~NO_SIZE]);
            work->next[s] = link;
        }
        uint4 *done = work->next;
        work->next = work->now;
        work->now = done;
        if (!any_changed<false>(plan, round, changed))
            return;
    }
}

#endif
