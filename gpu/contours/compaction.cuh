/*
 * Compaction: turns linked segments into contours. Finds each contour's end, length and first
 * segment, scans for the position of contours and points, and scatters them. The same steps for one
 * block on one plane and for the whole grid on many planes (GRID_WIDE).
 */
#ifndef CRN_GPU_CONTOURS_COMPACTION_CUH
#define CRN_GPU_CONTOURS_COMPACTION_CUH

#include "gpu/contours/cells.cuh"
#include "gpu/contours/group.cuh"

/* The segment that ends the contour with this key. */
static __device__ uint32_t end_of(uint32_t key)
{
    return key & CRN_CONTOURS_LAST ? key & ~CRN_CONTOURS_LAST : key - 1;
}

static __device__ int32_t plane_of(const crn_gpu_contours_job &job, const crn_contours_work &work,
                                   uint32_t segment)
{
    size_t words = (size_t)job.cell_rows * (size_t)job.words;
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

/* After pointer jumping, the memory of other_links holds these two arrays. */
static __device__ uint32_t *lowest_of(const crn_contours_work &work)
{
    return reinterpret_cast<uint32_t *>(work.other_links);
}

static __device__ uint32_t *order_of(const crn_contours_work &work)
{
    return lowest_of(work) + work.count;
}

static __device__ void set_lengths(const crn_contours_work &work, uint32_t end, uint32_t lengths)
{
    uint32_t *to = &work.links[end].lengths;
    *to = (*to & CRN_CONTOURS_MAYBE_LOWEST) | lengths;
}

static __device__ uint32_t lengths_of(const crn_contours_link &end)
{
    return end.lengths & ~CRN_CONTOURS_MAYBE_LOWEST;
}

/*
 * Writes, for each contour, the number of its segments with a length into the link of its last
 * segment, and its lowest segment with a length into lowest_of.
 */
template <bool GRID_WIDE>
static __device__ void measure_contours(const crn_gpu_contours_job &job,
                                        const crn_contours_work &work)
{
    uint32_t *lowest = lowest_of(work);
    uint32_t rank = crn_thread_group<GRID_WIDE>::thread_rank(),
             size = crn_thread_group<GRID_WIDE>::num_threads();
    for (uint32_t s = rank; s < work.count; s += size) {
        uint32_t key = work.links[s].key, to_end = work.links[s].to_key;
        if (to_end & CRN_CONTOURS_HEAD)
            set_lengths(work, end_of(key), to_end & ~CRN_CONTOURS_HEAD);
        if (key == 0 || end_of(key) != s)
            continue;
        lowest[s] = CRN_CONTOURS_NONE;
        if (key & CRN_CONTOURS_LAST)
            continue;
        uint32_t cell = work.cell[s], index = cell & ((1u << CRN_CELL_SIDE_SHIFT) - 1);
        int32_t row = (int32_t)(index / (uint32_t)job.cell_columns);
        int32_t column = (int32_t)(index % (uint32_t)job.cell_columns);
        uint32_t side = crn_contours_cross(cell >> CRN_CELL_SIDE_SHIFT, &row, &column);
        uint32_t after =
            crn_contours_segment_entering(job, work, plane_of(job, work, s), row, column, side);
        set_lengths(work, s, work.links[after].to_key);
    }
    crn_thread_group<GRID_WIDE>::sync();
    for (uint32_t s = rank; s < work.count; s += size) {
        uint32_t key = work.links[s].key;
        if (!(work.links[s].lengths & CRN_CONTOURS_MAYBE_LOWEST) || key == 0)
            continue;
        volatile uint32_t *at = &lowest[end_of(key)];
        if (s < *at)
            atomicMin(&lowest[end_of(key)], s);
    }
    crn_thread_group<GRID_WIDE>::sync();
}

/* If s is the lowest segment of a contour: one contour and its number of points, packed; else 0. */
static __device__ uint64_t contour_at(const crn_contours_work &work, uint32_t s, uint32_t *ret_end)
{
    if (s >= work.count)
        return 0;
    uint32_t key = work.links[s].key;
    if (key == 0 || lowest_of(work)[end_of(key)] != s)
        return 0;
    *ret_end = end_of(key);
    return ((uint64_t)1 << CRN_CONTOURS_POINT_BITS) + lengths_of(work.links[*ret_end]) + 1;
}

static __device__ uint64_t points_of(uint64_t packed)
{
    return packed & (((uint64_t)1 << CRN_CONTOURS_POINT_BITS) - 1);
}

static __device__ uint64_t contours_of(uint64_t packed)
{
    return packed >> CRN_CONTOURS_POINT_BITS;
}

/* Writes the entry of the contour that begins with segment s; `first` is its first
 * point in the output. */
static __device__ void write_contour(const crn_gpu_contours_job &job, const crn_contours_work &work,
                                     uint64_t which, uint32_t first, uint32_t s)
{
    uint32_t key = work.links[s].key;
    uint4 contour =
        make_uint4((uint32_t)(work.number + plane_of(job, work, s)), !(key & CRN_CONTOURS_LAST),
                   first, lengths_of(work.links[end_of(key)]) + 1);
    reinterpret_cast<uint4 *>(job.contours)[which] = contour;
}

/*
 * Assigns the contour its position in the output; the first that does not fit ends the result.
 * `base`: packed counts of earlier groups. The grid-wide kernel only lists contours here, to write
 * them with coalesced stores later.
 */
template <bool GRID_WIDE>
static __device__ void scatter_contour(const crn_gpu_contours_job &job,
                                       const crn_contours_work &work, uint64_t at, uint64_t base,
                                       uint32_t s, uint32_t end, crn_contours_capacity *left)
{
    uint64_t first = points_of(at), which = contours_of(at);
    uint32_t points = lengths_of(work.links[end]) + 1;
    bool fits = which < job.contour_capacity && first + points <= job.point_capacity;
    work.links[end].next = fits ? (uint32_t)(first - points_of(base)) : CRN_CONTOURS_NONE;
    if (fits && GRID_WIDE) {
        job.entries[which - contours_of(base)] = s;
    } else if (fits) {
        write_contour(job, work, which, (uint32_t)first, s);
    } else if (which <= job.contour_capacity && first <= job.point_capacity) {
        job.out->contour_count = (uint32_t)which;
        job.out->point_count = (uint32_t)first;
        job.out->truncated = true;
        left->points = (uint32_t)(first - points_of(base));
        left->contours = (uint32_t)(which - contours_of(base));
        job.control->cut = 1;
    }
}

static __device__ uint64_t count_contours(const crn_contours_work &work, group_range my)
{
    uint64_t mine = 0, all;
    uint32_t end;
    for (uint32_t s = my.begin + threadIdx.x; s < my.end; s += blockDim.x)
        mine += contour_at(work, s, &end);
    scan_block(mine, &all);
    return all;
}

template <bool GRID_WIDE>
static __device__ void scatter_contours(const crn_gpu_contours_job &job,
                                        const crn_contours_work &work, group_range my,
                                        uint64_t before, uint64_t base, crn_contours_capacity *left)
{
    for (uint32_t tile = my.begin; tile < my.end;
         tile += blockDim.x * CRN_CONTOURS_ITEMS_PER_THREAD) {
        uint32_t first = tile + threadIdx.x * CRN_CONTOURS_ITEMS_PER_THREAD,
                 end[CRN_CONTOURS_ITEMS_PER_THREAD];
        uint64_t count[CRN_CONTOURS_ITEMS_PER_THREAD], sum = 0, all;
#pragma unroll
        for (uint32_t i = 0; i < CRN_CONTOURS_ITEMS_PER_THREAD; i++)
            sum += count[i] = contour_at(work, first + i, &end[i]);
        uint64_t at = before + scan_block(sum, &all);
        before += all;
#pragma unroll
        for (uint32_t i = 0; i < CRN_CONTOURS_ITEMS_PER_THREAD; i++) {
            if (count[i])
                scatter_contour<GRID_WIDE>(job, work, at, base, first + i, end[i], left);
            at += count[i];
        }
    }
}

/* Inverts the mapping: for each output point, the segment that ends there. Leaves out points beyond
 * the group's capacity. */
template <bool GRID_WIDE>
static __device__ void order_points(const crn_gpu_contours_job &job, const crn_contours_work &work)
{
    uint32_t *order = order_of(work);
    for (uint32_t s = crn_thread_group<GRID_WIDE>::thread_rank(); s < work.count;
         s += crn_thread_group<GRID_WIDE>::num_threads()) {
        crn_contours_link link = work.links[s];
        if (link.key == 0)
            continue;
        uint32_t end = end_of(link.key), to_end = link.to_key & ~CRN_CONTOURS_HEAD;
        crn_contours_link last = end == s ? link : work.links[end];
        uint32_t lengths = lengths_of(last), first = last.next;
        if (lengths == 0 || first == CRN_CONTOURS_NONE)
            continue;
        bool has_length = end == s ? to_end != 0 : !(link.next & CRN_CONTOURS_NO_LENGTH);
        if (has_length)
            order[first + (job.reversed ? to_end - 1 : lengths - to_end + 1)] = s;
        bool closed = !(link.key & CRN_CONTOURS_LAST);
        if (closed ? end == s : (link.to_key & CRN_CONTOURS_HEAD) != 0)
            order[first + (job.reversed ? lengths : 0)] = closed ? s : CRN_CONTOURS_HEAD | s;
    }
    crn_thread_group<GRID_WIDE>::sync();
}

static __device__ crn_point point_of(const crn_gpu_contours_job &job, const crn_contours_work &work,
                                     uint32_t entry)
{
    uint32_t s = entry & ~CRN_CONTOURS_HEAD, cell = work.cell[s];
    uint32_t index = cell & ((1u << CRN_CELL_SIDE_SHIFT) - 1), side = cell >> CRN_CELL_SIDE_SHIFT;
    int32_t row = (int32_t)(index / (uint32_t)job.cell_columns);
    int32_t column = (int32_t)(index % (uint32_t)job.cell_columns);
    int32_t plane = plane_of(job, work, s);
    if (entry & CRN_CONTOURS_HEAD) {
        crn_contours_cells c = crn_contours_cells_at(job, work, plane, row, column / 32);
        uint32_t sides = crn_contours_sides(crn_contours_corners(c, column % 32), job.high);
        side = (sides >> 2 & 3) == side ? sides & 3 : sides >> 4 & 3;
    }
    int32_t number = work.number + plane;
    return crn_contours_point(job, crn_contours_level(job, number),
                              crn_contours_load_edge(job, number, row, column, side));
}

template <bool GRID_WIDE>
static __device__ void write_points(const crn_gpu_contours_job &job, const crn_contours_work &work,
                                    uint64_t base, uint32_t count)
{
    const uint32_t *order = order_of(work);
    double2 *out = reinterpret_cast<double2 *>(job.points) + points_of(base);
    for (uint32_t i = crn_thread_group<GRID_WIDE>::thread_rank(); i < count;
         i += crn_thread_group<GRID_WIDE>::num_threads()) {
        crn_point point = point_of(job, work, order[i]);
        out[i] = make_double2(point.x, point.y);
    }
}

/* Writes the contours listed by scatter_contour in the grid-wide kernel. */
static __device__ void write_contours(const crn_gpu_contours_job &job,
                                      const crn_contours_work &work, uint64_t base, uint32_t count)
{
    for (uint32_t i = crn_thread_group<true>::thread_rank(); i < count;
         i += crn_thread_group<true>::num_threads()) {
        uint32_t s = job.entries[i], first = work.links[end_of(work.links[s].key)].next;
        write_contour(job, work, contours_of(base) + i, (uint32_t)points_of(base) + first, s);
    }
}

static __device__ uint32_t min_uint(uint32_t a, uint64_t b)
{
    return a < b ? a : (uint32_t)b;
}

/* True if these counts do not exceed the output's capacity. */
static __device__ bool has_capacity(const crn_gpu_contours_job &job, uint64_t packed)
{
    return contours_of(packed) <= job.contour_capacity && points_of(packed) <= job.point_capacity;
}

static __device__ void write_counts(const crn_gpu_contours_job &job, uint64_t packed)
{
    if (!has_capacity(job, packed))
        return; /* scatter_contour has written the counts */
    job.out->contour_count = (uint32_t)contours_of(packed);
    job.out->point_count = (uint32_t)points_of(packed);
    job.out->truncated = false;
}

#endif
