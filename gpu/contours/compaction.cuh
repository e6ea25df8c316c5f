/*
 * Compaction: turns linked segments into contours. Finds each contour's end, length and first
 * segment, scans for the position of contours and points, and scatters them. The same steps for one
 * block on one plane and for the whole grid on many planes (GRID_WIDE).
 */
#ifndef CRN_GPU_CONTOURS_COMPACTION_CUH
#define CRN_GPU_CONTOURS_COMPACTION_CUH

#include "gpu/contours/segments.cuh"

/* The segment that ends the contour with this key. */
static __device__ uint32_t end_of(uint32_t key)
{
    return key & CRN_CONTOURS_LAST ? key & ~CRN_CONTOURS_LAST : key - 1;
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

/* After pointer jumping, the links' second buffer holds the arrays of these two functions. */
static __device__ uint32_t *least_of(const crn_contours_work &work)
{
    return reinterpret_cast<uint32_t *>(work.next);
}

static __device__ uint32_t *order_of(const crn_contours_work &work)
{
    return least_of(work) + work.count;
}

/* The number of a contour's segments with a length is kept in the link of its last segment. */
static __device__ void set_lengths(const crn_contours_work &work, uint32_t end, uint32_t lengths)
{
    work.now[end].w = (work.now[end].w & CRN_CONTOURS_MAYBE_LEAST) | lengths;
}

static __device__ uint32_t lengths_of(const uint4 &end)
{
    return end.w & ~CRN_CONTOURS_MAYBE_LEAST;
}

/*
 * Writes, for each contour, into the link of its last segment: w, the number of segments with a
 * length (x later gets its first point). least_of gets its lowest segment with a length.
 */
template <bool GRID_WIDE>
static __device__ void measure_contours(const crn_contours_plan &plan,
                                        const crn_contours_work &work)
{
    uint32_t *least = least_of(work);
    uint32_t rank = thread_rank<GRID_WIDE>(), size = group_size<GRID_WIDE>();
    for (uint32_t s = rank; s < work.count; s += size) {
        uint32_t key = work.now[s].y, to_end = work.now[s].z;
        if (to_end & CRN_CONTOURS_HEAD)
            set_lengths(work, end_of(key), to_end & ~CRN_CONTOURS_HEAD);
        if (key == 0 || end_of(key) != s)
            continue;
        least[s] = CRN_CONTOURS_NONE;
        if (key & CRN_CONTOURS_LAST)
            continue;
        uint32_t cell = work.cell[s], index = cell & ((1u << CRN_CELL_SIDE_SHIFT) - 1);
        int32_t row = (int32_t)(index / (uint32_t)plan.cell_columns);
        int32_t column = (int32_t)(index % (uint32_t)plan.cell_columns);
        uint32_t side = crn_contours_cross(cell >> CRN_CELL_SIDE_SHIFT, &row, &column);
        uint32_t after =
            crn_contours_beginning(plan, work, plane_of(plan, work, s), row, column, side);
        set_lengths(work, s, work.now[after].z);
    }
    group_sync<GRID_WIDE>();
    for (uint32_t s = rank; s < work.count; s += size) {
        uint32_t key = work.now[s].y;
        if (!(work.now[s].w & CRN_CONTOURS_MAYBE_LEAST) || key == 0)
            continue;
        volatile uint32_t *at = &least[end_of(key)];
        if (s < *at)
            atomicMin(&least[end_of(key)], s);
    }
    group_sync<GRID_WIDE>();
}

/* If s is the lowest segment of a contour: one contour and its number of points, packed; else 0. */
static __device__ uint64_t contour_at(const crn_contours_work &work, uint32_t s, uint32_t *ret_end)
{
    if (s >= work.count)
        return 0;
    uint32_t key = work.now[s].y;
    if (key == 0 || least_of(work)[end_of(key)] != s)
        return 0;
    *ret_end = end_of(key);
    return ((uint64_t)1 << CRN_CONTOURS_POINT_BITS) + lengths_of(work.now[*ret_end]) + 1;
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
static __device__ void write_contour(const crn_contours_plan &plan, const crn_contours_work &work,
                                     uint64_t which, uint32_t first, uint32_t s)
{
    uint32_t key = work.now[s].y;
    uint4 contour =
        make_uint4((uint32_t)(work.number + plane_of(plan, work, s)), !(key & CRN_CONTOURS_LAST),
                   first, lengths_of(work.now[end_of(key)]) + 1);
    reinterpret_cast<uint4 *>(plan.contours)[which] = contour;
}

/*
 * Assigns the contour its position in the output; the first that does not fit ends the result.
 * `base`: packed counts of earlier groups. The grid-wide kernel only lists contours here, to write
 * them with coalesced stores later.
 */
template <bool GRID_WIDE>
static __device__ void place_contour(const crn_contours_plan &plan, const crn_contours_work &work,
                                     uint64_t at, uint64_t base, uint32_t s, uint32_t end,
                                     crn_contours_fits *room)
{
    uint64_t first = points_of(at), which = contours_of(at);
    uint32_t points = lengths_of(work.now[end]) + 1;
    bool fits = which < plan.contour_capacity && first + points <= plan.point_capacity;
    work.now[end].x = fits ? (uint32_t)(first - points_of(base)) : CRN_CONTOURS_NONE;
    if (fits && GRID_WIDE) {
        plan.entries[which - contours_of(base)] = s;
    } else if (fits) {
        write_contour(plan, work, which, (uint32_t)first, s);
    } else if (which <= plan.contour_capacity && first <= plan.point_capacity) {
        plan.out->contour_count = (uint32_t)which;
        plan.out->point_count = (uint32_t)first;
        plan.out->truncated = true;
        room->points = (uint32_t)(first - points_of(base));
        room->contours = (uint32_t)(which - contours_of(base));
        plan.control->cut = 1;
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
static __device__ void place_contours(const crn_contours_plan &plan, const crn_contours_work &work,
                                      group_range my, uint64_t before, uint64_t base,
                                      crn_contours_fits *room)
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
                place_contour<GRID_WIDE>(plan, work, at, base, first + i, end[i], room);
            at += count[i];
        }
    }
}

/* Inverts the mapping: for each output point, the segment that ends there. Leaves out points beyond
 * the group's capacity. */
template <bool GRID_WIDE>
static __device__ void order_points(const crn_contours_plan &plan, const crn_contours_work &work)
{
    uint32_t *order = order_of(work);
    for (uint32_t s = thread_rank<GRID_WIDE>(); s < work.count; s += group_size<GRID_WIDE>()) {
        uint4 link = work.now[s];
        if (link.y == 0)
            continue;
        uint32_t end = end_of(link.y), to_end = link.z & ~CRN_CONTOURS_HEAD;
        uint4 whole = end == s ? link : work.now[end];
        uint32_t lengths = lengths_of(whole), first = whole.x;
        if (lengths == 0 || first == CRN_CONTOURS_NONE)
            continue;
        bool has_length = end == s ? to_end != 0 : !(link.x & CRN_CONTOURS_NO_SIZE);
        if (has_length)
            order[first + (plan.reversed ? to_end - 1 : lengths - to_end + 1)] = s;
        bool closed = !(link.y & CRN_CONTOURS_LAST);
        if (closed ? end == s : (link.z & CRN_CONTOURS_HEAD) != 0)
            order[first + (plan.reversed ? lengths : 0)] = closed ? s : CRN_CONTOURS_HEAD | s;
    }
    group_sync<GRID_WIDE>();
}

static __device__ crn_point point_of(const crn_contours_plan &plan, const crn_contours_work &work,
                                     uint32_t entry)
{
    uint32_t s = entry & ~CRN_CONTOURS_HEAD, cell = work.cell[s];
    uint32_t index = cell & ((1u << CRN_CELL_SIDE_SHIFT) - 1), side = cell >> CRN_CELL_SIDE_SHIFT;
    int32_t row = (int32_t)(index / (uint32_t)plan.cell_columns);
    int32_t column = (int32_t)(index % (uint32_t)plan.cell_columns);
    int32_t plane = plane_of(plan, work, s);
    if (entry & CRN_CONTOURS_HEAD) {
        crn_contours_cells c = crn_contours_cells_at(plan, work, plane, row, column / 32);
        uint32_t sides = crn_contours_sides(crn_contours_corners(c, column % 32), plan.high);
        side = (sides >> 2 & 3) == side ? sides & 3 : sides >> 4 & 3;
    }
    int32_t number = work.number + plane;
    return crn_contours_point(plan, crn_contours_level(plan, number),
                              crn_contours_load_edge(plan, number, row, column, side));
}

template <bool GRID_WIDE>
static __device__ void write_points(const crn_contours_plan &plan, const crn_contours_work &work,
                                    uint64_t base, uint32_t count)
{
    const uint32_t *order = order_of(work);
    double2 *out = reinterpret_cast<double2 *>(plan.points) + points_of(base);
    for (uint32_t i = thread_rank<GRID_WIDE>(); i < count; i += group_size<GRID_WIDE>()) {
        crn_point point = point_of(plan, work, order[i]);
        out[i] = make_double2(point.x, point.y);
    }
}

/* Writes the contours listed by place_contour in the grid-wide kernel. */
static __device__ void write_contours(const crn_contours_plan &plan, const crn_contours_work &work,
                                      uint64_t base, uint32_t count)
{
    for (uint32_t i = thread_rank<true>(); i < count; i += group_size<true>()) {
        uint32_t s = plan.entries[i], first = work.now[end_of(work.now[s].y)].x;
        write_contour(plan, work, contours_of(base) + i, (uint32_t)points_of(base) + first, s);
    }
}

static __device__ uint32_t least_uint(uint32_t a, uint64_t b)
{
    return a < b ? a : (uint32_t)b;
}

/* True if the output has capacity for these counts. */
static __device__ bool leaves_room(const crn_contours_plan &plan, uint64_t packed)
{
    return contours_of(packed) <= plan.contour_capacity && points_of(packed) <= plan.point_capacity;
}

static __device__ void write_counts(const crn_contours_plan &plan, uint64_t packed)
{
    if (!leaves_room(plan, packed))
        return; /* place_contour has written the counts */
    plan.out->contour_count = (uint32_t)contours_of(packed);
    plan.out->point_count = (uint32_t)points_of(packed);
    plan.out->truncated = false;
}

#endif
