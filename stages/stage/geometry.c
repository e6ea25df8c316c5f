#include "stages/stage/geometry.h"

#include <math.h>

#include "stages/stage/crossings.h"

/* --- measures of one contour --- */

void crn_outline_measure(const crn_point *points, uint32_t count, bool closed,
                         crn_outline *ret_outline)
{
    const crn_point origin = points[0];
    crn_outline o = {.x0 = origin.x, .y0 = origin.y, .x1 = origin.x, .y1 = origin.y};
    double twice_area = 0, moment_x = 0, moment_y = 0, sum_x = 0, sum_y = 0;
    double ax = 0, ay = 0; /* the previous point, relative to the first */
    for (uint32_t i = 1; i < count; i++) {
        double x = points[i].x, y = points[i].y;
        o.x0 = x < o.x0 ? x : o.x0;
        o.y0 = y < o.y0 ? y : o.y0;
        o.x1 = x > o.x1 ? x : o.x1;
        o.y1 = y > o.y1 ? y : o.y1;
        double bx = x - origin.x, by = y - origin.y;
        double cross = ax * by - bx * ay;
        twice_area += cross;
        moment_x += (ax + bx) * cross;
        moment_y += (ay + by) * cross;
        sum_x += bx;
        sum_y += by;
        o.perimeter_px += sqrt((bx - ax) * (bx - ax) + (by - ay) * (by - ay));
        ax = bx;
        ay = by;
    }
    /* The closing segment, or an open contour's chord, ends at the origin and adds nothing. */
    o.area_px = twice_area / 2;
    o.centroid_x = origin.x + moment_x / (3 * twice_area);
    o.centroid_y = origin.y + moment_y / (3 * twice_area);
    bool in_box = o.centroid_x >= o.x0 && o.centroid_x <= o.x1 && o.centroid_y >= o.y0 &&
                  o.centroid_y <= o.y1; /* false for NaN, as the area may be 0 */
    if (!in_box) {
        uint32_t distinct = closed ? count - 1 : count; /* the repeated last point adds 0 */
        o.centroid_x = origin.x + sum_x / distinct;
        o.centroid_y = origin.y + sum_y / distinct;
    }
    *ret_outline = o;
}

bool crn_outline_is_possible(const crn_outline *outline, int32_t height, int32_t width)
{
    /* A point that is no number leaves no area, wherever it stands; comparisons pass it over. */
    return isfinite(outline->area_px) && outline->x0 >= -1 && outline->y0 >= -1 &&
           outline->x1 <= width && outline->y1 <= height;
}

/* --- nesting and the pixels inside --------------------------------------------------------------
 *
 * Scanline sweep: contours are intersected with every row of pixel centres. A segment that starts
 * on a row and continues below it crosses that row; one that ends there from above does not. Since
 * a segment stays in its cell it crosses at most one row, at one of its end points, so that
 * intersections need no arithmetic. In effect, row y stands for the line just below it.
 *
 * With crossings sorted along the rows, one pass yields both results:
 * - successive pairs of a contour's crossings bound its ranges of pixels in a row;
 * - at a contour's first crossing, the nearest crossing to the left determines its parent: the
 *   contour D crossed there if D was entered, the parent of D if it was left.
 */

#define NO_ROW    INT32_MIN
#define NOT_SEEN  (-2)
#define NOT_FOUND UINT32_MAX

typedef struct sweep {
    crn_plane_contours in;
    crn_nest *nests;
    crn_nest_runs *runs;
    crn_crossings crossings;
    crn_pace *pace;
} sweep;

/* At most one crossing per segment, and a chord crosses only rows that its contour crosses. */
static size_t crossings_max(uint32_t points)
{
    return 2 * (size_t)points;
}

size_t crn_nest_scratch_bytes(uint32_t points, int32_t height, int32_t width)
{
    size_t longest = (size_t)(height > width ? height : width) + 2;
    return 2 * crossings_max(points) * sizeof(crn_crossing) + (longest + 1) * sizeof(uint32_t);
}

static bool in_rows(const sweep *s, double y)
{
    return y >= -1 && y <= s->in.height; /* false for NaN */
}

/* A crossing of row y, which must satisfy in_rows(), at x. */
static crn_crossing crossing_at(const sweep *s, double x, int32_t y, uint32_t contour)
{
    /* Clamped, since rounding may put a point of a chord slightly outside of the picture. */
    double inside = x > -1 ? x < s->in.width ? x : s->in.width : -1;
    int32_t column = (int32_t)inside; /* truncates, so it rounds negative values up */
    column += inside > column;
    return (crn_crossing){.row = y + 1, .column = column + 1, .contour = contour, .x = x};
}

/* Appends the crossings of a contour's segments; returns how many. */
static uint32_t add_path(sweep *s, uint32_t contour)
{
    const crn_contour *c = &s->in.contours[contour];
    uint32_t before = s->crossings.count;
    for (uint32_t i = c->first; i + 1 < c->first + c->count; i++) {
        const crn_point *a = &s->in.points[i], *b = &s->in.points[i + 1];
        bool down = a->y < b->y;
        const crn_point *upper = down ? a : b, *lower = down ? b : a;
        if (!(upper->y < lower->y) || !in_rows(s, upper->y))
            continue;
        int32_t y = (int32_t)upper->y;
        if (y != upper->y)
            continue;
        crn_crossing k = crossing_at(s, upper->x, y, contour);
        /* If low values lie left of the direction of travel, they lie right of a
         * downward segment. */
        k.ends_high = down == (s->in.orientation == CRN_ORIENT_LOW);
        k.slope = (lower->x - upper->x) / (lower->y - upper->y);
        s->crossings.all[s->crossings.count++] = k;
    }
    return s->crossings.count - before;
}

/* Appends the crossings of an open contour's chord, at most as many as the contour has. */
static void add_chord(sweep *s, uint32_t contour, uint32_t rows_max)
{
    const crn_contour *c = &s->in.contours[contour];
    const crn_point *a = &s->in.points[c->first], *b = &s->in.points[c->first + c->count - 1];
    const crn_point *upper = a->y < b->y ? a : b, *lower = a->y < b->y ? b : a;
    if (!(upper->y < lower->y) || !in_rows(s, upper->y) || !in_rows(s, lower->y))
        return;
    double slope = (lower->x - upper->x) / (lower->y - upper->y);
    for (int32_t y = (int32_t)ceil(upper->y); y < lower->y && rows_max > 0; y++, rows_max--) {
        crn_crossing k = crossing_at(s, upper->x + (y - upper->y) * slope, y, contour);
        k.kind = CRN_CROSSING_CHORD;
        s->crossings.all[s->crossings.count++] = k;
    }
}

/*
 * A probe represents a contour that crosses no row. The contour's highest point lies between two
 * vertically adjacent pixels, and no other contour passes between that point and the upper pixel,
 * so the contour and that pixel have the same parent. If the contour has no such point, it runs
 * along a row of pixels exactly at the level; then the probe is placed in the cell on its high
 * side, to which it belongs.
 */
static void add_probe(sweep *s, uint32_t contour)
{
    const crn_contour *c = &s->in.contours[contour];
    uint32_t top = c->first;
    for (uint32_t i = c->first + 1; i < c->first + c->count; i++)
        if (s->in.points[i].y < s->in.points[top].y)
            top = i;
    double x = s->in.points[top].x, y = s->in.points[top].y;
    if (y == floor(y)) {
        double next = s->in.points[c->first + 1].x; /* all have the same y, so top is the first */
        bool high_is_below = (next > x) == (s->in.orientation == CRN_ORIENT_LOW);
        x = (x + next) / 2;
        y -= !high_is_below;
    }
    if (!in_rows(s, y))
        return;
    crn_crossing k = crossing_at(s, x, (int32_t)floor(y), contour);
    k.kind = CRN_CROSSING_PROBE;
    s->crossings.all[s->crossings.count++] = k;
}

/* Appends the pixels x0 <= x < x1 of a row that lie in the image; -1 <= x0, x1 <= width. */
static void add_run(const sweep *s, int32_t y, int32_t x0, int32_t x1, uint32_t contour)
{
    x0 = x0 < 0 ? 0 : x0;
    if (y < 0 || y >= s->in.height || x0 >= x1)
        return;
    crn_nest_runs *runs = s->runs;
    runs->all[runs->count] = (crn_run){s->in.plane, y, x0, x1};
    runs->contour[runs->count++] = s->in.first + contour;
}

/* The innermost contour that encloses the position just right of a crossing of contour `left`;
 * -1: none. */
static int32_t around(const sweep *s, uint32_t left, int32_t row)
{
    if (left == NOT_FOUND)
        return -1;
    bool entered = s->in.contours[left].closed && s->nests[left].row == row;
    return entered ? (int32_t)left : s->nests[left].parent;
}

static void read_crossings(sweep *s)
{
    int32_t row = NO_ROW;
    uint32_t left = NOT_FOUND; /* contour of the nearest crossing to the left, chords excluded */
    for (uint32_t i = 0; i < s->crossings.count; i++) {
        const crn_crossing *k = &s->crossings.all[i];
        crn_nest *nest = &s->nests[k->contour];
        if (k->row != row) {
            row = k->row;
            left = NOT_FOUND;
        }
        if (k->kind != CRN_CROSSING_CHORD && nest->parent == NOT_SEEN)
            nest->parent = around(s, left, row);
        if (k->kind == CRN_CROSSING_PROBE)
            continue;
        if (nest->row != row) {
            nest->row = row;
            nest->start = k->column;
        } else {
            nest->row = NO_ROW;
            if (crn_pace_over(s->pace, 16))
                return;
            if (nest->wanted)
                add_run(s, row - 1, nest->start - 1, k->column - 1, k->contour);
        }
        if (k->kind == CRN_CROSSING_PATH)
            left = k->contour;
    }
}

void crn_nest_sweep(const crn_plane_contours *plane, crn_nest *nests, crn_nest_runs *runs,
                    void *scratch, crn_pace *pace)
{
    const crn_contour *contours = plane->contours;
    const uint32_t count = plane->count;
    size_t points_total = 0;
    for (uint32_t i = 0; i < count; i++)
        points_total += contours[i].count;
    size_t capacity = crossings_max((uint32_t)points_total);
    sweep s = {.in = *plane,
               .nests = nests,
               .runs = runs,
               .crossings = {.all = scratch,
                             .spare = (crn_crossing *)scratch + capacity,
                             .starts = (uint32_t *)((crn_crossing *)scratch + 2 * capacity),
                             .rows = plane->height + 2,
                             .columns = plane->width + 2},
               .pace = pace};
    for (uint32_t i = 0; i < count; i++) {
        nests[i].parent = NOT_SEEN;
        nests[i].pixels = 0;
        nests[i].sum = 0;
        nests[i].row = NO_ROW;
        if (nests[i].ignored)
            continue;
        if (crn_pace_over(pace, 16 * (int64_t)contours[i].count))
            continue;
        uint32_t rows = add_path(&s, i);
        if (rows == 0)
            add_probe(&s, i);
        else if (!contours[i].closed)
            add_chord(&s, i, rows);
    }
    crn_crossings_sort(&s.crossings, pace);
    if (!pace->over)
        read_crossings(&s);
    for (uint32_t i = 0; i < count; i++)
        nests[i].parent = nests[i].parent == NOT_SEEN ? -1 : nests[i].parent;
}

void crn_nest_add(const crn_nest_runs *runs, const crn_run_sum *sums, crn_nest *nests)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        crn_nest *nest = &nests[runs->contour[i]];
        nest->sum += sums[i].sum;
        nest->pixels += sums[i].pixels;
    }
}
