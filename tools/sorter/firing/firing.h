/*
 * Which coil is written when, so that a fruit leaves the belt at its outlet, and what became of it.
 * It reads no clock and does no I/O: its caller has the time, the readings and the output. All
 * times are of CLOCK_MONOTONIC.
 */
#ifndef CRN_TOOLS_SORTER_FIRING_FIRING_H
#define CRN_TOOLS_SORTER_FIRING_FIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "src/formats/outcomes/outcome.h"
#include "tools/sorter/belt/belt.h"
#include "tools/sorter/settings/ejectors.h"

/* A fruit is counted by the outlet that it was meant for, once: as fired, lost or too late. With a
 * confirming input a fired one is counted again, as confirmed or missed. */
typedef struct crn_firing_counts {
    uint64_t fired;      /* the PLC acknowledged the coil */
    uint64_t confirmed;  /* of these, seen in the outlet */
    uint64_t missed;     /* of these, not seen there in time */
    uint64_t too_late;   /* its decision, or the PLC, came after it had passed */
    uint64_t lost;       /* its place on the belt is not known, or the PLC does not answer */
    uint64_t unexpected; /* seen in the outlet without having been fired */
} crn_firing_counts;

/* How it ended with a fruit. */
typedef enum crn_firing_result {
    CRN_FIRING_FIRED, /* and whether it was seen in the outlet is not known */
    CRN_FIRING_CONFIRMED,
    CRN_FIRING_MISSED,
    CRN_FIRING_TOO_LATE,
    CRN_FIRING_LOST,
    CRN_FIRING_RESULTS,
} crn_firing_result;

/* "fired", "confirmed", …: in metrics, and in the log of outcomes. */
extern const char *const crn_firing_result_names[CRN_FIRING_RESULTS];

/* A verdict's fruit. */
typedef struct crn_firing_key {
    char run[CRN_OUTCOME_TEXT_BYTES]; /* of the line */
    uint64_t lane, sequence;
} crn_firing_key;

/* Takes how it ended with a fruit, once for each that was added and has an ejector. */
typedef void crn_firing_use(void *context, const crn_firing_key *fruit, crn_firing_result result);

/* Writes a coil, on or off. Returns 0 once the PLC acknowledged it, -EIO if the connection ended
 * meanwhile and it is not known whether it did it, or another negative errno if it did not.
 * *ret_round_ns: how long that took. */
typedef int crn_firing_write(void *context, int32_t ejector, bool on, int64_t *ret_round_ns);

typedef struct crn_firing_plan {
    const crn_ejectors *ejectors; /* stay the caller's */
    crn_belt_plan belt;
    int64_t tolerance; /* ticks past its ejector up to which a fruit is fired */
    crn_firing_write *write;
    crn_firing_use *use; /* NULL: it is only counted */
    void *context;
} crn_firing_plan;

/* A fruit whose outlet was decided. */
typedef struct crn_firing_fruit {
    crn_firing_key key;
    int32_t outlet;
    uint64_t encoder;
    int64_t captured_ns; /* when the encoder was read; CRN_NEVER_NS: not known */
} crn_firing_fruit;

typedef struct crn_firing crn_firing;

/* 0 or -ENOMEM. */
int crn_firing_create(const crn_firing_plan *plan, crn_firing **ret_firing);
void crn_firing_free(crn_firing **firing);

/* Takes a reading of the belt. */
void crn_firing_read(crn_firing *firing, const crn_belt_reading *reading);

/* Takes a fruit; one whose outlet has no ejector in its lane just passes. */
void crn_firing_add(crn_firing *firing, const crn_firing_fruit *fruit);

/* An ejector's input told at time_ns that a fruit is in the outlet. */
void crn_firing_confirm(crn_firing *firing, int32_t ejector, int64_t time_ns);

/* Writes at most one coil that is due. Returns when to come again at the latest: now_ns if more is
 * due, CRN_NEVER_NS if nothing is known to be. */
int64_t crn_firing_run(crn_firing *firing, int64_t now_ns);

/* The connection to the PLC is new: coils that it may still have on are written off first. */
void crn_firing_reconnected(crn_firing *firing);

/* Writes off all coils that are on: nobody would do it later. Fruits that were fired are told as
 * that, if an input has not told yet. */
void crn_firing_end(crn_firing *firing);

/* Of an outlet, all its ejectors together. */
crn_firing_counts crn_firing_get_counts(const crn_firing *firing, int32_t outlet);
uint64_t crn_firing_waiting(const crn_firing *firing); /* fruits on their way to an ejector */
/* Of all lost fruits, those for which the belt's position was not known: when they were added, or
 * later, as the counter jumped or was not read for too long. */
uint64_t crn_firing_unplaced(const crn_firing *firing);
int64_t crn_firing_lead_ns(const crn_firing *firing); /* from the writing to the coil */
/* Before a coil is due: another request would delay it. Two round trips. */
int64_t crn_firing_guard_ns(const crn_firing *firing);
const crn_belt *crn_firing_belt(const crn_firing *firing);

#endif
