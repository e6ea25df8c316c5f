/* Shared by the tests of the operators: contexts,
 * iteration over random cases, case descriptions. */
#ifndef CRN_TESTS_SUPPORT_OPERATOR_TESTS_H
#define CRN_TESTS_SUPPORT_OPERATOR_TESTS_H

#include "stages/openmp/simd.h"
#include "stages/ops.h"
#include "tests/support/random.h"

enum { OPERATOR_THREADS_MAX = 5, OPERATOR_CASE_BYTES = 400 };

/* Indexed by number of threads, from 1; valid from set-up to tear-down. */
extern crn_context *operator_contexts[OPERATOR_THREADS_MAX + 1];

/* Random source of the property tests; seeded by operators_set_up_random. */
extern crn_random operator_random;

extern const char *const operator_target_names[CRN_TARGETS];

/* Set-up and tear-down of a group of tests; the second set-up also seeds it. */
int operators_set_up(void **state);
int operators_set_up_random(void **state);
int operators_tear_down(void **state);

/*
 * First call of a main whose tests may use more threads than processors, because busy waiting would
 * take minutes. OpenMP reads its settings before main, so this re-executes the program with
 * OMP_WAIT_POLICY=passive, unless it was given arguments.
 */
void operators_wait_passively(int argc, char **argv);

/* Tries a row of seeds: CRN_CASES of them from CRN_SEED on, if set. */
void operators_try_cases(uint32_t by_default, void (*try_case)(uint64_t seed));

/* Formats how to repeat a case, its image, and the given text. */
__attribute__((format(printf, 4, 5))) void operators_describe(char what[OPERATOR_CASE_BYTES],
                                                              uint64_t seed, const crn_image *image,
                                                              const char *format, ...);

/* Fails the running test, with both texts, if an operator's result is not 0. */
void operators_check_result(int result, const char *what);

#endif
