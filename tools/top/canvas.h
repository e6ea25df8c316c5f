/* A screen of characters in memory, so that what is drawn can be tested without a terminal. */
#ifndef CRN_TOOLS_TOP_CANVAS_H
#define CRN_TOOLS_TOP_CANVAS_H

#include <stdbool.h>
#include <stdio.h>

typedef enum crn_style {
    CRN_STYLE_PLAIN,
    CRN_STYLE_DIM,
    CRN_STYLE_BOLD,
    CRN_STYLE_GOOD,
    CRN_STYLE_WARNING,
    CRN_STYLE_BAD,
    CRN_STYLES,
} crn_style;

#define CRN_CELL_BYTES 5 /* a character in UTF-8, and its end */

typedef struct crn_cell {
    char text[CRN_CELL_BYTES];
    unsigned char style; /* crn_style */
} crn_cell;

typedef struct crn_canvas {
    int rows, columns;
    crn_cell *cells; /* row by row */
} crn_canvas;

/* All blank. False: no memory. */
bool crn_canvas_init(crn_canvas *ret_canvas, int rows, int columns);
void crn_canvas_done(crn_canvas *canvas);

/* Part of a canvas; what is put beyond it is left out. */
typedef struct crn_area {
    crn_canvas *canvas;
    int row, column, rows, columns;
} crn_area;

crn_area crn_area_whole(crn_canvas *canvas);

/* From this place on, at most so large; clipped to the area. */
crn_area crn_area_part(crn_area area, int row, int column, int rows, int columns);

/* Writes a text, printf-like; a character counts as one column. Returns the column behind it. */
__attribute__((format(printf, 5, 6))) int crn_area_put(crn_area area, int row, int column,
                                                       crn_style style, const char *format, ...);

/* The same, ending at the column before `end`. */
__attribute__((format(printf, 5, 6))) void
crn_area_put_right(crn_area area, int row, int end, crn_style style, const char *format, ...);

/* Prints the rows without trailing blanks, and without empty rows at the end. */
void crn_canvas_print(const crn_canvas *canvas, FILE *out);

#endif
