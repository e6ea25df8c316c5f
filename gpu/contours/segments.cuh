/*
 * Segments: numbers them in canonical order and links each to its successor; pointer jumping
 * (Wyllie) then gives each segment its contour's end and the distance to it. This file has the
 * variant for one block per plane.
 */
#ifndef CRN_GPU_CONTOURS_SEGMENTS_CUH
#define CRN_GPU_CONTOURS_SEGMENTS_CUH

#include "gpu/contours/group.cuh"

/*
 * A link (uint4) summarises the segments from its own to the one before x, along the contour: y is
 * the greatest key among them; z counts those with a length from its own to the one with that key,
 * both included; w counts those with a length among all. Each round doubles the number of segments
 * covered.
 *
 * The key of a segment with a length is its number + 1, of one without a length 0, of the last
 * segment of an open contour CRN_CONTOURS_LAST | number. So the segment with the greatest key ends
 * the contour, be it open or closed.
 */
#define CRN_CONTOURS_LAST    0x80000000u
#define CRN_CONTOURS_NO_SIZE 0x80000000u /* in x: the segment itself has no length */
#define CRN_CONTOURS_HEAD                                                                          \
    0x80000000u /* in z: it has no predecessor; in an order: its first point is meant */
#define CRN_CONTOURS_MAYBE_LEAST                                                                   \
    0x80000000u /* in w: it has a length, and no lower such segment of its contour is known */

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

/* Scans the number of segments per word: `prefix` gets each word's first
 * segment, `count` the total. */
template <bool GRID_WIDE>
static __device__ void number_segments(const crn_contours_plan &plan, crn_contours_work *work)
{
    uint32_t words = (uint32_t)(work->numbers * plan.cell_rows) * (uint32_t)plan.words;
    group_range my = even_share<GRID_WIDE>(words);
    uint64_t before = 0, all = 0;
    if (GRID_WIDE) {
        uint64_t mine = 0;
        for (uint32_t i = my.begin + threadIdx.x; i < my.end; i += blockDim.x) {
            uint32_t count = count_of_word(plan, *work, i, my.end);
            work->prefix[i] = count;
            mine += count;
        }
        scan_block(mine, &all);
        before = scan_blocks(plan.control->sums[0], all, &all);
        work->count = (uint32_t)all;
    }
    for (uint32_t tile = my.begin; tile < my.end;
         tile += blockDim.x * CRN_CONTOURS_ITEMS_PER_THREAD) {
        uint32_t first = tile + threadIdx.x * CRN_CONTOURS_ITEMS_PER_THREAD,
                 count[CRN_CONTOURS_ITEMS_PER_THREAD], sum = 0;
#pragma unroll
        for (uint32_t i = 0; i < CRN_CONTOURS_ITEMS_PER_THREAD; i++)
            sum += count[i] = !GRID_WIDE           ? count_of_word(plan, *work, first + i, my.end)
                              : first + i < my.end ? work->prefix[first + i]
                                                   : 0;
        uint64_t at = before + scan_block(sum, &all);
        before += all;
#pragma unroll
        for (uint32_t i = 0; i < CRN_CONTOURS_ITEMS_PER_THREAD; i++) {
            if (first + i < my.end)
                work->prefix[first + i] = (uint32_t)at;
            at += count[i];
        }
    }
    if (!GRID_WIDE)
        work->count = (uint32_t)before;
    group_sync<GRID_WIDE>();
}

/* The cell (bit) of a word's n-th segment, and whether it is that cell's second. */
static __device__ int32_t cell_of(const crn_contours_cells &c, uint32_t n, uint32_t *ret_second)
{
    int32_t bit = 0;
#pragma unroll
    for (int32_t step = 16; step > 0; step /= 2)
        bit += crn_contours_count(c, (1u << (bit + step)) - 1) <= n ? step : 0;
    *ret_second = n - crn_contours_count(c, (1u << bit) - 1);
    return bit;
}

/* A link that covers its own segment only. */
static __device__ uint4 first_link(uint32_t segment, uint32_t successor, bool has_length, bool head)
{
    bool last = successor == CRN_CONTOURS_NONE;
    uint4 link;
    link.x = (last ? segment : successor) | (has_length ? 0 : CRN_CONTOURS_NO_SIZE);
    link.y = last ? CRN_CONTOURS_LAST | segment : has_length ? segment + 1 : 0;
    link.z = has_length | (head ? CRN_CONTOURS_HEAD : 0);
    link.w = has_length ? 1 | CRN_CONTOURS_MAYBE_LEAST : 0;
    return link;
}

/* One step of pointer jumping: extends `link` by the link `there` at its x. Returns true if the
 * greatest key changed. */
static __device__ bool learn(uint4 *link, const uint4 &there)
{
    bool more = there.y > link->y;
    uint32_t w = link->w & ~CRN_CONTOURS_MAYBE_LEAST;
    if (more) {
        link->y = there.y;
        link->z = (link->z & CRN_CONTOURS_HEAD) | (w + (there.z & ~CRN_CONTOURS_HEAD));
    }
    link->w = (link->w & CRN_CONTOURS_MAYBE_LEAST) | ((w + there.w) & ~CRN_CONTOURS_MAYBE_LEAST);
    link->x = (link->x & CRN_CONTOURS_NO_SIZE) | (there.x & ~CRN_CONTOURS_NO_SIZE);
    return more;
}

/* Builds the link of a plane's s-th segment to its successor, and stores its cell. */
static __device__ uint4 make_segment(const crn_contours_plan &plan, const crn_contours_work &work,
                                     uint32_t s)
{
    uint32_t index = 0, words = (uint32_t)(plan.cell_rows * plan.words);
    for (uint32_t step = 1u << (31 - __clz((int)words)); step > 0; step /= 2)
        if (index + step < words && work.prefix[index + step] <= s)
            index += step;
    int32_t row = (int32_t)(index / (uint32_t)plan.words);
    int32_t word = (int32_t)index - row * plan.words;
    crn_contours_cells c = crn_contours_cells_at(plan, work, 0, row, word);
    uint32_t second;
    int32_t bit = cell_of(c, s - work.prefix[index], &second), column = 32 * word + bit;
    uint32_t sides = crn_contours_sides(crn_contours_corners(c, bit), plan.high) >> 4 * second;
    uint32_t from = sides & 3, to = sides >> 2 & 3;
    crn_contours_edge edge = crn_contours_load_edge(plan, work.number, row, column, from);

    int32_t other_row = row, other_column = column;
    crn_contours_cross(from, &other_row, &other_column);
    bool head = !crn_contours_has_segment(plan, work, 0, other_row, other_column);
    other_row = row, other_column = column;
    uint32_t side = crn_contours_cross(to, &other_row, &other_column);
    uint32_t successor = crn_contours_beginning(plan, work, 0, other_row, other_column, side);
    work.cell[s] = (uint32_t)(row * plan.cell_columns + column) | to << CRN_CELL_SIDE_SHIFT;
    bool has_length = crn_contours_has_length(plan, work.number, row, column, to, edge);
    return first_link(s, successor, has_length, head);
}

/* Pointer jumping until no link changes: at most 32 rounds. */
static __device__ void run_ahead(const crn_contours_plan &plan, crn_contours_work *work)
{
    for (uint32_t s = threadIdx.x; s < work->count; s += blockDim.x)
        work->now[s] = make_segment(plan, *work, s);
    __syncthreads();
    for (uint32_t round = 0, more = 1; more; round++) {
        bool changed = false;
        for (uint32_t s = threadIdx.x; s < work->count; s += blockDim.x) {
            uint4 link = work->now[s];
            if (!(link.y & CRN_CONTOURS_LAST))
                changed |= learn(&link, work->now[link.x & ~CRN_CONTOURS_NO_SIZE]);
            work->next[s] = link;
        }
        uint4 *done = work->next;
        work->next = work->now;
        work->now = done;
        more = any_changed<false>(plan, round, changed);
    }
}

/*
 * The same for few segments, in half the memory, with 16 bits per field. x: next | flags, w << 16;
 * y: key, z << 16. The flags are those of the full link. Each thread keeps its links in registers.
 */
#define CRN_CONTOURS_SMALL_EACH    6
#define CRN_CONTOURS_SMALL_NEXT    0x1fffu
#define CRN_CONTOURS_SMALL_HEAD    0x2000u
#define CRN_CONTOURS_SMALL_NO_SIZE 0x4000u
#define CRN_CONTOURS_SMALL_LAST    0x8000u

static __device__ uint2 small_link(const uint4 &link)
{
    uint2 small;
    small.x = (link.x & CRN_CONTOURS_SMALL_NEXT) |
              (link.x & CRN_CONTOURS_NO_SIZE ? CRN_CONTOURS_SMALL_NO_SIZE : 0) |
              (link.z & CRN_CONTOURS_HEAD ? CRN_CONTOURS_SMALL_HEAD : 0) | (link.w & 1) << 16;
    small.y = (link.y & 0x7fff) | (link.y & CRN_CONTOURS_LAST ? CRN_CONTOURS_SMALL_LAST : 0) |
              (link.z & 1) << 16;
    return small;
}

static __device__ uint4 large_link(const uint2 &small)
{
    uint4 link;
    link.x = (small.x & CRN_CONTOURS_SMALL_NEXT) |
             (small.x & CRN_CONTOURS_SMALL_NO_SIZE ? CRN_CONTOURS_NO_SIZE : 0);
    link.y = (small.y & 0x7fff) | (small.y & CRN_CONTOURS_SMALL_LAST ? CRN_CONTOURS_LAST : 0);
    link.z = small.y >> 16 | (small.x & CRN_CONTOURS_SMALL_HEAD ? CRN_CONTOURS_HEAD : 0);
    link.w = small.x & CRN_CONTOURS_SMALL_NO_SIZE ? 0 : CRN_CONTOURS_MAYBE_LEAST;
    return link;
}

static __device__ bool learn_small(uint2 *link, const uint2 &there)
{
    bool more = (there.y & 0xffff) > (link->y & 0xffff);
    uint32_t w = link->x >> 16;
    if (more)
        link->y = (there.y & 0xffff) | (w + (there.y >> 16)) << 16;
    link->x = (link->x & (CRN_CONTOURS_SMALL_HEAD | CRN_CONTOURS_SMALL_NO_SIZE)) |
              (there.x & CRN_CONTOURS_SMALL_NEXT) | (w + (there.x >> 16)) << 16;
    return more;
}

static __device__ void run_ahead_small(const crn_contours_plan &plan, const crn_contours_work &work)
{
    uint2 *from = reinterpret_cast<uint2 *>(work.next), *to = from + work.count;
    for (uint32_t s = threadIdx.x; s < work.count; s += blockDim.x)
        from[s] = small_link(make_segment(plan, work, s));
    __syncthreads();
    uint2 mine[CRN_CONTOURS_SMALL_EACH];
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_SMALL_EACH; i++) {
        uint32_t s = threadIdx.x + i * blockDim.x;
        mine[i] = s < work.count ? from[s] : make_uint2(0, CRN_CONTOURS_SMALL_LAST);
    }
    for (uint32_t span = 1; span < work.count; span *= 2) {
        bool changed = false;
#pragma unroll
        for (uint32_t i = 0; i < CRN_CONTOURS_SMALL_EACH; i++) {
            uint32_t s = threadIdx.x + i * blockDim.x;
            if (s >= work.count)
                break;
            if (!(mine[i].y & CRN_CONTOURS_SMALL_LAST))
                changed |= learn_small(&mine[i], from[mine[i].x & CRN_CONTOURS_SMALL_NEXT]);
            to[s] = mine[i];
        }
        uint2 *done = to;
        to = from;
        from = done;
        if (!any_changed<false>(plan, 0, changed))
            break;
    }
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_SMALL_EACH; i++) {
        uint32_t s = threadIdx.x + i * blockDim.x;
        if (s < work.count)
            work.now[s] = large_link(mine[i]);
    }
    __syncthreads();
}

#endif
