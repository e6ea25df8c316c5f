/*
 * Shared by the files of the Haar transform.
 *
 *   haar.cu          the entry: number and shape of the launches
 *   block.cuh        a thread's square block of pixels, in registers, forward and inverse
 *   grid.cuh         the averages of the blocks, in place in shared or in device memory
 *   kernels.cu       the kernels for both
 *   tail.cu          kernels that use grid.cuh only, for the last levels of few pixels
 *
 * A thread has a block of N x N pixels (N a power of two) of VEC interleaved planes, called a pack;
 * log2 N levels need nothing but its registers. The averages of a CTA's 2^a x 2^b blocks continue
 * in shared memory. The transform is in place: after k levels a block's averages are 2^k apart, and
 * the differences of each level stand where the square's pixels b, c and d were.
 *
 * "Level k" counts from a launch's first: level 0 is its pixels. A level is ceil(size / 2^k) high
 * and wide.
 */
#ifndef CRN_GPU_HAAR_HAAR_CUH
#define CRN_GPU_HAAR_HAAR_CUH

#include "gpu/device.cuh"

/* Maximum number of levels per launch; further ones take another launch, on the averages. */
#define CRN_HAAR_FIRST_LEVELS_MAX 6

#define CRN_HAAR_THREADS_MAX 256

/* An image as a kernel sees it, by packs (groups of VEC planes). */
typedef struct crn_haar_view {
    void *data;                 /* NULL: not wanted */
    ptrdiff_t row_stride, step; /* as in crn_image */
    ptrdiff_t pack_stride;      /* elements from pack to pack */
    ptrdiff_t view_stride;      /* elements from view to view */
} crn_haar_view;

/* Arguments of one launch. */
typedef struct crn_gpu_haar_job {
    crn_haar_view pixels;   /* forward, denoise: read; inverse: written */
    crn_haar_view details;  /* forward: written; inverse: read: the differences, by quadrants */
    crn_haar_view averages; /* forward: written; inverse, denoise: read, if there are any */
    crn_haar_view denoised; /* denoise: written */
    int32_t height, width, levels;
    int32_t packs, packs_per_cta, pack_groups;
    int32_t across_log2, down_log2; /* blocks of a CTA */
    int32_t tiles_across, tiles_down;
    int32_t views;
    float threshold;
    bool aligned; /* blocks' rows are aligned to 16 bytes (u8: 8) in all views and quadrants */
    bool unit;
    bool averages_are_floats; /* even if the details are u8 */
} crn_gpu_haar_job;

typedef enum crn_haar_block_kind {
    CRN_HAAR_SINGLE, /* one plane, blocks of 8 x 8: aligned rows */
    CRN_HAAR_NARROW, /* one plane, blocks of 4 x 4: any strides, and few pixels */
    CRN_HAAR_FOUR,   /* four interleaved planes, blocks of 4 x 4: 16 bytes (u8: 4) a pixel */
} crn_haar_block_kind;

/* Launches the kernel; u8 is the type of what is read. 0 or a negative errno. */
int crn_haar_launch(crn_context *context, crn_haar_direction direction, crn_haar_block_kind kind,
                    bool u8, const crn_gpu_haar_job *job);

/* All remaining levels of few pixels, one CTA per plane: job->pixels are f32, each plane is a
 * pack, and they are read and written in place. forward and inverse as above; denoise leaves its
 * result in the pixels. */
int crn_haar_launch_tail(crn_context *context, crn_haar_direction direction, bool u8,
                         const crn_gpu_haar_job *job);

/* ceil(size / 2^k) */
static __host__ __device__ inline int32_t crn_haar_halved(int32_t size, int32_t k)
{
    return (int32_t)(((uint32_t)size + (1u << k) - 1) >> k);
}

/* One butterfly: a, b, c, d become the average and the differences along a row, a column and both.
 * It is its own inverse. */
static __device__ __forceinline__ void crn_haar_sums(float &a, float &b, float &c, float &d)
{
    float ab = a + b, cd = c + d, a_b = a - b, c_d = c - d;
    a = (ab + cd) * 0.5f;
    b = (a_b + c_d) * 0.5f;
    c = (ab - cd) * 0.5f;
    d = (a_b - c_d) * 0.5f;
}

/* Keeps NaN, and the sign of what becomes 0. */
static __device__ __forceinline__ float crn_haar_soft_threshold(float difference, float threshold)
{
    float left = fabsf(difference) - threshold;
    return copysignf(left < 0 ? 0 : left, difference);
}

/* byte / 255 by multiplication: for every byte the sum of the two products is correctly rounded. */
static __device__ __forceinline__ float crn_haar_widen(uint32_t byte, bool unit)
{
    float value = __uint_as_float(0x4B000000u | byte) - 0x1p23f;
    return unit ? value * 0x1p-8f + value * 0x1.010102p-16f : value;
}

static __device__ __forceinline__ float crn_haar_element(const float *from, bool unit)
{
    (void)unit;
    return *from;
}

static __device__ __forceinline__ float crn_haar_element(const uint8_t *from, bool unit)
{
    return crn_haar_widen(*from, unit);
}

/* The first element of a pack of a view. */
template <typename T>
static __device__ __forceinline__ T *crn_haar_at(const crn_haar_view &view, int32_t pack,
                                                 int32_t view_index)
{
    return static_cast<T *>(view.data) + pack * view.pack_stride + view_index * view.view_stride;
}

#endif
