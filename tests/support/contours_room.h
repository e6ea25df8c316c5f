/* Memory for the contours that an operator finds. */
#ifndef CRN_TESTS_SUPPORT_CONTOURS_ROOM_H
#define CRN_TESTS_SUPPORT_CONTOURS_ROOM_H

#include "stages/result.h"

/* Room for so many, and none found yet. Fails the running test when there is no memory. */
crn_contours crn_contours_room(uint32_t points, uint32_t contours);

void crn_contours_room_free(crn_contours *contours);

#endif
