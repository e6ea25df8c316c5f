/*
 * The fast contours: what its files share.
 *
 *   contours.c            the entry: scratch memory, strips, threads, the order of the steps
 *   rows_simd.c           a row of pixels -> a row of bits: is it above the level, is it NaN
 *   scan_simd.c           rows of bits -> segments, linked to their neighbours
 *   trace.c               links -> runs of segments in order of travel -> points in their place
 *   stitch.c              runs that cross from strip to strip -> whole contours
 *
 * Bits: a row of pixels is one bit per element, in the order of memory. `lanes` planes lie
 * interleaved (1: a plane by itself), so the neighbour to the left is `lanes` bits lower, and all
 * planes are looked at together. A cell is named by its lower right pixel: cell (y, x) has the
 * corners (y - 1, x - 1) to (y, x); with an open border y and x run from 1 to H - 1 and W - 1, with
 * a closed one from 0 to H and W, and outside everything is 0 and valid.
 *
 * A picture is cut into strips of rows, one task each. A strip of one plane is a part: its segments
 * are numbered from 0 in raster order. All memory is sized for the worst case, a segment pair per
 * cell, in address space alone.
 */
#ifndef CRN_STAGES_OPENMP_CONTOURS_CONTOURS_H
#define CRN_STAGES_OPENMP_CONTOURS_CONTOURS_H

#include "stages/context.h"
#include "stages/ops.h"

#define CRN_NONE UINT32_MAX

/* Links: a segment's number, or with the highest bit an end: CRN_NONE, or the strip's border that
 * the run leaves by, with the bit of the cell. */
#define CRN_LINK_END    0x80000000u
#define CRN_LINK_BOTTOM 0x40000000u
#define CRN_LINK_BIT    0x3fffffffu

/* Points in order of travel. Runs with an opening come first. */
typedef struct crn_contours_run {
    uint32_t start, count; /* in the part's travels: where its segments end */
    uint32_t base; /* index of the contour's first point in the result; CRN_NONE: left out */
} crn_contours_run;

/* What is known of a run that is no closed contour by itself. */
typedef struct crn_open_run {
    crn_point head;   /* where it begins */
    uint32_t segment; /* its first */
    uint32_t exit;    /* the end that its last segment links to */
    uint32_t least;   /* its segment numbers, where any has a length */
    uint32_t greatest;
    uint32_t greatest_at; /* where in the run */
    bool entered;         /* it begins at a strip's border */
    bool followed;        /* another run leads into it */
    int32_t next_strip;   /* the run that comes after, or CRN_NONE */
    uint32_t next;
    int32_t lead_strip; /* the run that the whole contour starts with; -1: this one, alone */
    uint32_t lead;      /* CRN_NONE: not known yet */
    uint32_t offset;    /* segments of the whole contour before this run */
    /* Of the whole contour, in its lead alone: */
    bool closed;
    int32_t least_strip; /* the run with the least segment */
    uint32_t least_run;
    uint32_t total, base;
} crn_open_run;

/* What the scan keeps at hand per plane. */
typedef struct crn_contours_track {
    crn_point *points; /* by segment: where it ends */
    uint32_t *links;   /* by segment: the one that follows */
    double level;
    double extreme; /* how near to a pixel a point came: the greatest |fraction - 1/2| */
    uint32_t count; /* segments */
    uint32_t left;  /* the segment that touches the right side of the last active cell */
} crn_contours_track;

typedef struct crn_contours_part {
    crn_contours_track track; /* its arrays are the thread's, gone with the next strip */
    crn_point *travels;
    crn_contours_run *runs;
    crn_open_run *openings;
    uint32_t *order; /* runs with a length, by their least segment */
    uint32_t opening_count, run_count, order_count;
    uint32_t contour_count; /* of the contours whose least segment lies here */
    uint64_t point_count;
    uint64_t contour_base, point_base; /* what all parts before leave in the result */
    bool left_out;                     /* the result was full before */
} crn_contours_part;

/* What one thread scans with, whichever the strip. Words before and after each row of bits are
 * readable, the job's `margin` of them. */
typedef struct crn_contours_scratch {
    uint64_t *inside[2], *shifted[2], *valid_pixels[2], *valid_cells[2], *active, *boundary;
    uint32_t *above;   /* by bit: the segment that touches the upper side */
    uint32_t *list;    /* of active words */
    void *gathered;    /* two rows of elements, where memory has steps */
    crn_point *points; /* for the tracks, lane after lane */
    uint32_t *links;
    crn_pace pace; /* once it is over, what is found is of no use: steps may end half-way */
} crn_contours_scratch;

typedef struct crn_contours_strip {
    int32_t row, end;                       /* cells */
    uint32_t *top_entries, *bottom_entries; /* by bit: the run that begins there, or CRN_NONE; NULL
                                               where no strip follows */
    crn_contours_part *parts;               /* one per lane */
    crn_contours_scratch *desk;             /* while it is scanned */
} crn_contours_strip;

/* One plane, or all planes of an interleaved picture. */
typedef struct crn_contours_job {
    const crn_contours_params *params;
    crn_image image; /* of `lanes` planes */
    int32_t plane;   /* the first */
    bool closed;
    bool gather;           /* rows are no dense elements: copy them first */
    uint32_t lanes, bits;  /* bits of a row of cells: (W + 1) * lanes */
    uint32_t words;        /* of a row, a multiple of 8 */
    uint32_t margin;       /* words around a row */
    uint64_t inverse;      /* bit * inverse >> 32 = bit / lanes */
    const void *threshold; /* 64 elements, or a row of them where `threshold_step` is 64 */
    uint32_t threshold_step;
    double near_pixel; /* |fraction - 1/2| from which a point may coincide with a pixel */
    const uint64_t *zeros, *ones, *frame, *frame_boundary; /* rows: nothing, everything, the valid
                                        cells, and those with a side where no cell follows */
    crn_contours_strip *strips;
    int32_t strip_count;
} crn_contours_job;

/* The opening of the whole contour's first run. */
static inline crn_open_run *crn_open_run_head(const crn_contours_job *job, uint32_t lane,
                                              crn_open_run *opening)
{
    if (opening->lead_strip < 0)
        return opening;
    return &job->strips[opening->lead_strip].parts[lane].openings[opening->lead];
}

typedef void crn_contours_scan_fn(const crn_contours_job *job, crn_contours_strip *strip);

/* Finds a strip's segments, links and openings; ends early once its desk's pace is over. */
crn_contours_scan_fn crn_contours_scan_baseline;
crn_contours_scan_fn crn_contours_scan_avx2;
crn_contours_scan_fn crn_contours_scan_avx512;

/* Bits of the elements above their threshold, and whether a NaN may be among them; `row` has
 * width * lanes elements. */
bool crn_contours_row_inside_baseline(const crn_contours_job *job, const void *row, uint64_t *bits);
bool crn_contours_row_inside_avx2(const crn_contours_job *job, const void *row, uint64_t *bits);
bool crn_contours_row_inside_avx512(const crn_contours_job *job, const void *row, uint64_t *bits);

/* Bits of the elements that are NaN. */
void crn_contours_row_nan_baseline(const crn_contours_job *job, const void *row, uint64_t *bits);
void crn_contours_row_nan_avx2(const crn_contours_job *job, const void *row, uint64_t *bits);
void crn_contours_row_nan_avx512(const crn_contours_job *job, const void *row, uint64_t *bits);

/* Turns a part's segments into runs, and its openings into leads where nothing follows. */
void crn_contours_trace(const crn_contours_job *job, crn_contours_part *part, crn_pace *pace);

/* Joins the runs of all strips of one lane. */
void crn_contours_stitch(const crn_contours_job *job, uint32_t lane);

/* Gives every contour of a part its place in `out`, up to where it is full. */
void crn_contours_place(const crn_contours_job *job, int32_t strip, uint32_t lane,
                        crn_contours *out);

/* Copies the part's points into their places. */
void crn_contours_copy(const crn_contours_job *job, int32_t strip, uint32_t lane,
                       crn_contours *out);

/* How to go about it: chosen by the processor and the picture's size, or by a test. */
typedef struct crn_contours_variant {
    crn_contours_scan_fn *scan;
    int32_t strips;  /* >= 1; fewer where the rows do not suffice */
    int32_t threads; /* >= 1 */
} crn_contours_variant;

/* That of this processor for a picture of that size, with at most so many threads. */
crn_contours_variant crn_contours_variant_for(const crn_image *in, int32_t threads_most);

int crn_contours_openmp_with(const crn_contours_variant *way, crn_context *context,
                             const crn_contours_params *params, const crn_image *in,
                             crn_contours *out);

#endif
