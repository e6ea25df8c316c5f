/* The disk of the verdict log, in simulated time: full, failing, slow, its files removed. */
#ifndef CRN_TESTS_SIMULATION_DISK_H
#define CRN_TESTS_SIMULATION_DISK_H

#include <stdbool.h>
#include <stdint.h>

/* What writing to the disk meets. */
typedef enum sim_disk_state {
    CRN_SIM_DISK_SOUND,
    CRN_SIM_DISK_FULL,    /* no room, told by statvfs or by the write */
    CRN_SIM_DISK_FAILING, /* half of the calls fail, some after a part was written */
    CRN_SIM_DISK_SLOW,    /* a write takes up to half a second */
    CRN_SIM_DISK_STATES
} sim_disk_state;

void sim_disk_set(sim_disk_state state);

/* An empty folder for the log. */
void sim_disk_clear(const char *folder);

/* What became of the verdicts that the log's thread has taken. */
typedef struct sim_logged {
    uint64_t written, failed;
} sim_logged;
sim_logged sim_disk_logged(void);

/* Reads the log, after the line's end: all that was written is there, once, in order. */
void sim_check_log(const char *folder);

#endif
