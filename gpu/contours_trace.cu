/*
 * Bits become segments, segments contours. The same steps are done by one block on one plane or by
 * all blocks on many planes (EVERYBODY): a crew. Segments are numbered in canonical order.
 */
#include "gpu/contours_cells.cuh"

#include <cooperative_groups.h>

#define THREADS 1024

/* Words, or segments, that a thread scans in a row. */
#define IN_A_ROW 4

/* Shared memory: what blocks sum up with, then bits, then segments. */
#define SHARED_SUMS_BYTES 512

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

template <bool EVERYBODY> static __device__ void meet(void)
{
    if (EVERYBODY)
        cooperative_groups::this_grid().sync();
    else
        __syncthreads();
}

template <bool EVERYBODY> static __device__ uint32_t my_rank(void)
{
    return EVERYBODY ? blockIdx.x * blockDim.x + threadIdx.x : threadIdx.x;
}

template <bool EVERYBODY> static __device__ uint32_t crew_size(void)
{
    return EVERYBODY ? gridDim.x * blockDim.x : blockDim.x;
}

static __device__ char *shared_memory(void)
{
    extern __shared__ uint4 memory[];
    return reinterpret_cast<char *>(memory);
}

/* The sum of what the block's threads before this one bring, and of what all bring. */
static __device__ uint64_t scan_block(uint64_t mine, uint64_t *ret_all)
{
    uint64_t *sums = reinterpret_cast<uint64_t *>(shared_memory());
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    uint64_t up_to = mine;
    for (uint32_t d = 1; d < 32; d *= 2) {
        uint64_t other = __shfl_up_sync(~0u, up_to, d);
        up_to += lane >= d ? other : 0;
    }
    if (lane == 31)
        sums[warp] = up_to;
    __syncthreads();
    if (warp == 0) {
        uint64_t sum = lane < warps ? sums[lane] : 0;
        for (uint32_t d = 1; d < 32; d *= 2) {
            uint64_t other = __shfl_up_sync(~0u, sum, d);
            sum += lane >= d ? other : 0;
        }
        sums[lane] = sum;
    }
    __syncthreads();
    uint64_t before = warp ? sums[warp - 1] : 0;
    *ret_all = sums[31];
    __syncthreads();
    return before + up_to - mine;
}

/* What a block scans of `total` in a row. */
typedef struct stretch {
    uint32_t begin, end;
} stretch;

template <bool EVERYBODY> static __device__ stretch my_stretch(uint32_t total)
{
    if (!EVERYBODY)
        return {0, total};
    uint32_t tile = blockDim.x * IN_A_ROW;
    uint32_t tiles = (total + tile - 1) / tile;
    uint32_t each = (tiles + gridDim.x - 1) / gridDim.x;
    uint64_t begin = (uint64_t)blockIdx.x * each * tile, end = begin + (uint64_t)each * tile;
    return {(uint32_t)(begin < total ? begin : total), (uint32_t)(end < total ? end : total)};
}

/* The sum of what the blocks before this one bring, and of what all bring. */
static __device__ uint64_t scan_blocks(uint64_t *sums, uint64_t mine, uint64_t *ret_all)
{
    if (threadIdx.x == 0)
        sums[blockIdx.x] = mine;
    meet<true>();
    uint64_t all = 0, before = 0;
    for (uint32_t i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
        all += sums[i];
        before += i < blockIdx.x ? sums[i] : 0;
    }
    uint64_t total;
    scan_block(all, &total);
    *ret_all = total;
    scan_block(before, &total);
    return total;
}

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

/* The n-th segment of the index-th word becomes a link to its successor. */
static __device__ void make_segment(const crn_contours_plan &plan, const crn_contours_work &work,
                                    uint32_t segment, uint32_t index, const crn_contours_cells &c,
                                    uint32_t n)
{
    int32_t bit = 0;
#pragma unroll
    for (int32_t step = 16; step > 0; step /= 2)
        bit += crn_contours_count(c, (1u << (bit + step)) - 1) <= n ? step : 0;
    uint32_t k = n - crn_contours_count(c, (1u << bit) - 1);
    uint32_t sides = crn_contours_sides(crn_contours_corners(c, bit), plan.high) >> 4 * k;
    uint32_t from = sides & 3, to = sides >> 2 & 3;
    uint32_t row_of_all = index / (uint32_t)plan.words;
    int32_t plane = (int32_t)(row_of_all / (uint32_t)plan.cell_rows);
    int32_t row = (int32_t)row_of_all - plane * plan.cell_rows;
    int32_t column = (int32_t)(index - row_of_all * (uint32_t)plan.words) * 32 + bit;

    int32_t other_row = row, other_column = column;
    crn_contours_cross(from, &other_row, &other_column);
    bool head = !crn_contours_has_segment(plan, work, plane, other_row, other_column);
    other_row = row, other_column = column;
    uint32_t side = crn_contours_cross(to, &other_row, &other_column);
    uint32_t successor = crn_contours_beginning(plan, work, plane, other_row, other_column, side);
    crn_point a = crn_contours_point(plan, work.number + plane, row, column, from);
    crn_point b = crn_contours_point(plan, work.number + plane, row, column, to);
    uint32_t length = a.x != b.x || a.y != b.y;
    bool last = successor == CRN_CONTOURS_NONE;
    uint4 link;
    link.x = (last ? segment : successor) | (length ? 0 : NO_SIZE);
    link.y = last ? LAST | segment : length ? segment + 1 : 0;
    link.z = length | (head ? HEAD : 0);
    link.w = length;
    work.now[segment] = link;
    work.cell[segment] = (uint32_t)(row * plan.cell_columns + column) | to << CRN_CELL_SIDE_SHIFT;
}

/* A warp takes 32 words at a time and shares their segments out evenly. */
template <bool EVERYBODY>
static __device__ void make_segments(const crn_contours_plan &plan, const crn_contours_work &work)
{
    uint32_t words = (uint32_t)(work.numbers * plan.cell_rows) * (uint32_t)plan.words;
    uint32_t lane = threadIdx.x % 32;
    for (uint32_t base = my_rank<EVERYBODY>() / 32 * 32; base < words;
         base += crew_size<EVERYBODY>()) {
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
    meet<EVERYBODY>();
}

/* Did anything change for anybody? */
template <bool EVERYBODY>
static __device__ bool any_changed(const crn_contours_plan &plan, uint32_t round, bool changed)
{
    bool here = __syncthreads_or(changed);
    if (!EVERYBODY)
        return here;
    volatile uint32_t *flag = &plan.control->changed[round];
    if (here && threadIdx.x == 0)
        *flag = 1;
    meet<true>();
    return *flag;
}

/* Until every link knows the end of its contour: in the worst case after 32 rounds. */
template <bool EVERYBODY>
static __device__ void run_ahead(const crn_contours_plan &plan, crn_contours_work *work)
{
    for (uint32_t round = 0;; round++) {
        bool changed = false;
        for (uint32_t s = my_rank<EVERYBODY>(); s < work->count; s += crew_size<EVERYBODY>()) {
            uint4 link = work->now[s];
            if (!(link.y & LAST)) {
                uint4 there = work->now[link.x & ~NO_SIZE];
                if (there.y > link.y) {
                    link.y = there.y;
                    link.z = (link.z & HEAD) | (link.w + (there.z & ~HEAD));
                    changed = true;
                }
                link.w += there.w;
                link.x = (link.x & NO_SIZE) | (there.x & ~NO_SIZE);
            }
            work->next[s] = link;
        }
        uint4 *done = work->next;
        work->next = work->now;
        work->now = done;
        if (!any_changed<EVERYBODY>(plan, round, changed))
            return;
    }
}

/* The segment that ends a contour, by its key. */
static __device__ uint32_t end_of(uint32_t key)
{
    return key & LAST ? key & ~LAST : key - 1;
}

static __device__ int32_t plane_of(const crn_contours_plan &plan, const crn_contours_work &work,
                                   uint32_t segment)
{
    size_t words = (size_t)plan.cell_rows * (size_t)plan.words;
    int32_t low = 0;
    for (int32_t above = work.numbers; above - low > 1;) {
        int32_t middle = (low + above) / 2;
        if (work.prefix[(size_t)middle * words] <= segment)
            low = middle;
        else
            above = middle;
    }
    return low;
}

/* From here on the links' other half holds these. */
static __device__ uint32_t *least_of(const crn_contours_work &work)
{
    return reinterpret_cast<uint32_t *>(work.next);
}

static __device__ uint32_t *order_of(const crn_contours_work &work)
{
    return least_of(work) + work.count;
}

/*
 * The end of a contour keeps, in its link, the contour's number of segments with a length in w and,
 * later, its first point in x; in least_of the least segment with a length.
 */
template <bool EVERYBODY>
static __device__ void measure_contours(const crn_contours_plan &plan,
                                        const crn_contours_work &work)
{
    uint32_t *least = least_of(work);
    uint32_t rank = my_rank<EVERYBODY>(), size = crew_size<EVERYBODY>();
    for (uint32_t s = rank; s < work.count; s += size) {
        uint32_t key = work.now[s].y, to_end = work.now[s].z;
        if (to_end & HEAD)
            work.now[end_of(key)].w = to_end & ~HEAD;
        if (key == 0 || end_of(key) != s)
            continue;
        least[s] = CRN_CONTOURS_NONE;
        if (key & LAST)
            continue;
        uint32_t cell = work.cell[s], index = cell & ((1u << CRN_CELL_SIDE_SHIFT) - 1);
        int32_t row = (int32_t)(index / (uint32_t)plan.cell_columns);
        int32_t column = (int32_t)(index % (uint32_t)plan.cell_columns);
        uint32_t side = crn_contours_cross(cell >> CRN_CELL_SIDE_SHIFT, &row, &column);
        uint32_t after =
            crn_contours_beginning(plan, work, plane_of(plan, work, s), row, column, side);
        work.now[s].w = work.now[after].z;
    }
    meet<EVERYBODY>();
    for (uint32_t s = rank; s < work.count; s += size) {
        uint4 link = work.now[s];
        if (link.y == 0 || (end_of(link.y) == s ? (link.z & ~HEAD) == 0 : link.x & NO_SIZE))
            continue;
        volatile uint32_t *at = &least[end_of(link.y)];
        if (s < *at)
            atomicMin(&least[end_of(link.y)], s);
    }
    meet<EVERYBODY>();
}

/* A contour whose least segment is s, and its points, packed; 0: there is none. */
static __device__ uint64_t contour_at(const crn_contours_work &work, uint32_t s, uint32_t *ret_end,
                                      uint32_t *ret_key)
{
    if (s >= work.count)
        return 0;
    uint32_t key = work.now[s].y;
    if (key == 0 || least_of(work)[end_of(key)] != s)
        return 0;
    *ret_end = end_of(key);
    *ret_key = key;
    return ((uint64_t)1 << CRN_CONTOURS_POINT_BITS) + work.now[*ret_end].w + 1;
}

static __device__ uint64_t points_of(uint64_t packed)
{
    return packed & (((uint64_t)1 << CRN_CONTOURS_POINT_BITS) - 1);
}

static __device__ uint64_t contours_of(uint64_t packed)
{
    return packed >> CRN_CONTOURS_POINT_BITS;
}

/* The contour gets its place; the first that has none ends the result. `base`: before this crew. */
static __device__ void place_contour(const crn_contours_plan &plan, const crn_contours_work &work,
                                     uint64_t at, uint64_t base, uint32_t s, uint32_t end,
                                     uint32_t key, uint32_t *written)
{
    uint64_t first = points_of(at), which = contours_of(at);
    uint32_t points = work.now[end].w + 1;
    bool fits = which < plan.contour_capacity && first + points <= plan.point_capacity;
    work.now[end].x = fits ? (uint32_t)(first - points_of(base)) : CRN_CONTOURS_NONE;
    if (fits) {
        uint4 contour = make_uint4((uint32_t)(work.number + plane_of(plan, work, s)), !(key & LAST),
                                   (uint32_t)first, points);
        reinterpret_cast<uint4 *>(plan.contours)[which] = contour;
    } else if (which <= plan.contour_capacity && first <= plan.point_capacity) {
        plan.out->contour_count = (uint32_t)which;
        plan.out->point_count = (uint32_t)first;
        plan.out->truncated = true;
        *written = (uint32_t)(first - points_of(base));
        plan.control->cut = 1;
    }
}

static __device__ uint64_t count_contours(const crn_contours_work &work, stretch my)
{
    uint64_t mine = 0, all;
    uint32_t end, key;
    for (uint32_t s = my.begin + threadIdx.x; s < my.end; s += blockDim.x)
        mine += contour_at(work, s, &end, &key);
    scan_block(mine, &all);
    return all;
}

static __device__ void place_contours(const crn_contours_plan &plan, const crn_contours_work &work,
                                      stretch my, uint64_t before, uint64_t base, uint32_t *written)
{
    for (uint32_t tile = my.begin; tile < my.end; tile += blockDim.x * IN_A_ROW) {
        uint32_t first = tile + threadIdx.x * IN_A_ROW, end[IN_A_ROW], key[IN_A_ROW];
        uint64_t count[IN_A_ROW], sum = 0, all;
#pragma unroll
        for (uint32_t i = 0; i < IN_A_ROW; i++)
            sum += count[i] = contour_at(work, first + i, &end[i], &key[i]);
        uint64_t at = before + scan_block(sum, &all);
        before += all;
#pragma unroll
        for (uint32_t i = 0; i < IN_A_ROW; i++) {
            if (count[i])
                place_contour(plan, work, at, base, first + i, end[i], key[i], written);
            at += count[i];
        }
    }
}

/* Which segment's end is which point; what the crew has not been given room for is left out. */
template <bool EVERYBODY>
static __device__ void order_points(const crn_contours_plan &plan, const crn_contours_work &work)
{
    uint32_t *order = order_of(work);
    for (uint32_t s = my_rank<EVERYBODY>(); s < work.count; s += crew_size<EVERYBODY>()) {
        uint4 link = work.now[s];
        if (link.y == 0)
            continue;
        uint32_t end = end_of(link.y), to_end = link.z & ~HEAD;
        uint4 whole = end == s ? link : work.now[end];
        uint32_t lengths = whole.w, first = whole.x;
        if (lengths == 0 || first == CRN_CONTOURS_NONE)
            continue;
        bool has_length = end == s ? to_end != 0 : !(link.x & NO_SIZE);
        if (has_length)
            order[first + (plan.reversed ? to_end - 1 : lengths - to_end + 1)] = s;
        bool closed = !(link.y & LAST);
        if (closed ? end == s : (link.z & HEAD) != 0)
            order[first + (plan.reversed ? lengths : 0)] = closed ? s : HEAD | s;
    }
    meet<EVERYBODY>();
}

static __device__ crn_point point_of(const crn_contours_plan &plan, const crn_contours_work &work,
                                     uint32_t entry)
{
    uint32_t s = entry & ~HEAD, cell = work.cell[s];
    uint32_t index = cell & ((1u << CRN_CELL_SIDE_SHIFT) - 1), side = cell >> CRN_CELL_SIDE_SHIFT;
    int32_t row = (int32_t)(index / (uint32_t)plan.cell_columns);
    int32_t column = (int32_t)(index % (uint32_t)plan.cell_columns);
    int32_t plane = plane_of(plan, work, s);
    if (entry & HEAD) {
        crn_contours_cells c = crn_contours_cells_at(plan, work, plane, row, column / 32);
        uint32_t sides = crn_contours_sides(crn_contours_corners(c, column % 32), plan.high);
        side = (sides >> 2 & 3) == side ? sides & 3 : sides >> 4 & 3;
    }
    return crn_contours_point(plan, work.number + plane, row, column, side);
}

template <bool EVERYBODY>
static __device__ void write_points(const crn_contours_plan &plan, const crn_contours_work &work,
                                    uint64_t base, uint32_t count)
{
    const uint32_t *order = order_of(work);
    double2 *out = reinterpret_cast<double2 *>(plan.points) + points_of(base);
    for (uint32_t i = my_rank<EVERYBODY>(); i < count; i += crew_size<EVERYBODY>()) {
        crn_point point = point_of(plan, work, order[i]);
        out[i] = make_double2(point.x, point.y);
    }
}

/* Is there room left behind what is packed? */
static __device__ bool leaves_room(const crn_contours_plan &plan, uint64_t packed)
{
    return contours_of(packed) <= plan.contour_capacity && points_of(packed) <= plan.point_capacity;
}

static __device__ void write_counts(const crn_contours_plan &plan, uint64_t packed)
{
    if (!leaves_room(plan, packed))
        return; /* who found it out has done it */
    plan.out->contour_count = (uint32_t)contours_of(packed);
    plan.out->point_count = (uint32_t)points_of(packed);
    plan.out->truncated = false;
}

static __device__ void place_links(crn_contours_work *work, char *memory, size_t segments)
{
    work->now = reinterpret_cast<uint4 *>(memory);
    work->next = work->now + segments;
    work->cell = reinterpret_cast<uint32_t *>(work->next + segments);
}

/* What all planes before this one hold. Their blocks have begun, and wait for none after them. */
static __device__ uint64_t wait_for(const crn_contours_plan &plan, int32_t number)
{
    uint64_t sum = 0, all;
    for (int32_t i = (int32_t)threadIdx.x; i < number; i += (int32_t)blockDim.x) {
        volatile uint64_t *status = &plan.control->status[i];
        uint64_t known;
        do
            known = *status;
        while (!(known & CRN_CONTOURS_KNOWN));
        sum += known & ~CRN_CONTOURS_KNOWN;
    }
    scan_block(sum, &all);
    return all;
}

/* A plane's bits in shared memory; what lies behind is room for segments. */
static __device__ char *fetch_plane(const crn_contours_plan &plan, crn_contours_work *work)
{
    uint32_t corners = (uint32_t)(plan.cell_rows + 1) * (uint32_t)plan.words;
    uint32_t *bits = reinterpret_cast<uint32_t *>(shared_memory() + SHARED_SUMS_BYTES);
    uint32_t *bad = bits + (corners + 3) / 4 * 4;
    size_t at = (size_t)work->number * corners;
    for (uint32_t i = threadIdx.x; i < corners; i += blockDim.x) {
        bits[i] = plan.bits[at + i];
        if (plan.bad)
            bad[i] = plan.bad[at + i];
    }
    __syncthreads();
    work->bits = bits;
    work->bad = plan.bad ? bad : NULL;
    work->prefix = plan.bad ? bad + (corners + 3) / 4 * 4 : bad;
    return reinterpret_cast<char *>(work->prefix + (corners + 3) / 4 * 4);
}

static __global__ void __launch_bounds__(THREADS, 1)
    trace_planes(const __grid_constant__ crn_contours_plan plan)
{
    uint32_t *said = reinterpret_cast<uint32_t *>(shared_memory() + SHARED_SUMS_BYTES / 2 + 64);
    if (threadIdx.x == 0)
        said[0] = atomicAdd(&plan.control->ticket, 1);
    __syncthreads();
    crn_contours_work work = {};
    work.number = (int32_t)said[0];
    work.numbers = 1;
    char *room = fetch_plane(plan, &work);
    number_segments<false>(plan, &work);
    uint64_t mine = 0;
    if (work.count) {
        bool fits = work.count <= plan.shared_segments;
        size_t all = plan.segments_max;
        if (fits)
            place_links(&work, room, plan.shared_segments);
        else
            place_links(
                &work, plan.segments + (size_t)work.number * all * CRN_CONTOURS_SEGMENT_BYTES, all);
        make_segments<false>(plan, work);
        run_ahead<false>(plan, &work);
        measure_contours<false>(plan, work);
        mine = count_contours(work, {0, work.count});
    }
    volatile uint64_t *status = &plan.control->status[work.number];
    if (threadIdx.x == 0)
        *status = CRN_CONTOURS_KNOWN | mine;
    bool last = work.number == plan.numbers - 1;
    if (mine == 0 && !last)
        return;
    uint64_t base = wait_for(plan, work.number);
    if (mine) {
        if (threadIdx.x == 0)
            said[1] = leaves_room(plan, base) ? (uint32_t)points_of(mine) : 0;
        __syncthreads();
        place_contours(plan, work, {0, work.count}, base, base, &said[1]);
        __syncthreads();
        order_points<false>(plan, work);
        write_points<false>(plan, work, base, said[1]);
    }
    if (last && threadIdx.x == 0)
        write_counts(plan, base + mine);
}

static __global__ void __launch_bounds__(THREADS, 1)
    trace_group(const __grid_constant__ crn_contours_plan plan)
{
    crn_contours_control *control = plan.control;
    if (control->cut)
        return;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        control->written = UINT32_MAX;
    crn_contours_work work = {};
    work.number = plan.first;
    work.numbers = plan.count;
    size_t corners = (size_t)plan.first * (size_t)(plan.cell_rows + 1) * (size_t)plan.words;
    work.bits = plan.bits + corners;
    work.bad = plan.bad ? plan.bad + corners : NULL;
    work.prefix = plan.prefix;
    place_links(&work, plan.segments, plan.segments_max);
    number_segments<true>(plan, &work);
    uint64_t base = control->before, all = 0;
    if (work.count) {
        make_segments<true>(plan, work);
        run_ahead<true>(plan, &work);
        measure_contours<true>(plan, work);
        stretch my = my_stretch<true>(work.count);
        uint64_t before = base + scan_blocks(control->sums[1], count_contours(work, my), &all);
        place_contours(plan, work, my, before, base, &control->written);
        meet<true>();
        order_points<true>(plan, work);
        uint64_t written = *static_cast<volatile uint32_t *>(&control->written);
        if (written > points_of(all))
            written = points_of(all);
        write_points<true>(plan, work, base, leaves_room(plan, base) ? (uint32_t)written : 0);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        control->before = base + all;
        if (plan.first + plan.count == plan.numbers)
            write_counts(plan, base + all);
    }
}

/* Bytes of a block that works alone, with room for so many segments. */
static size_t plane_bytes(const crn_contours_plan *plan, uint32_t segments)
{
    size_t corners = (size_t)(plan->cell_rows + 1) * (size_t)plan->words;
    return SHARED_SUMS_BYTES +
           (crn_contours_has_bad(plan) ? 3 : 2) * ((corners + 3) / 4 * 4) * sizeof(uint32_t) +
           (size_t)segments * CRN_CONTOURS_SEGMENT_BYTES;
}

bool crn_contours_planes_fit(const crn_context *context, const crn_contours_plan *plan)
{
    size_t shared = crn_gpu_limits_of(context)->shared_bytes;
    return plane_bytes(plan, 0) <= (shared < 49152 ? shared : 49152);
}

int crn_contours_trace_planes(const crn_context *context, crn_contours_plan *plan)
{
    size_t room = crn_gpu_limits_of(context)->shared_bytes - plane_bytes(plan, 0);
    size_t segments = room / CRN_CONTOURS_SEGMENT_BYTES / 4 * 4;
    plan->shared_segments =
        (uint32_t)(segments < plan->segments_max ? segments : plan->segments_max);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)plan->numbers);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = plane_bytes(plan, plan->shared_segments);
    config.stream = crn_gpu_stream(context);
    int r = crn_gpu_allow_shared(context, reinterpret_cast<const void *>(trace_planes),
                                 config.dynamicSmemBytes);
    if (r < 0)
        return r;
    cudaLaunchKernelEx(&config, trace_planes, *plan);
    return crn_gpu_launched();
}

int crn_contours_trace_group(const crn_context *context, const crn_contours_plan *plan)
{
    int32_t blocks = crn_gpu_limits_of(context)->multiprocessors;
    cudaLaunchAttribute together = {};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(blocks < CRN_CONTOURS_BLOCKS ? blocks : CRN_CONTOURS_BLOCKS));
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = SHARED_SUMS_BYTES;
    config.stream = crn_gpu_stream(context);
    config.attrs = &together;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, trace_group, *plan);
    return crn_gpu_launched();
}
