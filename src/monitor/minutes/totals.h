/* Fruits by class since the start, for metrics: of so many classes that a name which changes at
 * each reload cannot grow them without end. No thread, no lock. */
#ifndef CRN_SRC_MONITOR_MINUTES_TOTALS_H
#define CRN_SRC_MONITOR_MINUTES_TOTALS_H

#include <stdint.h>

#include "stages/base/api.h"
#include "stages/stage/classes.h"

CRN_C_BEGIN

/* What counts the classes that came when there were CRN_CLASSES_MAX others. */
#define CRN_MINUTES_OTHER_CLASSES "other"

typedef struct crn_minutes_total {
    char name[CRN_CLASS_NAME_MAX];
    uint64_t looked_for; /* fruits in which it was looked for */
    uint64_t fruits;     /* of these, those with a defect of it */
} crn_minutes_total;

typedef struct crn_minutes_totals {
    int32_t count;
    crn_minutes_total classes[CRN_CLASSES_MAX + 1]; /* in the order of their appearance */
} crn_minutes_totals;

/* Adds to a class, which need not be there. */
void crn_minutes_totals_add(crn_minutes_totals *totals, const char *name, uint64_t looked_for,
                            uint64_t fruits);

CRN_C_END

#endif
