/*
 * Thread groups that cooperate on planes: a group is one block with one plane, or, GRID_WIDE, all
 * blocks of a launch with many planes.
 */
#ifndef CRN_GPU_CONTOURS_GROUP_CUH
#define CRN_GPU_CONTOURS_GROUP_CUH

#include "gpu/contours/contours.cuh"

#include <cooperative_groups.h>

/* Maximum threads per block. */
#define CRN_CONTOURS_THREADS 1024

/* Threads of a block that traces one plane. */
#define CRN_CONTOURS_PLANE_THREADS 1024

/* Consecutive words, or segments, per thread in a scan. */
#define CRN_CONTOURS_ITEMS_PER_THREAD 4

/* Layout of shared memory: partial sums of the scan, words broadcast within the
 * block, then the rest. */
#define CRN_CONTOURS_SHARED_BROADCAST_BYTES 320
#define CRN_CONTOURS_SHARED_BYTES           512

/* A block's contiguous range of the items. */
typedef struct group_range {
    uint32_t begin, end;
} group_range;

/*
 * The threads that trace planes together: one block with one plane, or, GRID_WIDE, all blocks of a
 * launch with many planes. Members are named as in cooperative_groups, whose own groups compute
 * ranks in 64 bits and three dimensions.
 */
template <bool GRID_WIDE> struct crn_thread_group {
    static __device__ void sync(void)
    {
        if (GRID_WIDE)
            cooperative_groups::this_grid().sync();
        else
            __syncthreads();
    }

    static __device__ uint32_t thread_rank(void)
    {
        return GRID_WIDE ? blockIdx.x * blockDim.x + threadIdx.x : threadIdx.x;
    }

    static __device__ uint32_t num_threads(void)
    {
        return GRID_WIDE ? gridDim.x * blockDim.x : blockDim.x;
    }

    /* The calling block's share of `total` items, in whole tiles of a scan. */
    static __device__ group_range even_share(uint32_t total)
    {
        if (!GRID_WIDE)
            return {0, total};
        uint32_t tile = blockDim.x * CRN_CONTOURS_ITEMS_PER_THREAD;
        uint32_t tiles = (total + tile - 1) / tile;
        uint32_t each = (tiles + gridDim.x - 1) / gridDim.x;
        uint64_t begin = (uint64_t)blockIdx.x * each * tile, end = begin + (uint64_t)each * tile;
        return {(uint32_t)(begin < total ? begin : total), (uint32_t)(end < total ? end : total)};
    }
};

static __device__ char *shared_memory(void)
{
    extern __shared__ uint4 memory[];
    return reinterpret_cast<char *>(memory);
}

/* Words broadcast to all threads of the block. */
static __device__ uint32_t *shared_words(void)
{
    return reinterpret_cast<uint32_t *>(shared_memory() + CRN_CONTOURS_SHARED_BROADCAST_BYTES);
}

/* Exclusive scan over the block's threads; *ret_all is the total. */
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

/* Exclusive scan over the grid's blocks; *ret_all is the total. */
static __device__ uint64_t scan_blocks(uint64_t *sums, uint64_t mine, uint64_t *ret_all)
{
    if (threadIdx.x == 0)
        sums[blockIdx.x] = mine;
    crn_thread_group<true>::sync();
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

/* True if `changed` is true in any thread of the group; a barrier. GRID_WIDE, blocks
 * vote as they arrive. */
template <bool GRID_WIDE>
static __device__ bool any_changed(const crn_gpu_contours_job &job, uint32_t round, bool changed)
{
    bool here = __syncthreads_or(changed);
    if (!GRID_WIDE)
        return here;
    uint32_t *broadcast = shared_words() + 1;
    if (threadIdx.x == 0) {
        volatile uint32_t *arrived = &job.control->arrived[round];
        uint32_t all;
        __threadfence();
        atomicAdd(&job.control->arrived[round], here ? 0x10001 : 1);
        do
            all = *arrived;
        while ((all & 0xffff) != gridDim.x);
        __threadfence();
        *broadcast = all >> 16;
    }
    __syncthreads();
    return *broadcast;
}

#endif
