/* Random convolutions, with expected results and tolerances. */
#ifndef CRN_TESTS_SUPPORT_CONVOLVE_CASES_H
#define CRN_TESTS_SUPPORT_CONVOLVE_CASES_H

#include "stages/ops.h"
#include "tests/support/guarded.h"
#include "tests/support/operator_tests.h"
#include "tests/support/random.h"

typedef struct crn_convolve_case {
    crn_image image;
    crn_guarded memory;
    crn_convolve_params params;
    float weights[CRN_KERNEL_TAPS_MAX];
    bool exact; /* all sums are integers or half-integers small enough for f32 to be exact */
    char what[OPERATOR_CASE_BYTES];
} crn_convolve_case;

/* Expected result in double precision, and its tolerance. */
typedef struct crn_convolve_wanted {
    double sum, bound;
    bool finite, spoilt; /* all pixels under the kernel are finite; one with a weight is not */
} crn_convolve_wanted;

/* Creates the case of that seed, small and irregular; the caller frees its memory. */
void crn_convolve_make_case(uint64_t seed, crn_convolve_case *c);

/* Cases with special device kernels: wide rows, certain numbers of planes, certain kernels. */
void crn_convolve_make_wide_case(uint64_t seed, crn_convolve_case *c);

/* Picks parameters only: a kernel of that size, and a border. */
void crn_convolve_pick_kernel(crn_random *random, int32_t width, int32_t height,
                              crn_convolve_case *c);

/* Fills the pixels only; *ret_whole tells whether they are integers. */
void crn_convolve_fill(crn_random *random, crn_image *image, bool *ret_whole);

/* The sum for one element, or for all, plane by plane (freed by the caller). */
crn_convolve_wanted crn_convolve_compute(const crn_convolve_case *c, int32_t plane, int32_t y,
                                         int32_t x);
crn_convolve_wanted *crn_convolve_compute_all(const crn_convolve_case *c);

bool crn_convolve_is_right_u8(const crn_convolve_wanted *w, int got);

/* Fails the running test, with `what`, unless all elements are within the tolerance of ops.h. */
void crn_convolve_check_result(const crn_image *out, const crn_convolve_wanted *all,
                               const char *what);

#endif
