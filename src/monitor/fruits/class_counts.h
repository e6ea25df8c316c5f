/* How many fruits of the last minute had each class, from their verdicts. Used by the HTTP thread.
 */
#ifndef CRN_SRC_MONITOR_FRUITS_CLASS_COUNTS_H
#define CRN_SRC_MONITOR_FRUITS_CLASS_COUNTS_H

#include "src/formats/encoding/encoder.h"
#include "src/monitor/fruits/flight.h"

CRN_C_BEGIN

#define CRN_CLASS_COUNTS_SECONDS 60

/* Zeroed: no fruit yet. */
typedef struct crn_class_counts {
    int64_t second[CRN_CLASS_COUNTS_SECONDS]; /* CLOCK_MONOTONIC: that each place is of */
    int32_t class_count;
    uint64_t fruits; /* counted */
    struct {
        char name[CRN_CLASS_NAME_MAX];
        uint64_t looked_for; /* number of the last fruit in which it was */
        uint32_t fruits[CRN_CLASS_COUNTS_SECONDS];
    } classes[CRN_CLASSES_MAX]; /* in the order in which they were first looked for */
} crn_class_counts;

/* Adds a fruit; one whose verdict cannot be read is left out. */
void crn_class_counts_add(crn_class_counts *counts, const crn_flight_fruit *fruit);

/* Writes a map: fruits of the last minute by class, for each class that was looked for in the
 * latest fruit. */
void crn_class_counts_put(const crn_class_counts *counts, int64_t now_ns, crn_encoder *encoder);

CRN_C_END

#endif
