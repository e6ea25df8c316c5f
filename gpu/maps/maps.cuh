/* Shared by the files of this folder: a pixel's value. */
#ifndef CRN_GPU_MAPS_MAPS_CUH
#define CRN_GPU_MAPS_MAPS_CUH

#include "gpu/device.cuh"

#include <cuda_fp16.h>

static __device__ inline float crn_map_value(float pixel)
{
    return pixel;
}

static __device__ inline float crn_map_value(__half pixel)
{
    return __half2float(pixel);
}

#endif
