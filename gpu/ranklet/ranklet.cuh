/*
 * Ranklets on the device: what the files share.
 *
 *   ranklet.cu         the entry: which way a window goes
 *   codes.cu           pixels side by side, u16 ones as ranks; sums that become R
 *   small.cu           windows of a few pixels: all pairs, a thread a position
 *   plan.cu            how a picture is cut up for the next one
 *   counts.cu, all others: the quarters' counts of each value, kept from row to row
 *   tile.cuh
 *   direct.cu          few windows, or ones too large for that: each counted by itself
 *
 * A window W has the quarters a b / c d. With AW for the sum of sign(p - q) over p in a, q in W:
 *
 *   vertical = AW + CW      horizontal = AW + BW      diagonal = AW + DW = - BW - CW
 */
#ifndef CRN_GPU_RANKLET_RANKLET_CUH
#define CRN_GPU_RANKLET_RANKLET_CUH

#include "gpu/device.cuh"

extern "C" {
#include "stages/serial/ranklet.h"
}

/* Slots of scratch memory. */
enum {
    CRN_RANKLET_SLOT_CODES,
    CRN_RANKLET_SLOT_RANKS,  /* u16: by value */
    CRN_RANKLET_SLOT_VALUES, /* u16: how many different ones there are, per picture */
    CRN_RANKLET_SLOT_SUMS,
};

/* What all kernels are told. The codes of a pixel and its right neighbour lie side by side. */
typedef struct crn_ranklet_job {
    int32_t width, height; /* of the window */
    int32_t rows, columns; /* of positions */
    int32_t planes;        /* of a view */
    int32_t images;        /* planes of all views */
    const void *codes;     /* u8, or u16: ranks below *values */
    bool is_u16;
    ptrdiff_t code_row, code_plane, code_view; /* in elements */
    const int32_t *values;                     /* per image; NULL: 256 */
    float *out;
    ptrdiff_t out_step, out_row, out_plane, out_view;
    double divisor;
    float scale; /* 1 / divisor, where that is a power of two and sums are exact; else 0 */
} crn_ranklet_job;

template <typename Code>
static __device__ const Code *crn_ranklet_image(const crn_ranklet_job &job, int32_t image)
{
    return static_cast<const Code *>(job.codes) + image / job.planes * job.code_view +
           image % job.planes * job.code_plane;
}

/* Sums become R: (float)((double)sum / divisor). */
static __device__ float crn_ranklet_r(const crn_ranklet_job &job, int64_t sum)
{
    if (job.scale == 0)
        return static_cast<float>(static_cast<double>(sum) / job.divisor);
    if (sum == static_cast<int32_t>(sum))
        return static_cast<float>(static_cast<int32_t>(sum)) * job.scale;
    return static_cast<float>(sum) * job.scale;
}

/* The position's three results, of AW, BW and CW. */
static __device__ void crn_ranklet_write(const crn_ranklet_job &job, int32_t image, int32_t y,
                                         int32_t x, int64_t aw, int64_t bw, int64_t cw)
{
    float *out = job.out + image / job.planes * job.out_view +
                 image % job.planes * (3 * job.out_plane) + y * job.out_row + x * job.out_step;
    out[0] = crn_ranklet_r(job, aw + cw);
    out[job.out_plane] = crn_ranklet_r(job, aw + bw);
    out[2 * job.out_plane] = crn_ranklet_r(job, -(bw + cw));
}

/* How a tile's counts lie (tile.cuh). */
enum { CRN_RANKLET_BYTES, CRN_RANKLET_NARROW, CRN_RANKLET_WIDE };

/* How a picture is cut up: tiles of so many rows and columns of positions, whose block of threads
 * sees to so many of the values. */
typedef struct crn_ranklet_plan {
    int32_t kind;
    int32_t warps;   /* of a block */
    int32_t columns; /* a multiple of 32 for each warp that works on the same values */
    int32_t rows;
    int32_t stacks, strips; /* tiles along and down a picture */
    int32_t bins;           /* values that a block counts, an even multiple of `groups` if BYTES */
    int32_t blocks;         /* of threads per tile */
    int32_t groups;         /* parts that a block's values fall into, each some warps' */
    int32_t group_warps;    /* how many */
    int32_t group_bins;     /* of a group */
    int32_t group_words;    /* of a position, a group's */
    int32_t lanes_shift;    /* lanes that see to a pixel that comes or goes: 1 << it */
    int32_t across;         /* columns of pixels and one more, rounded up to a multiple of 32 */
    int32_t stride;         /* words of a position: odd */
    int32_t segments;       /* WIDE: of 1 << segment_shift positions, over `across` */
    int32_t segment_shift;
    int32_t base_stride; /* words of a segment: twice an odd number */
    int32_t part_shift;  /* columns of a warp's part of what is counted below: 1 << it */
    bool direct;         /* a block sees all values: no sums to be added up */
    size_t shared_bytes;
    void *sums; /* per image AW, BW, CW of all positions, plus |quarter| |window| */
} crn_ranklet_plan;

#define CRN_RANKLET_WARPS_MAX 32

/* False: not even one value's counts fit into a block's memory. */
bool crn_ranklet_plan_make(const crn_ranklet_job *job, const crn_gpu_limits *limits,
                           crn_ranklet_plan *ret_plan);

bool crn_ranklet_is_small(const crn_ranklet_job *job);

/* All that follow launch, and crn_gpu_launch_error tells how that went; those that can fail before
 * return 0 or a negative errno. */

/* Sets the job's codes; where there are many values they become ranks if `ranked`. */
int crn_ranklet_codes(crn_context *context, const crn_image *in, bool ranked, crn_ranklet_job *job);
void crn_ranklet_small(crn_context *context, const crn_ranklet_job *job);
int crn_ranklet_counts(crn_context *context, const crn_ranklet_job *job, crn_ranklet_plan *plan);
int crn_ranklet_direct(crn_context *context, const crn_ranklet_job *job);
void crn_ranklet_finish(crn_context *context, const crn_ranklet_job *job,
                        const crn_ranklet_plan *plan);

#endif
