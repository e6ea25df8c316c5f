/*
 * What became of a fruit from one run to another: two verdicts on it, compared by kind and by
 * class, with numbers. Points and textures are not looked at: two verdicts may differ in those
 * alone.
 */
#ifndef CRN_TOOLS_COMMON_COMPARISON_CHANGE_H
#define CRN_TOOLS_COMMON_COMPARISON_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/formats/verdict/decode.h"
#include "tools/common/outlets/outlets.h"

/* The two runs. */
enum { CRN_BEFORE, CRN_AFTER, CRN_COMPARED_RUNS };

/* The kind of a verdict that is not there; the other kinds are those of crn_verdict_kind. */
#define CRN_NO_VERDICT    3
#define CRN_CHANGED_KINDS 4

/* "complete", "partial", "late", "none". */
const char *crn_changed_kind_name(int kind);

/* A class in one verdict. NaN: of the last four, the fruit was not measured. */
typedef struct crn_class_measures {
    uint64_t contours;
    double area_px; /* of all views, less holes */
    double level;   /* NaN: not said */
    double spots;   /* defects of the fruit, each once */
    double area_mm2, largest_mm2, longest_mm;
} crn_class_measures;

typedef struct crn_class_change {
    char name[CRN_DECODED_TEXT_BYTES];
    crn_class_measures run[CRN_COMPARED_RUNS];
} crn_class_change;

typedef struct crn_fruit_change {
    int kind[CRN_COMPARED_RUNS];
    uint32_t class_count;
    crn_class_change classes[2 * CRN_CLASSES_MAX]; /* those before in their order, then others */
    double changed_px; /* the sum over the classes of how much their areas differ */
    bool kind_differs, classes_differ, areas_differ; /* classes: that were found */
    int32_t outlet[CRN_COMPARED_RUNS]; /* where a sorter sends it; CRN_NO_OUTLET: not decided */
    bool outlet_differs;
} crn_fruit_change;

/* True if the class was found. */
static inline bool crn_class_is_found(const crn_class_measures *measures)
{
    return measures->contours > 0;
}

/*
 * Compares two verdicts on one fruit; NULL: that run has none. Those of crn_decode_head suffice.
 * Areas differ if they are more than `tolerance_px` apart, or if one is a number and one is not.
 * The outlets are left undecided.
 */
void crn_fruit_change_find(const crn_decoded *before, const crn_decoded *after, double tolerance_px,
                           crn_fruit_change *ret_change);

#endif
