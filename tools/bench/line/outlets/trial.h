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

/* Of each fruit that came so far, in ascending order. */
typedef struct crn_outlets_times {
    double *ms;
    size_t count;
} crn_outlets_times;

/* What a way from the camera ends with. */
typedef enum crn_outlets_end {
    CRN_OUTLETS_REGISTER, /* the PLC has read the fruit's register */
    CRN_OUTLETS_COIL,     /* the fruit's coil has been written in the PLC */
    CRN_OUTLETS_ENDS
} crn_outlets_end;

/* Until then, since: the verdict's published_ns (none of the floor); when the last view was sent;
 * when it was captured. */
typedef struct crn_outlets_way {
    crn_outlets_times from_verdict, from_view, from_camera;
} crn_outlets_way;

typedef struct crn_outlets_result {
    crn_outlets_way line[CRN_OUTLETS_ENDS], floor[CRN_OUTLETS_ENDS];
    uint64_t missing; /* fruits of both without register or coil within 1 s */
} crn_outlets_result;

/* 0 or a negative errno; -ENOTSUP: built without libmodbus. */
int crn_outlets_run(const crn_outlets_plan *plan, crn_outlets_result *ret_result);
void crn_outlets_result_free(crn_outlets_result *result);

#endif
