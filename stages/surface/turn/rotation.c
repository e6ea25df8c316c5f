/* Turns as matrices. */
#include <math.h>

#include "stages/surface/turn/turn.h"

const crn_turn crn_turn_none = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

crn_turn crn_turn_product(const crn_turn *a, const crn_turn *b)
{
    crn_turn c = {0};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++)
                c.m[i][k] += a->m[i][j] * b->m[j][k];
    return c;
}

crn_turn crn_turn_transposed(const crn_turn *a)
{
    crn_turn b;
    for (int k = 0; k < 9; k++)
        b.m[k / 3][k % 3] = a->m[k % 3][k / 3];
    return b;
}

crn_turn crn_turn_by(double x, double y, double z)
{
    double angle = sqrt(x * x + y * y + z * z), s = sin(angle), t = 1 - cos(angle);
    if (angle == 0)
        return crn_turn_none;
    x /= angle;
    y /= angle;
    z /= angle;
    return (crn_turn){{{1 - t * (y * y + z * z), t * x * y - s * z, t * x * z + s * y},
                       {t * x * y + s * z, 1 - t * (x * x + z * z), t * y * z - s * x},
                       {t * x * z - s * y, t * y * z + s * x, 1 - t * (x * x + y * y)}}};
}

void crn_turn_axis(const crn_turn *turn, double ret_axis[3])
{
    const double(*m)[3] = turn->m;
    double x = (m[2][1] - m[1][2]) / 2, y = (m[0][2] - m[2][0]) / 2, z = (m[1][0] - m[0][1]) / 2;
    double sine = sqrt(x * x + y * y + z * z), cosine = (m[0][0] + m[1][1] + m[2][2] - 1) / 2;
    double scale = sine > 0 ? atan2(sine, cosine) / sine : 0;
    ret_axis[0] = scale * x;
    ret_axis[1] = scale * y;
    ret_axis[2] = scale * z;
}
