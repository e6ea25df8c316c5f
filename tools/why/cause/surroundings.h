/* What the line did at a given time, from the verdicts on other fruits. */
#ifndef CRN_TOOLS_WHY_CAUSE_SURROUNDINGS_H
#define CRN_TOOLS_WHY_CAUSE_SURROUNDINGS_H

#include "tools/why/cause/timeline.h"

/* Zero but for the times and the lane, then filled verdict by verdict. */
typedef struct crn_surroundings {
    int64_t from_ns, to_ns; /* CLOCK_REALTIME */
    int64_t ran_from_ns;    /* runs count from this time to to_ns; at most from_ns */
    uint64_t lane;          /* of the fruit in question */
    uint32_t waiting;       /* views that waited at from_ns */
    uint32_t running;       /* views that ran at from_ns */
    uint32_t open;          /* fruits that were open at from_ns */
    uint32_t lacking;       /* of these, fruits that lacked views when judged */
    uint32_t published;     /* verdicts from from_ns to to_ns */
    int64_t restart_to_ns;  /* a restart of the sender matters until then; 0: not at all */
    bool restarted;         /* a later fruit of the lane has another epoch */
    uint32_t on_device;     /* views that ran on a device, of verdicts shortly before the fruit */
    uint32_t ran;           /* views judged that ran between ran_from_ns and to_ns */
    double ran_ms;          /* sum of their whole runs */
    double longest_ms;      /* longest of all runs, whole; 0: none */
    bool longest_own;       /* it was a view of the fruit itself */
    bool longest_on_device;
    uint64_t longest_lane, longest_fruit, longest_view;
} crn_surroundings;

/* Adds a verdict of the same run. `own`: the fruit in question itself, whose view `except` (NULL:
 * none) does not count. */
void crn_surroundings_add(crn_surroundings *around, const crn_decoded *verdict,
                          const crn_timeline *timeline, bool own, const crn_decoded_view *except);

/* Mean run of the views judged, if the longest of all runs is too short to explain a wait; else 0.
 */
double crn_surroundings_usual_ms(const crn_surroundings *around);

#endif
