/* cernita-replay's command line. */
#ifndef CRN_TOOLS_REPLAY_PLAN_H
#define CRN_TOOLS_REPLAY_PLAN_H

#include <stdint.h>

#include "src/client/keys.h"
#include "tools/common/options.h"
#include "tools/replay/filter.h"

typedef struct crn_replay_plan {
    const char *to;    /* for messages the path of `slots`, if that is set */
    const char *slots; /* NULL: views are sent */
    double rate;       /* 0: as fast as possible */
    uint64_t loops, fruits, preload_bytes;
    int64_t wait_ms;
    crn_client_keys keys;
    crn_replay_filter filter;
    const char *verdicts;     /* endpoint of the line's viewers; NULL: verdicts are not seen */
    uint32_t in_flight;       /* fruits without a verdict at a time; 0: as many as suit the line */
    bool unwatched;           /* succeed although nothing tells whether the line kept up */
    const char *expect, *got; /* verdict logs; NULL: no comparison */
    const char *rules;        /* file of a sorter, for outlets before and after; NULL: none */
    const char *report;       /* folder of the comparison's report; NULL: none */
    double tolerance;
    bool all; /* differences */
} crn_replay_plan;

extern const crn_tool crn_replay_tool;

/* Parses the options; exits 2 on a usage error. argv[optind] is then the first recording. */
void crn_replay_plan_read(int argc, char **argv, crn_replay_plan *ret_plan);

#endif
