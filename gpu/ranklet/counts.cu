/*
 * Larger windows. A block moves down a tile of positions row by row and keeps, for each of its
 * values, the histograms of the quarters that begin at each position (tile.cuh; b and d lie half a
 * window right of a and c). An entering or leaving pixel changes as many counts as a quarter is
 * wide.
 *
 * A thread scans the values at a position with q, the number of the window's pixels below the
 * value: with q' for the next value, AW = sum over v of a(v) (q + q') - |a| |W|.
 */
#include "gpu/ranklet/tile.cuh"

#define ALL CRN_RANKLET_ALL

/* Exclusive scan of the parts' totals, one per warp lane, for window_below. */
template <typename Code>
static __device__ __forceinline__ int32_t parts_before(const crn_ranklet_tiling &tiling,
                                                       const crn_ranklet_tile<Code> &t)
{
    const int32_t lane = threadIdx.x % 32, parts = t.parts + t.group * tiling.group_warps;
    uint32_t mine = lane < tiling.group_warps ? crn_ranklet_shared[parts + lane] : 0;
    return static_cast<int32_t>(crn_ranklet_scan_warp(mine) - mine);
}

/* Number of the window's pixels below a group's values. */
template <typename Code>
static __device__ __forceinline__ uint32_t window_below(const crn_ranklet_tiling &tiling,
                                                        const crn_ranklet_tile<Code> &t,
                                                        int32_t width, int32_t before, int32_t x)
{
    const int32_t *below = crn_ranklet_ints(t.below + t.group * tiling.across);
    int32_t first = __shfl_sync(ALL, before, x >> tiling.part_shift);
    int32_t last = __shfl_sync(ALL, before, (x + width) >> tiling.part_shift);
    return static_cast<uint32_t>(below[x + width] + last - below[x] - first);
}

typedef struct ranklet_sums {
    uint32_t aw, bw, cw;
} ranklet_sums;

/* For words of two values. */
static __device__ __forceinline__ ranklet_sums sum_bytes(int32_t left, int32_t right, int32_t words,
                                                         uint32_t q)
{
    ranklet_sums s = {0, 0, 0};
#pragma unroll 8
    for (int32_t i = 0; i < words; i++) {
        uint32_t ac = crn_ranklet_shared[left + i], bd = crn_ranklet_shared[right + i];
        uint32_t both = ac + bd;
        uint32_t middle = __dp4a(both, 0x00010001u, q), next = __dp4a(both, 0x01000100u, middle);
        uint32_t signs = (q + middle * 0x10001u) + next * 0x10000u;
        s.aw = __dp2a_lo(signs, ac, s.aw);
        s.bw = __dp2a_lo(signs, bd, s.bw);
        s.cw = __dp2a_hi(signs, ac, s.cw);
        q = next;
    }
    return s;
}

static __device__ __forceinline__ ranklet_sums sum_narrow(int32_t left, int32_t right,
                                                          int32_t words, uint32_t q)
{
    ranklet_sums s = {0, 0, 0};
#pragma unroll 8
    for (int32_t i = 0; i < words; i++) {
        uint32_t ac = crn_ranklet_shared[left + i], bd = crn_ranklet_shared[right + i];
        uint32_t next = __dp2a_lo(bd, 0x0101u, __dp2a_lo(ac, 0x0101u, q));
        uint32_t signs = q + next;
        s.aw += (ac >> 16) * signs;
        s.bw += (bd >> 16) * signs;
        s.cw += (ac & 0xffff) * signs;
        q = next;
    }
    return s;
}

/* Sums of a row of positions, per group of values. */
template <typename Code, int KIND>
static __device__ void sum_row(const crn_ranklet_job &job, const crn_ranklet_tiling &tiling,
                               const crn_ranklet_tile<Code> &t)
{
    const int32_t words = tiling.group_words, lane = threadIdx.x % 32;
    const int32_t before = parts_before(tiling, t);
    for (int32_t x = t.thread; x - lane < t.columns; x += tiling.group_warps * 32) {
        uint32_t q = window_below(tiling, t, job.width, before, x);
        const int32_t left = x * tiling.stride + t.group * words;
        const int32_t right = left + job.width / 2 * tiling.stride;
        ranklet_sums s = KIND == CRN_RANKLET_BYTES ? sum_bytes(left, right, words, q)
                                                   : sum_narrow(left, right, words, q);
        uint32_t *to = crn_ranklet_shared + t.partial + t.group * 3 * tiling.columns + x;
        to[0] = s.aw;
        to[tiling.columns] = s.bw;
        to[2 * tiling.columns] = s.cw;
    }
}

/* Sums of a row of positions, one thread each, added to the global sums, to which other
 * blocks add their values. */
template <typename Code>
static __device__ void sum_row_wide(const crn_ranklet_job &job, const crn_ranklet_tiling &tiling,
                                    const crn_ranklet_tile<Code> &t, int32_t y)
{
    const int32_t lane = threadIdx.x % 32, half = job.width / 2;
    const int64_t positions = static_cast<int64_t>(job.rows) * job.columns;
    const int32_t before = parts_before(tiling, t);
    for (int32_t x = threadIdx.x; x - lane < t.columns; x += tiling.warps * 32) {
        uint32_t q = window_below(tiling, t, job.width, before, x);
        uint64_t aw = 0, bw = 0, cw = 0;
        const uint32_t *left = crn_ranklet_shared + x * tiling.stride;
        const uint32_t *right = left + half * tiling.stride;
        const uint32_t *bases = crn_ranklet_shared + t.bases;
        const uint2 *base_left = reinterpret_cast<const uint2 *>(
            bases + (x >> tiling.segment_shift) * tiling.base_stride);
        const uint2 *base_right = reinterpret_cast<const uint2 *>(
            bases + ((x + half) >> tiling.segment_shift) * tiling.base_stride);
#pragma unroll 4
        for (int32_t v = 0; v < tiling.bins; v++) {
            uint32_t ac = left[v], bd = right[v];
            uint2 ac_base = base_left[v], bd_base = base_right[v];
            uint32_t a = ac_base.x + (ac >> 16), c = ac_base.y + (ac & 0xffff);
            uint32_t b = bd_base.x + (bd >> 16), d = bd_base.y + (bd & 0xffff);
            uint32_t next = q + a + b + c + d, signs = q + next;
            aw += static_cast<uint64_t>(a) * signs;
            bw += static_cast<uint64_t>(b) * signs;
            cw += static_cast<uint64_t>(c) * signs;
            q = next;
        }
        if (x >= t.columns)
            continue;
        unsigned long long *to = static_cast<unsigned long long *>(tiling.sums) +
                                 3 * t.image * positions +
                                 static_cast<int64_t>(t.y + y) * job.columns + t.x + x;
        atomicAdd(to, aw);
        atomicAdd(to + positions, bw);
        atomicAdd(to + 2 * positions, cw);
    }
}

/* Adds up the groups' sums and writes results, or adds to the global sums if other
 * blocks count other values. */
template <typename Code>
static __device__ void add_groups(const crn_ranklet_job &job, const crn_ranklet_tiling &tiling,
                                  const crn_ranklet_tile<Code> &t, int32_t y)
{
    const int64_t positions = static_cast<int64_t>(job.rows) * job.columns;
    const uint32_t quarter = static_cast<uint32_t>(job.width / 2 * (job.height / 2));
    for (int32_t x = threadIdx.x; x < t.columns; x += tiling.warps * 32) {
        uint32_t of[3] = {0, 0, 0};
        for (int32_t group = 0; group < tiling.groups; group++)
            for (int32_t i = 0; i < 3; i++)
                of[i] += crn_ranklet_shared[t.partial + (group * 3 + i) * tiling.columns + x];
        if (tiling.direct) {
            for (int32_t i = 0; i < 3; i++)
                of[i] -= 4 * quarter * quarter;
            crn_ranklet_write(job, t.image, t.y + y, t.x + x, static_cast<int32_t>(of[0]),
                              static_cast<int32_t>(of[1]), static_cast<int32_t>(of[2]));
            continue;
        }
        uint32_t *to = static_cast<uint32_t *>(tiling.sums) + 3 * t.image * positions +
                       static_cast<int64_t>(t.y + y) * job.columns + t.x + x;
        for (int32_t i = 0; i < 3; i++)
            atomicAdd(to + i * positions, of[i]);
    }
}

/* Processes the tile for the values from t.first on. */
template <typename Code, int KIND>
static __device__ __forceinline__ void run_tile(const crn_ranklet_job &job,
                                                const crn_ranklet_tiling &tiling,
                                                const crn_ranklet_tile<Code> &t)
{
    const int32_t half = job.width / 2;
    crn_ranklet_begin<Code, KIND>(job, tiling, t);
    for (int32_t y = 0; y < t.rows; y++) {
        if (y + 1 < t.rows)
            crn_ranklet_read_line(job, tiling, t, y);
        if (KIND == CRN_RANKLET_WIDE)
            sum_row_wide(job, tiling, t, y);
        else
            sum_row<Code, KIND>(job, tiling, t);
        __syncthreads();
        if (KIND != CRN_RANKLET_WIDE)
            add_groups(job, tiling, t, y);
        if (y + 1 < t.rows) {
            if (KIND != CRN_RANKLET_WIDE && half <= 16)
                crn_ranklet_add_few<Code, KIND>(tiling, t, half);
            else
                crn_ranklet_add_many<Code, KIND>(tiling, t, half);
            crn_ranklet_advance_below(tiling, t);
        }
        __syncthreads();
    }
}

template <typename Code, int KIND>
static __global__ void __launch_bounds__(32 * CRN_RANKLET_WARPS_MAX, 1)
    count_windows(const __grid_constant__ crn_ranklet_job job,
                  const __grid_constant__ crn_ranklet_tiling tiling)
{
    crn_ranklet_tile<Code> t = crn_ranklet_tile_of<Code>(job, tiling);
    const int32_t values = job.values ? job.values[t.image] : 256;
    for (; t.first < values; t.first += tiling.blocks * tiling.bins)
        run_tile<Code, KIND>(job, tiling, t);
}

template <typename Code, int KIND>
static int launch(crn_context *context, const crn_ranklet_job *job,
                  const crn_ranklet_tiling *tiling)
{
    const void *kernel = reinterpret_cast<const void *>(count_windows<Code, KIND>);
    int r = crn_gpu_allow_shared(context, kernel, tiling->shared_bytes);
    int64_t blocks =
        static_cast<int64_t>(tiling->stacks) * tiling->strips * tiling->blocks * job->images;
    if (r < 0 || blocks > INT32_MAX)
        return r < 0 ? r : -EINVAL;
    count_windows<Code, KIND><<<static_cast<unsigned>(blocks), 32 * tiling->warps,
                                tiling->shared_bytes, crn_gpu_stream(context)>>>(*job, *tiling);
    return 0;
}

template <typename Code>
static int launch_kind(crn_context *context, const crn_ranklet_job *job,
                       const crn_ranklet_tiling *tiling)
{
    if (tiling->kind == CRN_RANKLET_BYTES)
        return launch<Code, CRN_RANKLET_BYTES>(context, job, tiling);
    if (tiling->kind == CRN_RANKLET_NARROW)
        return launch<Code, CRN_RANKLET_NARROW>(context, job, tiling);
    return launch<Code, CRN_RANKLET_WIDE>(context, job, tiling);
}

int crn_ranklet_counts(crn_context *context, const crn_ranklet_job *job, crn_ranklet_tiling *tiling)
{
    if (!tiling->direct) {
        size_t of_sum = tiling->kind == CRN_RANKLET_WIDE ? sizeof(uint64_t) : sizeof(uint32_t);
        size_t bytes = 3 * static_cast<size_t>(job->planes) * static_cast<size_t>(job->rows) *
                       static_cast<size_t>(job->columns) * of_sum;
        tiling->sums = crn_context_scratch(context, CRN_RANKLET_SLOT_SUMS, bytes);
        if (!tiling->sums)
            return -ENOMEM;
        bytes *= static_cast<size_t>(crn_context_views(context));
        int r = crn_gpu_errno(cudaMemsetAsync(tiling->sums, 0, bytes, crn_gpu_stream(context)));
        if (r < 0)
            return r;
    }
    int r = job->is_u16 ? launch_kind<uint16_t>(context, job, tiling)
                        : launch_kind<uint8_t>(context, job, tiling);
    if (r == 0 && !tiling->direct)
        crn_ranklet_finish(context, job, tiling);
    return r;
}
