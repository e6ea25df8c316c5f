#include "tests/support/contours_room.h"

#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"

crn_contours crn_contours_room(uint32_t points, uint32_t contours)
{
    crn_contours room = {.points = malloc((points + 1) * sizeof *room.points),
                         .contours = malloc((contours + 1) * sizeof *room.contours),
                         .point_capacity = points,
                         .contour_capacity = contours};
    assert_true(room.points && room.contours);
    return room;
}

void crn_contours_room_free(crn_contours *contours)
{
    free(contours->points);
    free(contours->contours);
    *contours = (crn_contours){.points = NULL};
}
