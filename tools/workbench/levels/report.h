/* What a sweep found, as a table, as rows of a CSV file, as levels for a line's file, as JSON. */
#ifndef CRN_TOOLS_WORKBENCH_LEVELS_REPORT_H
#define CRN_TOOLS_WORKBENCH_LEVELS_REPORT_H

#include <stdio.h>

#include "src/formats/encoding/encoder.h"
#include "tools/workbench/levels/sweep.h"

/* Which level is suggested: the one with the largest F1, or below 0 … 1 that of
 * crn_curve_at_recall(). */
#define CRN_RECALL_NONE (-1.0)

/* A row for each labelled class, by views and by pixels. */
void crn_levels_print_table(const crn_level_counts *levels, const crn_classes *classes,
                            double recall, FILE *out);

/* `classes:` of a line's file with the suggested levels, by views if these are labelled; the others
 * as they are. */
void crn_levels_print_yaml(const crn_level_counts *levels, const crn_classes *classes,
                           double recall, FILE *out);

/* All curves: class, by, level, precision, recall, f1, hits, alarms, positives, negatives. */
void crn_levels_print_curves(const crn_level_counts *levels, const crn_classes *classes, FILE *out);

/* A map of all of it; `at_recall` has an index for each recall 0, 0.01, … 1. */
void crn_levels_write(const crn_level_counts *levels, const crn_classes *classes,
                      crn_encoder *encoder);

#endif
