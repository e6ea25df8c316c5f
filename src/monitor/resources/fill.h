/*
 * How fast a disk fills: arithmetic only. Writers that remove their oldest files let the free space
 * go up and down for ever. So the highest free space of each third of the last ten minutes is
 * compared with that of the next one: a disk that fills has less in each. One large file, such as
 * those that the line makes at its first start, lowers it once, and is not told.
 */
#ifndef CRN_SRC_MONITOR_RESOURCES_FILL_H
#define CRN_SRC_MONITOR_RESOURCES_FILL_H

#include <stdint.h>

#include "stages/base/clock.h"

CRN_C_BEGIN

#define CRN_FILL_STEP_NS (20 * CRN_NS_PER_S)
#define CRN_FILL_POINTS  30
#define CRN_FILL_MIN     6 /* before two minutes nothing is told */

typedef struct crn_fill_point {
    int64_t ns, free_bytes;
} crn_fill_point;

/* Zeroed at first. */
typedef struct crn_fill {
    uint32_t count; /* all that were ever kept; the last CRN_FILL_POINTS still are */
    crn_fill_point points[CRN_FILL_POINTS];
    crn_fill_point latest; /* kept or not, so that space that was freed is seen at once */
} crn_fill;

/* Takes the free space as of now, and keeps it unless the last point is less than a step old. */
void crn_fill_add(crn_fill *fill, int64_t now_ns, int64_t free_bytes);

/* Bytes a second by which the free space falls, where it falls least; -1: it does not, or not known
 * yet. */
double crn_fill_rate(const crn_fill *fill);

CRN_C_END

#endif
