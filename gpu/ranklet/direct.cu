/* Few windows, or windows whose counts of one value exceed a block's memory: a histogram per
 * window, whose rows are split among blocks. */
#include "gpu/ranklet/ranklet.cuh"

#define THREADS   256
#define BYTES_MAX (INT64_C(64) << 20) /* histograms of the windows that are counted at once */
#define BLOCKS    1024

/* Number of the codes' values: u8 all, u16 those that occur. */
static __device__ int32_t values_of(const crn_ranklet_job &job, int32_t image)
{
    return job.values ? job.values[image] : 256;
}

typedef struct windows {
    int64_t first;    /* index of the first, over all images */
    int32_t values;   /* capacity */
    int32_t rows;     /* rows per block */
    uint32_t *counts; /* per window and quarter */
} windows;

template <typename Code>
static __global__ void __launch_bounds__(THREADS) count(crn_ranklet_job job, windows of)
{
    __shared__ uint32_t counts[2][256];
    const int64_t positions = static_cast<int64_t>(job.rows) * job.columns;
    const int64_t window = of.first + blockIdx.y;
    const int32_t image = static_cast<int32_t>(window / positions);
    const int32_t y = static_cast<int32_t>(window % positions / job.columns);
    const int32_t x = static_cast<int32_t>(window % positions % job.columns);
    const bool is_lower = blockIdx.z;
    const int32_t half = job.height / 2, first = blockIdx.x * of.rows;
    const int32_t last = min(first + of.rows, half);
    const Code *codes = crn_ranklet_image<Code>(job, image) + x +
                        (static_cast<ptrdiff_t>(y) + (is_lower ? half : 0)) * job.code_row;
    uint32_t *to =
        of.counts + (blockIdx.y * 4 + (is_lower ? 2 : 0)) * static_cast<int64_t>(of.values);
    if (sizeof(Code) == 1) {
        counts[0][threadIdx.x] = counts[1][threadIdx.x] = 0;
        __syncthreads();
    }
    for (int32_t i = first; i < last; i++)
        for (int32_t k = threadIdx.x; k < job.width; k += THREADS) {
            int32_t code = codes[i * job.code_row + k], is_right = k >= job.width / 2;
            atomicAdd(sizeof(Code) == 1 ? &counts[is_right][code & 255]
                                        : &to[is_right * of.values + code],
                      1u);
        }
    if (sizeof(Code) > 1)
        return;
    __syncthreads();
    for (int i = 0; i < 2; i++)
        if (counts[i][threadIdx.x])
            atomicAdd(&to[i * of.values + threadIdx.x], counts[i][threadIdx.x]);
}

/* Block-wide sum; the exclusive prefix goes to ret_before. */
static __device__ int64_t add_up(int64_t mine, int64_t *ret_before)
{
    __shared__ int64_t totals[THREADS / 32];
    const int32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int64_t sum = mine;
    for (int32_t d = 1; d < 32; d *= 2) {
        int64_t more = __shfl_up_sync(~0u, static_cast<long long>(sum), d);
        sum += lane >= d ? more : 0;
    }
    __syncthreads();
    if (lane == 31)
        totals[warp] = sum;
    __syncthreads();
    int64_t before = sum - mine, all = 0;
    for (int32_t i = 0; i < THREADS / 32; i++) {
        before += i < warp ? totals[i] : 0;
        all += totals[i];
    }
    *ret_before = before;
    return all;
}

/* One block per window: AW = sum over values of a times (pixels below minus pixels above). */
static __global__ void __launch_bounds__(THREADS) score(crn_ranklet_job job, windows of)
{
    const int64_t positions = static_cast<int64_t>(job.rows) * job.columns;
    const int64_t window = of.first + blockIdx.x;
    const int32_t image = static_cast<int32_t>(window / positions);
    const int64_t area = static_cast<int64_t>(job.width) * job.height;
    const uint32_t *counts = of.counts + blockIdx.x * 4 * static_cast<int64_t>(of.values);
    const int32_t values = values_of(job, image);
    int64_t below = 0, sums[3] = {0, 0, 0}, unused;
    for (int32_t first = 0; first < values; first += THREADS) {
        int32_t v = first + threadIdx.x;
        int64_t a[4] = {0, 0, 0, 0}, before;
        for (int i = 0; i < 4 && v < values; i++)
            a[i] = counts[i * static_cast<int64_t>(of.values) + v];
        int64_t here = a[0] + a[1] + a[2] + a[3], all = add_up(here, &before);
        int64_t signs = 2 * (below + before) + here - area;
        for (int i = 0; i < 3; i++)
            sums[i] += a[i] * signs;
        below += all;
    }
    for (int i = 0; i < 3; i++)
        sums[i] = add_up(sums[i], &unused);
    if (threadIdx.x == 0)
        crn_ranklet_write(job, image, static_cast<int32_t>(window % positions / job.columns),
                          static_cast<int32_t>(window % positions % job.columns), sums[0], sums[1],
                          sums[2]);
}

int crn_ranklet_direct(crn_context *context, const crn_ranklet_job *job)
{
    int64_t total = static_cast<int64_t>(job->rows) * job->columns * job->images;
    windows of = {};
    of.values = job->is_u16 ? 65536 : 256;
    size_t each = 4 * static_cast<size_t>(of.values) * sizeof *of.counts;
    int64_t most = BYTES_MAX / static_cast<int64_t>(each);
    most = most < total ? most : total;
    int64_t per_view = (most - 1) / crn_context_views(context) + 1;
    of.counts = static_cast<uint32_t *>(
        crn_context_scratch(context, CRN_RANKLET_SLOT_SUMS, static_cast<size_t>(per_view) * each));
    if (!of.counts)
        return -ENOMEM;
    cudaStream_t stream = crn_gpu_stream(context);
    int64_t half = job->height / 2, parts = BLOCKS / most + 1;
    parts = parts < half ? parts : half;
    of.rows = static_cast<int32_t>((half - 1) / parts + 1);
    for (; of.first < total; of.first += most) {
        int64_t now = total - of.first < most ? total - of.first : most;
        int r =
            crn_gpu_errno(cudaMemsetAsync(of.counts, 0, static_cast<size_t>(now) * each, stream));
        if (r < 0)
            return r;
        dim3 grid(static_cast<unsigned>(parts), static_cast<unsigned>(now), 2);
        if (job->is_u16)
            count<uint16_t><<<grid, THREADS, 0, stream>>>(*job, of);
        else
            count<uint8_t><<<grid, THREADS, 0, stream>>>(*job, of);
        score<<<static_cast<unsigned>(now), THREADS, 0, stream>>>(*job, of);
    }
    return 0;
}
