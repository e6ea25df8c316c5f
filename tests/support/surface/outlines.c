#include "tests/support/surface/outlines.h"

#include <math.h>
#include <string.h>

void outlines_clear(outlines *it)
{
    memset(it, 0, sizeof *it);
    it->defects.defects = it->all;
    it->defects.xy = it->xy;
}

crn_defect *outlines_add(outlines *it, const float *xy, uint32_t count)
{
    crn_defect *defect = &it->all[it->defects.defect_count++];
    *defect = (crn_defect){
        .parent = -1, .closed = true, .first_point = it->defects.point_count, .point_count = count};
    memcpy(it->xy + 2 * (size_t)it->defects.point_count, xy, 2 * (size_t)count * sizeof *xy);
    it->defects.point_count += count;
    return defect;
}

crn_defect *outlines_add_ellipse(outlines *it, const double centre[2], double rx, double ry,
                                 int32_t parent)
{
    float xy[2 * 65];
    double turn = parent >= 0 ? -1 : 1;
    for (int i = 0; i <= 64; i++) {
        xy[2 * i] = (float)(centre[0] + rx * cos(2 * M_PI * (i % 64) / 64));
        xy[2 * i + 1] = (float)(centre[1] + turn * ry * sin(2 * M_PI * (i % 64) / 64));
    }
    crn_defect *defect = outlines_add(it, xy, 65);
    defect->parent = parent;
    defect->hole = parent >= 0;
    return defect;
}

crn_surface_view outlines_view(const outlines *it, double roll_rad)
{
    return (crn_surface_view){
        .pose = {.x = 50, .y = 47, .rx = 40, .ry = 40, .roll_rad = roll_rad, .confidence = 1},
        .mm_per_px = 0.5,
        .height = 95,
        .width = 101,
        .defects = &it->defects,
    };
}
