/*
 * The Haar transform: what its files share.
 *
 *   haar.cu          the entry: which launches, and of what shape
 *   block.cuh        a thread's square block of pixels, in its registers, there and back
 *   grid.cuh         the averages that blocks leave, in place in shared or in device memory
 *   kernels.cu       the kernels of both
 *   tail.cu          those of the second alone, for what few pixels are left
 *
 * A thread has a block of N x N pixels (N a power of two) of VEC planes that lie side by side: log2
 * N levels need nothing but its registers. The averages of a CTA's blocks, 2^a x 2^b of them, go on
 * in shared memory. Everything is in place: after k levels a block's averages stand 2^k apart, and
 * the differences of each level where the pixels were that the square's b, c and d began as.
 *
 * "Level k" counts from a launch's first: 0 are its pixels. They are ceil(size / 2^k) high and
 * wide.
 */
#ifndef CRN_GPU_HAAR_HAAR_CUH
#define CRN_GPU_HAAR_HAAR_CUH

#include "gpu/device.cuh"

/* Levels of one launch at most; further ones are another's, on the averages. */
#define CRN_HAAR_FIRST_LEVELS_MAX 6

#define CRN_HAAR_THREADS_MAX 256

/* A plane's lane: its VEC planes. */
typedef struct crn_haar_view {
    void *data;                 /* NULL: not wanted */
    ptrdiff_t row_stride, step; /* as an image's */
    ptrdiff_t lane_stride;      /* elements from lane to lane */
    ptrdiff_t view_stride;      /* and from picture to picture */
} crn_haar_view;

/* One launch. */
typedef struct crn_gpu_haar_job {
    crn_haar_view pixels;   /* forward, denoise: read; inverse: written */
    crn_haar_view details;  /* forward: written, inverse: read: the differences, by quadrants */
    crn_haar_view averages; /* forward: written; inverse, denoise: read, where there are any */
    crn_haar_view denoised; /* denoise: written */
    int32_t height, width, levels;
    int32_t lanes, lanes_per_cta, lane_groups;
    int32_t across_log2, down_log2; /* blocks of a CTA */
    int32_t tiles_across, tiles_down;
    int32_t views;
    float threshold;
    bool aligned; /* blocks' rows, in all views and quadrants, to 16 bytes (u8: 8) */
    bool unit;
    bool averages_are_floats; /* also where the details are u8 */
} crn_gpu_haar_job;

typedef enum crn_haar_lane {
    CRN_HAAR_SINGLE, /* one plane, blocks of 8 x 8: aligned rows */
    CRN_HAAR_NARROW, /* one plane, blocks of 4 x 4: any strides, and few pixels */
    CRN_HAAR_FOUR,   /* four planes side by side, blocks of 4 x 4: 16 bytes (u8: 4) a pixel */
} crn_haar_lane;

/* The launches: u8 says what is read. 0 or a negative errno. */
int crn_haar_launch(crn_context *context, crn_haar_direction direction, crn_haar_lane lane, bool u8,
                    const crn_gpu_haar_job *job);

/* All levels of few pixels, a CTA a plane: job->pixels are f32, lanes are planes, and read and
 * written in place. forward and inverse as above; denoise leaves its result in the pixels. */
int crn_haar_launch_tail(crn_context *context, crn_haar_direction direction, bool u8,
                         const crn_gpu_haar_job *job);

/* ceil(size / 2^k) */
static __host__ __device__ inline int32_t crn_haar_halved(int32_t size, int32_t k)
{
    return (int32_t)(((uint32_t)size + (1u << k) - 1) >> k);
}

/* a, b, c, d become the average and the differences along a row, a column and both; or back. */
static __device__ __forceinline__ void crn_haar_sums(float &a, float &b, float &c, float &d)
{
    float ab = a + b, cd = c + d, a_b = a - b, c_d = c - d;
    a = (ab + cd) * 0.5f;
    b = (a_b + c_d) * 0.5f;
    c = (ab - cd) * 0.5f;
    d = (a_b - c_d) * 0.5f;
}

/* A NaN stays one, and what becomes 0 keeps its sign. */
static __device__ __forceinline__ float crn_haar_soft_threshold(float difference, float threshold)
{
    float left = fabsf(difference) - threshold;
    return copysignf(left < 0 ? 0 : left, difference);
}

/* For every byte the sum of the two products is the quotient by 255 as a division rounds it. */
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

/* The lowest element of a lane of a picture. */
template <typename T>
static __device__ __forceinline__ T *crn_haar_at(const crn_haar_view &view, int32_t lane,
                                                 int32_t picture)
{
    return static_cast<T *>(view.data) + lane * view.lane_stride + picture * view.view_stride;
}

#endif
