#include "tests/support/operators/contours_buffer.h"

#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"

crn_contours crn_contours_buffer(uint32_t points, uint32_t contours)
{
    crn_contours buffer = {.points = malloc((points + 1) * sizeof *buffer.points),
                           .contours = malloc((contours + 1) * sizeof *buffer.contours),
                           .point_capacity = points,
                           .contour_capacity = contours};
    assert_true(buffer.points && buffer.contours);
    return buffer;
}

void crn_contours_buffer_free(crn_contours *contours)
{
    free(contours->points);
    free(contours->contours);
    *contours = (crn_contours){.points = NULL};
}
