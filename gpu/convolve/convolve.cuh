/*
 * Shared by the files of the convolution operator.
 *
 * Rows are rows of elements, as on the CPU: a pixel's neighbour is `channels` elements away in an
 * interleaved image, 1 in a plane. A launch works on several images: planes, views or both.
 */
#ifndef CRN_GPU_CONVOLVE_CONVOLVE_CUH
#define CRN_GPU_CONVOLVE_CONVOLVE_CUH

#include "gpu/device.cuh"

/* Images of `height` rows of width x channels elements each; strides in elements. */
typedef struct crn_convolve_images {
    void *data;
    ptrdiff_t image, row, step, channel; /* from one to the next */
} crn_convolve_images;

typedef struct crn_convolve_shape {
    int32_t count; /* number of images */
    int32_t height, width, channels;
    crn_convolve_border border;
} crn_convolve_shape;

/* One convolution; the weights are in host memory. */
typedef struct crn_convolve_task {
    crn_context *context;
    crn_convolve_params kernel;
    crn_type type;
    crn_convolve_images in, out;
    crn_convolve_shape shape;
} crn_convolve_task;

/* Maximum number of rows, and of elements of a row, for small kernels: 32-bit
 * indices cannot overflow. */
#define CRN_CONVOLVE_SIZE_MAX (1 << 29)

/* Largest side of small kernels, which are odd squares. */
#define CRN_CONVOLVE_SIDE_MAX 15

/*
 * Small kernels over rows without gaps, in registers. Returns 1 when done, 0 if it does not support
 * the task, or a negative errno.
 */
int crn_convolve_small(const crn_convolve_task *task);

/* The same by type, for odd square kernels. The weights of a product are its
 * row, then its column. */
int crn_convolve_small_u8(const crn_convolve_task *task);
int crn_convolve_small_f32(const crn_convolve_task *task);
int crn_convolve_small_product_u8(const crn_convolve_task *task);
int crn_convolve_small_product_f32(const crn_convolve_task *task);

/* Separable kernels (a column times a row), in two passes over a tile. Returns
 * as crn_convolve_small. */
int crn_convolve_product(const crn_convolve_task *task);

/* Any kernel, any strides: tiles in shared memory. 0 or a negative errno. */
int crn_convolve_tiles(const crn_convolve_task *task);

/* Border handling, like crn_convolve_source on the host: the row (or column) of an image of `size`
 * that replaces the one at `index` outside it; -1: zeros. */
static __device__ __noinline__ int32_t crn_convolve_outside(int32_t border, int64_t index,
                                                            int32_t size)
{
    if (border == CRN_CONVOLVE_ZERO)
        return -1;
    if (border == CRN_CONVOLVE_REPLICATE || size == 1)
        return index < 0 ? 0 : size - 1;
    int64_t period = border == CRN_CONVOLVE_WRAP ? size : 2 * ((int64_t)size - 1);
    int64_t offset = index % period;
    offset = offset < 0 ? offset + period : offset;
    return (int32_t)(offset < size ? offset : period - offset);
}

static __device__ __forceinline__ int32_t crn_convolve_border_index(int32_t border, int64_t index,
                                                                    int32_t size)
{
    return index >= 0 && index < size ? (int32_t)index : crn_convolve_outside(border, index, size);
}

/* Rounds half to even, saturates. */
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
