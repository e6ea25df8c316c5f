/* What the tests of the operators stand on: contexts, the walk over random cases, their names. */
#ifndef CRN_TESTS_SUPPORT_OPERATOR_TESTS_H
#define CRN_TESTS_SUPPORT_OPERATOR_TESTS_H

#include "stages/openmp/simd.h"
#include "stages/ops.h"
#include "tests/support/random.h"

enum { OPERATOR_THREADS_MAX = 5, OPERATOR_CASE_BYTES = 400 };

/* By their number of threads, from 1 on; there from set-up to tear-down. */
extern crn_context *operator_contexts[OPERATOR_THREADS_MAX + 1];

/* What properties draw their pictures from; seeded by operators_set_up_noise. */
extern crn_random operator_noise;

extern const char *const operator_target_names[CRN_TARGETS];

/* Set-up and tear-down of a group of tests; the second set-up has noise as well. */
int operators_set_up(void **state);
int operators_set_up_noise(void **state);
int operators_tear_down(void **state);

/*
 * The first call of a main whose tests use more threads than there may be processors: all of them
 * waiting busily would take minutes. The OpenMP library has read its settings before main, so the
 * program starts anew with others; where it was given arguments it does not.
 */
void operators_wait_passively(int argc, char **argv);

/* Tries the cases of so many seeds in a row: CRN_CASES of them from CRN_SEED on, where set. */
void operators_try_cases(uint32_t by_default, void (*try_case)(uint64_t seed));

/* How a case can be had again, what its image is like, and what the format says. */
__attribute__((format(printf, 4, 5))) void operators_describe(char what[OPERATOR_CASE_BYTES],
                                                              uint64_t seed, const crn_image *image,
                                                              const char *format, ...);

/* Fails the running test, with both texts, if an operator returned other than 0. */
void operators_check_result(int result, const char *what);

#endif
