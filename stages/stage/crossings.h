/**
 * @file
 * Crossings of contours with the rows of pixel centres, in the order of a sweep over the rows.
 * Internal to geometry.c; only it and its test include this.
 */
#ifndef CRN_STAGES_STAGE_CROSSINGS_H
#define CRN_STAGES_STAGE_CROSSINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/context.h"

/** Kinds of a crossing. */
enum {
    CRN_CROSSING_PATH,
    CRN_CROSSING_CHORD, /**< closes an open contour for its pixels; encloses no contour */
    CRN_CROSSING_PROBE, /**< represents a contour that crosses no row */
};

/** One crossing of a contour with a row of pixel centres. */
typedef struct crn_crossing {
    int32_t row;    /**< from 0 for y = -1 */
    int32_t column; /**< first pixel centre at or right of the crossing; from 0 for x = -1 */
    uint32_t contour;
    int8_t kind;
    bool ends_high; /**< high values end here, going right */
    double x;
    double slope; /**< dx per dy, y down */
} crn_crossing;

/** Crossings of a plane and the memory to sort them; the caller's. */
typedef struct crn_crossings {
    crn_crossing *all;
    crn_crossing *spare; /**< of the same size */
    uint32_t *starts;    /**< one more than the larger of rows and columns */
    uint32_t count;
    int32_t rows, columns; /**< upper bounds of row and column */
} crn_crossings;

/**
 * Stable sort by row, then from left to right. Two counting sorts, linear in the count; crossings
 * of the same row and column are then sorted by comparison in n log n: few of them for contours in
 * a picture, all of them for contours outside of it. Swaps the two arrays.
 *
 * @return number of comparisons; the order is undefined if `pace` is over
 */
uint64_t crn_crossings_sort(crn_crossings *crossings, crn_pace *pace);

#endif
