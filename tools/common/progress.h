/*
 * A progress bar on stderr when that is a terminal, and silence when it is not. One bar at a time;
 * used by the thread that prints.
 */
#ifndef CRN_TOOLS_COMMON_PROGRESS_H
#define CRN_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crn_progress {
    const char *unit; /* what is counted, plural: "views"; static */
    uint64_t total;   /* 0: unknown, then there is a count and no bar */
    int64_t start_ns, next_ns;
    bool terminal;
} crn_progress;

void crn_progress_begin(crn_progress *progress, const char *unit, uint64_t total);

/*
 * `done` of total; drawn at most ten times a second, so call it as often as you like. `note` (one
 * clause such as "9.8 fruits/s", NULL for none) stands behind the count; the seconds left are
 * reckoned from the time so far.
 */
void crn_progress_update(crn_progress *progress, uint64_t done, const char *note);

/* Whether an update right now would draw: spares making a note that nobody sees. */
bool crn_progress_due(const crn_progress *progress);

/* Takes the bar away. What a tool says of its work it prints itself, terminal or not. */
void crn_progress_end(crn_progress *progress);

/* Clears the line if a bar stands on it, so that a message can be printed; the bar comes back with
 * the next update. */
void crn_progress_hide(void);

#endif
