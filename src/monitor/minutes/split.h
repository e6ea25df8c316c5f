/* The sums of a minute as records of the file. */
#ifndef CRN_SRC_MONITOR_MINUTES_SPLIT_H
#define CRN_SRC_MONITOR_MINUTES_SPLIT_H

#include "src/monitor/minutes/sums.h"

/* Numbers of the names come from the file; lane and class 0 at first. */
typedef struct crn_minute_split {
    const crn_minute_sums *sums;
    uint32_t recipe, lot;
    uint32_t classes[CRN_CLASSES_MAX]; /* of those that have an entry */
    int32_t lane, class;               /* looked at next */
} crn_minute_split;

/* Whether the records have an entry for the class: it was looked for in some fruit. */
static inline bool crn_minute_split_has(const crn_minute_sums *sums,
                                        const crn_minute_class_sums *class)
{
    return sums->looked_for > 0 && (class->looked_for || class->fruits > 0);
}

/* The next record, without its sequence number; false: there are no more. */
bool crn_minute_split_next(crn_minute_split *split, crn_minute_record *ret_record);

#endif
