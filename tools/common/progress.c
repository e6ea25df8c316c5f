#include "tools/common/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stages/base/clock.h"

#define BAR_CELLS   24
#define INTERVAL_NS (100 * CRN_NS_PER_MS)

static bool drawn; /* a bar is shown on the terminal's last line */

static crn_progress_watcher *watcher;

void crn_progress_watch(crn_progress_watcher *watch)
{
    watcher = watch;
}

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
        return 80;
    return size.ws_col;
}

void crn_progress_begin(crn_progress *progress, const char *unit, uint64_t total)
{
    int64_t now_ns = crn_now_ns();
    *progress = (crn_progress){unit, total, now_ns, now_ns + INTERVAL_NS, isatty(STDERR_FILENO)};
    if (watcher)
        watcher(unit, 0, total);
}

bool crn_progress_due(const crn_progress *progress)
{
    return progress->terminal && crn_now_ns() >= progress->next_ns;
}

void crn_progress_update(crn_progress *progress, uint64_t done, const char *note)
{
    if (watcher)
        watcher(progress->unit, done, progress->total);
    if (!crn_progress_due(progress))
        return;
    int64_t now_ns = crn_now_ns();
    progress->next_ns = now_ns + INTERVAL_NS;

    char bar[BAR_CELLS + 4] = "", left[48] = "", line[256];
    double share = 0;
    if (progress->total) {
        share = (double)done / (double)progress->total;
        int cells = (int)(share * BAR_CELLS);
        cells = cells > BAR_CELLS ? BAR_CELLS : cells;
        bar[0] = '[';
        memset(bar + 1, '#', (size_t)cells);
        memset(bar + 1 + cells, '.', (size_t)(BAR_CELLS - cells));
        strcpy(bar + 1 + BAR_CELLS, "] ");
    }
    if (done && done <= progress->total) {
        double so_far_s = (double)(now_ns - progress->start_ns) * 1e-9;
        snprintf(left, sizeof left, ", %.0f s left", so_far_s / share - so_far_s);
    }
    int columns = terminal_columns();
    int used = snprintf(line, sizeof line, "%s%" PRIu64, bar, done);
    if (progress->total)
        used += snprintf(line + used, sizeof line - (size_t)used, " of %" PRIu64, progress->total);
    snprintf(line + used, sizeof line - (size_t)used, " %s%s%s%s", progress->unit, note ? ", " : "",
             note ? note : "", left);
    fprintf(stderr, "\r%.*s\033[K", columns - 1, line);
    drawn = true;
}

void crn_progress_hide(void)
{
    if (!drawn)
        return;
    fputs("\r\033[K", stderr);
    drawn = false;
}

void crn_progress_end(crn_progress *progress)
{
    crn_progress_hide();
    progress->terminal = false;
}
