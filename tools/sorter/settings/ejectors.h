/* What throws fruits off the belt: section `ejectors` of a sorter's file. */
#ifndef CRN_TOOLS_SORTER_SETTINGS_EJECTORS_H
#define CRN_TOOLS_SORTER_SETTINGS_EJECTORS_H

#include <stdint.h>

#define CRN_EJECTORS_MAX 256
#define CRN_NO_INPUT     (-1)
#define CRN_INPUTS_MAX   2000 /* read by one Modbus request */

/* An outlet's coil in one lane. */
typedef struct crn_ejector {
    int64_t outlet; /* index into outlets.names */
    int64_t lane;
    int64_t distance;                       /* in ticks, from where the first view was captured */
    int64_t coil;                           /* address */
    int64_t input;                          /* address; CRN_NO_INPUT: nothing confirms */
    int64_t delay_ms, pulse_ms, confirm_ms; /* pulse_ms 0: the PLC ends it */
} crn_ejector;

typedef struct crn_ejectors {
    int32_t count;
    crn_ejector item[CRN_EJECTORS_MAX];
} crn_ejectors;

#endif
