/*
 * Elements other than rectangles, in one launch, by chords (Urbach and Wilkinson 2008): each row of
 * the element is a set of runs of members. For each run length that occurs, a level holds the
 * minima of that many pixels, made from the level of a lesser length, overlaid two or three times;
 * then the runs are merged. Disks of 3 and 5 pixels are rhombi, which are computed in registers.
 *
 *   plan.cu                 on the host: runs, shared-memory layout, choice of the tile
 *   chords.cu               on the device: rhombi, and the rest
 */
#ifndef CRN_GPU_MORPHOLOGY_CHORDS_CUH
#define CRN_GPU_MORPHOLOGY_CHORDS_CUH

#include "gpu/morphology/tile.cuh"

#define CRN_CHORD_LEVELS_MAX 8
#define CRN_CHORDS_MAX       64
#define CRN_CHORD_GROUP      4 /* words of a column that a thread merges */
#define CRN_RHOMBUS_ROWS     8 /* floats of a column that a thread computes */

/* Offsets into shared memory, in words. */
typedef struct crn_chord_level {
    int32_t to, from, ahead[2];
    crn_divider columns;
} crn_chord_level;

/* One step, from one plane to another. */
typedef struct crn_chord_step {
    int32_t rhombus; /* its radius, 1 or 2, read from `first_word` on; else 0 */
    int32_t first_word;
    int32_t level_count, chord_count;
    crn_chord_level levels[CRN_CHORD_LEVELS_MAX];
    int32_t chords[CRN_CHORDS_MAX]; /* offset * 4 + rows beyond a whole word */
    int32_t to, rows;               /* the result: rows of words */
    crn_divider columns;
    int32_t base_rows;   /* rows of words that the levels are made from */
    int32_t above, left; /* how far the element reaches, in pixels */
} crn_chord_step;

typedef struct crn_chord_job {
    crn_tile_images images;
    crn_chord_step steps[2];
    int32_t left_halo, loaded, loaded_rows; /* columns, rows of words */
    int32_t pitch;
    crn_divider chunks, wide_out; /* chunks of 16 bytes in a loaded row; groups of 4 columns of
                                     the result */
    int32_t stage;                /* where a result may be staged before it is stored into the
                                     image */
} crn_chord_job;

/* Destination of a step's results: a plane, or for f32 the image or its stage, where rows and
 * columns beyond are dropped. */
typedef struct crn_chord_out {
    char *to; /* NULL: the results go to a plane */
    ptrdiff_t stride;
    int32_t rows, columns;
    uint32_t flip; /* crn_words::flip_of: complements the results */
} crn_chord_out;

/* Fills the job for this element. false: the element or its tiles would be too large. */
bool crn_chord_plan(const crn_gpu_limits *limits, const crn_element *element,
                    const crn_tile_images *images, crn_type type, int32_t views,
                    crn_chord_job *ret_job, crn_tile_launch *ret_launch);

#endif
