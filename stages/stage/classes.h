/**
 * @file
 * The classes of a CNN, in channel order, and the probability at which each is contoured.
 */
#ifndef CRN_STAGES_STAGE_CLASSES_H
#define CRN_STAGES_STAGE_CLASSES_H

#include <stdint.h>

#include "stages/base/api.h"

CRN_C_BEGIN

#define CRN_CLASSES_MAX    64
#define CRN_CLASS_NAME_MAX 48

/** Names and levels of the classes, by channel. */
typedef struct crn_classes {
    int32_t count;
    char name[CRN_CLASSES_MAX][CRN_CLASS_NAME_MAX];
    double level[CRN_CLASSES_MAX]; /**< a probability, 0 to 1; NaN: no contours of this class */
} crn_classes;

/** FNV-1a 64 of the names joined by `\n`: the view message's class_set. */
CRN_API uint64_t crn_classes_hash(const crn_classes *classes);

CRN_C_END

#endif
