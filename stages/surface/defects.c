/* Defects of joined runs: areas, lengths, parts, and the totals of their classes. */
#include <math.h>
#include <string.h>

#include "stages/surface/surface.h"

#define ROUNDS_MAX  4 /* of the search for the longest chord */
#define ROUNDS_SIDE 2 /* of that from either side */

/* A vector in mm. */
typedef struct surface_vector {
    double x, y, z;
} surface_vector;

static surface_vector vector_of(const crn_surface_vertex *at)
{
    return (surface_vector){(double)at->x, (double)at->y, (double)at->z};
}

static surface_vector minus(surface_vector a, surface_vector b)
{
    return (surface_vector){a.x - b.x, a.y - b.y, a.z - b.z};
}

static double dot(surface_vector a, surface_vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static surface_vector cross_product(surface_vector a, surface_vector b)
{
    return (surface_vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* The square of a vertex' distance from a point, in the vertices' own precision, as its bits: those
 * of floats that are not negative are in their order, and compilers find the largest of integers
 * by vectors. */
static inline int32_t apart2_bits(const crn_surface_vertex *at, const crn_surface_vertex *from)
{
    float x = at->x - from->x, y = at->y - from->y, z = at->z - from->z;
    float square = x * x + y * y + z * z;
    int32_t bits;
    memcpy(&bits, &square, sizeof bits);
    return bits;
}

/* The vertex that is farthest from a point. First how far it is, without a branch, then which. */
static surface_vector farthest(const crn_surface *surface, uint32_t root, surface_vector point)
{
    const crn_surface_vertex from = {(float)point.x, (float)point.y, (float)point.z}, *best = &from;
    int32_t farthest2 = -1;
    uint32_t run = root;
    do {
        const crn_surface_vertex *at = &surface->vertices[surface->runs[run].first_point];
        uint32_t count = surface->runs[run].point_count, i = 0;
        int32_t most = -1;
#pragma omp simd reduction(max : most)
        for (uint32_t k = 0; k < count; k++) {
            int32_t square = apart2_bits(&at[k], &from);
            most = square > most ? square : most;
        }
        if (most > farthest2) {
            farthest2 = most;
            while (i + 1 < count && apart2_bits(&at[i], &from) < most)
                i++;
            best = &at[i];
        }
        run = surface->runs[run].next;
    } while (run);
    return vector_of(best);
}

/* The vertices that lie farthest to either side along a direction; returns their distance along it.
 */
static double extent_along(const crn_surface *surface, uint32_t root, surface_vector direction,
                           surface_vector ret_ends[2])
{
    double least = INFINITY, most = -INFINITY;
    uint32_t run = root;
    do {
        const crn_surface_vertex *at = &surface->vertices[surface->runs[run].first_point];
        for (uint32_t i = 0; i < surface->runs[run].point_count; i++) {
            double place = dot(vector_of(&at[i]), direction);
            if (place < least) {
                least = place;
                ret_ends[0] = vector_of(&at[i]);
            }
            if (place > most) {
                most = place;
                ret_ends[1] = vector_of(&at[i]);
            }
        }
        run = surface->runs[run].next;
    } while (run);
    return most > least ? most - least : 0;
}

/* From one end to the farthest point, and on from there as long as that is farther. */
static double chord_from(const crn_surface *surface, uint32_t root, int rounds, surface_vector from,
                         surface_vector ret_ends[2])
{
    double longest2 = 0;
    for (int round = 0; round < rounds; round++) {
        surface_vector to = farthest(surface, root, from), apart = minus(to, from);
        double length2 = dot(apart, apart);
        if (length2 <= longest2)
            break;
        longest2 = length2;
        ret_ends[0] = from;
        ret_ends[1] = to;
        from = to;
    }
    return sqrt(longest2);
}

/* Longest chord and extent across it. The search begins at both ends of either direction, so that
 * it does not stop at a chord that is merely longer than its neighbours. */
static void measure_lengths(const crn_surface *surface, uint32_t root, surface_vector middle,
                            crn_surface_defect *defect)
{
    surface_vector ends[2] = {middle, middle}, sides[2] = {middle, middle}, other[2];
    double length = chord_from(surface, root, ROUNDS_MAX, farthest(surface, root, middle), ends);
    surface_vector across = cross_product(minus(ends[1], ends[0]), middle);
    double size = sqrt(dot(across, across));
    if (size > 0) {
        across = (surface_vector){across.x / size, across.y / size, across.z / size};
        defect->width_mm = extent_along(surface, root, across, sides);
        for (int side = 0; side < 2; side++)
            length = fmax(length, chord_from(surface, root, ROUNDS_SIDE, sides[side], other));
    }
    defect->length_mm = length;
    defect->width_mm = fmin(defect->width_mm, length);
}

/* The mean of its vertices. */
static surface_vector find_middle(const crn_surface *surface, uint32_t root)
{
    surface_vector sum = {0, 0, 0};
    uint32_t count = 0, run = root;
    do {
        const crn_surface_vertex *at = &surface->vertices[surface->runs[run].first_point];
        for (uint32_t i = 0; i < surface->runs[run].point_count; i++) {
            sum.x += (double)at[i].x;
            sum.y += (double)at[i].y;
            sum.z += (double)at[i].z;
        }
        count += surface->runs[run].point_count;
        run = surface->runs[run].next;
    } while (run);
    double share = count ? 1.0 / count : 0;
    return (surface_vector){sum.x * share, sum.y * share, sum.z * share};
}

/* Several runs of an outline are one part. */
static bool is_last_part(const crn_surface *surface, const crn_surface_defect *defect,
                         const crn_surface_part *part)
{
    uint32_t count = surface->fruit.part_count;
    if (count == defect->first_part)
        return false;
    const crn_surface_part *last = &surface->parts[count - 1];
    return last->view == part->view && last->defect == part->defect;
}

/* Its area, views and parts. */
static void add_runs(crn_surface *surface, uint32_t root, crn_surface_defect *defect)
{
    crn_surface_fruit *fruit = &surface->fruit;
    defect->first_part = fruit->part_count;
    uint32_t run = root;
    do {
        const crn_surface_run *of = &surface->runs[run];
        crn_surface_part part = {of->view, of->defect};
        defect->area_mm2 += of->area_mm * surface->spheroid.a_mm;
        defect->views |= UINT64_C(1) << of->view;
        if (!of->hole && !is_last_part(surface, defect, &part))
            surface->parts[fruit->part_count++] = part;
        run = of->next;
    } while (run);
    defect->part_count = fruit->part_count - defect->first_part;
    defect->area_mm2 = fmax(0, fmin(defect->area_mm2, fruit->surface_mm2));
}

static void add_to_total(crn_surface_total *total, const crn_surface_defect *defect, double most)
{
    total->count++;
    total->area_mm2 = fmin(most, total->area_mm2 + defect->area_mm2);
    total->largest_mm2 = fmax(total->largest_mm2, defect->area_mm2);
    total->longest_mm = fmax(total->longest_mm, defect->length_mm);
}

/* Links every run to the next of its defect, in rising order. */
static void link_runs(crn_surface *surface)
{
    crn_surface_run *runs = surface->runs;
    for (uint32_t i = 0; i < surface->run_count; i++)
        runs[i].next = 0;
    for (uint32_t i = surface->run_count; i-- > 0;) {
        uint32_t root = crn_surface_root(surface, i);
        if (root == i)
            continue;
        runs[i].next = runs[root].next;
        runs[root].next = i;
    }
}

void crn_surface_list_defects(crn_surface *surface)
{
    crn_surface_fruit *fruit = &surface->fruit;
    link_runs(surface);
    memset(surface->totals, 0, sizeof surface->totals);
    for (uint32_t i = 0; i < surface->run_count; i++) {
        if (crn_surface_root(surface, i) != i)
            continue;
        crn_surface_defect *defect = &surface->defects[fruit->defect_count++];
        *defect = (crn_surface_defect){.channel = surface->runs[i].channel};
        surface_vector middle = find_middle(surface, i);
        add_runs(surface, i, defect);
        measure_lengths(surface, i, middle, defect);
        const crn_spheroid *shape = &surface->spheroid;
        surface_vector at = {middle.x / shape->a_mm, middle.y / shape->c_mm,
                             middle.z / shape->a_mm};
        double size = sqrt(dot(at, at));
        defect->lambda_rad = atan2(at.x, at.z);
        defect->v = size > 0 ? at.y / size : 0;
        add_to_total(&surface->totals[defect->channel], defect, fruit->surface_mm2);
    }
}
