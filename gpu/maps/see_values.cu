/*
 * Validation of probabilities: the extremes of the values' bit patterns, as on the CPU
 * (stages/openmp/values/values_simd.c), whose order is that of the values. A block for each part of
 * a view; what it found goes to pinned memory, so that no block waits for another.
 */
#include "gpu/maps/maps.cuh"

#define THREADS 512
#define WARPS   (THREADS / 32)
/* Loads in flight per thread; all of a view of 2.3 MB. */
#define BATCH 5

static_assert(sizeof(crn_values_seen) == sizeof(uint2) && offsetof(crn_values_seen, max) == 4,
              "what a part saw is one store");

/* Arguments of the kernel. */
typedef struct see_job {
    const unsigned char *in;
    int64_t bytes;          /* of a view */
    crn_values_seen *parts; /* in pinned memory */
} see_job;

/* The largest signed and unsigned patterns so far, of the elements in a word each; 0 at first. */
typedef struct word_extremes {
    uint32_t above, below;
} word_extremes;

template <crn_type TYPE>
static __device__ word_extremes join(const word_extremes &a, const word_extremes &b)
{
    if (TYPE == CRN_F32)
        return {(uint32_t)max((int32_t)a.above, (int32_t)b.above), max(a.below, b.below)};
    if (TYPE == CRN_F16)
        return {__vmaxs2(a.above, b.above), __vmaxu2(a.below, b.below)};
    return {__vmaxu4(a.above, b.above), 0};
}

template <crn_type TYPE> static __device__ void add(word_extremes *so_far, uint32_t word)
{
    *so_far = join<TYPE>(*so_far, {word, word});
}

/* A part's result as its two words: suspect, max. */
template <crn_type TYPE> static __device__ uint2 judge(const word_extremes &all)
{
    if (TYPE == CRN_F32)
        return make_uint2((int32_t)all.above > __float_as_int(CRN_VALUES_MAX) ||
                              all.below > __float_as_uint(CRN_VALUES_MIN),
                          all.above);
    if (TYPE == CRN_F16) {
        uint32_t above = max(all.above & 0xffff, all.above >> 16);
        uint32_t below = max(all.below & 0xffff, all.below >> 16);
        return make_uint2(above > CRN_VALUES_MAX_F16 || below > CRN_VALUES_MIN_F16,
                          __float_as_uint(__half2float(__ushort_as_half((unsigned short)above))));
    }
    uint32_t most = __vmaxu4(all.above, all.above >> 16) & 0xffff;
    most = max(most & 0xff, most >> 8);
    return make_uint2(most == 1, __float_as_uint((float)most));
}

/* The elements before and behind a view's aligned vectors, at most 15 bytes each. */
template <crn_type TYPE, typename BITS>
static __device__ void see_ends(const see_job &job, const unsigned char *view, int64_t head,
                                int64_t tail, word_extremes *so_far)
{
    int64_t at = (int64_t)threadIdx.x * (int64_t)sizeof(BITS);
    if (at < head)
        add<TYPE>(so_far, *reinterpret_cast<const BITS *>(view + at));
    if (at < tail)
        add<TYPE>(so_far, *reinterpret_cast<const BITS *>(view + job.bytes - tail + at));
}

template <crn_type TYPE, typename BITS> static __global__ void see(see_job job)
{
    __shared__ word_extremes of_warp[WARPS];
    const unsigned char *view = job.in + (int64_t)blockIdx.y * job.bytes;
    const int64_t misaligned = (int64_t)(-reinterpret_cast<uintptr_t>(view) & 15);
    const int64_t head = min(misaligned, job.bytes), vectors = (job.bytes - head) / 16;
    const uint4 *in = reinterpret_cast<const uint4 *>(view + head);
    word_extremes all = {0, 0};
    const int64_t stride = (int64_t)CRN_VALUES_PARTS * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < vectors;
         i += BATCH * stride) {
        uint4 v[BATCH];
#pragma unroll
        for (int32_t j = 0; j < BATCH; j++)
            v[j] = i + j * stride < vectors ? in[i + j * stride] : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int32_t j = 0; j < BATCH; j++) {
            add<TYPE>(&all, v[j].x);
            add<TYPE>(&all, v[j].y);
            add<TYPE>(&all, v[j].z);
            add<TYPE>(&all, v[j].w);
        }
    }
    if (blockIdx.x == 0)
        see_ends<TYPE, BITS>(job, view, head, job.bytes - head - 16 * vectors, &all);
    for (int32_t reach = 16; reach > 0; reach /= 2)
        all = join<TYPE>(all, {__shfl_xor_sync(0xffffffffu, all.above, reach),
                               __shfl_xor_sync(0xffffffffu, all.below, reach)});
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = all;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int32_t i = 1; i < WARPS; i++)
        all = join<TYPE>(all, of_warp[i]);
    crn_values_seen *part = job.parts + (int64_t)blockIdx.y * CRN_VALUES_PARTS + blockIdx.x;
    *reinterpret_cast<uint2 *>(part) = judge<TYPE>(all);
}

int crn_see_values_cuda(crn_context *context, const crn_image *in, crn_values_seen *parts)
{
    if (!crn_gpu_limits_of(context) || !crn_image_is_dense(in) ||
        (in->type != CRN_U8 && in->type != CRN_F16 && in->type != CRN_F32))
        return -EINVAL;
    see_job job = {static_cast<const unsigned char *>(in->data),
                   (int64_t)(crn_image_elements(in) * crn_type_bytes(in->type)), parts};
    void (*kernel)(see_job) = in->type == CRN_U8    ? see<CRN_U8, uint8_t>
                              : in->type == CRN_F16 ? see<CRN_F16, uint16_t>
                                                    : see<CRN_F32, uint32_t>;
    dim3 blocks(CRN_VALUES_PARTS, (unsigned)crn_context_views(context));
    return crn_gpu_launch_kernel(context, kernel, blocks, THREADS, 0, job);
}
