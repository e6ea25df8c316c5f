/*
 * The differences between two runs over many fruits: sums, a confusion table of the verdicts'
 * kinds, of the outlets and of each class, and the fruits that changed most: those with another
 * kind of verdict or outlet, and those whose areas changed most. Memory does not grow with the
 * number of fruits.
 */
#ifndef CRN_TOOLS_COMMON_COMPARISON_CHANGES_H
#define CRN_TOOLS_COMMON_COMPARISON_CHANGES_H

#include "tools/common/comparison/change.h"
#include "tools/common/comparison/outlet_changes.h"

#define CRN_WORST_MAX 20

/* Of these, places that those of another kind or outlet have, whatever their areas; further ones
 * only by area, so that a night of partial verdicts leaves room for others. */
#define CRN_WORST_OF_KIND 10

/* Fruits of another outlet that are listed: the first ones. */
#define CRN_MOVED_MAX 100

/* The fruit that two verdicts are on. */
typedef struct crn_compared_fruit {
    uint64_t lane, epoch, fruit;
    uint64_t differences; /* between the two verdicts, as the caller counts them */
    const crn_fruit_change *change;
} crn_compared_fruit;

typedef struct crn_class_changes {
    char name[CRN_DECODED_TEXT_BYTES];
    uint64_t fruits[2][2]; /* [found before][found after], of the fruits with both verdicts */
    uint64_t contours[CRN_COMPARED_RUNS];
    double area_px[CRN_COMPARED_RUNS];
    uint64_t measured; /* fruits that both runs measured, and of these: */
    double area_mm2[CRN_COMPARED_RUNS];
    double level[CRN_COMPARED_RUNS]; /* of the last fruit that said so; else NaN */
} crn_class_changes;

/* One of the fruits that changed most. */
typedef struct crn_worst_fruit {
    uint64_t lane, epoch, fruit, differences;
    uint64_t order; /* in which it was added */
    crn_fruit_change change;
    crn_decoded *before, *after; /* owned */
} crn_worst_fruit;

/* A fruit that goes to another outlet. */
typedef struct crn_moved_fruit {
    uint64_t lane, epoch, fruit;
    int32_t outlet[CRN_COMPARED_RUNS];
} crn_moved_fruit;

typedef struct crn_run_changes {
    uint64_t fruits;                                      /* with both verdicts */
    uint64_t unequal;                                     /* of them: with a difference */
    uint64_t alone[CRN_COMPARED_RUNS];                    /* with a verdict in this run only */
    uint64_t kind_differs, classes_differ, areas_differ;  /* of those with both */
    uint64_t kinds[CRN_CHANGED_KINDS][CRN_CHANGED_KINDS]; /* [before][after], of all */
    crn_outlet_changes outlets;                           /* of those with both and decided */
    crn_moved_fruit moved[CRN_MOVED_MAX];                 /* as many as `outlets.differ`, at most */
    uint32_t class_count;
    crn_class_changes classes[2 * CRN_CLASSES_MAX];
    uint32_t worst_count;
    crn_worst_fruit *worst[CRN_WORST_MAX]; /* those of another kind or outlet first; of each sort
                                              the largest change first, equal ones as they came */
} crn_run_changes;

/* NULL: out of memory. */
crn_run_changes *crn_run_changes_create(void);

/* NULL is allowed. */
void crn_run_changes_free(crn_run_changes **changes);

/* Adds a fruit; its verdicts stay the caller's. *ret_worst: it is one of those that changed most so
 * far, and the caller may leave whole verdicts in its `before` and `after`, to be drawn, which are
 * freed with it; NULL: it is not. Valid until the next fruit is added. 0 or -ENOMEM. */
int crn_run_changes_add(crn_run_changes *changes, const crn_compared_fruit *fruit,
                        crn_worst_fruit **ret_worst);

#endif
