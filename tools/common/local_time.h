/* Times of day as users write and read them. */
#ifndef CRN_TOOLS_COMMON_LOCAL_TIME_H
#define CRN_TOOLS_COMMON_LOCAL_TIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads a local time: 'YYYY-MM-DD HH:MM[:SS]' (also with a T), 'YYYY-MM-DD', or HH:MM[:SS] for the
 * last time that clocks showed it. True with *ret_ns, CLOCK_REALTIME; 0 for a time before 1970,
 * UINT64_MAX for one that it cannot hold. False if the text is anything else, or no such day.
 */
bool crn_local_time_parse(const char *text, uint64_t *ret_ns);

/* Writes "2026-11-23 01:12:03", which crn_local_time_parse reads. */
#define CRN_LOCAL_TIME_BYTES 32
void crn_local_time_print(uint64_t realtime_ns, char text[CRN_LOCAL_TIME_BYTES]);

#endif
