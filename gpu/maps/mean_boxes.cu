/* Means over rectangles of three adjacent planes. */
#include "gpu/maps/maps.cuh"

#define THREADS 512
#define WARPS   (THREADS / 32)

/* Arguments of the kernels. */
typedef struct boxes_job {
    crn_image in;
    const crn_box *boxes; /* in pinned memory, as `means` */
    crn_box_mean *means;
} boxes_job;

static __device__ const float *pixel_of(const crn_image &image, const crn_box &box, int32_t y)
{
    return static_cast<const float *>(image.data) + box.plane * image.plane_stride +
           y * image.row_stride + box.x0 * image.step;
}

static __device__ double pixels_of(const crn_box &box)
{
    return (double)(box.x1 - box.x0 + 1) * (double)(box.y1 - box.y0 + 1);
}

/* A block per rectangle, in any order: for sums that are exact. */
static __global__ void mean_exact(boxes_job job)
{
    __shared__ double sums[WARPS][3];
    const crn_box box = job.boxes[blockIdx.x];
    const uint32_t warp = threadIdx.x / 32, thread = threadIdx.x % 32;
    double sum[3] = {0, 0, 0};
    for (int32_t y = box.y0 + (int32_t)warp; y <= box.y1; y += WARPS) {
        const float *row = pixel_of(job.in, box, y);
        for (int32_t x = (int32_t)thread; x <= box.x1 - box.x0; x += 32)
#pragma unroll
            for (int32_t plane = 0; plane < 3; plane++)
                sum[plane] += (double)row[x * job.in.step + plane * job.in.plane_stride];
    }
    for (int32_t plane = 0; plane < 3; plane++) {
        for (int32_t reach = 16; reach > 0; reach /= 2)
            sum[plane] += __shfl_xor_sync(0xffffffffu, sum[plane], reach);
        if (thread == 0)
            sums[warp][plane] = sum[plane];
    }
    __syncthreads();
    if (threadIdx.x >= 3)
        return;
    double total = 0;
    for (int32_t i = 0; i < WARPS; i++)
        total += sums[i][threadIdx.x];
    job.means[blockIdx.x].of[threadIdx.x] = (float)(total / pixels_of(box));
}

/* A warp per rectangle and plane, which loads 32 values at once and adds them in raster order. */
static __global__ void mean_in_order(boxes_job job)
{
    const crn_box box = job.boxes[blockIdx.x];
    const uint32_t plane = threadIdx.x / 32, thread = threadIdx.x % 32;
    double sum = 0;
    for (int32_t y = box.y0; y <= box.y1; y++) {
        const float *row = pixel_of(job.in, box, y) + plane * job.in.plane_stride;
        for (int32_t x = 0; x <= box.x1 - box.x0; x += 32) {
            int32_t left = box.x1 - box.x0 + 1 - x;
            float value = (int32_t)thread < left ? row[(x + (int32_t)thread) * job.in.step] : 0;
            for (int32_t i = 0; i < 32; i++) {
                double next = (double)__shfl_sync(0xffffffffu, value, i);
                sum += i < left ? next : 0;
            }
        }
    }
    if (thread == 0)
        job.means[blockIdx.x].of[plane] = (float)(sum / pixels_of(box));
}

int crn_mean_boxes_cuda(crn_context *context, const crn_image *in, const crn_boxes *boxes,
                        crn_box_mean *means)
{
    if (!crn_gpu_limits_of(context) || crn_context_views(context) != 1 || in->type != CRN_F32)
        return -EINVAL;
    if (boxes->count == 0)
        return 0;
    boxes_job job = {*in, boxes->all, means};
    return crn_gpu_launch_kernel(context, boxes->exact ? mean_exact : mean_in_order,
                                 dim3(boxes->count), boxes->exact ? THREADS : 3 * 32, 0, job);
}
