/*
 * Shared by the files of the contours operator: the job of one call, which every kernel gets as its
 * argument, and access to pixels.
 *
 * "Number" is a plane's index over all views: view * planes + plane. Corners are the pixels, with a
 * closed border those of the map padded by one zero; rows and columns of corners and cells count
 * from 0 and are offset by `origin` (0 or -1) from the pixel's.
 */
#ifndef CRN_GPU_CONTOURS_CONTOURS_CUH
#define CRN_GPU_CONTOURS_CONTOURS_CUH

#include "gpu/device.cuh"

#include <cuda_fp16.h>

/* Number of levels that are passed as kernel arguments. */
#define CRN_CONTOURS_LEVELS 48

/* Maximum number of blocks, and of pointer-jumping rounds, of the grid-wide kernel. */
#define CRN_CONTOURS_BLOCKS 1024
#define CRN_CONTOURS_ROUNDS 64

#define CRN_CONTOURS_NONE UINT32_MAX

/* Capacity left for the group's output. */
typedef struct crn_contours_capacity {
    uint32_t points, contours;
} crn_contours_capacity;

/* State passed between kernels; zeroed by the first one. */
typedef struct crn_contours_control {
    uint32_t cut;                          /* the output was full in an earlier group of planes */
    crn_contours_capacity left;            /* if the output is full: what fits of this group */
    uint32_t arrived[CRN_CONTOURS_ROUNDS]; /* per round: blocks that arrived; in the high half,
                                              those whose links changed */
    uint64_t before;                       /* contours and points of earlier groups, packed */
    uint64_t sums[2][CRN_CONTOURS_BLOCKS];
    uint64_t status[]; /* by number: CRN_CONTOURS_KNOWN, and the plane's contours and points,
                          packed */
} crn_contours_control;

/* Contours in the high bits, points in the low ones: one scan counts both. */
#define CRN_CONTOURS_POINT_BITS 34
#define CRN_CONTOURS_KNOWN      ((uint64_t)1 << 63)

/*
 * A link summarises the segments from its own to the one before `next`, along the contour. Each
 * round of pointer jumping doubles the number of segments covered.
 *
 * The key of a segment with a length is its number + 1, of one without a length 0, of the last
 * segment of an open contour CRN_CONTOURS_LAST | number. So the segment with the greatest key ends
 * the contour, be it open or closed.
 */
typedef struct alignas(16) crn_contours_link {
    uint32_t next;    /* the first segment not covered; | CRN_CONTOURS_NO_LENGTH. At last, in a
                         contour's last segment: the contour's first point in the output */
    uint32_t key;     /* the greatest key among the covered */
    uint32_t to_key;  /* segments with a length from its own to the one with that key, both
                         included; | CRN_CONTOURS_HEAD */
    uint32_t lengths; /* segments with a length among the covered; | CRN_CONTOURS_MAYBE_LOWEST. At
                         last, in a contour's last segment: among all of the contour */
} crn_contours_link;

#define CRN_CONTOURS_LAST      0x80000000u
#define CRN_CONTOURS_NO_LENGTH 0x80000000u /* the segment itself has no length */
#define CRN_CONTOURS_HEAD      0x80000000u /* it has no predecessor; in an order: its first point */
#define CRN_CONTOURS_MAYBE_LOWEST                                                                  \
    0x80000000u /* it has a length, and no lower such segment of its contour is known */

/*
 * The same for few segments, in half the memory: two fields of 16 bits per word, the first one in
 * the low half. A segment's key is CRN_SHORT_LAST | number at the end of an open contour.
 */
typedef struct alignas(8) crn_contours_short_link {
    uint32_t next_lengths; /* next | flags, lengths */
    uint32_t key_to_key;   /* key, to_key */
} crn_contours_short_link;

#define CRN_SHORT_NEXT      0x1fffu
#define CRN_SHORT_HEAD      0x2000u
#define CRN_SHORT_NO_LENGTH 0x4000u
#define CRN_SHORT_LAST      0x8000u /* in the key */

/* Memory per segment: two links, and the cell. */
#define CRN_CONTOURS_SEGMENT_BYTES (2 * sizeof(crn_contours_link) + sizeof(uint32_t))

typedef struct crn_gpu_contours_job {
    const void *data;
    ptrdiff_t view_stride, plane_stride, row_stride, step;
    const uint8_t *mask;       /* NULL: all pixels are valid */
    const double *more_levels; /* NULL: they are in `levels` */
    crn_type type;
    int32_t planes, numbers, height, width;
    int32_t origin, cell_rows, cell_columns;
    int32_t words;        /* words per row of a plane, of 32 corners each; the same for cells */
    int32_t first, count; /* range of numbers of this launch's group of planes */
    bool by_pixel;        /* interleaved: planes lie closer together than pixels */
    bool high, reversed;  /* high values connected at a saddle; points in reverse order */
    bool has_invalid;     /* corners can be invalid (NaN or masked) */
    uint32_t corner_words, plane_words;
    uint32_t *bits;   /* by number (plane_words each), row, word: above the level? If `has_invalid`,
                         corner_words further on: is it invalid? */
    uint32_t *prefix; /* first segment of each word of cells: by number in the group, row, word */
    uint32_t *entries; /* the list of links that enter tiles, a part per block; later that of
                          contours */
    char *segments;    /* CRN_CONTOURS_SEGMENT_BYTES each; with one block per plane, per number */
    uint32_t segments_max;
    uint32_t shared_segments; /* maximum number in shared memory */
    crn_contours_control *control;
    crn_contours *out;
    crn_point *points;
    crn_contour *contours;
    uint32_t point_capacity, contour_capacity;
    double levels[CRN_CONTOURS_LEVELS];
} crn_gpu_contours_job;

/* Rows of 32 cells in a warp's tile in the grid-wide kernel; at most two segments per cell. */
#define CRN_TILE_ROWS     16
#define CRN_TILE_SEGMENTS (2 * 32 * CRN_TILE_ROWS)

/* Thresholds the corners into bits, and zeroes the control block. */
int crn_contours_bits(const crn_context *context, const crn_gpu_contours_job *job);

/* Traces the bits into contours: one block per plane, or the whole grid on all
 * planes of the job's group. */
int crn_contours_trace_planes(const crn_context *context, crn_gpu_contours_job *job);
int crn_contours_trace_group(const crn_context *context, const crn_gpu_contours_job *job);

/* Upper bound on the number of links that enter a tile, for sizing their buffer. */
size_t crn_contours_entries(const crn_context *context, const crn_gpu_contours_job *job,
                            int32_t group);

/* True if a plane's bits and prefix sums fit into shared memory: one block
 * per plane is possible. */
bool crn_contours_planes_fit(const crn_context *context, const crn_gpu_contours_job *job);

static inline __device__ double crn_contours_level(const crn_gpu_contours_job &job, int32_t number)
{
    int32_t plane = number % job.planes;
    return job.more_levels ? job.more_levels[plane] : job.levels[plane];
}

/* Index of a pixel, in elements. */
static inline __device__ ptrdiff_t crn_contours_index(const crn_gpu_contours_job &job,
                                                      int32_t number, int32_t y, int32_t x)
{
    int32_t view = number / job.planes, plane = number - view * job.planes;
    return view * job.view_stride + plane * job.plane_stride + y * job.row_stride + x * job.step;
}

static inline __device__ bool crn_contours_is_inside(const crn_gpu_contours_job &job, int32_t y,
                                                     int32_t x)
{
    return (uint32_t)y < (uint32_t)job.height && (uint32_t)x < (uint32_t)job.width;
}

/* A pixel's raw bits, 0 outside the image, and below their value: separate, so that the load can be
 * issued long before its use. */
static inline __device__ uint32_t crn_contours_load(const crn_gpu_contours_job &job, int32_t number,
                                                    int32_t y, int32_t x)
{
    if (!crn_contours_is_inside(job, y, x))
        return 0;
    ptrdiff_t at = crn_contours_index(job, number, y, x);
    if (job.type == CRN_F32)
        return static_cast<const uint32_t *>(job.data)[at];
    if (job.type == CRN_U8)
        return static_cast<const uint8_t *>(job.data)[at];
    return static_cast<const uint16_t *>(job.data)[at];
}

static inline __device__ double crn_contours_value(const crn_gpu_contours_job &job, uint32_t bits)
{
    if (job.type == CRN_F32)
        return (double)__uint_as_float(bits);
    if (job.type == CRN_F16)
        return (double)__half2float(__ushort_as_half((unsigned short)bits));
    return (double)bits;
}

#endif
