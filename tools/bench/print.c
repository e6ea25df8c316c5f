#include "tools/bench/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text or number of a cell. */
typedef struct cell {
    const char *text;
    double number;
} cell;

/* False if the value is missing. */
static bool read_cell(const crn_bench_column *column, const void *row, cell *ret_cell)
{
    const char *at = (const char *)row + column->offset;
    cell it = {NULL, NAN};
    switch (column->kind) {
    case CRN_CELL_NONE:
        break;
    case CRN_CELL_TEXT:
    case CRN_CELL_LITERAL:
        it.text = *(const char *const *)(const void *)at;
        break;
    case CRN_CELL_REAL:
        it.number = *(const double *)(const void *)at;
        break;
    case CRN_CELL_INT32:
        it.number = *(const int32_t *)(const void *)at;
        break;
    case CRN_CELL_UINT32:
        it.number = *(const uint32_t *)(const void *)at;
        break;
    case CRN_CELL_SIZE:
        it.number = (double)*(const size_t *)(const void *)at;
        break;
    }
    *ret_cell = it;
    return it.text || isfinite(it.number);
}

static bool has_columns(const crn_bench_column *column)
{
    return column->key || column->heading;
}

void crn_bench_print_headings(const crn_bench_column *columns)
{
    for (const crn_bench_column *column = columns; has_columns(column); column++) {
        if (!column->heading || !column->heading[0])
            continue;
        /* Beside the cell's `before` and `after`. */
        int beside = (int)(column->before ? strlen(column->before) - 1 : 0) +
                     (int)(column->after ? strlen(column->after) : 0);
        int width = column->width + (column->width < 0 ? -beside : beside);
        printf("%s%*s", column == columns ? "" : " ", width, column->heading);
    }
    putchar('\n');
}

static void print_json(const crn_bench_column *columns, const void *row)
{
    const char *before = "{";
    for (const crn_bench_column *column = columns; has_columns(column); column++) {
        cell it;
        if (!column->key || !read_cell(column, row, &it))
            continue;
        printf("%s\"%s\":", before, column->key);
        before = ",";
        if (column->kind == CRN_CELL_TEXT)
            printf("\"%s\"", it.text);
        else if (column->kind == CRN_CELL_LITERAL)
            printf("%s", it.text);
        else
            printf("%.*f", column->json_digits, it.number);
    }
    puts("}");
}

static void print_text(const crn_bench_column *columns, const void *row)
{
    int skipped = 0; /* spaces of missing cells, which nothing may follow */
    for (const crn_bench_column *column = columns; has_columns(column); column++) {
        cell it;
        if (!column->heading || column->kind == CRN_CELL_NONE)
            continue;
        const char *before = column->before ? column->before : column == columns ? "" : " ";
        bool is_there = read_cell(column, row, &it);
        if (!is_there && !column->missing) {
            skipped += column->before ? 0 : 1 + abs(column->width);
            continue;
        }
        printf("%*s%s", skipped, "", before);
        skipped = 0;
        if (!is_there || it.text)
            printf("%*s", column->width, is_there ? it.text : column->missing);
        else
            printf(column->sign ? "%+*.*f" : "%*.*f", column->width, column->digits, it.number);
        printf("%s", column->after ? column->after : "");
    }
    putchar('\n');
}

void crn_bench_print_row(const crn_bench_column *columns, const void *row, bool json)
{
    json ? print_json(columns, row) : print_text(columns, row);
    fflush(stdout);
}
