/* Shared by the files of `cernita-bench gpu` only. */
#ifndef CRN_TOOLS_BENCH_GPU_INTERNAL_H
#define CRN_TOOLS_BENCH_GPU_INTERNAL_H

#include "tools/bench/gpu.h"

#define CRN_GPU_ALIGNMENT  256
#define CRN_GPU_PLANES_MAX 64

struct crn_gpu_work {
    const crn_gpu *gpu;
    const crn_gpu_row *row;
    crn_context *context;
    int32_t views, copies, host_copies;
    crn_image picture;                            /* of one view; its data is malloc'd */
    size_t in_bytes, out_bytes;                   /* of one copy with all its views */
    size_t in_step, out_step;                     /* offset from one copy to the next */
    uint8_t *host, *in, *out, *smoothed, *opened; /* host: pinned; the others on the device */
    crn_contours *contours;                       /* the struct and its arrays are pinned */
    float *weights;
    double levels[CRN_GPU_PLANES_MAX];
};

static inline size_t crn_gpu_rounded(size_t bytes)
{
    return (bytes + CRN_GPU_ALIGNMENT - 1) / CRN_GPU_ALIGNMENT * CRN_GPU_ALIGNMENT;
}

/* Bytes of one window's ranklets: three values per position. */
size_t crn_gpu_window_bytes(const crn_image *picture, int32_t side);

/* Where a row's work runs: its buffers, operators and context, on a device or in this process. */
typedef struct crn_gpu_place {
    const crn_ops *ops;
    crn_context *context;
    uint8_t *in, *out, *smoothed, *opened;
    crn_contours *contours;
} crn_gpu_place;

/* 0 or negative errno. */
int crn_gpu_enqueue(const crn_gpu_work *work, const crn_gpu_place *place);

#endif
