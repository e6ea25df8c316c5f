/*
 * Shared by the files of the ranklet transform.
 *
 *   ranklet.cu         the entry: selects the kernel for a window
 *   codes.cu           dense copies of the pixels, u16 ones as ranks; converts sums to R
 *   small.cu           windows of a few pixels: all pairs, one thread per position
 *   tiling.cu            tile sizes for counts.cu, by a cost model
 *   counts.cu,         all others: histograms of the quarters, updated from row to row
 *   tile.cuh
 *   direct.cu          few windows, or too large for counts.cu: a histogram for each
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
    CRN_RANKLET_SLOT_VALUES, /* u16: number of different values, per image */
    CRN_RANKLET_SLOT_SUMS,
};

/* Arguments of all kernels. Codes are pixel values, or ranks; neighbours in a row are adjacent. */
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
    float scale; /* 1 / divisor, if that is a power of two and sums are exact; else 0 */
} crn_ranklet_job;

template <typename Code>
static __device__ const Code *crn_ranklet_image(const crn_ranklet_job &job, int32_t image)
{
    return static_cast<const Code *>(job.codes) + image / job.planes * job.code_view +
           image % job.planes * job.code_plane;
}

/* Converts a sum to R: (float)((double)sum / divisor). */
static __device__ float crn_ranklet_r(const crn_ranklet_job &job, int64_t sum)
{
    if (job.scale == 0)
        return static_cast<float>(static_cast<double>(sum) / job.divisor);
    if (sum == static_cast<int32_t>(sum))
        return static_cast<float>(static_cast<int32_t>(sum)) * job.scale;
    return static_cast<float>(sum) * job.scale;
}

/* Stores a position's three results, from AW, BW and CW. */
static __device__ void crn_ranklet_write(const crn_ranklet_job &job, int32_t image, int32_t y,
                                         int32_t x, int64_t aw, int64_t bw, int64_t cw)
{
    float *out = job.out + image / job.planes * job.out_view +
                 image % job.planes * (3 * job.out_plane) + y * job.out_row + x * job.out_step;
    out[0] = crn_ranklet_r(job, aw + cw);
    out[job.out_plane] = crn_ranklet_r(job, aw + bw);
    out[2 * job.out_plane] = crn_ranklet_r(job, -(bw + cw));
}

/* Layouts of a tile's histograms (tile.cuh). */
enum { CRN_RANKLET_BYTES, CRN_RANKLET_NARROW, CRN_RANKLET_WIDE };

/* Tiling for counts.cu: a tile has so many rows and columns of positions, and each of its blocks
 * counts some of the values. */
typedef struct crn_ranklet_tiling {
    int32_t kind;
    int32_t warps;   /* per block */
    int32_t columns; /* positions in a tile's row; a multiple of 32 for each warp that works on
                        the same values */
    int32_t rows;
    int32_t stacks, strips; /* tiles along and down an image */
    int32_t bins;           /* values that a block counts, an even multiple of `groups` if BYTES */
    int32_t blocks;         /* of threads per tile */
    int32_t groups;         /* parts of a block's values, some warps each */
    int32_t group_warps;    /* warps per group */
    int32_t group_bins;     /* values per group */
    int32_t group_words;    /* words of a position per group */
    int32_t threads_shift;  /* threads that update for one entering or leaving pixel: 1 << it */
    int32_t across;         /* columns of pixels and one more, rounded up to a multiple of 32 */
    int32_t stride;         /* words per position: odd, against bank conflicts */
    int32_t segments;       /* WIDE: of 1 << segment_shift positions, over `across` */
    int32_t segment_shift;
    int32_t base_stride; /* words per segment: twice an odd number */
    int32_t part_shift;  /* columns of a warp's part in the prefix sums of `below`: 1 << it */
    bool direct;         /* one block counts all values: results are written without global sums */
    size_t shared_bytes;
    void *sums; /* per image AW, BW, CW of all positions, plus |quarter| |window| */
} crn_ranklet_tiling;

#define CRN_RANKLET_WARPS_MAX 32

/* Returns false if even one value's counts do not fit into a block's memory. */
bool crn_ranklet_tiling_make(const crn_ranklet_job *job, const crn_gpu_limits *limits,
                             crn_ranklet_tiling *ret_tiling);

bool crn_ranklet_is_small(const crn_ranklet_job *job);

/* The functions below launch kernels; crn_gpu_launch_error has the result. Those that can fail
 * before return 0 or a negative errno. */

/* Sets the job's codes; u16 values become ranks if `ranked`. */
int crn_ranklet_codes(crn_context *context, const crn_image *in, bool ranked, crn_ranklet_job *job);
void crn_ranklet_small(crn_context *context, const crn_ranklet_job *job);
int crn_ranklet_counts(crn_context *context, const crn_ranklet_job *job,
                       crn_ranklet_tiling *tiling);
int crn_ranklet_direct(crn_context *context, const crn_ranklet_job *job);
void crn_ranklet_finish(crn_context *context, const crn_ranklet_job *job,
                        const crn_ranklet_tiling *tiling);

#endif
