/* The terminal, by ncurses. One at a time. */
#ifndef CRN_TOOLS_TOP_TERMINAL_H
#define CRN_TOOLS_TOP_TERMINAL_H

#include "stages/base/error.h"
#include "tools/top/canvas.h"

typedef enum crn_key {
    CRN_KEY_NONE,
    CRN_KEY_QUIT,
    CRN_KEY_HELP,
    CRN_KEY_UP,
    CRN_KEY_DOWN,
    CRN_KEY_OTHER, /* also that the size has changed: draw again */
} crn_key;

/* 0, or a negative errno with a clause in *error if this is not a terminal that can be used. */
int crn_terminal_open(crn_error *error);
void crn_terminal_close(void); /* restores the terminal */

/* Its present size. */
void crn_terminal_size(int *ret_rows, int *ret_columns);

/* Shows a canvas of that size. */
void crn_terminal_show(const crn_canvas *canvas);

/* A key that was pressed; does not wait. */
crn_key crn_terminal_key(void);

#endif
