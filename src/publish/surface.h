/* The measures of a fruit as a verdict has them. */
#ifndef CRN_SRC_PUBLISH_SURFACE_H
#define CRN_SRC_PUBLISH_SURFACE_H

#include "src/publish/packed_defects.h"

typedef struct crn_fruit_surface {
    const unsigned char *bytes[CRN_FORMATS]; /* the value of the key `surface`; NULL: not packed */
    size_t sizes[CRN_FORMATS];
    int64_t took_ns; /* the fruit's wait for it */
    bool is_measured;
    double area_mm2[CRN_CLASSES_MAX]; /* by class, if so */
} crn_fruit_surface;

#endif
