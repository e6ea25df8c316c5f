/* A daemon whose memory runs out at one request: what it shares with the test that starts it. */
#ifndef CRN_TESTS_FAULTS_MEMORY_STARVE_H
#define CRN_TESTS_FAULTS_MEMORY_STARVE_H

#include <stdatomic.h>
#include <stdint.h>

/* Names the file that holds it, in the daemon's environment; without it no request fails. */
#define CRN_STARVED_FILE "CRN_STARVED_FILE"

typedef struct starved_daemon {
    _Atomic uint64_t requests; /* so far, of all threads */
    _Atomic uint64_t fails_at; /* that request fails, from 1; 0: none */
    _Atomic uint64_t failed;   /* 1 once it did */
    _Atomic uintptr_t caller;  /* that made it, for addr2line, less that of starve_memory() */
} starved_daemon;

#endif
