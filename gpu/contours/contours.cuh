/*
 * What the parts of the contours on a device share: the plan of one call, which every kernel gets
 * as its argument, and how corners become cells and cells become points.
 *
 * "Number" is a plane's, over all views: view * planes + plane. Corners are the pixels, with a
 * closed border those of the map padded by one zero; rows and columns of corners and cells count
 * from 0 and lie `origin` (0 or -1) from the pixel's.
 */
#ifndef CRN_GPU_CONTOURS_CONTOURS_CUH
#define CRN_GPU_CONTOURS_CONTOURS_CUH

#include "gpu/device.cuh"

#include <cuda_fp16.h>

/* So many levels travel with the plan. */
#define CRN_CONTOURS_LEVELS 48

/* Blocks that work on one group of planes together, at most, and rounds of theirs. */
#define CRN_CONTOURS_BLOCKS 1024
#define CRN_CONTOURS_ROUNDS 64

#define CRN_CONTOURS_NONE UINT32_MAX

/* How much there is room for of what a group of threads has found. */
typedef struct crn_contours_fits {
    uint32_t points, contours;
} crn_contours_fits;

/* What kernels leave for one another; all 0 when the first begins. */
typedef struct crn_contours_control {
    uint32_t cut;                          /* the room ended in an earlier group of planes */
    crn_contours_fits fits;                /* of the group, where not all do */
    uint32_t arrived[CRN_CONTOURS_ROUNDS]; /* blocks, and above them those where links changed */
    uint64_t before;                       /* contours and points of earlier groups, packed */
    uint64_t sums[2][CRN_CONTOURS_BLOCKS];
    uint64_t status[]; /* by number: CRN_CONTOURS_KNOWN and its contours and points, packed */
} crn_contours_control;

/* Contours above, points in the low bits: one scan counts both. */
#define CRN_CONTOURS_POINT_BITS 34
#define CRN_CONTOURS_KNOWN      ((uint64_t)1 << 63)

typedef struct crn_contours_plan {
    const void *data;
    ptrdiff_t view_stride, plane_stride, row_stride, step;
    const uint8_t *mask;       /* NULL: everything is valid */
    const double *more_levels; /* NULL: they are in `levels` */
    crn_type type;
    int32_t planes, numbers, height, width;
    int32_t origin, cell_rows, cell_columns;
    int32_t words;        /* 32 corners each, of one row of one plane; as many of cells */
    int32_t first, count; /* numbers of the group of planes of this launch */
    bool by_pixel;        /* planes lie nearer together than pixels */
    bool high, reversed;  /* high values connected at a saddle; points in the other order */
    bool lacks;           /* corners can have no value */
    uint32_t corner_words, plane_words;
    uint32_t *bits;    /* by number (plane_words each), row, word: above the level? Where `lacks`,
                          corner_words further on: has it no value? */
    uint32_t *prefix;  /* by number in the group, row, word: its cells' first segment */
    uint32_t *entries; /* by tile: CRN_TILE_SEGMENTS each */
    char *segments;    /* CRN_CONTOURS_SEGMENT_BYTES each; per number where blocks work alone */
    uint32_t segments_max;
    uint32_t shared_segments; /* so many, at most, in shared memory */
    crn_contours_control *control;
    crn_contours *out;
    crn_point *points;
    crn_contour *contours;
    uint32_t point_capacity, contour_capacity;
    double levels[CRN_CONTOURS_LEVELS];
} crn_contours_plan;

/* Two links of 16 bytes, the cell. */
#define CRN_CONTOURS_SEGMENT_BYTES 36

/* Cells that a warp takes at once where all blocks work together; two segments in each at most. */
#define CRN_TILE_ROWS     16
#define CRN_TILE_SEGMENTS (2 * 32 * CRN_TILE_ROWS)

/* Corners into bits; control set to 0. */
int crn_contours_bits(const crn_context *context, const crn_contours_plan *plan);

/* Bits into contours: one block for each plane, or all blocks on all planes of the plan's group. */
int crn_contours_trace_planes(const crn_context *context, crn_contours_plan *plan);
int crn_contours_trace_group(const crn_context *context, const crn_contours_plan *plan);

/* How many entries of segments into tiles must find room. */
size_t crn_contours_entries(const crn_context *context, const crn_contours_plan *plan,
                            int32_t group);

/* May blocks work alone, as far as shared memory is concerned? */
bool crn_contours_planes_fit(const crn_context *context, const crn_contours_plan *plan);

static inline __device__ double crn_contours_level(const crn_contours_plan &plan, int32_t number)
{
    int32_t plane = number % plan.planes;
    return plan.more_levels ? plan.more_levels[plane] : plan.levels[plane];
}

/* Index, in elements, of a pixel. */
static inline __device__ ptrdiff_t crn_contours_index(const crn_contours_plan &plan, int32_t number,
                                                      int32_t y, int32_t x)
{
    int32_t view = number / plan.planes, plane = number - view * plan.planes;
    return view * plan.view_stride + plane * plan.plane_stride + y * plan.row_stride +
           x * plan.step;
}

static inline __device__ bool crn_contours_is_inside(const crn_contours_plan &plan, int32_t y,
                                                     int32_t x)
{
    return (uint32_t)y < (uint32_t)plan.height && (uint32_t)x < (uint32_t)plan.width;
}

/* A pixel's bits, 0 outside, and what they mean: a load first, and what waits for it later. */
static inline __device__ uint32_t crn_contours_load(const crn_contours_plan &plan, int32_t number,
                                                    int32_t y, int32_t x)
{
    if (!crn_contours_is_inside(plan, y, x))
        return 0;
    ptrdiff_t at = crn_contours_index(plan, number, y, x);
    if (plan.type == CRN_F32)
        return static_cast<const uint32_t *>(plan.data)[at];
    if (plan.type == CRN_U8)
        return static_cast<const uint8_t *>(plan.data)[at];
    return static_cast<const uint16_t *>(plan.data)[at];
}

static inline __device__ double crn_contours_meaning(const crn_contours_plan &plan, uint32_t bits)
{
    if (plan.type == CRN_F32)
        return (double)__uint_as_float(bits);
    if (plan.type == CRN_F16)
        return (double)__half2float(__ushort_as_half((unsigned short)bits));
    return (double)bits;
}

#endif
