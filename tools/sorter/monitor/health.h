/* How a sorter does: the page /healthz, and the text for cernitactl. */
#ifndef CRN_TOOLS_SORTER_MONITOR_HEALTH_H
#define CRN_TOOLS_SORTER_MONITOR_HEALTH_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/sorter/monitor/observation.h"

/* What is wrong: an id, how much it matters (as in src/formats/outlets), and a clause. Static. */
typedef struct crn_sorter_fault {
    const char *id, *severity, *text;
} crn_sorter_fault;

#define CRN_SORTER_FAULTS_MAX 2

/* Lists what is wrong now; returns how many there are. */
int32_t crn_sorter_faults(crn_line_state line, const crn_plc_stats *plc,
                          const crn_sorter_settings *settings,
                          const crn_sorter_fault *ret_faults[CRN_SORTER_FAULTS_MAX]);

/* True while the line is heard and, where there are ejectors, fruits can be fired. */
bool crn_sorter_is_healthy(const crn_sorter_observation *observation);

/* One JSON object with a final line end. */
void crn_sorter_health_print(const crn_sorter_observation *observation, FILE *out);

/* Lines of "NAME  VALUE": the state, and fruits by outlet. */
void crn_sorter_status_print(const crn_sorter_observation *observation, FILE *out);

/* Fruits decided about, lost ones included. */
uint64_t crn_sorter_fruits(const crn_decider_stats *decided);

#endif
