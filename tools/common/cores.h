/* The processor cores that a program may use. */
#ifndef CRN_TOOLS_COMMON_CORES_H
#define CRN_TOOLS_COMMON_CORES_H

#include <stdint.h>

/* Their number, by this thread's affinity; at least 1. */
int32_t crn_core_count(void);

#endif
