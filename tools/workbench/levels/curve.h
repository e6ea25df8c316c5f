/*
 * Precision and recall of one class by level: of items (views, or pixels) that are labelled as
 * having a defect of the class or not, how many are found at each level.
 */
#ifndef CRN_TOOLS_WORKBENCH_LEVELS_CURVE_H
#define CRN_TOOLS_WORKBENCH_LEVELS_CURVE_H

#include <stdbool.h>
#include <stdint.h>

/* Levels 0, 0.01, … 1. */
#define CRN_LEVEL_COUNT 101

typedef struct crn_curve {
    uint64_t positives, negatives;    /* items labelled with and without a defect */
    uint64_t hits[CRN_LEVEL_COUNT];   /* found ones of the positives, by level */
    uint64_t alarms[CRN_LEVEL_COUNT]; /* found ones of the negatives */
} crn_curve;

double crn_level_at(int32_t index);

/* Counts an item that is labelled so. */
void crn_curve_label(crn_curve *curve, bool has_defect);

/* Counts such an item as found at a level. */
void crn_curve_find(crn_curve *curve, int32_t index, bool has_defect);

/* Share of the found items that have a defect; NaN if none is found. */
double crn_curve_precision(const crn_curve *curve, int32_t index);

/* Share of the items with a defect that are found; NaN if there are none. */
double crn_curve_recall(const crn_curve *curve, int32_t index);

/* Harmonic mean of both, 0 if no item with a defect is found; NaN if there are none. */
double crn_curve_f1(const crn_curve *curve, int32_t index);

/*
 * Index of the level above 0 and below 1 with the largest F1; the middle of the longest series of
 * levels that have it, as far from either side as can be. -1: no item has a defect, or none is ever
 * found.
 */
int32_t crn_curve_best(const crn_curve *curve);

/*
 * Index of the level that has at least this recall and among those the largest precision; the
 * middle of the longest series again. -1: no level has it.
 */
int32_t crn_curve_at_recall(const crn_curve *curve, double recall);

#endif
