/* Levels without a browser: cernita-workbench --levels. */
#ifndef CRN_TOOLS_WORKBENCH_LEVELS_COMMAND_H
#define CRN_TOOLS_WORKBENCH_LEVELS_COMMAND_H

#include "tools/common/options.h"

typedef struct crn_levels_options {
    const char *labels, *config, *curves; /* files; config and curves NULL: none */
    double recall;                        /* CRN_RECALL_NONE: the largest F1 decides */
} crn_levels_options;

/* Prints the table and the levels of these recordings, files and folders. Returns the exit status.
 */
int crn_levels_command(const crn_tool *tool, const crn_levels_options *options,
                       const char *const recordings[], int count);

#endif
