/* Senders: each photographs the fruits of a lane, and their network and programs misbehave. */
#ifndef CRN_TESTS_SIMULATION_SENDERS_H
#define CRN_TESTS_SIMULATION_SENDERS_H

#include <stdint.h>

/* What goes wrong, once in so many views or fruits; 0: never. */
typedef struct sim_sender_faults {
    uint32_t lose, repeat, reorder, spoil, delay; /* views */
    uint32_t stall, restart, hurry, burst;        /* fruits */
} sim_sender_faults;

typedef struct sim_sender_settings {
    uint32_t lane, fruits;
    uint16_t views;
    int32_t views_told;   /* false: the header says 0 */
    int64_t interval_us;  /* between fruits, on average */
    int64_t delay_max_us; /* of a view that is delayed: less than what makes a number another's */
    sim_sender_faults faults;
} sim_sender_settings;

/* A thread: sends all fruits, then disconnects and returns NULL. */
void *sim_run_sender(void *settings);

#endif
