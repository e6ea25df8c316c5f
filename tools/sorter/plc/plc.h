/*
 * A PLC that the sorter writes to, by a thread of its own: decisions into a window of its
 * registers, coils at the right tick. Whoever hands decisions over never waits for it.
 */
#ifndef CRN_TOOLS_SORTER_PLC_PLC_H
#define CRN_TOOLS_SORTER_PLC_PLC_H

#include "stages/base/error.h"
#include "tools/sorter/decide/decider.h"
#include "tools/sorter/firing/firing.h"
#include "tools/sorter/modbus/client.h"
#include "tools/sorter/modbus/window.h"
#include "tools/sorter/settings/settings.h"

typedef struct crn_plc crn_plc;

typedef struct crn_plc_stats {
    crn_modbus_client_stats client;
    uint64_t dropped;         /* decisions, as the thread did not keep up */
    crn_window_counts window; /* all 0 without one */
    uint64_t belt_known;      /* 1: its position, now */
    uint64_t belt_missed; /* 1: it should be known and is not. Where it comes with the views there
                           * is none while none arrive: then 1 while fruits are on their way, and
                           * for 10 s after one was lost by it */
    uint64_t waiting, lead_us;
    crn_belt_stats belt;
    uint64_t unreadable;      /* MQTT messages */
    uint64_t endings_dropped; /* of fruits, as nobody took them in time */
    crn_firing_counts outlet[CRN_OUTLETS_MAX];
} crn_plc_stats;

/* How it ended with a fruit. */
typedef struct crn_plc_ending {
    crn_firing_key key;
    crn_firing_result result;
} crn_plc_ending;

/* Starts the thread. The settings are copied, as far as they are used. `run`: another number after
 * each start of the sorter. 0 or a negative errno with one line in *error. */
int crn_plc_open(const crn_sorter_settings *settings, uint16_t run, crn_plc **ret_plc,
                 crn_error *error);
/* Ends the thread: the last endings can be taken then. */
void crn_plc_end(crn_plc *plc);
void crn_plc_close(crn_plc **plc);

/* Hands a decision over; one that finds the queue full is dropped and counted. For one thread. */
void crn_plc_add(crn_plc *plc, const crn_decision *decision, int64_t now_ns, int64_t utc_ns);

/* The next fruit with which it ended, in the order in which that happened; false: none so far. Only
 * with outputs.log. Each is told after crn_plc_add() of its decision. For the thread that adds. */
bool crn_plc_take_ending(crn_plc *plc, crn_plc_ending *ret_ending);

/* The line's state is that, from now on. */
void crn_plc_set_state(crn_plc *plc, crn_line_state state);

/* An MQTT message of firing.topic or firing.confirm_topic; for one thread. */
void crn_plc_take_message(crn_plc *plc, bool is_confirmation, const char *payload, size_t length,
                          int64_t now_ns, int64_t utc_ns);

/* Counts of at most 100 ms ago. */
void crn_plc_get_stats(crn_plc *plc, crn_plc_stats *ret_stats);

#endif
