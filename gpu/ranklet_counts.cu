/*
 * Larger windows. A block of threads goes down a tile of positions, row after row, and keeps for
 * each of its values how many of them the quarters have that begin at a position: a word a value
 * and position, of the quarter at this row (a; b lies half a window further right) and of that
 * below it (c, d). A pixel that comes or goes changes as many words as a quarter is wide.
 *
 * A thread runs through the values of a position with q, the window's pixels below: with q' those
 * below the next value, AW = sum over v of a(v) (q + q') - |a| |W|.
 */
#include "gpu/ranklet.cuh"

#define THREADS CRN_RANKLET_THREADS
#define WARPS   CRN_RANKLET_WARPS
#define ALL     (~0u)

/* A block's tile, and its memory. */
template <typename Code> struct tile {
    const Code *codes; /* of its first pixel */
    int32_t y, x;      /* of its first position */
    int32_t rows, columns;
    int32_t pixels; /* columns of them */
    int32_t image;
    int32_t first;     /* value */
    uint32_t *counts;  /* by value; wide: of the upper quarters, then of the lower */
    uint32_t *lazy;    /* wide: what is to be added to 32 words in a row */
    int32_t *below;    /* by group: pixels below the group's values, of columns left of this one in
                          the same segment */
    int32_t *segments; /* by group and segment: all of that segment */
    uint32_t *partial; /* by group: AW, BW, CW of a row of positions */
    Code *line;        /* pixels that go, change quarter and come, from a row to the next */
};

template <typename Code>
static __device__ tile<Code> tile_of(const crn_ranklet_job &job, const crn_ranklet_plan &plan,
                                     uint32_t *shared)
{
    tile<Code> t;
    int32_t number = blockIdx.x;
    int32_t stack = number % plan.stacks;
    number /= plan.stacks;
    int32_t strip = number % plan.strips;
    t.image = number / plan.strips / plan.blocks;
    t.first = number / plan.strips % plan.blocks * plan.bins;
    t.x = stack * plan.columns;
    t.y = strip * plan.rows;
    t.columns = min(plan.columns, job.columns - t.x);
    t.rows = min(plan.rows, job.rows - t.y);
    t.pixels = t.columns + job.width - 1;
    t.codes = crn_ranklet_image<Code>(job, t.image) + t.y * job.code_row + t.x;
    t.counts = shared;
    shared += (plan.wide ? 2 : 1) * plan.bins * plan.stride;
    t.lazy = shared;
    shared += plan.wide ? 2 * plan.bins * (plan.stride / 32) : 0;
    t.below = reinterpret_cast<int32_t *>(shared);
    t.segments = t.below + plan.groups * plan.stride;
    t.partial = reinterpret_cast<uint32_t *>(t.segments + WARPS);
    t.line = reinterpret_cast<Code *>(t.partial + (plan.wide ? 0 : plan.groups * 3 * plan.columns));
    return t;
}

/* The sum of lanes up to this one. */
static __device__ uint32_t add_lanes(uint32_t mine)
{
    const int32_t lane = threadIdx.x % 32;
    for (int32_t d = 1; d < 32; d *= 2) {
        uint32_t more = __shfl_up_sync(ALL, mine, d);
        mine += lane >= d ? more : 0;
    }
    return mine;
}

/* --- the first row ------------------------------------------------------------------------------
 */

/* Columns of pixels: of each value in the upper and in the lower half, and of values below. */
template <typename Code, bool WIDE>
static __device__ void count_columns(const crn_ranklet_job &job, const crn_ranklet_plan &plan,
                                     const tile<Code> &t)
{
    const int32_t half = job.height / 2, across = (t.pixels + 31) / 32 * 32;
    const int32_t parts = max(THREADS / across, 1);
    const int32_t part = across < THREADS ? threadIdx.x / across : 0;
    const int32_t lower = WIDE ? plan.bins * plan.stride : 0;
    for (int32_t x = threadIdx.x - part * across; x < t.pixels && part < parts; x += THREADS) {
        uint32_t below = 0;
#pragma unroll 4
        for (int32_t i = part; i < job.height; i += parts) {
            int32_t v = static_cast<int32_t>(t.codes[i * job.code_row + x]) - t.first;
            below += v < 0;
            if (static_cast<uint32_t>(v) < static_cast<uint32_t>(plan.bins))
                atomicAdd(&t.counts[v * plan.stride + x + (i < half ? 0 : lower)],
                          WIDE || i >= half ? 1u : 65536u);
        }
        atomicAdd(&t.below[x], static_cast<int32_t>(below));
    }
}

/* Columns' pixels below each group's values, of those below the first's. */
template <typename Code>
static __device__ void count_groups(const crn_ranklet_plan &plan, const tile<Code> &t)
{
    const int32_t of_group = plan.bins / plan.groups;
    for (int32_t i = threadIdx.x; i < (plan.groups - 1) * plan.stride; i += THREADS) {
        int32_t group = i / plan.stride, x = i - group * plan.stride;
        const uint32_t *counts = t.counts + group * of_group * plan.stride + x;
        uint32_t sum = 0;
        for (int32_t v = 0; v < of_group; v++, counts += plan.stride)
            sum = __dp2a_lo(*counts, 0x0101u, sum);
        t.below[(group + 1) * plan.stride + x] = static_cast<int32_t>(sum);
    }
    __syncthreads();
    for (int32_t x = threadIdx.x; x < plan.stride; x += THREADS) {
        int32_t sum = 0;
        for (int32_t group = 0; group < plan.groups; group++)
            t.below[group * plan.stride + x] = sum += t.below[group * plan.stride + x];
    }
}

/* Of columns become of all columns to the left, segment by segment. */
template <typename Code>
static __device__ void sum_below(const crn_ranklet_plan &plan, const tile<Code> &t)
{
    const int32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int32_t of_group = WARPS / plan.groups, group = warp / of_group;
    const int32_t from = (warp % of_group) << plan.segment_shift;
    const int32_t to = min(from + (1 << plan.segment_shift), plan.stride);
    int32_t *below = t.below + group * plan.stride;
    uint32_t carry = 0;
    for (int32_t x = from + lane; x < to; x += 32) {
        uint32_t mine = static_cast<uint32_t>(below[x]), sum = add_lanes(mine) + carry;
        below[x] = static_cast<int32_t>(sum - mine);
        carry = __shfl_sync(ALL, sum, 31);
    }
    if (lane == 0)
        t.segments[warp] = static_cast<int32_t>(carry);
}

/* A value's columns become quarters: first all columns to the left, then half a window's. */
static __device__ void make_quarters(uint32_t *counts, int32_t stride, int32_t half)
{
    const int32_t lane = threadIdx.x % 32;
    uint32_t carry = 0;
    for (int32_t x = lane; x < stride; x += 32) {
        uint32_t mine = counts[x], sum = add_lanes(mine) + carry;
        counts[x] = sum - mine;
        carry = __shfl_sync(ALL, sum, 31);
    }
    __syncwarp();
    for (int32_t x = lane; x < stride; x += 32) {
        uint32_t sum = x + half < stride ? counts[x + half] - counts[x] : 0;
        __syncwarp();
        counts[x] = sum;
    }
}

template <typename Code, bool WIDE>
static __device__ void begin_tile(const crn_ranklet_job &job, const crn_ranklet_plan &plan,
                                  const tile<Code> &t)
{
    uint32_t *end = reinterpret_cast<uint32_t *>(t.segments);
    for (uint32_t *p = t.counts + threadIdx.x; p < end; p += THREADS)
        *p = 0;
    __syncthreads();
    count_columns<Code, WIDE>(job, plan, t);
    __syncthreads();
    if (!WIDE)
        count_groups(plan, t);
    __syncthreads();
    sum_below(plan, t);
    for (int32_t v = threadIdx.x / 32; v < plan.bins * (WIDE ? 2 : 1); v += WARPS)
        make_quarters(t.counts + v * plan.stride, plan.stride, job.width / 2);
    __syncthreads();
}

/* --- from row to row ----------------------------------------------------------------------------
 */

/* Adds to the words of [from, to), and to all of 32 at once where it can: a warp. */
static __device__ void add_lazily(uint32_t *counts, uint32_t *lazy, int32_t from, int32_t to,
                                  uint32_t what)
{
    const int32_t lane = threadIdx.x % 32;
    const int32_t whole = (from + 31) / 32, end = max(to / 32, whole);
    int32_t x = (from & ~31) + lane;
    if (x >= from && x < to && from % 32)
        atomicAdd(&counts[x], what);
    x = (to & ~31) + lane;
    if (x < to && x >= from && (x / 32 != from / 32 || from % 32 == 0))
        atomicAdd(&counts[x], what);
    for (x = whole + lane; x < end; x += 32)
        atomicAdd(&lazy[x], what);
}

/* A column's pixel that goes (kind 0), changes from the lower to the upper quarter (1), comes (2):
 * a warp. */
template <typename Code, bool WIDE>
static __device__ void add_pixel(const crn_ranklet_plan &plan, const tile<Code> &t, int32_t half,
                                 int32_t kind, int32_t v, int32_t column)
{
    const int32_t words = t.columns + half;
    if (WIDE) {
        const int32_t lower = plan.bins * plan.stride, lazies = plan.stride / 32;
        uint32_t *counts = t.counts + v * plan.stride, *lazy = t.lazy + v * lazies;
        const int32_t from = max(column - half + 1, 0), to = min(column + 1, words);
        if (kind < 2)
            add_lazily(counts, lazy, from, to, kind == 0 ? ~0u : 1u);
        if (kind > 0)
            add_lazily(counts + lower, lazy + plan.bins * lazies, from, to, kind == 1 ? ~0u : 1u);
        return;
    }
    const uint32_t what = kind == 0 ? -65536u : kind == 1 ? 65535u : 1u;
    for (int32_t i = threadIdx.x % 32; i < half; i += 32) {
        int32_t x = column - i;
        if (static_cast<uint32_t>(x) < static_cast<uint32_t>(words))
            atomicAdd(&t.counts[v * plan.stride + x], what);
    }
}

/* Quarters of up to 16 columns: several pixels at once. */
template <typename Code>
static __device__ void add_few(const crn_ranklet_plan &plan, const tile<Code> &t, int32_t half)
{
    int32_t lanes_shift = 0;
    while (1 << lanes_shift < half)
        lanes_shift++;
    const int32_t at_once = 32 >> lanes_shift, words = t.columns + half;
    const int32_t i = threadIdx.x & ((1 << lanes_shift) - 1);
    const int32_t first = threadIdx.x >> lanes_shift;
    for (int32_t kind = 0; kind < 3; kind++) {
        const uint32_t what = kind == 0 ? -65536u : kind == 1 ? 65535u : 1u;
        for (int32_t column = first; column < t.pixels; column += at_once * WARPS) {
            int32_t v = static_cast<int32_t>(t.line[kind * plan.stride + column]) - t.first;
            int32_t x = column - i;
            if (static_cast<uint32_t>(x) < static_cast<uint32_t>(words) && i < half &&
                static_cast<uint32_t>(v) < static_cast<uint32_t>(plan.bins))
                atomicAdd(&t.counts[v * plan.stride + x], what);
        }
    }
}

template <typename Code, bool WIDE>
static __device__ void add_many(const crn_ranklet_plan &plan, const tile<Code> &t, int32_t half)
{
    const int32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int32_t across = (t.pixels + 31) / 32;
    for (int32_t i = warp; i < 3 * across; i += WARPS) {
        int32_t kind = i / across, first = (i - kind * across) * 32, x = first + lane;
        int32_t code = x < t.pixels ? static_cast<int32_t>(t.line[kind * plan.stride + x]) : -1;
        int32_t v = code - t.first;
        bool is_mine = code >= 0 && static_cast<uint32_t>(v) < static_cast<uint32_t>(plan.bins);
        for (uint32_t left = __ballot_sync(ALL, is_mine); left; left &= left - 1) {
            int32_t k = __ffs(static_cast<int32_t>(left)) - 1;
            add_pixel<Code, WIDE>(plan, t, half, kind, __shfl_sync(ALL, v, k), first + k);
        }
    }
}

/* The pixels below each group's values. */
template <typename Code>
static __device__ void advance_below(const crn_ranklet_plan &plan, const tile<Code> &t)
{
    const int32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int32_t of_group = WARPS / plan.groups, group = warp / of_group;
    const int32_t start = t.first + group * (plan.bins / plan.groups);
    const int32_t from = (warp % of_group) << plan.segment_shift;
    const int32_t to = min(from + (1 << plan.segment_shift), t.pixels + 1);
    const uint32_t left = (1u << lane) - 1;
    int32_t *below = t.below + group * plan.stride;
    int32_t carry = 0;
    for (int32_t x = from + lane; x - lane < to; x += 32) {
        bool comes = false, goes = false;
        if (x < t.pixels) {
            goes = static_cast<int32_t>(t.line[x]) < start;
            comes = static_cast<int32_t>(t.line[2 * plan.stride + x]) < start;
        }
        uint32_t more = __ballot_sync(ALL, comes), less = __ballot_sync(ALL, goes);
        below[x] += carry + __popc(more & left) - __popc(less & left);
        carry += __popc(more) - __popc(less);
    }
    if (lane == 0)
        t.segments[warp] += carry;
}

/* The pixels that come and go between row y and the next. */
template <typename Code>
static __device__ void read_line(const crn_ranklet_job &job, const crn_ranklet_plan &plan,
                                 const tile<Code> &t, int32_t y)
{
    const Code *codes = t.codes + y * job.code_row;
    const ptrdiff_t half = job.height / 2 * job.code_row;
    for (int32_t x = threadIdx.x; x < t.pixels; x += THREADS)
        for (int32_t kind = 0; kind < 3; kind++)
            t.line[kind * plan.stride + x] = codes[kind * half + x];
}

/* --- a row of positions -------------------------------------------------------------------------
 */

/* What a warp's lanes know of the segments before theirs: the pixels below a group's values, for
 * window_below. */
template <typename Code>
static __device__ int32_t segments_before(const crn_ranklet_plan &plan, const tile<Code> &t,
                                          int32_t group)
{
    const int32_t lane = threadIdx.x % 32, of_group = WARPS / plan.groups;
    uint32_t mine =
        lane < of_group ? static_cast<uint32_t>(t.segments[group * of_group + lane]) : 0;
    return static_cast<int32_t>(add_lanes(mine) - mine);
}

template <typename Code>
static __device__ uint32_t window_below(const crn_ranklet_plan &plan, const tile<Code> &t,
                                        int32_t width, int32_t group, int32_t before, int32_t x)
{
    const int32_t *below = t.below + group * plan.stride;
    int32_t first = __shfl_sync(ALL, before, x >> plan.segment_shift);
    int32_t last = __shfl_sync(ALL, before, (x + width) >> plan.segment_shift);
    return static_cast<uint32_t>(below[x + width] + last - below[x] - first);
}

template <typename Code>
static __device__ void sum_narrow(const crn_ranklet_job &job, const crn_ranklet_plan &plan,
                                  const tile<Code> &t)
{
    const int32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int32_t across = plan.columns / 32, bins = plan.bins / plan.groups;
    for (int32_t i = warp; i < across * plan.groups; i += WARPS) {
        int32_t group = i / across, x = (i - group * across) * 32 + lane;
        uint32_t q = window_below(plan, t, job.width, group, segments_before(plan, t, group), x);
        const uint32_t *left = t.counts + group * bins * plan.stride + x;
        const uint32_t *right = left + job.width / 2;
        uint32_t aw = 0, bw = 0, cw = 0;
#pragma unroll 8
        for (int32_t v = 0; v < bins; v++, left += plan.stride, right += plan.stride) {
            uint32_t ac = *left, bd = *right;
            uint32_t next = __dp2a_lo(bd, 0x0101u, __dp2a_lo(ac, 0x0101u, q));
            uint32_t signs = q + next;
            aw += (ac >> 16) * signs;
            bw += (bd >> 16) * signs;
            cw += (ac & 0xffff) * signs;
            q = next;
        }
        uint32_t *to = t.partial + group * 3 * plan.columns + x;
        to[0] = aw;
        to[plan.columns] = bw;
        to[2 * plan.columns] = cw;
    }
}

static __device__ uint64_t *wide_sums(const crn_ranklet_job &job, const crn_ranklet_plan &plan,
                                      int32_t image, int32_t y, int32_t x)
{
    int64_t positions = static_cast<int64_t>(job.rows) * job.columns;
    return static_cast<uint64_t *>(plan.sums) + 3 * image * positions +
           static_cast<int64_t>(y) * job.columns + x;
}

/* The sums less what all positions have in common: |quarter| |window|, once. */
template <typename Code>
static __device__ void sum_wide(const crn_ranklet_job &job, const crn_ranklet_plan &plan,
                                const tile<Code> &t, int32_t y)
{
    const int32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, half = job.width / 2;
    const int32_t lower = plan.bins * plan.stride, lazies = plan.stride / 32;
    const int64_t positions = static_cast<int64_t>(job.rows) * job.columns;
    const int32_t before = segments_before(plan, t, 0);
    for (int32_t x = warp * 32 + lane; x - lane < t.columns; x += THREADS) {
        uint32_t q = window_below(plan, t, job.width, 0, before, x);
        uint64_t aw = 0, bw = 0, cw = 0;
        const uint32_t *p = t.counts + x, *l = t.lazy + x / 32, *r = t.lazy + (x + half) / 32;
#pragma unroll 2
        for (int32_t v = 0; v < plan.bins; v++, p += plan.stride, l += lazies, r += lazies) {
            uint32_t a = p[0] + l[0], b = p[half] + r[0];
            uint32_t c = p[lower] + l[plan.bins * lazies];
            uint32_t d = p[lower + half] + r[plan.bins * lazies];
            uint32_t next = q + a + b + c + d, signs = q + next;
            aw += static_cast<uint64_t>(a) * signs;
            bw += static_cast<uint64_t>(b) * signs;
            cw += static_cast<uint64_t>(c) * signs;
            q = next;
        }
        if (x >= t.columns)
            continue;
        unsigned long long *to =
            reinterpret_cast<unsigned long long *>(wide_sums(job, plan, t.image, t.y + y, t.x + x));
        atomicAdd(to, aw);
        atomicAdd(to + positions, bw);
        atomicAdd(to + 2 * positions, cw);
    }
}

/* The groups' sums together: out, or to those of the values that other blocks count. */
template <typename Code>
static __device__ void add_groups(const crn_ranklet_job &job, const crn_ranklet_plan &plan,
                                  const tile<Code> &t, int32_t y)
{
    const int64_t positions = static_cast<int64_t>(job.rows) * job.columns;
    const uint32_t quarter = static_cast<uint32_t>(job.width / 2 * (job.height / 2));
    for (int32_t x = threadIdx.x; x < t.columns; x += THREADS) {
        uint32_t sums[3] = {0, 0, 0};
        for (int32_t group = 0; group < plan.groups; group++)
            for (int32_t i = 0; i < 3; i++)
                sums[i] += t.partial[(group * 3 + i) * plan.columns + x];
        if (plan.direct) {
            for (int32_t i = 0; i < 3; i++)
                sums[i] -= 4 * quarter * quarter;
            crn_ranklet_write(job, t.image, t.y + y, t.x + x, static_cast<int32_t>(sums[0]),
                              static_cast<int32_t>(sums[1]), static_cast<int32_t>(sums[2]));
            continue;
        }
        uint32_t *to = static_cast<uint32_t *>(plan.sums) + 3 * t.image * positions +
                       static_cast<int64_t>(t.y + y) * job.columns + t.x + x;
        for (int32_t i = 0; i < 3; i++)
            atomicAdd(to + i * positions, sums[i]);
    }
}

/* The tile, for the values from t.first on. */
template <typename Code, bool WIDE>
static __device__ void run_tile(const crn_ranklet_job &job, const crn_ranklet_plan &plan,
                                const tile<Code> &t)
{
    begin_tile<Code, WIDE>(job, plan, t);
    for (int32_t y = 0; y < t.rows; y++) {
        if (y + 1 < t.rows)
            read_line(job, plan, t, y);
        if (WIDE)
            sum_wide(job, plan, t, y);
        else
            sum_narrow(job, plan, t);
        __syncthreads();
        if (!WIDE)
            add_groups(job, plan, t, y);
        if (y + 1 < t.rows) {
            if (!WIDE && job.width <= 32)
                add_few(plan, t, job.width / 2);
            else
                add_many<Code, WIDE>(plan, t, job.width / 2);
            advance_below(plan, t);
        }
        __syncthreads();
    }
}

template <typename Code, bool WIDE>
static __global__ void __launch_bounds__(THREADS, 2)
    count_windows(crn_ranklet_job job, crn_ranklet_plan plan)
{
    extern __shared__ uint32_t shared[];
    tile<Code> t = tile_of<Code>(job, plan, shared);
    const int32_t values = job.values ? job.values[t.image] : 256;
    for (; t.first < values; t.first += plan.blocks * plan.bins)
        run_tile<Code, WIDE>(job, plan, t);
}

template <typename Code, bool WIDE>
static int launch(crn_context *context, const crn_ranklet_job *job, const crn_ranklet_plan *plan)
{
    const void *kernel = reinterpret_cast<const void *>(count_windows<Code, WIDE>);
    int r = crn_gpu_allow_shared(context, kernel, plan->shared_bytes);
    int64_t blocks = static_cast<int64_t>(plan->stacks) * plan->strips * plan->blocks * job->images;
    if (r < 0 || blocks > INT32_MAX)
        return r < 0 ? r : -EINVAL;
    count_windows<Code, WIDE>
        <<<static_cast<unsigned>(blocks), THREADS, plan->shared_bytes, crn_gpu_stream(context)>>>(
            *job, *plan);
    return 0;
}

int crn_ranklet_counts(crn_context *context, const crn_ranklet_job *job, crn_ranklet_plan *plan)
{
    if (!plan->direct) {
        size_t size = 3 * static_cast<size_t>(job->planes) * static_cast<size_t>(job->rows) *
                      static_cast<size_t>(job->columns) *
                      (plan->wide ? sizeof(uint64_t) : sizeof(uint32_t));
        plan->sums = crn_context_scratch(context, CRN_RANKLET_SLOT_SUMS, size);
        if (!plan->sums)
            return -ENOMEM;
        size_t views = static_cast<size_t>(crn_context_views(context));
        int r =
            crn_gpu_errno(cudaMemsetAsync(plan->sums, 0, size * views, crn_gpu_stream(context)));
        if (r < 0)
            return r;
    }
    int r;
    if (job->is_u16)
        r = plan->wide ? launch<uint16_t, true>(context, job, plan)
                       : launch<uint16_t, false>(context, job, plan);
    else
        r = plan->wide ? launch<uint8_t, true>(context, job, plan)
                       : launch<uint8_t, false>(context, job, plan);
    if (r == 0 && !plan->direct)
        crn_ranklet_finish(context, job, plan);
    return r;
}
