/*
 * Tracing bits into contours in one launch: one block per plane, or the whole grid on many planes.
 */
#include "gpu/contours/compaction.cuh"
#include "gpu/contours/segments.cuh"
#include "gpu/contours/tiles.cuh"

static __device__ void set_links(crn_contours_work *work, char *memory, size_t segments)
{
    work->links = reinterpret_cast<crn_contours_link *>(memory);
    work->other_links = work->links + segments;
    work->cell = reinterpret_cast<uint32_t *>(work->other_links + segments);
}

/* Decoupled look-back: the sum of the counts of all earlier planes. Their blocks have started, and
 * wait for no later one. */
static __device__ uint64_t look_back(const crn_gpu_contours_job &job, int32_t number)
{
    uint64_t sum = 0, all;
    for (int32_t i = (int32_t)threadIdx.x; i < number; i += (int32_t)blockDim.x) {
        volatile uint64_t *status = &job.control->status[i];
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
static __device__ char *fetch_plane(const crn_gpu_contours_job &job, crn_contours_work *work)
{
    uint32_t *to = reinterpret_cast<uint32_t *>(shared_memory() + CRN_CONTOURS_SHARED_BYTES);
    const uint32_t *from = job.bits + (size_t)work->number * job.plane_words;
    uint32_t corners = (uint32_t)((job.cell_rows + 1) * job.words), whole = corners / 4 * 4;
    uint32_t invalid = 0; /* invalid corners: the other half */
    for (uint32_t half = 0; half < job.plane_words; half += job.corner_words) {
        for (uint32_t i = 4 * threadIdx.x; i < whole; i += 4 * blockDim.x) {
            uint4 words = *reinterpret_cast<const uint4 *>(from + half + i);
            *reinterpret_cast<uint4 *>(to + half + i) = words;
            invalid |= half ? words.x | words.y | words.z | words.w : 0;
        }
        if (threadIdx.x < corners - whole) {
            uint32_t word = from[half + whole + threadIdx.x];
            to[half + whole + threadIdx.x] = word;
            invalid |= half ? word : 0;
        }
    }
    work->has_invalid = __syncthreads_or(invalid != 0);
    work->bits = to;
    work->prefix = to + job.plane_words;
    return reinterpret_cast<char *>(work->prefix + job.corner_words);
}

/* Publishes the plane's counts and returns the sum of those before it; sets the capacity left. */
static __device__ uint64_t exchange(const crn_gpu_contours_job &job, int32_t number, uint64_t mine,
                                    crn_contours_capacity *left)
{
    volatile uint64_t *status = &job.control->status[number];
    if (threadIdx.x == 0)
        *status = CRN_CONTOURS_KNOWN | mine;
    bool last = number == job.numbers - 1;
    if (mine == 0 && !last)
        return 0;
    uint64_t base = look_back(job, number);
    if (threadIdx.x == 0) {
        left->points = has_capacity(job, base) ? (uint32_t)points_of(mine) : 0;
        if (last)
            write_counts(job, base + mine);
    }
    __syncthreads();
    return base;
}

/* A plane with few segments, in shared memory: one scan counts and places its contours. */
static __device__ void trace_shared(const crn_gpu_contours_job &job, const crn_contours_work &work)
{
    crn_contours_capacity *left = reinterpret_cast<crn_contours_capacity *>(shared_words() + 2);
    jump_pointers_short(job, work);
    measure_contours<false>(job, work);
    uint32_t each = (work.count + blockDim.x - 1) / blockDim.x, first = threadIdx.x * each;
    uint32_t end[CRN_CONTOURS_LINKS_PER_THREAD];
    uint64_t count[CRN_CONTOURS_LINKS_PER_THREAD], sum = 0, all;
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_LINKS_PER_THREAD; i++) {
        count[i] = i < each ? contour_at(work, first + i, &end[i]) : 0;
        sum += count[i];
    }
    uint64_t at = scan_block(sum, &all), base = exchange(job, work.number, all, left);
    if (all == 0)
        return;
    at += base;
#pragma unroll
    for (uint32_t i = 0; i < CRN_CONTOURS_LINKS_PER_THREAD; i++) {
        if (count[i])
            scatter_contour<false>(job, work, at, base, first + i, end[i], left);
        at += count[i];
    }
    __syncthreads();
    order_points<false>(job, work);
    write_points<false>(job, work, base, left->points);
}

/* A plane with many segments, in global memory. */
static __device__ void trace_global(const crn_gpu_contours_job &job, crn_contours_work work)
{
    crn_contours_capacity *left = reinterpret_cast<crn_contours_capacity *>(shared_words() + 2);
    jump_pointers(job, &work);
    measure_contours<false>(job, work);
    uint64_t all = count_contours(work, {0, work.count});
    uint64_t base = exchange(job, work.number, all, left);
    if (all == 0)
        return;
    scatter_contours<false>(job, work, {0, work.count}, base, base, left);
    __syncthreads();
    order_points<false>(job, work);
    write_points<false>(job, work, base, left->points);
}

/* Blocks start in the order of their index, so every block that is waited for has started. */
static __global__ void __launch_bounds__(CRN_CONTOURS_THREADS, 1)
    trace_planes(const __grid_constant__ crn_gpu_contours_job job)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize(); /* this kernel may start before the bits are written */
#endif
    crn_contours_work work = {};
    work.number = (int32_t)blockIdx.x;
    work.numbers = 1;
    char *free_memory = fetch_plane(job, &work);
    number_segments<false>(job, &work);
    if (work.count <= job.shared_segments) {
        set_links(&work, free_memory, job.shared_segments);
        trace_shared(job, work);
    } else {
        size_t segments = job.segments_max;
        set_links(&work, job.segments + (size_t)work.number * segments * CRN_CONTOURS_SEGMENT_BYTES,
                  segments);
        trace_global(job, work);
    }
}

static uint32_t group_warps(const crn_context *context)
{
    size_t bytes = crn_gpu_limits_of(context)->shared_bytes - CRN_CONTOURS_SHARED_BYTES;
    size_t warps = bytes / sizeof(tile_memory);
    return (uint32_t)(warps < CRN_CONTOURS_THREADS / 32 ? warps : CRN_CONTOURS_THREADS / 32);
}

static uint32_t group_blocks(const crn_context *context)
{
    int32_t blocks = crn_gpu_limits_of(context)->multiprocessors;
    return (uint32_t)(blocks < CRN_CONTOURS_BLOCKS ? blocks : CRN_CONTOURS_BLOCKS);
}

/* Capacity of one block's list of entries. */
static size_t entries_of_block(const crn_gpu_contours_job *job, int32_t group, uint32_t warps,
                               uint32_t blocks)
{
    size_t rows = (size_t)(job->cell_rows + CRN_TILE_ROWS - 1) / CRN_TILE_ROWS;
    size_t tiles = (size_t)group * rows * (size_t)job->words;
    size_t turns = (tiles + warps - 1) / warps;
    return (turns + blocks - 1) / blocks * warps * CRN_TILE_SEGMENTS;
}

static __global__ void __launch_bounds__(CRN_CONTOURS_THREADS, 1)
    trace_group(const __grid_constant__ crn_gpu_contours_job job, size_t block_entries)
{
    crn_contours_control *control = job.control;
    if (control->cut)
        return;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        control->left = {UINT32_MAX, UINT32_MAX};
    crn_contours_work work = {};
    work.number = job.first;
    work.numbers = job.count;
    work.has_invalid = job.has_invalid;
    work.bits = job.bits + (size_t)job.first * job.plane_words;
    work.prefix = job.prefix;
    set_links(&work, job.segments, job.segments_max);
    number_segments<true>(job, &work);
    uint64_t base = control->before, all = 0;
    if (work.count) {
        uint32_t *list = job.entries + blockIdx.x * block_entries;
        uint32_t entries = make_tiles(job, work, list);
        jump_pointers_grid_wide(job, work, list, entries);
        measure_contours<true>(job, work);
        group_range my = crn_thread_group<true>::even_share(work.count);
        uint64_t before = base + scan_blocks(control->sums[1], count_contours(work, my), &all);
        scatter_contours<true>(job, work, my, before, base, &control->left);
        crn_thread_group<true>::sync();
        order_points<true>(job, work);
        if (has_capacity(job, base)) {
            write_contours(job, work, base, min_uint(control->left.contours, contours_of(all)));
            write_points<true>(job, work, base, min_uint(control->left.points, points_of(all)));
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        for (uint32_t round = 0; round < CRN_CONTOURS_ROUNDS; round++)
            control->arrived[round] = 0; /* for the next group */
        control->before = base + all;
        if (job.first + job.count == job.numbers)
            write_counts(job, base + all);
    }
}

/* Shared memory of a block that traces one plane, with memory for that many segments. */
static size_t plane_bytes(const crn_gpu_contours_job *job, uint32_t segments)
{
    return CRN_CONTOURS_SHARED_BYTES +
           ((size_t)job->plane_words + job->corner_words) * sizeof(uint32_t) +
           (size_t)segments * CRN_CONTOURS_SEGMENT_BYTES;
}

bool crn_contours_planes_fit(const crn_context *context, const crn_gpu_contours_job *job)
{
    size_t shared = crn_gpu_limits_of(context)->shared_bytes;
    return plane_bytes(job, 0) <= (shared < 49152 ? shared : 49152);
}

int crn_contours_trace_planes(const crn_context *context, crn_gpu_contours_job *job)
{
    size_t bytes = crn_gpu_limits_of(context)->shared_bytes - plane_bytes(job, 0);
    size_t segments = bytes / CRN_CONTOURS_SEGMENT_BYTES / 4 * 4;
    segments = segments < job->segments_max ? segments : job->segments_max;
    job->shared_segments =
        (uint32_t)(segments < CRN_CONTOURS_LINKS_PER_THREAD * CRN_CONTOURS_PLANE_THREADS
                       ? segments
                       : CRN_CONTOURS_LINKS_PER_THREAD * CRN_CONTOURS_PLANE_THREADS);
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = crn_gpu_limits_of(context)->capability >= 90;
    config.gridDim = dim3((unsigned)job->numbers);
    config.blockDim = dim3(CRN_CONTOURS_PLANE_THREADS);
    config.dynamicSmemBytes = plane_bytes(job, job->shared_segments);
    config.stream = crn_gpu_stream(context);
    int r = crn_gpu_allow_shared(context, reinterpret_cast<const void *>(trace_planes),
                                 config.dynamicSmemBytes);
    if (r < 0)
        return r;
    cudaLaunchKernelEx(&config, trace_planes, *job);
    return crn_gpu_launch_error();
}

size_t crn_contours_entries(const crn_context *context, const crn_gpu_contours_job *job,
                            int32_t group)
{
    uint32_t blocks = group_blocks(context);
    return blocks * entries_of_block(job, group, group_warps(context), blocks);
}

int crn_contours_trace_group(const crn_context *context, const crn_gpu_contours_job *job)
{
    uint32_t warps = group_warps(context), blocks = group_blocks(context);
    cudaLaunchAttribute cooperative = {};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(32 * warps);
    config.dynamicSmemBytes = CRN_CONTOURS_SHARED_BYTES + warps * sizeof(tile_memory);
    config.stream = crn_gpu_stream(context);
    config.attrs = &cooperative;
    config.numAttrs = 1;
    int r = crn_gpu_allow_shared(context, reinterpret_cast<const void *>(trace_group),
                                 config.dynamicSmemBytes);
    if (r < 0)
        return r;
    cudaLaunchKernelEx(&config, trace_group, *job,
                       entries_of_block(job, job->count, warps, blocks));
    return crn_gpu_launch_error();
}
