/*
 * The CPU contours (openmp): types and functions shared by its files.
 *
 *   contours.c            entry point: scratch memory, strips, threads, order of the steps
 *   rows_simd.c           thresholding: a row of pixels -> a row of bits (above the level? NaN?)
 *   scan_simd.c           rows of bits -> segments linked to their neighbours
 *   trace.c               links -> runs of segments in order of travel -> points in the result
 *   stitch.c              runs that cross strip borders -> whole contours
 *
 * Bits: a row of pixels has one bit per element, in memory order. `channels` is the number of
 * interleaved channels (1 for a single plane): the left neighbour of a bit is `channels` bits
 * lower, and all channels are processed together. A cell is named by its lower right pixel: cell
 * (y, x) has the corners (y - 1, x - 1) to (y, x). With an open border 1 <= y < H and 1 <= x < W;
 * with a closed one 0 <= y <= H and 0 <= x <= W, and pixels outside are 0 and valid.
 *
 * A picture is divided into strips of rows, one task each. A part is one channel of a strip; its
 * segments are numbered from 0 in raster order. Memory is sized for the worst case, two segments
 * per cell, but only address space is reserved for it.
 */
#ifndef CRN_STAGES_OPENMP_CONTOURS_CONTOURS_H
#define CRN_STAGES_OPENMP_CONTOURS_CONTOURS_H

#include "stages/base/api.h"
#include "stages/context.h"
#include "stages/openmp/values.h"
#include "stages/ops.h"

#define CRN_NONE UINT32_MAX

/* Link values: the number of the next segment, or with the highest bit set an end: CRN_NONE, or the
 * strip border that the run crosses, with the bit number of the cell. */
#define CRN_LINK_END    0x80000000u
#define CRN_LINK_BOTTOM 0x40000000u
#define CRN_LINK_BIT    0x3fffffffu

/* A run: linked segments of one part, their points in order of travel. Open runs come first. */
typedef struct crn_contours_run {
    uint32_t start, count; /* range in the part's `path`, of the segments' end points */
    uint32_t base; /* index of the contour's first point in the result; CRN_NONE: left out */
} crn_contours_run;

/* A run that is not closed within its strip; stitching joins such runs across strips. */
typedef struct crn_open_run {
    crn_point first_point; /* its starting point */
    uint32_t segment;      /* its first */
    uint32_t exit;         /* the end value that its last segment links to */
    uint32_t min_segment;  /* minimum and maximum of its segment numbers, if any has a length */
    uint32_t max_segment;
    uint32_t max_index;     /* index in the run */
    bool enters_from_strip; /* it starts at a strip border */
    bool has_predecessor;   /* another run precedes it */
    int32_t next_strip;     /* the successor, or CRN_NONE */
    uint32_t next;
    int32_t head_strip; /* the whole contour's head run; -1: this run is the whole contour */
    uint32_t head;      /* CRN_NONE: not determined yet */
    uint32_t offset;    /* segments of the whole contour before this run */
    /* Of the whole contour; set in its head run only: */
    bool closed;
    int32_t min_strip; /* the run that contains the contour's minimum segment */
    uint32_t min_run;
    uint32_t total, base;
} crn_open_run;

/* State of the scan for one channel. */
typedef struct crn_contours_track {
    crn_point *points; /* by segment: its end point */
    uint32_t *links;   /* by segment: its successor */
    double level;
    double extreme; /* maximum |fraction - 1/2|, a measure of how near a point came to a pixel */
    uint32_t count; /* segments */
    uint32_t left;  /* the segment that touches the right side of the last active cell */
} crn_contours_track;

typedef struct crn_contours_part {
    crn_contours_track track; /* its arrays are the thread's, reused for the next strip */
    crn_point *path;
    crn_contours_run *runs;
    crn_open_run *open_runs;
    uint32_t *order; /* runs with a length, by their minimum segment */
    uint32_t open_count, run_count, order_count;
    uint32_t contour_count; /* of contours whose minimum segment lies in this part */
    uint64_t point_count;
    uint64_t contour_base, point_base; /* contours and points of all preceding parts */
    bool left_out;                     /* the result was full before this part */
} crn_contours_part;

/* One thread's scratch memory for scanning. Rows of bits have the job's `margin` of readable words
 * before and after them. */
typedef struct crn_contours_scratch {
    uint64_t *inside[2], *shifted[2], *valid_pixels[2], *valid_cells[2], *active, *boundary;
    uint32_t *above;   /* by bit: the segment that touches the cell's upper side */
    uint32_t *list;    /* indices of active words */
    void *gathered;    /* two rows of elements, if rows are not dense */
    crn_point *points; /* for the tracks, channel after channel */
    uint32_t *links;
    crn_pace pace; /* once it is over, results are discarded and steps may end half-way */
} crn_contours_scratch;

typedef struct crn_contours_strip {
    int32_t row, end;                       /* cells */
    uint32_t *top_entries, *bottom_entries; /* by bit: the run that begins there, or CRN_NONE; NULL
                                               if there is no strip on that side */
    crn_contours_part *parts;               /* one per channel */
    crn_contours_scratch *scratch;          /* of the thread that scans it */
    crn_values_sight sight;                 /* of its rows, if the job watches values */
} crn_contours_strip;

/* One plane, or all channels of an interleaved picture. */
typedef struct crn_contours_job {
    const crn_contours_params *params;
    crn_image image; /* of `channels` planes */
    int32_t plane;   /* the first */
    bool closed;
    bool gather;             /* rows are not dense elements and are copied first */
    uint32_t channels, bits; /* bits of a row of cells: (W + 1) * channels */
    uint32_t words;          /* of a row, a multiple of 8 */
    uint32_t margin;         /* padding words on each side of a row */
    uint64_t inverse;        /* bit * inverse >> 32 = bit / channels */
    const void *threshold;   /* 64 elements, or a whole row if `threshold_step` is 64 */
    uint32_t threshold_step;
    const crn_values_kernels *watch; /* validates values as rows are read; NULL: nobody asked */
    double near_pixel; /* |fraction - 1/2| from which a point may coincide with a pixel */
    /* Constant rows: no bit, all bits, valid cells, cells with a side that no cell shares. */
    const uint64_t *zeros, *ones, *frame, *frame_boundary;
    crn_contours_strip *strips;
    int32_t strip_count;
} crn_contours_job;

/* The head run of the contour that an open run belongs to. */
static inline crn_open_run *crn_open_run_head(const crn_contours_job *job, uint32_t channel,
                                              crn_open_run *open)
{
    if (open->head_strip < 0)
        return open;
    return &job->strips[open->head_strip].parts[channel].open_runs[open->head];
}

typedef void crn_contours_scan_fn(const crn_contours_job *job, crn_contours_strip *strip);

/* Finds a strip's segments, links and open runs; returns early once the pace of its scratch
 * is over. */
crn_contours_scan_fn crn_contours_scan_baseline;
crn_contours_scan_fn crn_contours_scan_avx2;
crn_contours_scan_fn crn_contours_scan_avx512;

/* Sets the bits of elements above their threshold; returns true if there may be a NaN among them.
 * `row` has width * channels elements. */
bool crn_contours_row_inside_baseline(const crn_contours_job *job, const void *row, uint64_t *bits);
bool crn_contours_row_inside_avx2(const crn_contours_job *job, const void *row, uint64_t *bits);
bool crn_contours_row_inside_avx512(const crn_contours_job *job, const void *row, uint64_t *bits);

/* Sets the bits of NaN elements. */
void crn_contours_row_nan_baseline(const crn_contours_job *job, const void *row, uint64_t *bits);
void crn_contours_row_nan_avx2(const crn_contours_job *job, const void *row, uint64_t *bits);
void crn_contours_row_nan_avx512(const crn_contours_job *job, const void *row, uint64_t *bits);

/* Turns a part's segments into runs; an open run without neighbours becomes a contour of
 * its own. */
void crn_contours_trace(const crn_contours_job *job, crn_contours_part *part, crn_pace *pace);

/* Joins the open runs of one channel across strips. */
void crn_contours_stitch(const crn_contours_job *job, uint32_t channel);

/* Allocates each contour of a part its range in `out`, until `out` is full. */
void crn_contours_allocate(const crn_contours_job *job, int32_t strip, uint32_t channel,
                           crn_contours *out);

/* Copies the part's points into their ranges in `out`. */
void crn_contours_copy(const crn_contours_job *job, int32_t strip, uint32_t channel,
                       crn_contours *out);

/* An execution variant: chosen by processor and picture size, or by a test. */
typedef struct crn_contours_variant {
    crn_contours_scan_fn *scan;
    int32_t strips;  /* >= 1; fewer if there are too few rows */
    int32_t threads; /* >= 1 */
} crn_contours_variant;

/* The variant for a picture of that size on this processor, with at most threads_max threads. */
CRN_API crn_contours_variant crn_contours_variant_for(const crn_image *in, int32_t threads_max);

CRN_API int crn_contours_openmp_with(const crn_contours_variant *variant, crn_context *context,
                                     const crn_contours_params *params, const crn_image *in,
                                     crn_contours *out);

#endif
