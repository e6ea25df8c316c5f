#include "tools/top/canvas.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 1024

bool crn_canvas_init(crn_canvas *ret_canvas, int rows, int columns)
{
    *ret_canvas = (crn_canvas){.rows = rows, .columns = columns};
    ret_canvas->cells = calloc((size_t)rows * (size_t)columns + 1, sizeof(crn_cell));
    for (int i = 0; ret_canvas->cells && i < rows * columns; i++)
        strcpy(ret_canvas->cells[i].text, " ");
    return ret_canvas->cells != NULL;
}

void crn_canvas_done(crn_canvas *canvas)
{
    free(canvas->cells);
    canvas->cells = NULL;
}

crn_area crn_area_whole(crn_canvas *canvas)
{
    return (crn_area){.canvas = canvas, .rows = canvas->rows, .columns = canvas->columns};
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int at_least_0(int value)
{
    return value > 0 ? value : 0;
}

crn_area crn_area_part(crn_area area, int row, int column, int rows, int columns)
{
    return (crn_area){.canvas = area.canvas,
                      .row = area.row + row,
                      .column = area.column + column,
                      .rows = at_least_0(smaller(rows, area.rows - row)),
                      .columns = at_least_0(smaller(columns, area.columns - column))};
}

/* Bytes of the character that begins here. */
static size_t character_bytes(const char *text)
{
    size_t bytes = 1;
    while (bytes < CRN_CELL_BYTES - 1 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes++;
    return bytes;
}

static int count_characters(const char *text)
{
    int count = 0;
    for (; *text; text += character_bytes(text))
        count++;
    return count;
}

static int put_text(crn_area area, int row, int column, crn_style style, const char *text)
{
    for (; *text; column++) {
        size_t bytes = character_bytes(text);
        if (row >= 0 && row < area.rows && column >= 0 && column < area.columns) {
            crn_cell *cell =
                &area.canvas->cells[(area.row + row) * area.canvas->columns + area.column + column];
            memcpy(cell->text, text, bytes);
            cell->text[bytes] = '\0';
            cell->style = (unsigned char)style;
        }
        text += bytes;
    }
    return column;
}

int crn_area_put(crn_area area, int row, int column, crn_style style, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return put_text(area, row, column, style, text);
}

void crn_area_put_right(crn_area area, int row, int end, crn_style style, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_text(area, row, end - count_characters(text), style, text);
}

/* Columns of a row up to its last character. */
static int used_columns(const crn_canvas *canvas, int row)
{
    int columns = canvas->columns;
    while (columns > 0 && strcmp(canvas->cells[row * canvas->columns + columns - 1].text, " ") == 0)
        columns--;
    return columns;
}

void crn_canvas_print(const crn_canvas *canvas, FILE *out)
{
    int rows = canvas->rows;
    while (rows > 0 && used_columns(canvas, rows - 1) == 0)
        rows--;
    for (int row = 0; row < rows; row++) {
        for (int i = 0, columns = used_columns(canvas, row); i < columns; i++)
            fputs(canvas->cells[row * canvas->columns + i].text, out);
        fputc('\n', out);
    }
}
