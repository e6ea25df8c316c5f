/* Logic with three values, and the ranges that unknown numbers lie in. */
#ifndef CRN_TOOLS_COMMON_RULES_TRUTH_H
#define CRN_TOOLS_COMMON_RULES_TRUTH_H

#include <math.h>

/* Kleene's logic: `and` is the least, `or` the greatest of two, `not` is 2 - x. */
typedef enum crn_truth {
    CRN_FALSE,
    CRN_UNKNOWN,
    CRN_TRUE,
} crn_truth;

/* The numbers that a value may be: one, if it is known. */
typedef struct crn_range {
    double low, high;
} crn_range;

typedef enum crn_comparison {
    CRN_LESS,
    CRN_LESS_EQUAL,
    CRN_GREATER,
    CRN_GREATER_EQUAL,
    CRN_EQUAL,
    CRN_UNEQUAL,
    CRN_COMPARISONS,
} crn_comparison;

static inline crn_range crn_range_any(void)
{
    return (crn_range){-INFINITY, INFINITY};
}

/* What is not finite was not measured. */
static inline crn_range crn_range_of(double value)
{
    return isfinite(value) ? (crn_range){value, value} : crn_range_any();
}

/* True or false if it is so for all numbers of both ranges. */
crn_truth crn_range_compare(crn_range left, crn_comparison comparison, crn_range right);

#endif
