/*
 * A block's tile for counts.cu: layout of its histograms, their initialisation, and their update
 * from row to row.
 *
 * The counts of a position x are a row of words, by value; its odd length avoids bank conflicts
 * between threads at adjacent positions. A word holds the counts of the quarter that begins at x in
 * this row of positions (upper) and of the one below it (lower).
 *
 *   BYTES   two values, 8 bits each: upper, upper, lower, lower
 *   NARROW  one value: upper in the high half, lower in the low
 *   WIDE    the same, minus what all positions of a segment have in common, which is kept
 *           separately in 32 bits (`bases`): an entering or leaving pixel changes the bases, and
 *           the words of the two segments at its ends, not a word for each column of a quarter.
 *           What is left in a word is of less than a segment's columns.
 */
#ifndef CRN_GPU_RANKLET_TILE_CUH
#define CRN_GPU_RANKLET_TILE_CUH

#include "gpu/ranklet/ranklet.cuh"

#define CRN_RANKLET_ALL (~0u) /* warp lanes */

extern __shared__ __align__(16) uint32_t crn_ranklet_shared[];

/* Offsets into crn_ranklet_shared, and the tile's position. */
template <typename Code> struct crn_ranklet_tile {
    const Code *codes; /* of its first pixel */
    int32_t y, x;      /* of its first position */
    int32_t rows, columns;
    int32_t pixels; /* columns of pixels */
    int32_t image;
    int32_t first;         /* value */
    int32_t group, thread; /* this thread's group, and its index in it */
    int32_t bases;         /* WIDE: by segment, value and half */
    int32_t below;   /* by group: pixels below the group's values in the columns left of this one
                        in the same part */
    int32_t parts;   /* by group and part: total of that part */
    int32_t partial; /* by group: AW, BW, CW of a row of positions */
    Code *line;      /* pixels that leave, change quarter and enter, from a row to the next */
};

static __device__ __forceinline__ int32_t *crn_ranklet_ints(int32_t at)
{
    return reinterpret_cast<int32_t *>(crn_ranklet_shared + at);
}

template <typename Code>
static __device__ __forceinline__ crn_ranklet_tile<Code>
crn_ranklet_tile_of(const crn_ranklet_job &job, const crn_ranklet_tiling &tiling)
{
    crn_ranklet_tile<Code> t;
    int32_t number = blockIdx.x;
    int32_t stack = number % tiling.stacks;
    number /= tiling.stacks;
    int32_t strip = number % tiling.strips;
    t.image = number / tiling.strips / tiling.blocks;
    t.first = number / tiling.strips % tiling.blocks * tiling.bins;
    t.x = stack * tiling.columns;
    t.y = strip * tiling.rows;
    t.columns = min(tiling.columns, job.columns - t.x);
    t.rows = min(tiling.rows, job.rows - t.y);
    t.pixels = t.columns + job.width - 1;
    t.codes = crn_ranklet_image<Code>(job, t.image) + t.y * job.code_row + t.x;
    t.group = threadIdx.x / 32 / tiling.group_warps;
    t.thread = threadIdx.x - t.group * tiling.group_warps * 32;
    t.bases = tiling.across * tiling.stride;
    t.below = t.bases + tiling.segments * tiling.base_stride;
    t.parts = t.below + tiling.groups * tiling.across;
    t.partial = t.parts + tiling.warps;
    t.line = reinterpret_cast<Code *>(
        crn_ranklet_shared + t.partial +
        (tiling.kind == CRN_RANKLET_WIDE ? 0 : tiling.groups * 3 * tiling.columns));
    return t;
}

/* Index of a value's word (values count from the block's first), and the
 * increment for one pixel. */
template <int KIND> static __device__ __forceinline__ int32_t crn_ranklet_word(int32_t v)
{
    return KIND == CRN_RANKLET_BYTES ? v >> 1 : v;
}

template <int KIND> static __device__ __forceinline__ uint32_t crn_ranklet_upper(int32_t v)
{
    return KIND == CRN_RANKLET_BYTES ? 1u << (v & 1) * 8 : 65536u;
}

template <int KIND> static __device__ __forceinline__ uint32_t crn_ranklet_lower(int32_t v)
{
    return KIND == CRN_RANKLET_BYTES ? 65536u << (v & 1) * 8 : 1u;
}

/* Increment for a pixel that leaves (kind 0), moves from the lower to the upper
 * quarter (1), enters (2). */
template <int KIND>
static __device__ __forceinline__ uint32_t crn_ranklet_change(int32_t kind, int32_t v)
{
    const uint32_t upper = crn_ranklet_upper<KIND>(v), lower = crn_ranklet_lower<KIND>(v);
    return kind == 0 ? 0u - upper : kind == 1 ? upper - lower : lower;
}

/* Inclusive scan over the warp. */
static __device__ __forceinline__ uint32_t crn_ranklet_scan_warp(uint32_t mine)
{
    const int32_t lane = threadIdx.x % 32;
    for (int32_t d = 1; d < 32; d *= 2) {
        uint32_t more = __shfl_up_sync(CRN_RANKLET_ALL, mine, d);
        mine += lane >= d ? more : 0;
    }
    return mine;
}

/* --- the first row --- */

/* Histograms of the columns of pixels, upper and lower half, and the number of pixels
 * below the block's values. */
template <typename Code, int KIND>
static __device__ void crn_ranklet_count_columns(const crn_ranklet_job &job,
                                                 const crn_ranklet_tiling &tiling,
                                                 const crn_ranklet_tile<Code> &t)
{
    const int32_t half = job.height / 2, across = (t.pixels + 31) / 32 * 32;
    const int32_t parts = max(tiling.warps * 32 / across, 1);
    const int32_t part = across < tiling.warps * 32 ? threadIdx.x / across : 0;
    for (int32_t x = threadIdx.x - part * across; x < t.pixels && part < parts;
         x += tiling.warps * 32) {
        int32_t below = 0;
#pragma unroll 8
        for (int32_t i = part; i < job.height; i += parts) {
            int32_t v = static_cast<int32_t>(t.codes[i * job.code_row + x]) - t.first;
            below += v < 0;
            if (static_cast<uint32_t>(v) < static_cast<uint32_t>(tiling.bins))
                atomicAdd(&crn_ranklet_shared[x * tiling.stride + crn_ranklet_word<KIND>(v)],
                          i < half ? crn_ranklet_upper<KIND>(v) : crn_ranklet_lower<KIND>(v));
        }
        atomicAdd(crn_ranklet_ints(t.below + x), below);
    }
}

/* From the pixels below the first group's values, computes those below each group's. */
template <typename Code, int KIND>
static __device__ void crn_ranklet_count_groups(const crn_ranklet_tiling &tiling,
                                                const crn_ranklet_tile<Code> &t)
{
    const int32_t words = tiling.group_words;
    for (int32_t i = threadIdx.x; i < (tiling.groups - 1) * tiling.across; i += tiling.warps * 32) {
        int32_t group = i / tiling.across, x = i - group * tiling.across;
        const int32_t at = x * tiling.stride + group * words;
        uint32_t sum = 0;
        for (int32_t k = 0; k < words; k++)
            sum = KIND == CRN_RANKLET_BYTES ? __dp4a(crn_ranklet_shared[at + k], 0x01010101u, sum)
                                            : __dp2a_lo(crn_ranklet_shared[at + k], 0x0101u, sum);
        crn_ranklet_shared[t.below + tiling.across + i] = sum;
    }
    __syncthreads();
    for (int32_t x = threadIdx.x; x < tiling.across; x += tiling.warps * 32) {
        uint32_t sum = 0;
        for (int32_t at = t.below + x; at < t.parts; at += tiling.across)
            crn_ranklet_shared[at] = sum += crn_ranklet_shared[at];
    }
}

/* Exclusive scan over the columns, within each part. */
template <typename Code>
static __device__ void crn_ranklet_sum_below(const crn_ranklet_tiling &tiling,
                                             const crn_ranklet_tile<Code> &t)
{
    const int32_t lane = threadIdx.x % 32, from = t.thread / 32 << tiling.part_shift;
    const int32_t to = min(from + (1 << tiling.part_shift), tiling.across);
    uint32_t *below = crn_ranklet_shared + t.below + t.group * tiling.across;
    uint32_t carry = 0;
    for (int32_t x = from + lane; x < to; x += 32) {
        uint32_t mine = below[x], sum = crn_ranklet_scan_warp(mine) + carry;
        below[x] = sum - mine;
        carry = __shfl_sync(CRN_RANKLET_ALL, sum, 31);
    }
    if (lane == 0)
        crn_ranklet_shared[t.parts + threadIdx.x / 32] = carry;
}

/* WIDE: computes the bases, the counts of the columns that all positions of a segment share.
 * `counts` are sums over all columns to the left; differences over less than a segment's
 * columns fit into a word. */
static __device__ void crn_ranklet_make_bases(const crn_ranklet_tiling &tiling, int32_t half,
                                              int32_t counts, int32_t bases)
{
    const int32_t size = 1 << tiling.segment_shift, end = tiling.across - 1;
    for (int32_t j = threadIdx.x % 32; j < tiling.segments; j += 32) {
        const int32_t last = j * size + half;
        uint32_t upper = 0, lower = 0;
        for (int32_t x = j * size + size - 1; x < last; x += size - 1) {
            int32_t from = min(x, end), to = min(min(x + size - 1, last), end);
            uint32_t more = crn_ranklet_shared[counts + to * tiling.stride] -
                            crn_ranklet_shared[counts + from * tiling.stride];
            upper += more >> 16;
            lower += more & 0xffff;
        }
        crn_ranklet_shared[bases + j * tiling.base_stride] = upper;
        crn_ranklet_shared[bases + j * tiling.base_stride + 1] = lower;
    }
    __syncwarp();
}

/* Turns a word's column counts into quarters: prefix sums, then differences half a window
 * apart. One warp per word. */
template <typename Code, int KIND>
static __device__ void crn_ranklet_make_quarters(const crn_ranklet_tiling &tiling,
                                                 const crn_ranklet_tile<Code> &t, int32_t half,
                                                 int32_t word)
{
    const int32_t lane = threadIdx.x % 32, end = tiling.across - 1;
    uint32_t *counts = crn_ranklet_shared + word;
    uint32_t carry = 0;
    for (int32_t x = lane; x < tiling.across; x += 32) {
        uint32_t mine = counts[x * tiling.stride], sum = crn_ranklet_scan_warp(mine) + carry;
        counts[x * tiling.stride] = sum - mine;
        carry = __shfl_sync(CRN_RANKLET_ALL, sum, 31);
    }
    __syncwarp();
    const int32_t bases = t.bases + 2 * word;
    if (KIND == CRN_RANKLET_WIDE)
        crn_ranklet_make_bases(tiling, half, word, bases);
    for (int32_t x = lane; x < tiling.across; x += 32) {
        uint32_t sum = counts[min(x + half, end) * tiling.stride] - counts[x * tiling.stride];
        if (KIND == CRN_RANKLET_WIDE) {
            const int32_t base = bases + (x >> tiling.segment_shift) * tiling.base_stride;
            sum -= (crn_ranklet_shared[base] << 16) + crn_ranklet_shared[base + 1];
        }
        __syncwarp();
        counts[x * tiling.stride] = sum;
    }
}

template <typename Code, int KIND>
static __device__ void crn_ranklet_begin(const crn_ranklet_job &job,
                                         const crn_ranklet_tiling &tiling,
                                         const crn_ranklet_tile<Code> &t)
{
    for (int32_t i = threadIdx.x; i < t.parts; i += tiling.warps * 32)
        crn_ranklet_shared[i] = 0;
    __syncthreads();
    crn_ranklet_count_columns<Code, KIND>(job, tiling, t);
    __syncthreads();
    if (KIND != CRN_RANKLET_WIDE)
        crn_ranklet_count_groups<Code, KIND>(tiling, t);
    __syncthreads();
    crn_ranklet_sum_below(tiling, t);
    for (int32_t word = threadIdx.x / 32; word < crn_ranklet_word<KIND>(tiling.bins);
         word += tiling.warps)
        crn_ranklet_make_quarters<Code, KIND>(tiling, t, job.width / 2, word);
    __syncthreads();
}

/* --- from row to row --- */

/* WIDE: updates the bases of segments [from, to). One warp. */
static __device__ __forceinline__ void crn_ranklet_add_bases(const crn_ranklet_tiling &tiling,
                                                             int32_t bases, int32_t v, int32_t from,
                                                             int32_t to, int32_t kind)
{
    for (int32_t j = from + static_cast<int32_t>(threadIdx.x % 32); j < to; j += 32) {
        uint32_t *base = crn_ranklet_shared + bases + j * tiling.base_stride + 2 * v;
        if (kind < 2)
            atomicAdd(base, kind == 0 ? ~0u : 1u);
        if (kind > 0)
            atomicAdd(base + 1, kind == 1 ? ~0u : 1u);
    }
}

/* WIDE: adds a column's pixel to words and whole segments of [0, words). One warp. */
static __device__ __forceinline__ void crn_ranklet_add_wide(const crn_ranklet_tiling &tiling,
                                                            int32_t bases, int32_t half,
                                                            int32_t words, int32_t kind, int32_t v,
                                                            int32_t column)
{
    const int32_t lane = threadIdx.x % 32, shift = tiling.segment_shift, size = 1 << shift;
    const uint32_t what = crn_ranklet_change<CRN_RANKLET_WIDE>(kind, v);
    const int32_t from = max(column - half + 1, 0), to = min(column + 1, words);
    const int32_t whole = (from + size - 1) >> shift, end = to >> shift;
    const int32_t head = min(whole << shift, to), tail = max(end << shift, head);
    if (from + lane < head)
        atomicAdd(&crn_ranklet_shared[(from + lane) * tiling.stride + v], what);
    if (tail + lane < to)
        atomicAdd(&crn_ranklet_shared[(tail + lane) * tiling.stride + v], what);
    crn_ranklet_add_bases(tiling, bases, v, whole, end, kind);
}

/* The same if a quarter is a whole number of segments of 32: a thread's word lies in the first
 * or the last of them. */
static __device__ __forceinline__ void crn_ranklet_add_even(const crn_ranklet_tiling &tiling,
                                                            int32_t bases, int32_t half,
                                                            int32_t words, int32_t kind, int32_t v,
                                                            int32_t column)
{
    const int32_t lane = threadIdx.x % 32, odd = (column + 1) & 31, last = (column + 1) & ~31;
    const int32_t x = (lane < odd ? last : last - half) + lane;
    if (odd && static_cast<uint32_t>(x) < static_cast<uint32_t>(words))
        atomicAdd(&crn_ranklet_shared[x * tiling.stride + v],
                  crn_ranklet_change<CRN_RANKLET_WIDE>(kind, v));
    crn_ranklet_add_bases(tiling, bases, v, max((last - half) / 32 + (odd ? 1 : 0), 0),
                          min(last, words) / 32, kind);
}

/* NARROW and BYTES: adds a column's pixel. One warp. */
template <int KIND>
static __device__ __forceinline__ void
crn_ranklet_add_narrow(const crn_ranklet_tiling &tiling, int32_t half, int32_t words, int32_t kind,
                       int32_t v, int32_t column)
{
    const uint32_t what = crn_ranklet_change<KIND>(kind, v);
    const int32_t most = half - static_cast<int32_t>(threadIdx.x % 32);
    int32_t x = column - static_cast<int32_t>(threadIdx.x % 32);
    int32_t at = x * tiling.stride + crn_ranklet_word<KIND>(v);
    if (half <= 32) {
        if (static_cast<uint32_t>(x) < static_cast<uint32_t>(words) && most > 0)
            atomicAdd(&crn_ranklet_shared[at], what);
        return;
    }
    if (half % 32 == 0 && column >= half - 1 && column < words) { /* the whole quarter */
#pragma unroll 4
        for (int32_t i = 0; i < half; i += 32, at -= 32 * tiling.stride)
            atomicAdd(&crn_ranklet_shared[at], what);
        return;
    }
#pragma unroll 1
    for (int32_t i = 0; i < half; i += 32, x -= 32, at -= 32 * tiling.stride)
        if (static_cast<uint32_t>(x) < static_cast<uint32_t>(words) && i < most)
            atomicAdd(&crn_ranklet_shared[at], what);
}

/* Quarters of up to 16 columns: several pixels at once. Values of other blocks go to the spare word
 * after the position's others. */
template <typename Code, int KIND>
static __device__ void crn_ranklet_add_few(const crn_ranklet_tiling &tiling,
                                           const crn_ranklet_tile<Code> &t, int32_t half)
{
    const int32_t shift = tiling.threads_shift, words = t.columns + half;
    const int32_t i = threadIdx.x & ((1 << shift) - 1), step = tiling.warps * 32 >> shift;
    if (i >= half)
        return;
#pragma unroll 1
    for (int32_t column = threadIdx.x >> shift; column < t.pixels; column += step) {
        const int32_t x = column - i;
        if (static_cast<uint32_t>(x) >= static_cast<uint32_t>(words))
            continue;
        uint32_t *counts = crn_ranklet_shared + x * tiling.stride;
#pragma unroll
        for (int32_t kind = 0; kind < 3; kind++) {
            uint32_t v = static_cast<uint32_t>(t.line[kind * tiling.across + column]) -
                         static_cast<uint32_t>(t.first);
            v = min(v, static_cast<uint32_t>(tiling.bins));
            atomicAdd(counts + crn_ranklet_word<KIND>(static_cast<int32_t>(v)),
                      crn_ranklet_change<KIND>(kind, static_cast<int32_t>(v)));
        }
    }
}

template <typename Code, int KIND>
static __device__ void crn_ranklet_add_many(const crn_ranklet_tiling &tiling,
                                            const crn_ranklet_tile<Code> &t, int32_t half)
{
    const int32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int32_t across = (t.pixels + 31) / 32;
    const bool is_even = half % 32 == 0 && tiling.segment_shift == 5;
    int32_t words = t.columns + half;
    if (KIND == CRN_RANKLET_WIDE) /* so that the last segment counts as a whole, too */
        words = min((words + 31) / 32 * 32, tiling.across);
#pragma unroll 1
    for (int32_t i = warp; i < 3 * across; i += tiling.warps) {
        const int32_t kind = (i >= across) + (i >= 2 * across), first = (i - kind * across) * 32;
        const Code *line = t.line + kind * tiling.across + first;
        int32_t v = first + lane < t.pixels ? static_cast<int32_t>(line[lane]) - t.first : -1;
        uint32_t left = __ballot_sync(CRN_RANKLET_ALL, static_cast<uint32_t>(v) <
                                                           static_cast<uint32_t>(tiling.bins));
#pragma unroll 1
        while (left) {
            const int32_t k = 31 - __clz(static_cast<int32_t>(left));
            left ^= 1u << k;
            v = static_cast<int32_t>(line[k]) - t.first;
            if (KIND != CRN_RANKLET_WIDE)
                crn_ranklet_add_narrow<KIND>(tiling, half, words, kind, v, first + k);
            else if (is_even)
                crn_ranklet_add_even(tiling, t.bases, half, words, kind, v, first + k);
            else
                crn_ranklet_add_wide(tiling, t.bases, half, words, kind, v, first + k);
        }
    }
}

/* Updates the number of pixels below each group's values. */
template <typename Code>
static __device__ void crn_ranklet_advance_below(const crn_ranklet_tiling &tiling,
                                                 const crn_ranklet_tile<Code> &t)
{
    const int32_t lane = threadIdx.x % 32, from = t.thread / 32 << tiling.part_shift;
    const int32_t start = t.first + t.group * tiling.group_bins;
    const int32_t to = min(from + (1 << tiling.part_shift), t.pixels + 1);
    const uint32_t left = (1u << lane) - 1;
    int32_t *below = crn_ranklet_ints(t.below + t.group * tiling.across);
    int32_t carry = 0;
    for (int32_t x = from + lane; x - lane < to; x += 32) {
        bool enters = false, leaves = false;
        if (x < t.pixels) {
            leaves = static_cast<int32_t>(t.line[x]) < start;
            enters = static_cast<int32_t>(t.line[2 * tiling.across + x]) < start;
        }
        uint32_t more = __ballot_sync(CRN_RANKLET_ALL, enters);
        uint32_t less = __ballot_sync(CRN_RANKLET_ALL, leaves);
        below[x] += carry + __popc(more & left) - __popc(less & left);
        carry += __popc(more) - __popc(less);
    }
    if (lane == 0)
        *crn_ranklet_ints(t.parts + threadIdx.x / 32) += carry;
}

/* Reads the pixels that enter and leave between row y and the next. */
template <typename Code>
static __device__ void crn_ranklet_read_line(const crn_ranklet_job &job,
                                             const crn_ranklet_tiling &tiling,
                                             const crn_ranklet_tile<Code> &t, int32_t y)
{
    const Code *codes = t.codes + y * job.code_row;
    const ptrdiff_t half = job.height / 2 * job.code_row;
    for (int32_t x = threadIdx.x; x < t.pixels; x += tiling.warps * 32)
#pragma unroll
        for (int32_t kind = 0; kind < 3; kind++)
            t.line[kind * tiling.across + x] = codes[kind * half + x];
}

#endif
