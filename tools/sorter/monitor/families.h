/* The metrics of a sorter: one table, from which /metrics and its reference are printed. */
#ifndef CRN_TOOLS_SORTER_MONITOR_FAMILIES_H
#define CRN_TOOLS_SORTER_MONITOR_FAMILIES_H

#include <stdio.h>

#include "tools/sorter/monitor/observation.h"

void crn_sorter_families_print(const crn_sorter_observation *observation, FILE *out);

/* Prints the table of README.md. */
void crn_sorter_families_print_reference(FILE *out);

#endif
