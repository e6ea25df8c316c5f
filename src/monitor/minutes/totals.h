/* Fruits by class, since the start for metrics, or in an hour: of so many classes that a name which
 * changes at each reload cannot grow them without end. No thread, no lock. */
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

/* What was judged in the last hour. */
typedef struct crn_minutes_hour {
    uint64_t fruits, with_defect; /* with_defect: of any class */
    crn_minutes_total worst;      /* the class that most of its fruits had; "": none had any */
} crn_minutes_hour;

/* The class that most of the fruits had in which it was looked for; NULL: none had any. */
const crn_minutes_total *crn_minutes_totals_worst(const crn_minutes_totals *totals);

/* Adds to a class, which need not be there. */
void crn_minutes_totals_add(crn_minutes_totals *totals, const char *name, uint64_t looked_for,
                            uint64_t fruits);

CRN_C_END

#endif
