/*
 * Tracing bits into contours in one launch: one block per plane, or the whole grid on many planes.
 */
#include "gpu/contours/compaction.cuh"
#include "gpu/contours/tiles.cuh"

static __device__ void place_links(crn_contours_work *work, char *memory, size_t segments)
{
    work->now = reinterpret_cast<uint4 *>(memory);
    work->next = work->now + segments;
    work->cell = reinterpret_cast<uint32_t *>(work->next + segments);
}

/* Decoupled look-back: the sum of the counts of all earlier planes. Their blocks have started, and
 * wait for no later one. */
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

/* Copies a plane's bits to shared memory and returns the memory after them, for segments.
 * Both halves begin at whole groups of four words; the padding of the last group is never
 * written, so it is not read. */
static __device__ char *fetch_plane(const crn_contours_plan &plan, crn_contours_work *work)
{
    uint32_t *here = reinterpret_cast<uint32_t *>(shared_memory() + CRN_CONTOURS_SHARED_BYTES);
    const uint32_t *there = plan.bits + (size_t)work->number * plan.plane_words;
    uint32_t corners = (uint32_t)((plan.cell_rows + 1) * plan.words), whole = corners / 4 * 4;
    uint32_t lacking = 0; /* invalid corners: the other half */
    for (uint32_t half = 0; half < plan.plane_words; half += plan.corner_words) {
        for (uint32_t i = 4 * threadIdx.x; i < whole; i += 4 * blockDim.x) {
            uint4 words = *reinterpret_cast<const uint4 *>(there + half + i);
            *reinterpret_cast<uint4 *>(here + half + i) = words;
            lacking |= half ? words.x | words.y | words.z | words.w : 0;
        }
        if (threadIdx.x < corners - whole) {
            uint32_t word = there[half + whole + threadIdx.x];
            here[half + whole + threadIdx.x] = word;
            lacking |= half ? word : 0;
        }
    }
    work->lacks = __syncthreads_or(lacking != 0);
    work->bits = here;
    work->prefix = here + plan.plane_words;
    return reinterpret_cast<char *>(work->prefix + plan.corner_words);
}

/* Publishes the plane's counts and returns the sum of those before it; sets the capacity left. */
static __device__ uint64_t exchange(const crn_contours_plan &plan, int32_t number, uint64_t mine,
                                    crn_contours_fits *fits)
{
    volatile uint64_t *status = &plan.control->status[number];
    if (threadIdx.x == 0)
        *status = CRN_CONTOURS_KNOWN | mine;
    bool last = number == plan.numbers - 1;
    if (mine == 0 && !last)
        return 0;
    uint64_t base = wait_for(plan, number);
    if (threadIdx.x == 0) {
        fits->points = leaves_room(plan, base) ? (uint32_t)points_of(mine) : 0;
        if (last)
            write_counts(plan, base + mine);
    }
    __syncthreads();
    return base;
}

/* A plane with few segments, in shared memory: one scan counts and places its contours. */
static __device__ void trace_small(const crn_contours_plan &plan, const crn_contours_work &work)
{
    crn_contours_fits *fits = reinterpret_cast<crn_contours_fits *>(shared_words() + 2);
    run_ahead_small(plan, work);
    measure_contours<false>(plan, work);
    uint32_t each = (work.count + blockDim.x - 1) / blockDim.x, first = threadIdx.x * each;
    uint32_t end[CRN_CONTOURS_SMALL_EACH];
    uint64_t count[CRN_CONTOURS_SMALL_EACH], sum = 0, all;
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_SMALL_EACH; i++) {
        count[i] = i < each ? contour_at(work, first + i, &end[i]) : 0;
        sum += count[i];
    }
    uint64_t at = scan_block(sum, &all), base = exchange(plan, work.number, all, fits);
    if (all == 0)
        return;
    at += base;
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_SMALL_EACH; i++) {
        if (count[i])
            place_contour<false>(plan, work, at, base, first + i, end[i], fits);
        at += count[i];
    }
    __syncthreads();
    order_points<false>(plan, work);
    write_points<false>(plan, work, base, fits->points);
}

/* A plane with many segments, in global memory. */
static __device__ void trace_many(const crn_contours_plan &plan, crn_contours_work work)
{
    crn_contours_fits *fits = reinterpret_cast<crn_contours_fits *>(shared_words() + 2);
    run_ahead(plan, &work);
    measure_contours<false>(plan, work);
    uint64_t all = count_contours(work, {0, work.count});
    uint64_t base = exchange(plan, work.number, all, fits);
    if (all == 0)
        return;
    place_contours<false>(plan, work, {0, work.count}, base, base, fits);
    __syncthreads();
    order_points<false>(plan, work);
    write_points<false>(plan, work, base, fits->points);
}

/* Blocks start in the order of their index, so every block that is waited for has started. */
static __global__ void __launch_bounds__(CRN_CONTOURS_THREADS, 1)
    trace_planes(const __grid_constant__ crn_contours_plan plan)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize(); /* this kernel may start before the bits are written */
#endif
    crn_contours_work work = {};
    work.number = (int32_t)blockIdx.x;
    work.numbers = 1;
    char *room = fetch_plane(plan, &work);
    number_segments<false>(plan, &work);
    if (work.count <= plan.shared_segments) {
        place_links(&work, room, plan.shared_segments);
        trace_small(plan, work);
    } else {
        size_t segments = plan.segments_max;
        place_links(&work,
                    plan.segments + (size_t)work.number * segments * CRN_CONTOURS_SEGMENT_BYTES,
                    segments);
        trace_many(plan, work);
    }
}

static uint32_t group_warps(const crn_context *context)
{
    size_t room = crn_gpu_limits_of(context)->shared_bytes - CRN_CONTOURS_SHARED_BYTES;
    size_t warps = room / sizeof(tile_room);
    return (uint32_t)(warps < CRN_CONTOURS_THREADS / 32 ? warps : CRN_CONTOURS_THREADS / 32);
}

static uint32_t group_blocks(const crn_context *context)
{
    int32_t blocks = crn_gpu_limits_of(context)->multiprocessors;
    return (uint32_t)(blocks < CRN_CONTOURS_BLOCKS ? blocks : CRN_CONTOURS_BLOCKS);
}

/* Capacity of one block's list of entries. */
static size_t entries_of_block(const crn_contours_plan *plan, int32_t group, uint32_t warps,
                               uint32_t blocks)
{
    size_t rows = (size_t)(plan->cell_rows + CRN_TILE_ROWS - 1) / CRN_TILE_ROWS;
    size_t tiles = (size_t)group * rows * (size_t)plan->words;
    size_t turns = (tiles + warps - 1) / warps;
    return (turns + blocks - 1) / blocks * warps * CRN_TILE_SEGMENTS;
}

static __global__ void __launch_bounds__(CRN_CONTOURS_THREADS, 1)
    trace_group(const __grid_constant__ crn_contours_plan plan, size_t block_entries)
{
    crn_contours_control *control = plan.control;
    if (control->cut)
        return;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        control->fits = {UINT32_MAX, UINT32_MAX};
    crn_contours_work work = {};
    work.number = plan.first;
    work.numbers = plan.count;
    work.lacks = plan.lacks;
    work.bits = plan.bits + (size_t)plan.first * plan.plane_words;
    work.prefix = plan.prefix;
    place_links(&work, plan.segments, plan.segments_max);
    number_segments<true>(plan, &work);
    uint64_t base = control->before, all = 0;
    if (work.count) {
        uint32_t *list = plan.entries + blockIdx.x * block_entries;
        uint32_t entries = make_tiles(plan, work, list);
        run_through_tiles(plan, work, list, entries);
        measure_contours<true>(plan, work);
        group_range my = even_share<true>(work.count);
        uint64_t before = base + scan_blocks(control->sums[1], count_contours(work, my), &all);
        place_contours<true>(plan, work, my, before, base, &control->fits);
        group_sync<true>();
        order_points<true>(plan, work);
        if (leaves_room(plan, base)) {
            write_contours(plan, work, base, least_uint(control->fits.contours, contours_of(all)));
            write_points<true>(plan, work, base, least_uint(control->fits.points, points_of(all)));
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        for (uint32_t round = 0; round < CRN_CONTOURS_ROUNDS; round++)
            control->arrived[round] = 0; /* for the next group */
        control->before = base + all;
        if (plan.first + plan.count == plan.numbers)
            write_counts(plan, base + all);
    }
}

/* Shared memory of a block that traces one plane, with room for that many segments. */
static size_t plane_bytes(const crn_contours_plan *plan, uint32_t segments)
{
    return CRN_CONTOURS_SHARED_BYTES +
           ((size_t)plan->plane_words + plan->corner_words) * sizeof(uint32_t) +
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
    segments = segments < plan->segments_max ? segments : plan->segments_max;
    plan->shared_segments =
        (uint32_t)(segments < CRN_CONTOURS_SMALL_EACH * CRN_CONTOURS_PLANE_THREADS
                       ? segments
                       : CRN_CONTOURS_SMALL_EACH * CRN_CONTOURS_PLANE_THREADS);
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = crn_gpu_limits_of(context)->capability >= 90;
    config.gridDim = dim3((unsigned)plan->numbers);
    config.blockDim = dim3(CRN_CONTOURS_PLANE_THREADS);
    config.dynamicSmemBytes = plane_bytes(plan, plan->shared_segments);
    config.stream = crn_gpu_stream(context);
    int r = crn_gpu_allow_shared(context, reinterpret_cast<const void *>(trace_planes),
                                 config.dynamicSmemBytes);
    if (r < 0)
        return r;
    cudaLaunchKernelEx(&config, trace_planes, *plan);
    return crn_gpu_launch_error();
}

size_t crn_contours_entries(const crn_context *context, const crn_contours_plan *plan,
                            int32_t group)
{
    uint32_t blocks = group_blocks(context);
    return blocks * entries_of_block(plan, group, group_warps(context), blocks);
}

int crn_contours_trace_group(const crn_context *context, const crn_contours_plan *plan)
{
    uint32_t warps = group_warps(context), blocks = group_blocks(context);
    cudaLaunchAttribute together = {};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(32 * warps);
    config.dynamicSmemBytes = CRN_CONTOURS_SHARED_BYTES + warps * sizeof(tile_room);
    config.stream = crn_gpu_stream(context);
    config.attrs = &together;
    config.numAttrs = 1;
    int r = crn_gpu_allow_shared(context, reinterpret_cast<const void *>(trace_group),
                                 config.dynamicSmemBytes);
    if (r < 0)
        return r;
    cudaLaunchKernelEx(&config, trace_group, *plan,
                       entries_of_block(plan, plan->count, warps, blocks));
    return crn_gpu_launch_error();
}
