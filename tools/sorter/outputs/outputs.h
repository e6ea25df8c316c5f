/* All outputs that a sorter's file asks for. */
#ifndef CRN_TOOLS_SORTER_OUTPUTS_OUTPUTS_H
#define CRN_TOOLS_SORTER_OUTPUTS_OUTPUTS_H

#include "stages/base/error.h"
#include "tools/sorter/decide/decider.h"
#include "tools/sorter/outputs/outcome_log.h"
#include "tools/sorter/outputs/standard.h"
#include "tools/sorter/modbus/server.h"
#include "tools/sorter/mqtt/mqtt.h"
#include "tools/sorter/plc/plc.h"
#include "tools/sorter/outputs/tcp.h"

#define CRN_SORTER_RUN_BYTES 17 /* 16 hex digits that identify this start */

/* Zero-initialise. */
#define CRN_OUTPUT_POLLS_MAX (CRN_TCP_POLLS_MAX + CRN_MODBUS_POLLS_MAX)
typedef struct crn_outputs {
    const crn_sorter_settings *settings;
    crn_standard_output standard;
    crn_tcp_output *tcp;       /* NULL: none */
    crn_modbus_server *modbus; /* NULL: none */
    crn_plc *plc;              /* NULL: none */
    crn_mqtt *mqtt;            /* NULL: none */
    crn_outcome_log *log;      /* NULL: none */
    char greeting[128];
    int64_t alive_ns; /* when the next #alive line is due; CRN_NEVER_NS: never */
} crn_outputs;

/* Counts of the outputs; all 0 of one that the file does not ask for. */
typedef struct crn_outputs_stats {
    crn_tcp_stats tcp;
    crn_modbus_stats modbus;
    crn_plc_stats plc;
    crn_mqtt_stats mqtt;
    crn_verdict_log_stats log;
} crn_outputs_stats;

/* Opens what the settings ask for. 0 or a negative errno with one line in *error; close cleans up
 * in either case. */
int crn_outputs_open(crn_outputs *outputs, const crn_sorter_settings *settings, const char *run,
                     int64_t now_ns, crn_error *error);
void crn_outputs_close(crn_outputs *outputs);

/* After a reload: outlets and formats are the same. */
void crn_outputs_use(crn_outputs *outputs, const crn_sorter_settings *settings);

/* Sends a decision everywhere. */
void crn_outputs_send(crn_outputs *outputs, const crn_decision *decision);

/* What is due by now, of the state of the line and of what was decided. Returns when to come again.
 */
int64_t crn_outputs_look(crn_outputs *outputs, crn_line_state state,
                         const crn_decider_stats *decided, int64_t now_ns);

crn_outputs_stats crn_outputs_get_stats(const crn_outputs *outputs);

/* What to wait for; returns the number of items. */
int crn_outputs_polls(const crn_outputs *outputs, zmq_pollitem_t items[CRN_OUTPUT_POLLS_MAX]);

#endif
