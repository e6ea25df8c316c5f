/* Shared by the files of this folder. */
#ifndef CRN_TOOLS_SORTER_PLC_INTERNAL_H
#define CRN_TOOLS_SORTER_PLC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "stages/base/byte_ring.h"
#include "stages/base/log.h"
#include "tools/sorter/plc/plc.h"

/* What another thread hands over. */
typedef enum crn_plc_kind {
    CRN_PLC_DECISION,
    CRN_PLC_READING,
    CRN_PLC_CONFIRMATION,
} crn_plc_kind;

typedef struct crn_plc_item {
    crn_plc_kind kind;
    crn_decision
        decision;       /* of a decision, with another `run`; lane and outlet of a confirmation */
    crn_firing_key key; /* of a decision */
    int64_t time_ns;    /* CLOCK_MONOTONIC; of a decision when its fruit was captured */
    crn_belt_reading reading; /* of a reading */
} crn_plc_item;

struct crn_plc {
    /* The settings, as of the start. */
    crn_ejectors ejectors;
    crn_texts outlets;
    crn_firing_source source;
    bool input_registers;
    int64_t register_address, poll_ns, window_address;
    int32_t width;
    uint16_t run;
    /* From other threads. */
    crn_byte_ring decisions, messages;
    _Atomic uint64_t dropped, unreadable, endings_dropped;
    _Atomic int state; /* crn_line_state */
    /* For another thread. */
    crn_byte_ring endings; /* crn_plc_ending */
    bool has_endings;      /* someone takes them */
    /* The thread's. */
    pthread_t thread;
    bool is_started;
    crn_modbus_client *client;
    crn_firing *firing; /* NULL: nothing is fired */
    crn_window *window; /* NULL: none */
    int64_t poll_ns_next, window_ns_next;
    int64_t first_input; /* of the range that is polled */
    int32_t input_count;
    uint8_t bits[2][CRN_INPUTS_MAX];
    bool has_bits;
    crn_log_gate known, unknown, overwritten, passed;
    bool told_missed;
    uint64_t told_passed; /* fruits that were not fired */
    uint64_t unplaced;    /* lost as the belt's position was not known */
    int64_t unplaced_ns;  /* when the last of them was */
    /* A copy for others, under the lock. */
    pthread_mutex_t lock;
    int64_t stats_ns;
    crn_plc_stats stats;
};

/* Polls the counter and the inputs where that is due. Returns when it is next. */
int64_t crn_plc_poll(crn_plc *plc, int64_t now_ns);

/* Writes the window and reads its acknowledgement where that is due. Returns when it is next. */
int64_t crn_plc_serve_window(crn_plc *plc, int64_t now_ns);

/* Takes what other threads handed over. */
void crn_plc_take(crn_plc *plc, const crn_plc_item *item);

#endif
