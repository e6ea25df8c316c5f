/* Leaves views in slots of a line on this machine (--slots) instead of sending them. */
#ifndef CRN_TOOLS_REPLAY_IN_SLOTS_H
#define CRN_TOOLS_REPLAY_IN_SLOTS_H

#include "src/formats/recording/recording.h"
#include "stages/producer/cernita_producer.h"

typedef struct crn_in_slots {
    crn_producer *producer; /* NULL: not open */
    int signals;            /* readable after a termination signal */
    int64_t wait_ms;        /* how long a line may accept nothing */
} crn_in_slots;

/* Connects, as soon as a line gives out slots at the path. `view_bytes`: of the largest view
 * (crn_slots_view_bytes). `to` has signals and wait_ms. 1; 0 on a termination signal; a negative
 * errno with *error. */
int crn_in_slots_open(const char *path, uint64_t view_bytes, crn_in_slots *to, crn_error *error);

/* Leaves a view in the next free slot and sends its header. 1; 0 on a termination signal;
 * -ETIMEDOUT: none became free; another negative errno. */
int crn_in_slots_send(crn_in_slots *to, const crn_view_header *header,
                      const crn_recorded_view *view);

/* What was wrong in the last call that failed. */
const char *crn_in_slots_error(const crn_in_slots *to);

void crn_in_slots_close(crn_in_slots *to);

#endif
