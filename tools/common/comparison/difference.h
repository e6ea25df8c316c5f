/*
 * Compares two verdicts of one fruit by what they say of it: the kind, the defects with their
 * points, the textures. Times, runs, epochs, sequences, views' states and totals are not compared.
 *
 * Defects are compared in the verdict's order within a view and class; where their numbers differ,
 * only that is told of this view and class.
 */
#ifndef CRN_TOOLS_COMMON_COMPARISON_DIFFERENCE_H
#define CRN_TOOLS_COMMON_COMPARISON_DIFFERENCE_H

#include <stdio.h>

#include "src/formats/encoding/messagepack_json.h"
#include "tools/common/comparison/difference_summary.h"

typedef struct crn_difference_fruit {
    uint64_t lane, fruit;
} crn_difference_fruit;

typedef struct crn_difference_counts {
    uint64_t defects;     /* compared */
    uint64_t differences; /* each of them one line */
} crn_difference_counts;

/*
 * Prints a line per difference, or adds it to the summary if that is not NULL, whose lines `out` is
 * then; adds to *counts. `tolerance` 0: all numbers are the same bits.
 * Above 0: coordinates (points, boxes, centroids) may differ by so many pixels, perimeters by twice
 * that per point, areas by that per pixel of the perimeter, mean probabilities and textures by that
 * number; levels, flags and the number of points are the same. 0 or -ENOMEM.
 */
int crn_difference_find(const crn_difference_fruit *fruit, const msgpack_object *expected,
                        const msgpack_object *got, double tolerance, FILE *out,
                        crn_difference_counts *counts, crn_difference_summary *summary);

#endif
