/* Cuts outlines to the strip of their view. An outline and its holes are cut together: where they
 * cross a border, the even-odd rule pairs the crossings into the ranges that lie within. */
#include <math.h>

#include "stages/surface/surface.h"

#define STEP_MAX      0.1 /* of an edge, in radians and radii: longer ones are divided */
#define DIVISIONS_MAX 64
#define NEAREST_TRIED 256 /* vertices of an outline that are compared with a hole's */
#define POLE_PX       1.0 /* from a pole, along the axis in the picture: what is nearer reaches it */

enum { BELOW = -1, WITHIN = 0, ABOVE = 1 };

#define NO_RUN UINT32_MAX

/* An outline on its way around. */
typedef struct surface_walk {
    crn_surface *surface;
    const crn_surface_lens *lens;
    crn_surface_run outline; /* what all its runs begin with */
    double sign;             /* of its area: positive for outlines, negative for holes */
    uint32_t run;            /* at hand; NO_RUN outside of the strip */
    uint32_t first_run;      /* that began at the first point, within the strip; or NO_RUN */
    unsigned crossed;        /* bit 0, 1: the run crosses the lower, upper border */
    double near_from[2];     /* what the run has near these borders, in v; empty if from > to */
    double near_to[2];
    /* The same for all outlines of a view: */
    bool mirrored;                       /* the chart is, to the picture */
    double cos_border[2], sin_border[2]; /* of the lower, the upper one */
    double reach_max;                    /* of what is near */
    double pole_v;                       /* beyond, a point reaches the pole */
} surface_walk;

/* A place in the ellipse. Its chart point is complete where it was needed: it takes most of the
 * time. */
typedef struct surface_place {
    double u, v;
    bool charted;
    crn_chart_point chart; /* of it, `sphere` and `side` are always known */
} surface_place;

/* lambda > hi where sin(lambda - hi) > 0, without the angle itself. */
static int side_of(const surface_walk *walk, const crn_sphere_point *point)
{
    double below = point->x * walk->cos_border[0] - point->z * walk->sin_border[0];
    double above = point->x * walk->cos_border[1] - point->z * walk->sin_border[1];
    return below < 0 ? BELOW : above > 0 ? ABOVE : WITHIN;
}

/* Written where it stays: to copy a place that was just written, the processor waits for its own
 * stores, which took a third of the time of a cut. */
static void set_place(const surface_walk *walk, double u, double v, surface_place *ret_place)
{
    ret_place->u = u;
    ret_place->v = v;
    ret_place->charted = false;
    ret_place->chart.sphere = crn_surface_lens_sphere(walk->lens, u, v);
    ret_place->chart.side = side_of(walk, &ret_place->chart.sphere);
}

static crn_chart_point *chart_of(const surface_walk *walk, surface_place *place)
{
    crn_chart_point *chart = &place->chart;
    if (place->charted)
        return chart;
    place->charted = true;
    chart->lambda = atan2(chart->sphere.x, chart->sphere.z);
    chart->v = crn_surface_within(chart->sphere.y, -1, 1);
    chart->z = chart->sphere.z;
    chart->w = crn_spheroid_along(&walk->surface->spheroid, chart->v);
    return chart;
}

/* Where the edge from p to q meets a border. */
static crn_chart_point meet(const crn_chart_point *p, const crn_chart_point *q, double border)
{
    double t = (border - p->lambda) / (q->lambda - p->lambda), s = 1 - t;
    return (crn_chart_point){
        .side = WITHIN,
        .lambda = border,
        .w = s * p->w + t * q->w,
        .v = s * p->v + t * q->v,
        .z = s * p->z + t * q->z,
        .sphere = {s * p->sphere.x + t * q->sphere.x, s * p->sphere.y + t * q->sphere.y,
                   s * p->sphere.z + t * q->sphere.z},
    };
}

static void add_range(crn_surface *surface, uint32_t run, int border, double from, double to)
{
    const crn_surface_run *of = &surface->runs[run];
    const crn_surface_lens *lens = &surface->lenses[of->view];
    if (surface->strips < 2)
        return;
    if (surface->range_count == surface->range_capacity) {
        surface->full = true;
        return;
    }
    /* The border above strip k has the number k; its lower side comes first. */
    uint32_t number =
        (uint32_t)(border ? lens->strip : (lens->strip + surface->strips - 1) % surface->strips);
    uint32_t group = (number * (uint32_t)surface->settings.classes + (uint32_t)of->channel) * 2 +
                     (border ? 0 : 1);
    surface->ranges[surface->range_count++] = (crn_surface_mark){group, run, from, to};
}

static void begin_run(surface_walk *walk)
{
    crn_surface *surface = walk->surface;
    if (surface->run_count == surface->run_capacity) {
        surface->full = true;
        return;
    }
    walk->run = surface->run_count++;
    crn_surface_run *run = &surface->runs[walk->run];
    *run = walk->outline;
    run->joined = walk->run;
    run->first_point = surface->vertex_count;
    walk->crossed = 0;
    for (int border = 0; border < 2; border++) {
        walk->near_from[border] = 2;
        walk->near_to[border] = -2;
    }
}

/* A run that comes near a border without crossing it may go on beyond it. */
static void end_run(surface_walk *walk)
{
    for (int border = 0; border < 2 && walk->run != NO_RUN && !walk->outline.hole; border++)
        if (!(walk->crossed & 1u << border) && walk->near_from[border] <= walk->near_to[border])
            add_range(walk->surface, walk->run, border, walk->near_from[border],
                      walk->near_to[border]);
    walk->run = NO_RUN;
}

static void note_near(surface_walk *walk, const crn_chart_point *point)
{
    const crn_surface_lens *lens = walk->lens;
    const double beyond[2] = {point->lambda - lens->lo, lens->hi - point->lambda};
    if (beyond[0] > walk->reach_max && beyond[1] > walk->reach_max)
        return;
    double z = point->z > STEP_MAX ? point->z : STEP_MAX;
    double reach = walk->surface->settings.roll_error_rad + 1 / (lens->across_px * z);
    for (int border = 0; border < 2; border++)
        if (beyond[border] <= reach) {
            if (point->v < walk->near_from[border])
                walk->near_from[border] = point->v;
            if (point->v > walk->near_to[border])
                walk->near_to[border] = point->v;
        }
}

/* What reaches a pole from several sides is one defect: the pictures' last pixel hides how it goes
 * on there. */
static void note_pole(const surface_walk *walk, double v)
{
    crn_surface *surface = walk->surface;
    uint32_t *first = &surface->at_pole[v > 0][walk->outline.channel];
    if (fabs(v) < walk->pole_v || walk->outline.hole)
        return;
    if (*first == NO_RUN)
        *first = walk->run;
    else
        crn_surface_join(surface, *first, walk->run);
}

/* Appends a vertex to the run at hand. */
static void append(surface_walk *walk, const crn_chart_point *point)
{
    crn_surface *surface = walk->surface;
    const crn_surface_lens *lens = walk->lens;
    if (walk->run == NO_RUN)
        return;
    if (surface->vertex_count == surface->vertex_capacity) {
        surface->full = true;
        return;
    }
    double a = surface->spheroid.a_mm, c = surface->spheroid.c_mm;
    double x = point->sphere.x, z = point->sphere.z;
    surface->vertices[surface->vertex_count++] = (crn_surface_vertex){
        (float)(a * (x * lens->cos_roll - z * lens->sin_roll)), (float)(c * point->sphere.y),
        (float)(a * (z * lens->cos_roll + x * lens->sin_roll))};
    surface->runs[walk->run].point_count++;
    note_near(walk, point);
    note_pole(walk, point->v);
}

/* A crossing closes the area along the upper border; the lower one is where lambda counts 0. */
static void cross(surface_walk *walk, int side, const crn_chart_point *point, bool enters)
{
    crn_surface *surface = walk->surface;
    int border = side == ABOVE;
    if (walk->run == NO_RUN)
        return;
    if (surface->crossing_count == surface->crossing_capacity) {
        surface->full = true;
        return;
    }
    surface->crossings[surface->crossing_count++] =
        (crn_surface_mark){(uint32_t)border, walk->run, point->w, point->v};
    walk->crossed |= 1u << border;
    if (border)
        surface->runs[walk->run].area_mm +=
            (enters ? 1 : -1) * walk->sign * (walk->lens->hi - walk->lens->lo) * point->w;
}

/* One short edge. */
static void step(surface_walk *walk, const crn_chart_point *from, const crn_chart_point *to,
                 bool is_vertex)
{
    const crn_surface_lens *lens = walk->lens;
    if (from->side == to->side && from->side != WITHIN)
        return;
    crn_chart_point entry, exit;
    const crn_chart_point *p = from, *q = to;
    if (from->side != WITHIN) {
        entry = meet(from, to, from->side == BELOW ? lens->lo : lens->hi);
        p = &entry;
        begin_run(walk);
        append(walk, p);
        cross(walk, from->side, p, true);
    }
    if (to->side != WITHIN) {
        exit = meet(from, to, to->side == BELOW ? lens->lo : lens->hi);
        q = &exit;
    }
    if (walk->run != NO_RUN)
        walk->surface->runs[walk->run].area_mm +=
            walk->sign * ((p->lambda + q->lambda) / 2 - lens->lo) * (q->w - p->w);
    if (is_vertex || q != to)
        append(walk, q);
    if (q != to) {
        cross(walk, to->side, q, false);
        end_run(walk);
    }
}

/* One edge, in short ones. */
static void walk_edge(surface_walk *walk, surface_place *from, surface_place *to)
{
    double du = to->u - from->u, dv = to->v - from->v, length2 = du * du + dv * dv;
    int side = from->chart.side;
    if (side == to->chart.side && side != WITHIN && length2 <= STEP_MAX * STEP_MAX)
        return;
    const crn_chart_point *start = chart_of(walk, from), *end = chart_of(walk, to);
    double turn = end->lambda - start->lambda;
    if (length2 <= STEP_MAX * STEP_MAX && turn * turn <= STEP_MAX * STEP_MAX) {
        step(walk, start, end, true);
        return;
    }
    double length = fmax(fabs(turn), sqrt(length2));
    int divisions = (int)fmin(DIVISIONS_MAX, ceil(length / STEP_MAX));
    surface_place between[2];
    for (int k = 1; k < divisions; k++) {
        double t = (double)k / divisions;
        surface_place *next = &between[k & 1];
        set_place(walk, from->u + t * du, from->v + t * dv, next);
        const crn_chart_point *to_next = chart_of(walk, next);
        step(walk, start, to_next, false);
        start = to_next;
    }
    step(walk, start, end, true);
}

/* Walks around an outline of n points. */
static void walk_around(surface_walk *walk, const float *xy, uint32_t n)
{
    double u, v;
    crn_surface_lens_place(walk->lens, (double)xy[0], (double)xy[1], &u, &v);
    surface_place first, others[2], *at = &first;
    set_place(walk, u, v, &first);
    walk->run = walk->first_run = NO_RUN;
    if (first.chart.side == WITHIN) {
        begin_run(walk);
        append(walk, chart_of(walk, &first));
        walk->first_run = walk->run;
    }
    for (uint32_t i = 1; i < n; i++) {
        const float *to = xy + 2 * (size_t)i;
        crn_surface_lens_place(walk->lens, (double)to[0], (double)to[1], &u, &v);
        surface_place *next = &others[i & 1];
        set_place(walk, u, v, next);
        walk_edge(walk, at, next);
        at = next;
    }
    walk_edge(walk, at, &first);
    if (walk->run != NO_RUN && walk->first_run != NO_RUN)
        crn_surface_join(walk->surface, walk->run, walk->first_run);
    end_run(walk);
}

/* Twice the signed area, and the centroid, relative to the first point. */
static double measure(const float *xy, uint32_t n, double *ret_x, double *ret_y)
{
    double area = 0, sum_x = 0, sum_y = 0, x0 = (double)xy[0], y0 = (double)xy[1];
    for (uint32_t i = 1; i + 1 < n; i++) {
        const float *at = xy + 2 * (size_t)i;
        double ax = (double)at[0] - x0, ay = (double)at[1] - y0;
        double bx = (double)at[2] - x0, by = (double)at[3] - y0;
        double triangle = ax * by - bx * ay;
        area += triangle;
        sum_x += triangle * (ax + bx);
        sum_y += triangle * (ay + by);
    }
    *ret_x = x0 + sum_x / (3 * area);
    *ret_y = y0 + sum_y / (3 * area);
    return area;
}

/* Cuts one outline or hole. False if it is left out. */
static bool cut(surface_walk *walk, const crn_surface_view *views, int32_t view, uint32_t defect)
{
    const crn_defects *all = views[view].defects;
    const crn_defect *outline = &all->defects[defect];
    const float *xy = all->xy + 2 * (size_t)outline->first_point;
    const float *last = xy + 2 * (size_t)(outline->point_count - 1);
    uint32_t n = outline->point_count;
    if (xy[0] == last[0] && xy[1] == last[1])
        n--;
    double x = 0, y = 0, u, v, area = n < 3 ? 0 : measure(xy, n, &x, &y);
    if (area == 0)
        return false;
    crn_surface_lens_place(walk->lens, x, y, &u, &v);
    if (!outline->hole && !(u * u + v * v <= 1))
        return false;
    walk->outline = (crn_surface_run){
        .defect = defect, .view = view, .channel = outline->channel, .hole = outline->hole};
    walk->sign = (area > 0) == (outline->hole != walk->mirrored) ? -1 : 1;
    walk_around(walk, xy, n);
    return true;
}

/* Joins runs whose crossings enclose a range of a border that lies within the outline. */
static void pair_crossings(crn_surface *surface)
{
    crn_surface_mark *marks = surface->crossings;
    crn_surface_sort(marks, surface->crossing_count);
    for (uint32_t i = 0; i + 1 < surface->crossing_count; i += 2) {
        crn_surface_join(surface, marks[i].run, marks[i + 1].run);
        add_range(surface, marks[i].run, (int)marks[i].group, fmin(marks[i].to, marks[i + 1].to),
                  fmax(marks[i].to, marks[i + 1].to));
    }
    surface->crossing_count = 0;
}

static double distance2(crn_surface_vertex a, crn_surface_vertex b)
{
    float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return (double)(x * x + y * y + z * z);
}

/* Joins a hole that crosses no border with the run around it. Of several pieces of the outline it
 * is the nearest: between a hole and another piece lies the edge of its own. */
static void place_hole(crn_surface *surface, uint32_t hole, uint32_t first, uint32_t end)
{
    const crn_surface_run *runs = surface->runs;
    uint32_t nearest = first;
    double least = INFINITY;
    for (uint32_t i = first; i < end && end - first > 1 && runs[hole].point_count; i++) {
        uint32_t stride = runs[i].point_count / (NEAREST_TRIED / (end - first) + 1) + 1;
        for (uint32_t k = 0; k < runs[i].point_count; k += stride) {
            double apart = distance2(surface->vertices[runs[i].first_point + k],
                                     surface->vertices[runs[hole].first_point]);
            if (apart < least) {
                least = apart;
                nearest = i;
            }
        }
    }
    crn_surface_join(surface, hole, nearest);
}

/* Cuts an outline and its holes. */
static void cut_region(surface_walk *walk, const crn_surface_view *views, int32_t view,
                       uint32_t outline)
{
    crn_surface *surface = walk->surface;
    uint32_t first = surface->run_count;
    if (!cut(walk, views, view, outline) || surface->run_count == first)
        return;
    uint32_t end = surface->run_count;
    for (uint32_t hole = surface->first_hole[outline]; hole != UINT32_MAX;
         hole = surface->next_hole[hole])
        cut(walk, views, view, hole);
    pair_crossings(surface);
    for (uint32_t i = end; i < surface->run_count; i++)
        if (surface->runs[crn_surface_root(surface, i)].hole)
            place_hole(surface, i, first, end);
}

/* What all outlines of a view have in common. */
static surface_walk walk_of(crn_surface *surface, const crn_surface_lens *lens)
{
    return (surface_walk){
        .surface = surface,
        .lens = lens,
        /* About x the chart is the picture's mirror image. */
        .mirrored = lens->across_x * lens->along_y < lens->across_y * lens->along_x,
        /* A view shows nothing beyond a right angle: such a border is as good as one. */
        .cos_border = {lens->lo > -M_PI / 2 ? cos(lens->lo) : 0,
                       lens->hi < M_PI / 2 ? cos(lens->hi) : 0},
        .sin_border = {lens->lo > -M_PI / 2 ? sin(lens->lo) : -1,
                       lens->hi < M_PI / 2 ? sin(lens->hi) : 1},
        .pole_v = crn_surface_lens_pole(lens, POLE_PX),
        .reach_max = surface->settings.roll_error_rad + 1 / (lens->across_px * STEP_MAX),
    };
}

void crn_surface_cut_view(crn_surface *surface, const crn_surface_view *views, int32_t view)
{
    const crn_defects *all = views[view].defects;
    surface_walk walk = walk_of(surface, &surface->lenses[view]);
    for (uint32_t i = 0; i < all->defect_count; i++)
        surface->first_hole[i] = surface->next_hole[i] = UINT32_MAX;
    for (uint32_t i = all->defect_count; i-- > 0;) {
        int32_t parent = all->defects[i].parent;
        if (!all->defects[i].hole || parent < 0 || all->defects[parent].hole)
            continue;
        surface->next_hole[i] = surface->first_hole[parent];
        surface->first_hole[parent] = i;
    }
    for (uint32_t i = 0; i < all->defect_count; i++)
        if (!all->defects[i].hole)
            cut_region(&walk, views, view, i);
}
