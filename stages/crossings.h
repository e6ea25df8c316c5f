/*
 * Where contours cross the rows of pixel centres, in the order in which a sweep over the rows meets
 * them. The private half of geometry.c, which alone (and its test) includes this.
 */
#ifndef CRN_STAGES_CROSSINGS_H
#define CRN_STAGES_CROSSINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/context.h"

enum {
    CRN_CROSSING_PATH,
    CRN_CROSSING_CHORD, /* closes an open contour for its pixels; encloses nothing */
    CRN_CROSSING_PROBE, /* stands for a contour that crosses no row */
};

typedef struct crn_crossing {
    int32_t row;    /* from 0 for y = -1 */
    int32_t column; /* first pixel centre at or right of it; from 0 for x = -1 */
    uint32_t contour;
    int8_t kind;
    bool ends_high; /* going right, high values end here */
    double x;
    double slope; /* way to the right per way down */
} crn_crossing;

typedef struct crn_crossings {
    crn_crossing *all;
    crn_crossing *spare; /* as many more */
    uint32_t *starts;    /* one more than the larger of rows and columns */
    uint32_t count;
    int32_t rows, columns; /* what row and column are below */
} crn_crossings;

/*
 * Sorts by row, then from left to right; stable. In the order of the count but for those in one row
 * and column, which take n log n: a few in any contours of a picture, all of them in contours that
 * lie outside of it. Swaps the two arrays. Returns how many pairs were compared; where `pace` is
 * over, the order is undefined.
 */
uint64_t crn_crossings_sort(crn_crossings *crossings, crn_pace *pace);

#endif
