/* Buffers for contours. */
#ifndef CRN_TESTS_SUPPORT_CONTOURS_BUFFER_H
#define CRN_TESTS_SUPPORT_CONTOURS_BUFFER_H

#include "stages/cernita.h"

/* An empty buffer of that capacity. Fails the running test if memory is lacking. */
crn_contours crn_contours_buffer(uint32_t points, uint32_t contours);

void crn_contours_buffer_free(crn_contours *contours);

#endif
