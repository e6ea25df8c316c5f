/* A running sorter: reads a line's verdicts, decides, and tells its outputs; one thread. */
#ifndef CRN_TOOLS_SORTER_SORTER_H
#define CRN_TOOLS_SORTER_SORTER_H

#include "stages/base/error.h"
#include "tools/sorter/settings/settings.h"

typedef struct crn_sorter crn_sorter;

/* Connects to the line and opens the outputs. `path` of the settings' file, for reloads, stays the
 * caller's; the settings are taken over, also on failure. 0 or a negative errno with *error. */
int crn_sorter_open(const char *path, crn_sorter_settings *settings, crn_sorter **ret_sorter,
                    crn_error *error);
void crn_sorter_close(crn_sorter **sorter);

/* Runs until SIGINT or SIGTERM; SIGHUP reads the file again. 0, or a negative errno with *error
 * where the line will never let it in. */
int crn_sorter_run(crn_sorter *sorter, int signals, crn_error *error);

#endif
