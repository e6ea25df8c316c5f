/* The one printer of all benchmarks: rows as a table, or as one JSON object per line. */
#ifndef CRN_TOOLS_BENCH_PRINT_H
#define CRN_TOOLS_BENCH_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum crn_cell_kind {
    CRN_CELL_NONE, /* only a heading */
    CRN_CELL_TEXT,
    CRN_CELL_LITERAL, /* text that JSON has without quotes */
    CRN_CELL_REAL,
    CRN_CELL_INT32,
    CRN_CELL_UINT32,
    CRN_CELL_SIZE,
} crn_cell_kind;

/* A value of the row's struct. NULL and NAN: missing, left out of the JSON. */
typedef struct crn_bench_column {
    const char *key;     /* in JSON; NULL: only in the table */
    const char *heading; /* of the table; NULL: only in JSON; "": none */
    crn_cell_kind kind;
    size_t offset;
    int width;               /* in the table; negative: aligned left */
    int digits, json_digits; /* of a real number */
    bool sign;               /* also of positive numbers, in the table */
    const char *before;      /* in the table; NULL: a space */
    const char *after;
    const char *missing; /* in the table; NULL: spaces, or nothing with `before` */
} crn_bench_column;

#define CRN_CELL(row, place)                                                                       \
    .kind = _Generic(&((row *)0)->place, const char **: CRN_CELL_TEXT, double *: CRN_CELL_REAL,    \
                     int32_t *: CRN_CELL_INT32, uint32_t *: CRN_CELL_UINT32,                       \
                     size_t *: CRN_CELL_SIZE),                                                     \
    .offset = offsetof(row, place)

/* One row of such a table ends it: all fields 0. */
void crn_bench_print_headings(const crn_bench_column *columns);
void crn_bench_print_row(const crn_bench_column *columns, const void *row, bool json);

#endif
