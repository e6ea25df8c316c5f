#include "tools/top/terminal.h"

#include <curses.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static SCREEN *screen;
static int styles[CRN_STYLES]; /* ncurses attributes */

static void choose_styles(void)
{
    styles[CRN_STYLE_DIM] = A_DIM;
    styles[CRN_STYLE_BOLD] = A_BOLD;
    styles[CRN_STYLE_GOOD] = A_BOLD;
    styles[CRN_STYLE_WARNING] = A_BOLD | A_UNDERLINE;
    styles[CRN_STYLE_BAD] = A_BOLD | A_REVERSE;
    if (getenv("NO_COLOR") || !has_colors())
        return;
    start_color();
    use_default_colors();
    init_pair(1, COLOR_GREEN, -1);
    init_pair(2, COLOR_YELLOW, -1);
    init_pair(3, COLOR_RED, -1);
    styles[CRN_STYLE_GOOD] = A_BOLD | COLOR_PAIR(1);
    styles[CRN_STYLE_WARNING] = A_BOLD | COLOR_PAIR(2);
    styles[CRN_STYLE_BAD] = A_BOLD | COLOR_PAIR(3);
}

int crn_terminal_open(crn_error *error)
{
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
        return crn_error_set(error, -ENOTTY,
                             "this is not a terminal; --once prints the state as text");
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return crn_error_set(error, -ENOTTY,
                             "ncurses does not know this terminal (TERM); --once prints the state "
                             "as text");
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    choose_styles();
    return 0;
}

void crn_terminal_close(void)
{
    if (!screen)
        return;
    endwin();
    delscreen(screen);
    screen = NULL;
}

void crn_terminal_size(int *ret_rows, int *ret_columns)
{
    getmaxyx(stdscr, *ret_rows, *ret_columns);
}

void crn_terminal_show(const crn_canvas *canvas)
{
    erase();
    for (int row = 0; row < canvas->rows; row++) {
        move(row, 0);
        for (int column = 0; column < canvas->columns; column++) {
            const crn_cell *cell = &canvas->cells[row * canvas->columns + column];
            attrset(styles[cell->style]);
            addstr(cell->text);
        }
    }
    attrset(A_NORMAL);
    refresh();
}

crn_key crn_terminal_key(void)
{
    switch (getch()) {
    case ERR:
        return CRN_KEY_NONE;
    case 'q':
    case 'Q':
        return CRN_KEY_QUIT;
    case '?':
    case 'h':
        return CRN_KEY_HELP;
    case KEY_UP:
    case 'k':
        return CRN_KEY_UP;
    case KEY_DOWN:
    case 'j':
        return CRN_KEY_DOWN;
    default:
        return CRN_KEY_OTHER;
    }
}
