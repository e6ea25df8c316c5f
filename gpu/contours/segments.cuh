/*
 * Segments: numbers them in canonical order and links each to its successor; pointer jumping
 * (Wyllie) then gives each segment its contour's end and the distance to it. This file has the
 * variant for one block per plane.
 */
#ifndef CRN_GPU_CONTOURS_SEGMENTS_CUH
#define CRN_GPU_CONTOURS_SEGMENTS_CUH

#include "gpu/contours/cells.cuh"
#include "gpu/contours/group.cuh"

static __device__ crn_contours_cells cells_of_word(const crn_gpu_contours_job &job,
                                                   const crn_contours_work &work, uint32_t index)
{
    uint32_t row = index / (uint32_t)job.words, plane = row / (uint32_t)job.cell_rows;
    return crn_contours_cells_at(job, work, (int32_t)plane,
                                 (int32_t)(row - plane * (uint32_t)job.cell_rows),
                                 (int32_t)(index - row * (uint32_t)job.words));
}

static __device__ uint32_t count_of_word(const crn_gpu_contours_job &job,
                                         const crn_contours_work &work, uint32_t index,
                                         uint32_t end)
{
    return index < end ? crn_contours_count(cells_of_word(job, work, index), ~0u) : 0;
}

/* Scans the number of segments per word: `prefix` gets each word's first
 * segment, `count` the total. */
template <bool GRID_WIDE>
static __device__ void number_segments(const crn_gpu_contours_job &job, crn_contours_work *work)
{
    uint32_t words = (uint32_t)(work->numbers * job.cell_rows) * (uint32_t)job.words;
    group_range my = crn_thread_group<GRID_WIDE>::even_share(words);
    uint64_t before = 0, all = 0;
    if (GRID_WIDE) {
        uint64_t mine = 0;
        for (uint32_t i = my.begin + threadIdx.x; i < my.end; i += blockDim.x) {
            uint32_t count = count_of_word(job, *work, i, my.end);
            work->prefix[i] = count;
            mine += count;
        }
        scan_block(mine, &all);
        before = scan_blocks(job.control->sums[0], all, &all);
        work->count = (uint32_t)all;
    }
    for (uint32_t tile = my.begin; tile < my.end;
         tile += blockDim.x * CRN_CONTOURS_ITEMS_PER_THREAD) {
        uint32_t first = tile + threadIdx.x * CRN_CONTOURS_ITEMS_PER_THREAD,
                 count[CRN_CONTOURS_ITEMS_PER_THREAD], sum = 0;
#pragma unroll
        for (uint32_t i = 0; i < CRN_CONTOURS_ITEMS_PER_THREAD; i++)
            sum += count[i] = !GRID_WIDE           ? count_of_word(job, *work, first + i, my.end)
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
    crn_thread_group<GRID_WIDE>::sync();
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
static __device__ crn_contours_link first_link(uint32_t segment, uint32_t successor,
                                               bool has_length, bool head)
{
    bool last = successor == CRN_CONTOURS_NONE;
    crn_contours_link link;
    link.next = (last ? segment : successor) | (has_length ? 0 : CRN_CONTOURS_NO_LENGTH);
    link.key = last ? CRN_CONTOURS_LAST | segment : has_length ? segment + 1 : 0;
    link.to_key = has_length | (head ? CRN_CONTOURS_HEAD : 0);
    link.lengths = has_length ? 1 | CRN_CONTOURS_MAYBE_LOWEST : 0;
    return link;
}

/* One step of pointer jumping: extends `link` by `other`, the link at its next. Returns true if the
 * greatest key changed. */
static __device__ bool extend_link(crn_contours_link *link, const crn_contours_link &other)
{
    bool changed = other.key > link->key;
    uint32_t lengths = link->lengths & ~CRN_CONTOURS_MAYBE_LOWEST;
    if (changed) {
        link->key = other.key;
        link->to_key =
            (link->to_key & CRN_CONTOURS_HEAD) | (lengths + (other.to_key & ~CRN_CONTOURS_HEAD));
    }
    link->lengths = (link->lengths & CRN_CONTOURS_MAYBE_LOWEST) |
                    ((lengths + other.lengths) & ~CRN_CONTOURS_MAYBE_LOWEST);
    link->next = (link->next & CRN_CONTOURS_NO_LENGTH) | (other.next & ~CRN_CONTOURS_NO_LENGTH);
    return changed;
}

/* Builds the link of a plane's s-th segment to its successor, and stores its cell. */
static __device__ crn_contours_link make_segment(const crn_gpu_contours_job &job,
                                                 const crn_contours_work &work, uint32_t s)
{
    uint32_t index = 0, words = (uint32_t)(job.cell_rows * job.words);
    for (uint32_t step = 1u << (31 - __clz((int)words)); step > 0; step /= 2)
        if (index + step < words && work.prefix[index + step] <= s)
            index += step;
    int32_t row = (int32_t)(index / (uint32_t)job.words);
    int32_t word = (int32_t)index - row * job.words;
    crn_contours_cells c = crn_contours_cells_at(job, work, 0, row, word);
    uint32_t second;
    int32_t bit = cell_of(c, s - work.prefix[index], &second), column = 32 * word + bit;
    uint32_t sides = crn_contours_sides(crn_contours_corners(c, bit), job.high) >> 4 * second;
    uint32_t from = sides & 3, to = sides >> 2 & 3;
    crn_contours_edge edge = crn_contours_load_edge(job, work.number, row, column, from);

    int32_t other_row = row, other_column = column;
    crn_contours_cross(from, &other_row, &other_column);
    bool head = !crn_contours_has_segment(job, work, 0, other_row, other_column);
    other_row = row, other_column = column;
    uint32_t side = crn_contours_cross(to, &other_row, &other_column);
    uint32_t successor = crn_contours_segment_entering(job, work, 0, other_row, other_column, side);
    work.cell[s] = (uint32_t)(row * job.cell_columns + column) | to << CRN_CELL_SIDE_SHIFT;
    bool has_length = crn_contours_has_length(job, work.number, row, column, to, edge);
    return first_link(s, successor, has_length, head);
}

/* Pointer jumping until no link changes: at most 32 rounds. */
static __device__ void jump_pointers(const crn_gpu_contours_job &job, crn_contours_work *work)
{
    for (uint32_t s = threadIdx.x; s < work->count; s += blockDim.x)
        work->links[s] = make_segment(job, *work, s);
    __syncthreads();
    for (uint32_t round = 0, more = 1; more; round++) {
        bool changed = false;
        for (uint32_t s = threadIdx.x; s < work->count; s += blockDim.x) {
            crn_contours_link link = work->links[s];
            if (!(link.key & CRN_CONTOURS_LAST))
                changed |= extend_link(&link, work->links[link.next & ~CRN_CONTOURS_NO_LENGTH]);
            work->other_links[s] = link;
        }
        crn_contours_link *read = work->links;
        work->links = work->other_links;
        work->other_links = read;
        more = any_changed<false>(job, round, changed);
    }
}

/* Links per thread, in registers, with short links. */
#define CRN_CONTOURS_LINKS_PER_THREAD 6

static __device__ crn_contours_short_link short_link(const crn_contours_link &link)
{
    crn_contours_short_link small;
    small.next_lengths = (link.next & CRN_SHORT_NEXT) |
                         (link.next & CRN_CONTOURS_NO_LENGTH ? CRN_SHORT_NO_LENGTH : 0) |
                         (link.to_key & CRN_CONTOURS_HEAD ? CRN_SHORT_HEAD : 0) |
                         (link.lengths & 1) << 16;
    small.key_to_key = (link.key & 0x7fff) | (link.key & CRN_CONTOURS_LAST ? CRN_SHORT_LAST : 0) |
                       (link.to_key & 1) << 16;
    return small;
}

/* The full link, but for `lengths`, which is no longer needed. */
static __device__ crn_contours_link full_link(const crn_contours_short_link &small)
{
    bool has_length = !(small.next_lengths & CRN_SHORT_NO_LENGTH);
    crn_contours_link link;
    link.next = (small.next_lengths & CRN_SHORT_NEXT) | (has_length ? 0 : CRN_CONTOURS_NO_LENGTH);
    link.key =
        (small.key_to_key & 0x7fff) | (small.key_to_key & CRN_SHORT_LAST ? CRN_CONTOURS_LAST : 0);
    link.to_key =
        small.key_to_key >> 16 | (small.next_lengths & CRN_SHORT_HEAD ? CRN_CONTOURS_HEAD : 0);
    link.lengths = has_length ? CRN_CONTOURS_MAYBE_LOWEST : 0;
    return link;
}

/* As extend_link; keeps the flags of `link` in `kept`, and takes those of `other` in `taken`. */
static __device__ bool extend_short_link(crn_contours_short_link *link,
                                         const crn_contours_short_link &other, uint32_t kept,
                                         uint32_t taken)
{
    bool changed = (other.key_to_key & 0xffff) > (link->key_to_key & 0xffff);
    uint32_t lengths = link->next_lengths >> 16;
    if (changed)
        link->key_to_key = (other.key_to_key & 0xffff) | (lengths + (other.key_to_key >> 16)) << 16;
    link->next_lengths = (link->next_lengths & kept) | (other.next_lengths & taken) |
                         (lengths + (other.next_lengths >> 16)) << 16;
    return changed;
}

/* The same with short links, in registers, for at most CRN_CONTOURS_LINKS_PER_THREAD per thread. */
static __device__ void jump_pointers_short(const crn_gpu_contours_job &job,
                                           const crn_contours_work &work)
{
    crn_contours_short_link *from = reinterpret_cast<crn_contours_short_link *>(work.other_links);
    crn_contours_short_link *to = from + work.count;
    for (uint32_t s = threadIdx.x; s < work.count; s += blockDim.x)
        from[s] = short_link(make_segment(job, work, s));
    __syncthreads();
    crn_contours_short_link mine[CRN_CONTOURS_LINKS_PER_THREAD];
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_LINKS_PER_THREAD; i++) {
        uint32_t s = threadIdx.x + i * blockDim.x;
        mine[i] = s < work.count ? from[s] : crn_contours_short_link{0, CRN_SHORT_LAST};
    }
    for (uint32_t span = 1; span < work.count; span *= 2) {
        bool changed = false;
#pragma unroll
        for (uint32_t i = 0; i < CRN_CONTOURS_LINKS_PER_THREAD; i++) {
            uint32_t s = threadIdx.x + i * blockDim.x;
            if (s >= work.count)
                break;
            if (!(mine[i].key_to_key & CRN_SHORT_LAST))
                changed |= extend_short_link(&mine[i], from[mine[i].next_lengths & CRN_SHORT_NEXT],
                                             CRN_SHORT_HEAD | CRN_SHORT_NO_LENGTH, CRN_SHORT_NEXT);
            to[s] = mine[i];
        }
        crn_contours_short_link *read = from;
        from = to;
        to = read;
        if (!any_changed<false>(job, 0, changed))
            break;
    }
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_LINKS_PER_THREAD; i++) {
        uint32_t s = threadIdx.x + i * blockDim.x;
        if (s < work.count)
            work.links[s] = full_link(mine[i]);
    }
    __syncthreads();
}

#endif
