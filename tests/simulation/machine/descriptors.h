/* Descriptors of the simulation: eventfds, and those that sockets are polled by. */
#ifndef CRN_TESTS_SIMULATION_MACHINE_DESCRIPTORS_H
#define CRN_TESTS_SIMULATION_MACHINE_DESCRIPTORS_H

#include <stdbool.h>

#define CRN_SIM_DESCRIPTOR_FIRST 1000000
#define CRN_SIM_DESCRIPTORS_MAX  64

/* A descriptor that is readable while *readable. */
int sim_descriptor_of(const bool *readable);
void sim_descriptor_close(int descriptor);

/* Number of those that are open: 0 once the program has closed its own. */
int sim_descriptors_open(void);

/* Frees all, after a run that failed. */
void sim_descriptors_forget(void);

#endif
