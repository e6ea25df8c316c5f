#include "tests/support/operators/operator_tests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"

crn_context *operator_contexts[OPERATOR_THREADS_MAX + 1];
crn_random operator_random;
const char *const operator_target_names[CRN_TARGETS] = {"baseline", "avx2", "avx512"};

int operators_set_up(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= OPERATOR_THREADS_MAX; threads++)
        if (crn_context_create(threads, &operator_contexts[threads]) < 0)
            return -1;
    return 0;
}

int operators_set_up_random(void **state)
{
    operator_random.state = crn_random_seed();
    return operators_set_up(state);
}

int operators_tear_down(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= OPERATOR_THREADS_MAX; threads++)
        crn_context_free(&operator_contexts[threads]);
    return 0;
}

void operators_wait_passively(int argc, char **argv)
{
    if (argc == 1 && !getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
        execv("/proc/self/exe", argv);
}

void operators_try_cases(uint32_t by_default, void (*try_case)(uint64_t seed))
{
    uint64_t seed = crn_random_seed();
    uint32_t cases = crn_random_cases(by_default);
    for (uint32_t i = 0; i < cases; i++)
        try_case(seed + i);
}

void operators_describe(char what[OPERATOR_CASE_BYTES], uint64_t seed, const crn_image *image,
                        const char *format, ...)
{
    int length =
        snprintf(what, OPERATOR_CASE_BYTES,
                 "CRN_SEED=%" PRIu64 " CRN_CASES=1: %d x %d x %d type %d strides %td %td %td, ",
                 seed, image->planes, image->height, image->width, image->type, image->plane_stride,
                 image->row_stride, image->step);
    va_list list;
    va_start(list, format);
    vsnprintf(what + length, OPERATOR_CASE_BYTES - (size_t)length, format, list);
    va_end(list);
}

void operators_check_result(int result, const char *what)
{
    if (result != 0)
        fail_msg("%s: returned %d", what, result);
}
