/* One run of the outlets benchmark: line and floor by turns, and when each register was read. */
#ifndef CRN_TOOLS_BENCH_LINE_OUTLETS_TRIAL_H
#define CRN_TOOLS_BENCH_LINE_OUTLETS_TRIAL_H

#include <stddef.h>
#include <stdint.h>

#include "stages/config/config.h"
#include "tools/bench/line/drive.h"

typedef struct crn_outlets_plan {
    const crn_config *config; /* the daemon's, except for its sockets */
    const crn_bench_frames *frames;
    uint64_t fruits; /* after CRN_DRIVE_WARM_UP uncounted ones */
    double rate;     /* per second */
    double cnn_ms;   /* between the camera and the sending of the last view */
} crn_outlets_plan;

/* Of each fruit whose register was read, in ascending order. */
typedef struct crn_outlets_times {
    double *ms;
    size_t count;
} crn_outlets_times;

/* Until the register was read: since the last view was sent, and since it was captured. */
typedef struct crn_outlets_way {
    crn_outlets_times from_view, from_camera;
} crn_outlets_way;

typedef struct crn_outlets_result {
    crn_outlets_way line, floor;
    crn_outlets_times from_verdict; /* since the verdict's published_ns */
    uint64_t missing;               /* fruits of both whose register was not read within 1 s */
} crn_outlets_result;

/* 0 or a negative errno; -ENOTSUP: built without libmodbus. */
int crn_outlets_run(const crn_outlets_plan *plan, crn_outlets_result *ret_result);
void crn_outlets_result_free(crn_outlets_result *result);

#endif
