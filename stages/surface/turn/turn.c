/*
 * How a fruit has turned whose axis wobbles: by three angles instead of the roll alone. Both skins
 * are laid into the frame that is half-way between them; where they match best is looked for first
 * by shifts along both axes, at a few angles of the picture, then between these by Gauss-Newton.
 */
#include "stages/surface/turn/turn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP_COLUMNS  2                /* of the shifts that are looked through */
#define COLUMNS_MAX   40               /* across the view, at most; even */
#define ROWS_MAX      6                /* along the axis, at most */
#define STRIDE_ROWS   2                /* of the rows that are compared then */
#define SPINS         3                /* angles about the line of sight, */
#define SPIN_RAD      (9 * M_PI / 180) /* so far apart */
#define OTHER         4   /* columns or rows from the best shift on another one begins */
#define ROUNDS        6   /* of Gauss-Newton, */
#define ROUND_MAX_RAD 0.2 /* each of so much at most */
#define CELLS_MIN     100 /* in both skins, to be compared */

#define SHIFTS (SPINS * (COLUMNS_MAX / STEP_COLUMNS * 2 + 1) * (2 * ROWS_MAX + 1))

/* A skin in the frame between the two, and where it has a value: 1, else 0. */
typedef struct surface_sheet {
    float marks[CRN_SKIN_ROWS][CRN_SKIN_COLUMNS], has[CRN_SKIN_ROWS][CRN_SKIN_COLUMNS];
    int first, end; /* columns that have any */
} surface_sheet;

/* How well the skins match at a spin, and so many columns and rows on. */
typedef struct surface_match {
    double correlation;
    int spin, columns, rows;
} surface_match;

typedef struct surface_search {
    const crn_surface_skin *second;
    surface_sheet still, moved; /* the first skin; the second one */
    double sines[CRN_SKIN_COLUMNS], cosines[CRN_SKIN_COLUMNS];
    surface_match matches[SHIFTS];
} surface_search;

/* The value between the cells of a skin. False beyond them. */
static bool value_at(const crn_surface_skin *skin, double row, double column, float *ret_value)
{
    if (!(column >= 0 && column < CRN_SKIN_COLUMNS - 1 && row >= 0 && row < CRN_SKIN_ROWS - 1))
        return false;
    int r0 = (int)row, c0 = (int)column;
    float s = (float)(column - c0), t = (float)(row - r0);
    const float *upper = &skin->marks[r0][c0], *lower = &skin->marks[r0 + 1][c0];
    float above = upper[0] + s * (upper[1] - upper[0]);
    *ret_value = above + t * (lower[0] + s * (lower[1] - lower[0]) - above);
    return true;
}

/* Lays a skin into the frame between the two, from which `turn` leads to the skin's own. */
static void lay(const surface_search *search, const crn_surface_skin *skin, const crn_turn *turn,
                surface_sheet *sheet)
{
    const double(*m)[3] = turn->m;
    memset(sheet, 0, sizeof *sheet);
    sheet->first = CRN_SKIN_COLUMNS;
    for (int row = 0; row < CRN_SKIN_ROWS; row++) {
        double y = crn_skin_height(row), r = sqrt(1 - y * y);
        for (int i = 0; i < CRN_SKIN_COLUMNS; i++) {
            double x = r * search->sines[i], z = r * search->cosines[i];
            double lambda = atan2(m[0][0] * x + m[0][1] * y + m[0][2] * z,
                                  m[2][0] * x + m[2][1] * y + m[2][2] * z);
            double v = m[1][0] * x + m[1][1] * y + m[1][2] * z;
            double column = lambda / CRN_SKIN_COLUMN_RAD + (CRN_SKIN_COLUMNS - 1) / 2.0;
            double at_row = ((v / CRN_SKIN_HEIGHT_MAX + 1) * CRN_SKIN_ROWS - 1) / 2;
            if (!value_at(skin, at_row, column, &sheet->marks[row][i]))
                continue;
            sheet->has[row][i] = 1;
            sheet->first = i < sheet->first ? i : sheet->first;
            sheet->end = i >= sheet->end ? i + 1 : sheet->end;
        }
    }
}

/* The correlation of the sheets, the second one so many columns and rows on, by one row in
 * `stride`. */
static double correlate(const surface_sheet *a, const surface_sheet *b, int columns, int rows,
                        int stride)
{
    int from = a->first > b->first - columns ? a->first : b->first - columns;
    int to = a->end < b->end - columns ? a->end : b->end - columns;
    float product = 0, squares_a = 0, squares_b = 0, cells = 0;
    for (int row = rows < 0 ? -rows : 0; row < CRN_SKIN_ROWS - (rows > 0 ? rows : 0);
         row += stride) {
        const float *marks_a = a->marks[row], *has_a = a->has[row];
        const float *marks_b = b->marks[row + rows], *has_b = b->has[row + rows];
        for (int i = from; i < to; i++) {
            float p = marks_a[i], q = marks_b[i + columns];
            product += p * q;
            squares_a += p * p * has_b[i + columns];
            squares_b += q * q * has_a[i];
            cells += has_a[i] * has_b[i + columns];
        }
    }
    double both = (double)squares_a * (double)squares_b;
    return cells * (float)stride >= CELLS_MIN && both > 0 ? (double)product / sqrt(both) : -1;
}

/* The turn of the second skin that the match says. */
static crn_turn turn_of(const surface_match *match)
{
    crn_turn spun = crn_turn_by(0, 0, (match->spin - SPINS / 2) * SPIN_RAD);
    crn_turn shift = crn_turn_by(-match->rows * 2 * CRN_SKIN_HEIGHT_MAX / CRN_SKIN_ROWS,
                                 match->columns * CRN_SKIN_COLUMN_RAD, 0);
    return crn_turn_product(&spun, &shift);
}

/* Lists how well they match at all shifts. Returns how many these are. */
static int try_shifts(surface_search *search, const crn_turn *half, double range_rad)
{
    int count = 0, most = (int)(range_rad / CRN_SKIN_COLUMN_RAD) / STEP_COLUMNS * STEP_COLUMNS;
    most = most < COLUMNS_MAX ? most : COLUMNS_MAX;
    for (int spin = 0; spin < SPINS; spin++) {
        crn_turn spun = crn_turn_by(0, 0, (spin - SPINS / 2) * SPIN_RAD);
        crn_turn to_second = crn_turn_product(half, &spun);
        lay(search, search->second, &to_second, &search->moved);
        for (int columns = -most; columns <= most; columns += STEP_COLUMNS)
            for (int rows = -ROWS_MAX; rows <= ROWS_MAX; rows++)
                search->matches[count++] = (surface_match){
                    correlate(&search->still, &search->moved, columns, rows, STRIDE_ROWS), spin,
                    columns, rows};
    }
    return count;
}

/* Where, by shifts, the skins match best; `elsewhere`: the best match apart from that. */
static crn_turn look_around(surface_search *search, const crn_turn *half, double range_rad,
                            double *ret_elsewhere)
{
    int count = try_shifts(search, half, range_rad);
    const surface_match *best = search->matches;
    for (int i = 1; i < count; i++)
        if (search->matches[i].correlation > best->correlation)
            best = &search->matches[i];
    *ret_elsewhere = 0;
    for (int i = 0; i < count; i++) {
        const surface_match *other = &search->matches[i];
        if (abs(other->columns - best->columns) >= OTHER || abs(other->rows - best->rows) >= OTHER)
            *ret_elsewhere = fmax(*ret_elsewhere, other->correlation);
    }
    return turn_of(best);
}

/* Solves the symmetric a x = b of three unknowns. False: it has no one solution. */
static bool solve(const double a[6], const double b[3], double x[3])
{
    double c00 = a[3] * a[5] - a[4] * a[4], c01 = a[2] * a[4] - a[1] * a[5];
    double c02 = a[1] * a[4] - a[2] * a[3], c11 = a[0] * a[5] - a[2] * a[2];
    double c12 = a[1] * a[2] - a[0] * a[4], c22 = a[0] * a[3] - a[1] * a[1];
    double determinant = a[0] * c00 + a[1] * c01 + a[2] * c02;
    if (!(determinant > 0))
        return false;
    x[0] = (c00 * b[0] + c01 * b[1] + c02 * b[2]) / determinant;
    x[1] = (c01 * b[0] + c11 * b[1] + c12 * b[2]) / determinant;
    x[2] = (c02 * b[0] + c12 * b[1] + c22 * b[2]) / determinant;
    return true;
}

/* One round: the small turn about x, y, z after which the second sheet is nearer to the first. */
static bool find_step(const surface_search *search, double step[3])
{
    const surface_sheet *a = &search->still, *b = &search->moved;
    double square[6] = {0}, side[3] = {0};
    double per_column = 1 / (2 * CRN_SKIN_COLUMN_RAD);
    double per_row = CRN_SKIN_ROWS / (4 * CRN_SKIN_HEIGHT_MAX);
    for (int row = 1; row + 1 < CRN_SKIN_ROWS; row++) {
        double v = crn_skin_height(row), r = sqrt(1 - v * v);
        for (int i = 1; i + 1 < CRN_SKIN_COLUMNS; i++) {
            if (a->has[row][i] * b->has[row][i - 1] * b->has[row][i + 1] * b->has[row - 1][i] *
                    b->has[row + 1][i] ==
                0)
                continue;
            double off = (double)(a->marks[row][i] - b->marks[row][i]);
            double by_lambda = (double)(b->marks[row][i + 1] - b->marks[row][i - 1]) * per_column;
            double by_v = (double)(b->marks[row + 1][i] - b->marks[row - 1][i]) * per_row;
            double x = r * search->sines[i], z = r * search->cosines[i];
            double bent = by_lambda * v / (r * r);
            double by[3] = {-bent * x - by_v * z, by_lambda, -bent * z + by_v * x};
            square[0] += by[0] * by[0];
            square[1] += by[0] * by[1];
            square[2] += by[0] * by[2];
            square[3] += by[1] * by[1];
            square[4] += by[1] * by[2];
            square[5] += by[2] * by[2];
            for (int k = 0; k < 3; k++)
                side[k] += by[k] * off;
        }
    }
    return solve(square, side, step);
}

crn_turn crn_turn_match(const crn_surface_skin *first, const crn_surface_skin *second,
                        double expected_rad, double range_rad, double *ret_confidence)
{
    surface_search search = {.second = second};
    for (int i = 0; i < CRN_SKIN_COLUMNS; i++) {
        search.sines[i] = sin(crn_skin_lambda(i));
        search.cosines[i] = cos(crn_skin_lambda(i));
    }
    double half_rad = remainder(expected_rad, 2 * M_PI) / 2, elsewhere, step[3];
    crn_turn back = crn_turn_by(0, -half_rad, 0);
    crn_turn half = crn_turn_by(0, half_rad, 0), to_second;
    lay(&search, first, &back, &search.still);
    crn_turn turn = look_around(&search, &half, range_rad, &elsewhere);
    for (int round = 0;; round++) {
        to_second = crn_turn_product(&half, &turn);
        lay(&search, second, &to_second, &search.moved);
        if (round == ROUNDS || !find_step(&search, step))
            break;
        for (int k = 0; k < 3; k++)
            step[k] = crn_surface_within(step[k], -ROUND_MAX_RAD, ROUND_MAX_RAD);
        crn_turn small = crn_turn_by(step[0], step[1], step[2]);
        turn = crn_turn_product(&turn, &small);
    }
    double here = correlate(&search.still, &search.moved, 0, 0, 1);
    *ret_confidence = fmax(0, fmin(1, here - elsewhere));
    return crn_turn_product(&to_second, &half); /* from the first to between them, to the second */
}
