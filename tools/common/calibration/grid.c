#include "tools/common/calibration/grid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ASIDE 0.25 /* of the way to the next corner: how far that may lie off the edge's line */
#define ALIKE 0.4  /* of a corner's contrast: what its neighbours have at least */
#define TURN  0.4  /* rad: by so much the same edge's directions at both its ends may differ */

/* A corner's neighbours along its four edges, and its place on the board. */
typedef struct grid_node {
    int32_t next[4];     /* -1: none */
    int32_t turn;        /* edge i leads to the board's direction (i + turn) % 4 */
    int32_t board;       /* -1: on none yet */
    int32_t column, row; /* from the board's first corner */
} grid_node;

/* The board's directions: along the columns, the rows, and back. */
static const int32_t steps[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};

static double turned(double from, double to)
{
    return fabs(remainder(to - from, 2 * M_PI));
}

static bool is_bright_after(const crn_corner *corner, int edge)
{
    return (edge % 2 == 0) == corner->first_bright;
}

/* The edge of `to` that leads back along edge `edge` of `from`; -1 if none does. What is bright on
 * one side of it as seen from here is bright on the other side as seen from there. */
static int edge_back(const crn_corner *from, int edge, const crn_corner *to)
{
    for (int back = 0; back < 4; back++)
        if (turned(from->angle[edge] + M_PI, to->angle[back]) < TURN &&
            is_bright_after(to, back) != is_bright_after(from, edge))
            return back;
    return -1;
}

/* The nearest corner along an edge. */
static int32_t find_next(const crn_corners *corners, size_t from, int edge)
{
    const crn_corner *corner = &corners->at[from];
    double dx = cos(corner->angle[edge]), dy = sin(corner->angle[edge]), nearest = INFINITY;
    int32_t found = -1;
    for (size_t i = 0; i < corners->count; i++) {
        double x = corners->at[i].x - corner->x, y = corners->at[i].y - corner->y;
        double along = x * dx + y * dy;
        if (along <= 1 || along >= nearest || fabs(x * dy - y * dx) > ASIDE * along ||
            corners->at[i].contrast < ALIKE * corner->contrast)
            continue;
        nearest = along;
        found = (int32_t)i;
    }
    return found >= 0 && edge_back(corner, edge, &corners->at[found]) >= 0 ? found : -1;
}

/* Only what both ends agree on counts. */
static void drop_one_sided(const crn_corners *corners, grid_node *nodes)
{
    for (size_t i = 0; i < corners->count; i++)
        for (int edge = 0; edge < 4; edge++) {
            int32_t next = nodes[i].next[edge];
            int back = next < 0 ? -1 : edge_back(&corners->at[i], edge, &corners->at[next]);
            if (back < 0 || nodes[next].next[back] != (int32_t)i)
                nodes[i].next[edge] = -1;
        }
}

/* Numbers all that can be reached from a corner; returns how many. `queue`: room for all corners.
 */
static int32_t walk(const crn_corners *corners, grid_node *nodes, int32_t first, int32_t board,
                    int32_t *queue)
{
    int32_t count = 1;
    queue[0] = first;
    nodes[first].board = board;
    for (int32_t i = 0; i < count; i++) {
        const grid_node *node = &nodes[queue[i]];
        for (int edge = 0; edge < 4; edge++) {
            int32_t next = node->next[edge];
            if (next < 0 || nodes[next].board >= 0)
                continue;
            int back = edge_back(&corners->at[queue[i]], edge, &corners->at[next]);
            int32_t direction = (edge + node->turn) % 4;
            nodes[next].board = board;
            nodes[next].turn = (direction + 2 - back + 4) % 4;
            nodes[next].column = node->column + steps[direction][0];
            nodes[next].row = node->row + steps[direction][1];
            queue[count++] = next;
        }
    }
    return count;
}

/* The direction of the columns: the mean of all edges that lead there. */
static double direction_of(const crn_corners *corners, const grid_node *nodes, int32_t board,
                           int32_t direction)
{
    double x = 0, y = 0;
    for (size_t i = 0; i < corners->count; i++)
        for (int edge = 0; edge < 4 && nodes[i].board == board; edge++)
            if ((edge + nodes[i].turn) % 4 == direction) {
                x += cos(corners->at[i].angle[edge]);
                y += sin(corners->at[i].angle[edge]);
            }
    return atan2(y, x);
}

/* Turns the board so that its columns run along x, and counts from its top left corner. */
static void number(crn_corners *corners, const grid_node *nodes, int32_t board)
{
    int32_t along = 0, left = INT32_MAX, top = INT32_MAX;
    size_t kept = 0;
    for (int32_t direction = 1; direction < 4; direction++)
        if (fabs(direction_of(corners, nodes, board, direction)) <
            fabs(direction_of(corners, nodes, board, along)))
            along = direction;
    for (size_t i = 0; i < corners->count; i++) {
        crn_corner corner = corners->at[i];
        if (nodes[i].board != board)
            continue;
        const int32_t *across = steps[along], *down = steps[(along + 1) % 4];
        corner.column = nodes[i].column * across[0] + nodes[i].row * across[1];
        corner.row = nodes[i].column * down[0] + nodes[i].row * down[1];
        left = corner.column < left ? corner.column : left;
        top = corner.row < top ? corner.row : top;
        corners->at[kept++] = corner;
    }
    corners->count = kept;
    for (size_t i = 0; i < kept; i++) {
        corners->at[i].column -= left;
        corners->at[i].row -= top;
    }
}

static int by_place(const void *left, const void *right)
{
    const crn_corner *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

/* Two corners of one place: neither is trusted. */
static void drop_doubled(crn_corners *corners)
{
    size_t kept = 0;
    if (corners->count > 0)
        qsort(corners->at, corners->count, sizeof *corners->at, by_place);
    for (size_t i = 0, next; i < corners->count; i = next) {
        next = i + 1;
        while (next < corners->count && by_place(&corners->at[i], &corners->at[next]) == 0)
            next++;
        if (next == i + 1)
            corners->at[kept++] = corners->at[i];
    }
    corners->count = kept;
}

int crn_grid_join(crn_corners *corners)
{
    grid_node *nodes = calloc(corners->count + 1, sizeof *nodes);
    int32_t *queue = calloc(corners->count + 1, sizeof *queue);
    int32_t most = 0, board = 0;
    if (!nodes || !queue) {
        free(nodes);
        free(queue);
        return -ENOMEM;
    }
    for (size_t i = 0; i < corners->count; i++) {
        nodes[i].board = -1;
        for (int edge = 0; edge < 4; edge++)
            nodes[i].next[edge] = find_next(corners, i, edge);
    }
    drop_one_sided(corners, nodes);
    for (size_t i = 0; i < corners->count; i++) {
        if (nodes[i].board >= 0)
            continue;
        int32_t count = walk(corners, nodes, (int32_t)i, (int32_t)i, queue);
        if (count > most) {
            most = count;
            board = (int32_t)i;
        }
    }
    number(corners, nodes, board);
    drop_doubled(corners);
    free(nodes);
    free(queue);
    return 0;
}
