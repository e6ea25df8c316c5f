/*
 * The differences of many fruits in few lines: for each class how many fruits differ, their defects
 * and areas in both runs, and the fruits whose areas differ most. What belongs to no class (a
 * fruit in one run only, another kind of verdict) is told as it is, the first ones.
 */
#ifndef CRN_TOOLS_COMMON_COMPARISON_DIFFERENCE_SUMMARY_H
#define CRN_TOOLS_COMMON_COMPARISON_DIFFERENCE_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct crn_difference_summary crn_difference_summary;

/* Defects of a class in one run: contours that are not holes, and their area less that of holes. */
typedef struct crn_difference_area {
    uint64_t defects;
    double area_px;
    double level; /* 0 or NaN: not known */
} crn_difference_area;

/* NULL: out of memory. */
crn_difference_summary *crn_difference_summary_create(void);

/* NULL is allowed. */
void crn_difference_summary_free(crn_difference_summary **summary);

/* Where a difference's line is to be written, after crn_difference_summary_difference. */
FILE *crn_difference_summary_lines(crn_difference_summary *summary);

/* A difference of the present fruit; `class` of `size` bytes, NULL: of the fruit itself. */
void crn_difference_summary_difference(crn_difference_summary *summary, const char *class,
                                       size_t size);

/* Adds what the present fruit has of a class. */
void crn_difference_summary_add(crn_difference_summary *summary, const char *class, size_t size,
                                const crn_difference_area *expected,
                                const crn_difference_area *got);

/* The present fruit is complete; the next call begins another one. */
void crn_difference_summary_end_fruit(crn_difference_summary *summary, uint64_t lane,
                                      uint64_t fruit);

/* `fruits`: that were compared. True if there are more differences than lines. */
bool crn_difference_summary_print(const crn_difference_summary *summary, uint64_t fruits,
                                  FILE *out);

#endif
