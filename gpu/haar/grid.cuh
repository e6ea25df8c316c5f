/* The transform in place in memory, by all threads of a CTA (haar.cuh). */
#ifndef CRN_GPU_HAAR_GRID_CUH
#define CRN_GPU_HAAR_GRID_CUH

#include "gpu/haar/haar.cuh"

typedef struct crn_haar_grid {
    float *at;
    ptrdiff_t row_stride, step; /* of its elements; channels are adjacent */
    int32_t down, across, channels;
    int32_t first; /* the level of its elements */
    int32_t y, x;  /* its origin on that level */
} crn_haar_grid;

/* The same channels in an image by quadrants. */
typedef struct crn_haar_channels {
    ptrdiff_t row_stride, step, stride; /* stride: from channel to channel */
    int32_t count;                      /* number of channels that exist; a grid may have more */
} crn_haar_channels;

/* A square of 2 x 2 values of the grid, at level `first` + j. */
typedef struct crn_haar_square {
    float *a, *b, *c, *d;
    int32_t y, x, channel;     /* of its average, on the whole of the next level */
    bool has_below, has_right; /* it has a second row, a second column */
} crn_haar_square;

static __device__ __forceinline__ int32_t crn_haar_squares(const crn_haar_grid &grid, int32_t j)
{
    return crn_haar_halved(grid.down, j + 1) * crn_haar_halved(grid.across, j + 1) * grid.channels;
}

/* Returns false if the square lies outside the image. */
static __device__ __forceinline__ bool crn_haar_square_of(const crn_gpu_haar_job &job,
                                                          const crn_haar_grid &grid, int32_t j,
                                                          int32_t i, crn_haar_square *ret)
{
    uint32_t wide = (uint32_t)crn_haar_halved(grid.across, j + 1) * (uint32_t)grid.channels;
    int32_t row = (int32_t)((uint32_t)i / wide), column = (int32_t)((uint32_t)i % wide);
    ret->channel = (int32_t)((uint32_t)column % (uint32_t)grid.channels);
    column = (int32_t)((uint32_t)column / (uint32_t)grid.channels);
    int32_t k = grid.first + j;
    int32_t y = (grid.y >> j) + 2 * row, x = (grid.x >> j) + 2 * column;
    int32_t high = crn_haar_halved(job.height, k), wide_all = crn_haar_halved(job.width, k);
    ptrdiff_t down = grid.row_stride << j, right = grid.step << j;
    ret->a = grid.at + 2 * row * down + 2 * column * right + ret->channel;
    ret->b = ret->a + right;
    ret->c = ret->a + down;
    ret->d = ret->c + right;
    ret->has_below = y + 1 < high;
    ret->has_right = x + 1 < wide_all;
    ret->y = y >> 1;
    ret->x = x >> 1;
    return y < high && x < wide_all;
}

/* Offset of the square's average in its quadrant of the next level. */
static __device__ __forceinline__ ptrdiff_t crn_haar_offset(const crn_haar_channels &channels,
                                                            const crn_haar_square &square)
{
    return square.y * channels.row_stride + square.x * channels.step +
           square.channel * channels.stride;
}

/* Reads the square's values; missing ones are copies of their neighbours. */
static __device__ __forceinline__ void crn_haar_read(const crn_haar_square &square, float (&q)[4])
{
    q[0] = *square.a;
    q[1] = square.has_right ? *square.b : q[0];
    q[2] = square.has_below ? *square.c : q[0];
    q[3] = square.has_below ? (square.has_right ? *square.d : q[2]) : q[1];
}

/* Calls `work` for each of the thread's squares. */
template <typename WORK>
static __device__ __forceinline__ void
crn_haar_for_squares(const crn_gpu_haar_job &job, const crn_haar_grid &grid, int32_t j, WORK work)
{
    int32_t count = crn_haar_squares(grid, j);
    for (int32_t i = (int32_t)threadIdx.x; i < count; i += (int32_t)blockDim.x) {
        crn_haar_square square;
        if (crn_haar_square_of(job, grid, j, i, &square))
            work(square);
    }
}

/* One level forward: averages stay in the grid, `store` gets (square, its sums)
 * for the differences. */
template <typename STORE>
static __device__ __forceinline__ void
crn_haar_grid_down(const crn_gpu_haar_job &job, const crn_haar_grid &grid, int32_t j, STORE store)
{
    crn_haar_for_squares(job, grid, j, [=](const crn_haar_square &square) {
        float q[4];
        crn_haar_read(square, q);
        crn_haar_sums(q[0], q[1], q[2], q[3]);
        *square.a = q[0];
        store(square, q);
    });
}

/* Writes the differences to `details`, unless NULL. */
static __device__ void crn_haar_grid_forward(const crn_gpu_haar_job &job, const crn_haar_grid &grid,
                                             int32_t j, float *details,
                                             const crn_haar_channels &channels)
{
    int32_t k = grid.first + j + 1;
    ptrdiff_t down = crn_haar_halved(job.height, k) * channels.row_stride;
    ptrdiff_t right = crn_haar_halved(job.width, k) * channels.step;
    crn_haar_grid_down(job, grid, j, [=](const crn_haar_square &square, const float(&q)[4]) {
        if (!details || square.channel >= channels.count)
            return;
        float *to = details + crn_haar_offset(channels, square);
        if (square.has_right)
            to[right] = q[1];
        if (square.has_below)
            to[down] = q[2];
        if (square.has_below && square.has_right)
            to[down + right] = q[3];
    });
}

/* Soft-thresholds the differences and leaves them in the grid. */
static __device__ void crn_haar_grid_soft_threshold(const crn_gpu_haar_job &job,
                                                    const crn_haar_grid &grid, int32_t j)
{
    float threshold = job.threshold;
    crn_haar_grid_down(job, grid, j, [=](const crn_haar_square &square, const float(&q)[4]) {
        if (square.has_right)
            *square.b = crn_haar_soft_threshold(q[1], threshold);
        if (square.has_below)
            *square.c = crn_haar_soft_threshold(q[2], threshold);
        if (square.has_below && square.has_right)
            *square.d = crn_haar_soft_threshold(q[3], threshold);
    });
}

/* One level back, with differences from `details`, or from the grid if NULL. */
template <typename T>
static __device__ void crn_haar_grid_inverse(const crn_gpu_haar_job &job, const crn_haar_grid &grid,
                                             int32_t j, const T *details,
                                             const crn_haar_channels &channels)
{
    int32_t k = grid.first + j + 1;
    ptrdiff_t down = crn_haar_halved(job.height, k) * channels.row_stride;
    ptrdiff_t right = crn_haar_halved(job.width, k) * channels.step;
    const bool unit = job.unit;
    crn_haar_for_squares(job, grid, j, [=](const crn_haar_square &square) {
        float q[4] = {*square.a, 0, 0, 0};
        bool both = square.has_below && square.has_right;
        if (!details) {
            q[1] = square.has_right ? *square.b : 0;
            q[2] = square.has_below ? *square.c : 0;
            q[3] = both ? *square.d : 0;
        } else if (square.channel < channels.count) {
            const T *from = details + crn_haar_offset(channels, square);
            q[1] = square.has_right ? crn_haar_element(from + right, unit) : 0;
            q[2] = square.has_below ? crn_haar_element(from + down, unit) : 0;
            q[3] = both ? crn_haar_element(from + down + right, unit) : 0;
        }
        crn_haar_sums(q[0], q[1], q[2], q[3]);
        *square.a = q[0];
        if (square.has_right)
            *square.b = q[1];
        if (square.has_below)
            *square.c = q[2];
        if (both)
            *square.d = q[3];
    });
}

/* Moves the grid's averages after j levels to or from an image: calls `move` with (float &in the
 * grid, ptrdiff_t in the image). */
template <typename MOVE>
static __device__ __forceinline__ void
crn_haar_grid_averages(const crn_gpu_haar_job &job, const crn_haar_grid &grid, int32_t j,
                       const crn_haar_channels &channels, MOVE move)
{
    int32_t k = grid.first + j, y = grid.y >> j, x = grid.x >> j;
    uint32_t wide = (uint32_t)crn_haar_halved(grid.across, j) * (uint32_t)grid.channels;
    int32_t count = crn_haar_halved(grid.down, j) * (int32_t)wide;
    for (int32_t i = (int32_t)threadIdx.x; i < count; i += (int32_t)blockDim.x) {
        int32_t row = (int32_t)((uint32_t)i / wide), column = (int32_t)((uint32_t)i % wide);
        int32_t channel = (int32_t)((uint32_t)column % (uint32_t)grid.channels);
        column = (int32_t)((uint32_t)column / (uint32_t)grid.channels);
        if (y + row >= crn_haar_halved(job.height, k) ||
            x + column >= crn_haar_halved(job.width, k) || channel >= channels.count)
            continue;
        move(grid.at[row * (grid.row_stride << j) + column * (grid.step << j) + channel],
             (y + row) * channels.row_stride + (x + column) * channels.step +
                 channel * channels.stride);
    }
}

#endif
