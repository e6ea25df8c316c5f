/* Contours, reference implementation: marching squares cell by cell, then segments linked
 * to contours. */
#include "stages/serial/contours.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "stages/context.h"

#define NONE UINT32_MAX

enum { TOP, LEFT, RIGHT, BOTTOM, NO_SIDE };

/* Segments of a cell by its high corners (a bit mask): upper left 1, upper right 2, lower left 4,
 * lower right 8. Low values lie left of the direction of travel. */
typedef struct segment_sides {
    uint8_t from, to;
} segment_sides;

static const segment_sides sides_of[16][2] = {
    [0] = {{NO_SIDE, NO_SIDE}, {NO_SIDE, NO_SIDE}}, [1] = {{TOP, LEFT}, {NO_SIDE, NO_SIDE}},
    [2] = {{RIGHT, TOP}, {NO_SIDE, NO_SIDE}},       [3] = {{RIGHT, LEFT}, {NO_SIDE, NO_SIDE}},
    [4] = {{LEFT, BOTTOM}, {NO_SIDE, NO_SIDE}},     [5] = {{TOP, BOTTOM}, {NO_SIDE, NO_SIDE}},
    [6] = {{RIGHT, TOP}, {LEFT, BOTTOM}},           [7] = {{RIGHT, BOTTOM}, {NO_SIDE, NO_SIDE}},
    [8] = {{BOTTOM, RIGHT}, {NO_SIDE, NO_SIDE}},    [9] = {{TOP, LEFT}, {BOTTOM, RIGHT}},
    [10] = {{BOTTOM, TOP}, {NO_SIDE, NO_SIDE}},     [11] = {{BOTTOM, LEFT}, {NO_SIDE, NO_SIDE}},
    [12] = {{LEFT, RIGHT}, {NO_SIDE, NO_SIDE}},     [13] = {{TOP, RIGHT}, {NO_SIDE, NO_SIDE}},
    [14] = {{LEFT, TOP}, {NO_SIDE, NO_SIDE}},       [15] = {{NO_SIDE, NO_SIDE}, {NO_SIDE, NO_SIDE}},
};

/* The two saddles (high values on one diagonal only) if high values are connected. */
static const segment_sides sides_of_6_high[2] = {{LEFT, TOP}, {RIGHT, BOTTOM}};
static const segment_sides sides_of_9_high[2] = {{TOP, RIGHT}, {BOTTOM, LEFT}};

typedef struct segment {
    crn_point from, to;
    uint32_t from_edge, to_edge;
    bool used;
} segment;

/* One plane being traced. Rows and columns start at `origin`: -1 with a closed border, else 0. */
typedef struct tracing {
    const crn_contours_params *params;
    const crn_image *in;
    int32_t plane, origin, cell_rows, cell_columns;
    double level;
    segment *segments;
    uint32_t segment_count;
    uint32_t *begins, *ends; /* by edge: the segment that begins or ends there, or NONE */
    size_t edges;
    crn_contours *out;
    crn_pace pace;
} tracing;

int crn_contours_check(const crn_contours_params *params, const crn_image *in,
                       const crn_contours *out)
{
    if (!params || !in || !out || !params->levels || !in->data || !crn_type_bytes(in->type))
        return -EINVAL;
    if ((out->point_capacity && !out->points) || (out->contour_capacity && !out->contours))
        return -EINVAL;
    if ((unsigned)params->connectivity > CRN_CONNECT_HIGH ||
        (unsigned)params->orientation > CRN_ORIENT_HIGH ||
        (unsigned)params->border > CRN_BORDER_CLOSED)
        return -EINVAL;
    bool closed = params->border == CRN_BORDER_CLOSED;
    int32_t min = closed ? 1 : 2;
    if (in->planes < 1 || in->height < min || in->width < min)
        return -EINVAL;
    int64_t more = closed ? 1 : -1;
    if ((in->height + more) * (in->width + more) >= CRN_CONTOURS_CELLS_MAX)
        return -EINVAL;
    for (int32_t plane = 0; plane < in->planes; plane++)
        if (closed && params->levels[plane] < 0)
            return -EINVAL;
    return 0;
}

static bool is_outside(const crn_image *in, int32_t y, int32_t x)
{
    return y < 0 || x < 0 || y >= in->height || x >= in->width;
}

static double value_at(const tracing *t, int32_t y, int32_t x)
{
    return is_outside(t->in, y, x) ? 0 : crn_image_value(t->in, t->plane, y, x);
}

static bool is_valid(const tracing *t, int32_t y, int32_t x)
{
    if (is_outside(t->in, y, x))
        return true;
    if (t->params->mask && !t->params->mask[(size_t)y * (size_t)t->in->width + (size_t)x])
        return false;
    return !isnan(value_at(t, y, x));
}

/* Linear interpolation: where the level lies between a and b, of which one is above it. Next to an
 * infinite value this is the finite neighbour; between two of them, half-way. 0 where doubles
 * overflow. */
static double fraction(double a, double b, double level)
{
    if (isinf(a) && isinf(b))
        return 0.5;
    if (isinf(a) || isinf(b))
        return isinf(a) ? 1 : 0;
    double f = (level - a) / (b - a);
    return isnan(f) ? 0 : f;
}

/* The point on a side of the cell whose upper left corner is (y, x). Always interpolated from left
 * to right or top to bottom, so that both cells of an edge get the same doubles. */
static crn_point point_on(const tracing *t, int32_t y, int32_t x, int side)
{
    int32_t ay = y + (side == BOTTOM), ax = x + (side == RIGHT);
    bool horizontal = side == TOP || side == BOTTOM;
    double a = value_at(t, ay, ax), b = value_at(t, ay + !horizontal, ax + horizontal);
    double f = fraction(a, b, t->level);
    crn_point point = {ax + (horizontal ? f : 0), ay + (horizontal ? 0 : f)};
    return point;
}

/* Edge number, the same from both cells of the edge. */
static uint32_t edge_on(const tracing *t, int32_t y, int32_t x, int side)
{
    int64_t row = y - t->origin + (side == BOTTOM), column = x - t->origin + (side == RIGHT);
    int64_t corner = row * (t->cell_columns + 1) + column;
    return (uint32_t)(2 * corner + (side == LEFT || side == RIGHT));
}

static void find_segments_of_cell(tracing *t, int32_t y, int32_t x)
{
    unsigned corners = 0;
    for (int corner = 0; corner < 4; corner++) {
        int32_t cy = y + corner / 2, cx = x + corner % 2;
        if (!is_valid(t, cy, cx))
            return;
        corners |= (unsigned)(value_at(t, cy, cx) > t->level) << corner;
    }
    const segment_sides *sides = sides_of[corners];
    if (t->params->connectivity == CRN_CONNECT_HIGH && corners == 6)
        sides = sides_of_6_high;
    if (t->params->connectivity == CRN_CONNECT_HIGH && corners == 9)
        sides = sides_of_9_high;
    for (int i = 0; i < 2 && sides[i].from != NO_SIDE; i++) {
        segment found = {.from = point_on(t, y, x, sides[i].from),
                         .to = point_on(t, y, x, sides[i].to),
                         .from_edge = edge_on(t, y, x, sides[i].from),
                         .to_edge = edge_on(t, y, x, sides[i].to)};
        t->begins[found.from_edge] = t->segment_count;
        t->ends[found.to_edge] = t->segment_count;
        t->segments[t->segment_count++] = found;
    }
}

/* True if both points of a segment coincide: a pixel lies exactly at the level. */
static bool is_point(const segment *s)
{
    return s->from.x == s->to.x && s->from.y == s->to.y;
}

static uint32_t successor(const tracing *t, uint32_t s)
{
    return t->begins[t->segments[s].to_edge];
}

static uint32_t predecessor(const tracing *t, uint32_t s)
{
    return t->ends[t->segments[s].from_edge];
}

/* Emits the contour of segment s, the first in raster order of those with a length. Returns false
 * if it does not fit or time is over. */
static bool emit_contour(tracing *t, uint32_t s)
{
    /* The first segment of an open contour, or once round a closed one. `last` is the last in
     * raster order. */
    uint32_t head = s, last = s, next = s;
    while (predecessor(t, head) != NONE && predecessor(t, head) != s) {
        head = predecessor(t, head);
        if (crn_pace_over(&t->pace, 64))
            return false;
    }
    bool closed = predecessor(t, head) == s;
    uint32_t lengths = 0;
    next = head;
    do {
        if (crn_pace_over(&t->pace, 64))
            return false;
        t->segments[next].used = true;
        if (!is_point(&t->segments[next])) {
            lengths++;
            last = next > last ? next : last;
        }
        next = successor(t, next);
    } while (next != NONE && next != head);

    crn_contours *out = t->out;
    if (out->contour_count == out->contour_capacity ||
        lengths + 1 > out->point_capacity - out->point_count)
        return false;
    crn_contour contour = {t->plane, closed, out->point_count, lengths + 1};
    out->contours[out->contour_count++] = contour;
    out->point_count += contour.count;

    /* A closed contour begins and ends at the end of its last segment in raster order. */
    bool reversed = t->params->orientation == CRN_ORIENT_HIGH;
    crn_point *point = out->points + contour.first + (reversed ? lengths : 0);
    *point = closed ? t->segments[last].to : t->segments[head].from;
    next = closed ? successor(t, last) : head;
    for (uint32_t i = 0; i < lengths; next = successor(t, next)) {
        if (is_point(&t->segments[next]))
            continue;
        point += reversed ? -1 : 1;
        *point = t->segments[next].to;
        i++;
    }
    return true;
}

/* Marks all edges as without segments. */
static void clear_edges(tracing *t)
{
    const size_t max = CRN_PACE_WORK / 8;
    for (size_t i = 0; i < t->edges && !crn_pace_over(&t->pace, CRN_PACE_WORK / 8); i += max) {
        size_t count = t->edges - i < max ? t->edges - i : max;
        memset(t->begins + i, 0xff, count * sizeof *t->begins);
        memset(t->ends + i, 0xff, count * sizeof *t->ends);
    }
}

/* Returns false if the output is full or time is over. */
static bool trace_plane(tracing *t)
{
    t->segment_count = 0;
    clear_edges(t);
    for (int32_t row = 0; row < t->cell_rows; row++)
        for (int32_t column = 0; column < t->cell_columns; column++) {
            if (crn_pace_over(&t->pace, 64))
                return false;
            find_segments_of_cell(t, t->origin + row, t->origin + column);
        }
    for (uint32_t s = 0; s < t->segment_count; s++)
        if (!t->segments[s].used && !is_point(&t->segments[s]) && !emit_contour(t, s))
            return false;
    return true;
}

int crn_contours_serial(crn_context *context, const crn_contours_params *params,
                        const crn_image *in, crn_contours *out)
{
    int r = crn_contours_check(params, in, out);
    if (r < 0)
        return r;
    bool closed = params->border == CRN_BORDER_CLOSED;
    tracing t = {.params = params, .in = in, .origin = closed ? -1 : 0, .out = out};
    t.pace = crn_pace_start(context);
    t.cell_rows = in->height + (closed ? 1 : -1);
    t.cell_columns = in->width + (closed ? 1 : -1);
    size_t cells = (size_t)t.cell_rows * (size_t)t.cell_columns;
    t.edges = 2 * (size_t)(t.cell_rows + 1) * (size_t)(t.cell_columns + 1);
    t.segments = crn_context_scratch(context, 0, 2 * cells * sizeof *t.segments);
    t.begins = crn_context_scratch(context, 1, t.edges * sizeof *t.begins);
    t.ends = crn_context_scratch(context, 2, t.edges * sizeof *t.ends);
    if (!t.segments || !t.begins || !t.ends)
        return -ENOMEM;

    out->point_count = out->contour_count = 0;
    out->truncated = false;
    for (t.plane = 0; t.plane < in->planes && !out->truncated && !t.pace.over; t.plane++) {
        t.level = params->levels[t.plane];
        if (!isnan(t.level))
            out->truncated = !trace_plane(&t) && !t.pace.over;
    }
    return crn_context_status(context);
}
