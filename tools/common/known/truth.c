/* What is true of a known fruit: areas by quadrature, lengths, coverage, where views show it. */
#include "tools/common/known/known.h"
#include "tools/common/known/vectors.h"

#define SEEN       0.25881904510252074 /* cosine of 75 degrees */
#define QUADRATURE 48                  /* points of an integral, in either direction */
#define RIM        96                  /* points of a spot's edge */

/* Area of the spheroid for an area of the unit sphere there. */
static double stretch(const crn_known_fruit *fruit, crn_known_vector p)
{
    return fruit->a_mm * hypot(fruit->c_mm * sqrt(fmax(0, 1 - p.y * p.y)), fruit->a_mm * p.y);
}

double crn_known_facing(const crn_known_fruit *fruit, crn_known_vector p)
{
    double a = fruit->a_mm, c = fruit->c_mm, d = fruit->distance_mm, best = -1;
    for (int i = 0; i < fruit->view_count; i++) {
        crn_known_vector at = crn_vector_rolled(&fruit->turn[i], p), camera = {0, 0, d > 0 ? d : 1};
        crn_known_vector normal = crn_vector_unit((crn_known_vector){at.x / a, at.y / c, at.z / a});
        crn_known_vector to = crn_vector_upright(&fruit->turn[i], camera);
        if (d > 0)
            to = crn_vector_unit(
                (crn_known_vector){to.x - a * at.x, to.y - c * at.y, to.z - a * at.z});
        best = fmax(best, crn_vector_dot(normal, to));
    }
    return best;
}

double crn_known_coverage(const crn_known_fruit *fruit)
{
    enum { POINTS = 4000 }; /* all over the surface, by the golden angle */
    double covered = 0, all = 0;
    for (int i = 0; i < POINTS; i++) {
        double v = 2 * (i + 0.5) / POINTS - 1, lambda = i * 2.399963, r = sqrt(1 - v * v);
        crn_known_vector point = {r * sin(lambda), v, r * cos(lambda)};
        all += stretch(fruit, point);
        covered += crn_known_facing(fruit, point) >= SEEN ? stretch(fruit, point) : 0;
    }
    return covered / all;
}

/* Adds a piece of the surface, of which the area on the unit sphere is known. */
static void add(const crn_known_fruit *fruit, crn_known_vector p, double area,
                crn_known_areas *areas)
{
    double facing = crn_known_facing(fruit, p), mm2 = area * stretch(fruit, p);
    areas->all += mm2;
    areas->visible += facing >= 0 ? mm2 : 0;
    areas->seen += facing >= SEEN ? mm2 : 0;
}

/* What lies within `radius` of the arc: a band along it, and half a cap at either end; from
 * `inner` on. */
static void add_spot(const crn_known_fruit *fruit, const crn_known_spot *spot,
                     crn_known_areas *areas)
{
    double length = spot->length, wide = spot->radius - spot->inner;
    for (int i = 0; i < QUADRATURE; i++)
        for (int k = 0; k < QUADRATURE; k++) {
            double s = length * (i + 0.5) / QUADRATURE, phi = 2 * M_PI * (i + 0.5) / QUADRATURE;
            double off = spot->inner + wide * (k + 0.5) / QUADRATURE;
            crn_known_vector on_arc = crn_vector_sum(cos(s), spot->p, sin(s), spot->t);
            double band = cos(off) * (length / QUADRATURE) * (wide / QUADRATURE);
            for (int side = -1; side <= 1 && length > 0; side += 2)
                add(fruit, crn_vector_sum(cos(off), on_arc, side * sin(off), spot->n), band, areas);
            bool at_q = cos(phi) > 0;
            crn_known_vector out =
                crn_vector_sum(cos(phi), at_q ? spot->t_q : spot->t, sin(phi), spot->n);
            add(fruit, crn_vector_sum(cos(off), at_q ? spot->q : spot->p, sin(off), out),
                sin(off) * (2 * M_PI / QUADRATURE) * (wide / QUADRATURE), areas);
        }
}

crn_known_areas crn_known_spot_areas(const crn_known_fruit *fruit, const crn_known_spot *spot)
{
    crn_known_areas areas = {0, 0, 0};
    add_spot(fruit, spot, &areas);
    return areas;
}

crn_known_class crn_known_class_measures(const crn_known_fruit *fruit, int channel)
{
    crn_known_class class = {{0, 0, 0}, 0, 0};
    for (int i = 0; i < fruit->spot_count; i++) {
        if (fruit->spots[i].channel != channel)
            continue;
        crn_known_areas areas = crn_known_spot_areas(fruit, &fruit->spots[i]);
        class.mm2.all += areas.all;
        class.mm2.visible += areas.visible;
        class.mm2.seen += areas.seen;
        class.seen += areas.seen >= areas.all / 2;
        class.all++;
    }
    return class;
}

double crn_known_surface_mm2(const crn_known_fruit *fruit)
{
    double area = 0;
    for (int i = 0; i < 4096; i++)
        area +=
            4 * M_PI / 4096 * stretch(fruit, (crn_known_vector){0, 2 * (i + 0.5) / 4096 - 1, 0});
    return area;
}

crn_known_vector crn_known_middle(const crn_known_spot *spot)
{
    return crn_vector_unit(crn_vector_sum(1, spot->p, 1, spot->q));
}

double crn_known_length_mm(const crn_known_fruit *fruit, const crn_known_spot *spot)
{
    crn_known_vector edge[RIM], t = spot->t, n = spot->n;
    double longest = 0;
    for (int i = 0; i < RIM; i++) {
        double phi = 2 * M_PI * (i + 0.5) / RIM;
        bool at_q = cos(phi) > 0;
        crn_known_vector end = at_q ? spot->q : spot->p;
        crn_known_vector on = at_q ? spot->t_q : t;
        crn_known_vector out = crn_vector_sum(cos(phi), on, sin(phi), n);
        crn_known_vector at = crn_vector_sum(cos(spot->radius), end, sin(spot->radius), out);
        edge[i] = (crn_known_vector){fruit->a_mm * at.x, fruit->c_mm * at.y, fruit->a_mm * at.z};
        for (int k = 0; k < i; k++) {
            crn_known_vector chord = crn_vector_sum(1, edge[i], -1, edge[k]);
            longest = fmax(longest, crn_vector_dot(chord, chord));
        }
    }
    return sqrt(longest);
}

crn_surface_pose crn_known_pose(const crn_known_fruit *fruit, int view)
{
    double d = fruit->distance_mm, wider = d > 0 ? d / sqrt(d * d - fruit->a_mm * fruit->a_mm) : 1;
    double s = sin(fruit->pitch[view]);
    double along = hypot(fruit->c_mm * sqrt(1 - s * s), fruit->a_mm * s);
    return (crn_surface_pose){
        .x = fruit->x[view],
        .y = fruit->y[view],
        .rx = fruit->a_mm * wider / fruit->mm_per_px,
        .ry = along * wider / fruit->mm_per_px,
        .roll_rad = fruit->roll[view],
        .confidence = 1,
    };
}
