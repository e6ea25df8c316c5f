/* Seeded random numbers, identical on every machine. */
#ifndef CRN_TESTS_SUPPORT_RANDOM_H
#define CRN_TESTS_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crn_random {
    uint64_t state;
} crn_random;

/* Seed of a test program: CRN_SEED if set, else from
 * the clock; printed, so that failures can be repeated. */
uint64_t crn_random_seed(void);

/* Number of cases: CRN_CASES if set. */
uint32_t crn_random_cases(uint32_t by_default);

uint64_t crn_random_next(crn_random *random);

/* 0 <= result < limit. */
uint32_t crn_random_below(crn_random *random, uint32_t limit);

/* min <= result <= max. */
int32_t crn_random_between(crn_random *random, int32_t min, int32_t max);

/* True with probability 1 / times. */
bool crn_random_once_in(crn_random *random, uint32_t times);

/* 0 <= result < 1. */
double crn_random_unit(crn_random *random);

/* Changes, deletes and inserts up to CRN_SPOILT_MORE bytes of a file, or cuts it. Returns the size,
 * which is at most CRN_SPOILT_MORE more. */
#define CRN_SPOILT_MORE 6
size_t crn_random_spoil(crn_random *random, unsigned char *bytes, size_t size);

#endif
