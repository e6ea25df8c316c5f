/* A spheroid's equal-area chart: dA = sqrt(c^2 (1 - v^2) + a^2 v^2) a d(lambda) dv. */
#include <math.h>

#include "stages/surface/surface.h"

/* Below this part of c^2 the series is exact to rounding, and the closed form is not. */
#define NEARLY_A_SPHERE 1e-5

crn_spheroid crn_spheroid_of(double a_mm, double c_mm)
{
    double e = (a_mm - c_mm) * (a_mm + c_mm);
    double root = fabs(e) < NEARLY_A_SPHERE * c_mm * c_mm ? 0 : sqrt(fabs(e));
    return (crn_spheroid){a_mm, c_mm, e, root};
}

/* Gauss-Legendre from 0 to 1: squares of the nodes, and weights. For axes of so moderate a ratio it
 * is as exact as the closed form, and needs neither a logarithm nor an arc. */
#define MODERATE 0.6
static const double gauss[8][2] = {
    {0.00039422387424656639, 0.050614268145188129}, {0.010336130351845793, 0.11119051722668724},
    {0.056279873509951617, 0.15685332293894363},    {0.16669474576905183, 0.181341891689181},
    {0.35012938826470169, 0.181341891689181},       {0.58181228342628055, 0.15685332293894363},
    {0.8070026077654725, 0.11119051722668724},      {0.96068408037178277, 0.050614268145188129}};

/* The integral of sqrt(c^2 + e t^2) from 0 to v. */
double crn_spheroid_along(const crn_spheroid *spheroid, double v)
{
    double c = spheroid->c_mm, e = spheroid->e, root = spheroid->root;
    if (root == 0)
        return c * v * (1 + e / (c * c) * v * v / 6);
    if (fabs(e) < MODERATE * c * c) {
        double sum = 0, ev2 = e * v * v;
        for (int i = 0; i < 8; i++)
            sum += gauss[i][1] * sqrt(c * c + ev2 * gauss[i][0]);
        return v * sum;
    }
    double slope = sqrt(c * c + e * v * v), x = root * v / c;
    double angle = e > 0 ? asinh(x) : asin(fmax(-1, fmin(1, x)));
    return (v * slope + c * c / root * angle) / 2;
}

double crn_spheroid_surface_mm2(const crn_spheroid *spheroid)
{
    return 4 * M_PI * spheroid->a_mm * crn_spheroid_along(spheroid, 1);
}
