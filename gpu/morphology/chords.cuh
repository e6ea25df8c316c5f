/*
 * Elements other than rectangles, in one launch: the element's rows are runs of members (chords;
 * Urbach and Wilkinson 2008). For each length that occurs, the least of as many pixels from each on
 * is made of that of a lesser length, laid over itself two or three times; then the runs are
 * merged. Disks of 3 and 5 pixels are rhombi, which are made in registers.
 *
 *   plan.cu                 on the host: the runs, how a tile lies in shared memory, which tile
 *   rhombus.cuh             on the device: rhombi
 *   chords.cu               on the device: the rest
 */
#ifndef CRN_GPU_MORPHOLOGY_CHORDS_CUH
#define CRN_GPU_MORPHOLOGY_CHORDS_CUH

#include "gpu/morphology/tile.cuh"

#define CRN_CHORD_LEVELS_MAX 8
#define CRN_CHORDS_MAX       64
#define CRN_CHORD_GROUP      4 /* words of a column that a thread merges */
#define CRN_RHOMBUS_ROWS     8 /* floats of a column that a thread makes */

/* Offsets in words from where shared memory begins. */
typedef struct crn_chord_level {
    int32_t to, from, ahead[2];
    crn_divider columns;
} crn_chord_level;

/* One step: what a plane holds becomes another. */
typedef struct crn_chord_step {
    int32_t rhombus; /* its radius, 1 or 2, made from `origin` on; else 0 */
    int32_t origin;
    int32_t level_count, chord_count;
    crn_chord_level levels[CRN_CHORD_LEVELS_MAX];
    int32_t chords[CRN_CHORDS_MAX]; /* offset * 4 + rows beyond a whole word */
    int32_t to, rows;               /* the result: rows of words */
    crn_divider columns;
    int32_t base_rows;   /* of words: what the levels are made of */
    int32_t above, left; /* how far the element reaches, in pixels */
} crn_chord_step;

typedef struct crn_chord_job {
    crn_tile_picture picture;
    crn_chord_step steps[2];
    int32_t lead, loaded, loaded_rows; /* columns, rows of words */
    int32_t pitch;
    crn_divider chunks, wide_out; /* of 16 bytes in a loaded row, of 4 columns of the result */
    int32_t stage;                /* where a result may stand before it goes into the picture */
} crn_chord_job;

/* Where f32 go that are not for a plane: rows and columns beyond are dropped. */
typedef struct crn_chord_out {
    char *to; /* NULL: they are for a plane */
    ptrdiff_t stride;
    int32_t rows, columns;
} crn_chord_out;

/* Fills the job for this element; false: it, or its tiles, would be too large. */
bool crn_chord_plan(const crn_gpu_limits *limits, const crn_element *element,
                    const crn_tile_picture *picture, crn_type type, int32_t views,
                    crn_chord_job *ret_job, crn_tile_launch *ret_launch);

#endif
