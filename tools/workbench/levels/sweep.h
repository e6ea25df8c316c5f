/*
 * Runs a line's chain on all labelled views of recordings at each level, and counts what it finds.
 */
#ifndef CRN_TOOLS_WORKBENCH_LEVELS_SWEEP_H
#define CRN_TOOLS_WORKBENCH_LEVELS_SWEEP_H

#include "stages/config/config.h"
#include "tools/workbench/levels/curve.h"
#include "tools/workbench/levels/labels.h"

/* What was found of a class that has a level in the configuration. */
typedef struct crn_level_class {
    bool outlined;
    crn_curve views;  /* a view is found if the chain reports at least one outline */
    crn_curve pixels; /* of masks: a pixel is found if the map's value is at least the level */
} crn_level_class;

typedef struct crn_level_counts {
    crn_level_class at[CRN_CLASSES_MAX]; /* by channel */
    uint64_t views, labelled_views, masks;
    uint64_t unused_labels; /* rows of views that the recordings do not have */
    uint64_t truncated;     /* runs that found more than limits allow: the rest did not count */
} crn_level_counts;

/*
 * `config`: resolved; its levels are changed meanwhile. `paths`: of recordings, one after the
 * other. Shows progress. 0, or negative errno with one line in *error.
 */
int crn_levels_sweep(crn_config *config, const char *const paths[], int count, crn_labels *labels,
                     crn_level_counts *ret_levels, crn_error *error);

#endif
