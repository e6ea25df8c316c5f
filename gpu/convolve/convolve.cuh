/*
 * The convolution on the device: its parts, and what they share.
 *
 * Rows are rows of elements, as on the CPU: the neighbour of an interleaved picture stands `lanes`
 * away, that of a plane 1, and a launch works on several pictures: planes, views or both.
 */
#ifndef CRN_GPU_CONVOLVE_CONVOLVE_CUH
#define CRN_GPU_CONVOLVE_CONVOLVE_CUH

#include "gpu/device.cuh"

/* Pictures of `height` rows of width x lanes elements each; strides are in elements. */
typedef struct crn_convolve_pictures {
    void *data;
    ptrdiff_t picture, row, step, lane; /* from one to the next */
} crn_convolve_pictures;

typedef struct crn_convolve_shape {
    int32_t count; /* pictures */
    int32_t height, width, lanes;
    crn_convolve_border border;
} crn_convolve_shape;

/* What is to be done, with weights that lie in the host's memory. */
typedef struct crn_convolve_task {
    crn_context *context;
    const float *weights; /* kernel_height x kernel_width */
    int32_t kernel_width, kernel_height;
    crn_type type;
    crn_convolve_pictures in, out;
    crn_convolve_shape shape;
} crn_convolve_task;

/* Rows, and elements of one, are counted in 32 bits with room to spare where kernels are small. */
#define CRN_CONVOLVE_SIZE_MOST (1 << 29)

/* Small kernels: those of squares of odd sides up to this. */
#define CRN_CONVOLVE_SIDE_MOST 15

/*
 * Small kernels over rows without gaps: from the picture straight into registers. 1 when it is
 * done, 0 when the task is none of its kind, or a negative errno.
 */
int crn_convolve_small(const crn_convolve_task *task);

/* The same by type, of square kernels of odd sides; a product's weights are its row, then its
 * column. */
int crn_convolve_small_u8(const crn_convolve_task *task);
int crn_convolve_small_f32(const crn_convolve_task *task);
int crn_convolve_small_product_u8(const crn_convolve_task *task);
int crn_convolve_small_product_f32(const crn_convolve_task *task);

/* Kernels that are a column times a row, in two passes over a tile. Returns what
 * crn_convolve_small does. */
int crn_convolve_product(const crn_convolve_task *task);

/* Any kernel, any strides: tiles in shared memory. 0 or a negative errno. */
int crn_convolve_tiles(const crn_convolve_task *task);

/* What crn_convolve_source is on the host: the row (or column) of a picture of `size` that stands
 * at `index` outside of it; -1: zeros do. */
static __device__ __noinline__ int32_t crn_convolve_outside(int32_t border, int64_t index,
                                                            int32_t size)
{
    if (border == CRN_CONVOLVE_ZERO)
        return -1;
    if (border == CRN_CONVOLVE_REPLICATE || size == 1)
        return index < 0 ? 0 : size - 1;
    int64_t period = border == CRN_CONVOLVE_WRAP ? size : 2 * ((int64_t)size - 1);
    int64_t place = index % period;
    place = place < 0 ? place + period : place;
    return (int32_t)(place < size ? place : period - place);
}

static __device__ __forceinline__ int32_t crn_convolve_place(int32_t border, int64_t index,
                                                             int32_t size)
{
    return index >= 0 && index < size ? (int32_t)index : crn_convolve_outside(border, index, size);
}

/* Half to even, saturated. */
static __device__ __forceinline__ void crn_convolve_put(uint8_t *to, float sum)
{
    uint32_t byte;
    asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(byte) : "f"(sum));
    *to = (uint8_t)byte;
}

static __device__ __forceinline__ void crn_convolve_put(float *to, float sum)
{
    *to = sum;
}

#endif
