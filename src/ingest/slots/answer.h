/* What the line answers to a hello: pure, no descriptors, no memory. */
#ifndef CRN_SRC_INGEST_SLOTS_ANSWER_H
#define CRN_SRC_INGEST_SLOTS_ANSWER_H

#include "src/formats/slots/slots.h"
#include "src/ingest/slots/slots.h"
#include "stages/config/config.h"

/* A decision on a hello: an answer with status 0, slots and slot_bytes, or one that refuses it. */
typedef struct crn_slots_decision {
    crn_slots_answer answer;
    uint16_t kind; /* crn_slots_kind, if it is granted */
    int32_t gpu;   /* of kind vmm: index in crn_slots_gpus */
} crn_slots_decision;

/* Decides on a packet that should be a hello, by the settings and the line's GPUs alone. */
void crn_slots_decide(const crn_config *config, const crn_slots_gpus *gpus, const void *bytes,
                      size_t size, crn_slots_decision *ret_decision);

/* Makes it an answer that refuses, for this errno, with one line that says why and what helps. */
__attribute__((format(printf, 3, 4))) void crn_slots_refuse(crn_slots_answer *answer, int fault,
                                                            const char *format, ...);

/* The largest slot that is granted, for a view of limits.view_mib. */
uint64_t crn_slots_slot_bytes_max(const crn_config *config);

#endif
