/*
 * A progress bar on stderr if that is a terminal, else nothing. One bar at a time, used by the
 * thread that prints.
 */
#ifndef CRN_TOOLS_COMMON_PROGRESS_H
#define CRN_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crn_progress {
    const char *unit; /* unit of the count, plural: "views"; static */
    uint64_t total;   /* 0: unknown; prints a count without a bar */
    int64_t start_ns, next_ns;
    bool terminal;
} crn_progress;

void crn_progress_begin(crn_progress *progress, const char *unit, uint64_t total);

/*
 * Sets the progress to `done` of total; redraws at most ten times a second, so frequent calls are
 * cheap. `note` (one clause such as "9.8 fruits/s", or NULL) follows the count; the remaining
 * seconds are estimated from the elapsed time.
 */
void crn_progress_update(crn_progress *progress, uint64_t done, const char *note);

/* True if an update now would redraw; saves formatting a note that is not shown. */
bool crn_progress_due(const crn_progress *progress);

/* Removes the bar. The tool prints its own summary, on a terminal or not. */
void crn_progress_end(crn_progress *progress);

/* Called with every progress, on a terminal or not; for a program that shows it in another way. */
typedef void crn_progress_watcher(const char *unit, uint64_t done, uint64_t total);
void crn_progress_watch(crn_progress_watcher *watch);

/* Clears the bar's line so that a message can be printed; the next update redraws it. */
void crn_progress_hide(void);

#endif
