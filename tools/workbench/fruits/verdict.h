/* The verdict of a recorded fruit, as the page shows it. */
#ifndef CRN_TOOLS_WORKBENCH_FRUITS_VERDICT_H
#define CRN_TOOLS_WORKBENCH_FRUITS_VERDICT_H

#include <stdio.h>

#include "tools/workbench/fruits/index.h"

/*
 * Prints {"verdict": …}: that of the log whole, of an archive what it has of the fruit's surface
 * (outlines and poses are not archived); null if the fruit has none. 0, or a negative errno with
 * one line: -ENOENT if it was removed since the index was made.
 */
int crn_fruit_verdict_print(const crn_fruit_sources *sources, const crn_recorded_fruit *fruit,
                            FILE *out, crn_error *error);

/* The same of one source, without the braces around it. */
int crn_fruit_print_logged(const char *path, const crn_recorded_fruit *fruit, FILE *out,
                           crn_error *error);
int crn_fruit_print_archived(const char *path, const crn_recorded_fruit *fruit, FILE *out,
                             crn_error *error);

#endif
