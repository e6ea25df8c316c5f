/*
 * How far a thread is: counters that the watchdog compares with what it saw before. Each has one
 * thread that writes it, by a relaxed store to a cache line of its own.
 */
#ifndef CRN_SRC_SERVICE_PULSE_H
#define CRN_SRC_SERVICE_PULSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CRN_PULSE_NAME_BYTES 24

/* When a thread is expected to move. */
typedef enum crn_pulse_kind {
    CRN_PULSE_ROUNDS, /* always: it wakes once a second at least */
    CRN_PULSE_WORK,   /* while it has work */
    CRN_PULSE_APART,  /* while it has work, but the line does without it: it is reported only */
} crn_pulse_kind;

/* Zeroed at first. */
typedef struct crn_pulse {
    _Alignas(64) _Atomic uint64_t given; /* pieces of work; by the thread that submits them */
    _Atomic bool retired;                /* by the same: the thread need not move any more */
    _Alignas(64) _Atomic uint64_t done;  /* pieces of work, or rounds; by the thread itself */
    _Atomic int64_t until_ns; /* the work in hand is limited by this time; 0: it is not */
    /* The watchdog's: how long the thread has not moved although it should, as of the last look. */
    _Alignas(64) _Atomic int64_t quiet_ns;
    uint64_t seen; /* `done` at the last look */
    crn_pulse_kind kind;
    char name[CRN_PULSE_NAME_BYTES];
    struct crn_pulse *next;
} crn_pulse;

/* On the heap, to be freed by free(); NULL without memory. */
crn_pulse *crn_pulse_create(void);

/* Counts one more; for the only thread that writes this counter. */
static inline void crn_pulse_count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* Work was submitted to the thread. */
static inline void crn_pulse_given(crn_pulse *pulse)
{
    crn_pulse_count(&pulse->given);
}

/* The thread has done a piece of work, or a round of its loop. */
static inline void crn_pulse_done(crn_pulse *pulse)
{
    crn_pulse_count(&pulse->done);
}

/* The thread begins work that ends by itself at this time (CLOCK_MONOTONIC); 0: no such time. */
static inline void crn_pulse_limit(crn_pulse *pulse, int64_t until_ns)
{
    atomic_store_explicit(&pulse->until_ns, until_ns, memory_order_relaxed);
}

/* How long the thread has not moved although it should; 0 if nobody watches it. From any thread. */
static inline int64_t crn_pulse_quiet_ns(const crn_pulse *pulse)
{
    return atomic_load_explicit(&pulse->quiet_ns, memory_order_relaxed);
}

/* Another thread does without it from now on. */
static inline void crn_pulse_retire(crn_pulse *pulse)
{
    atomic_store_explicit(&pulse->retired, true, memory_order_relaxed);
}

#endif
