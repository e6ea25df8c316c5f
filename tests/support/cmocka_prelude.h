/* cmocka, after the headers that it must follow. What a test has started is stopped after it, also
 * if it fails (cleanup.h). */
#ifndef CRN_TESTS_SUPPORT_CMOCKA_PRELUDE_H
#define CRN_TESTS_SUPPORT_CMOCKA_PRELUDE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int crn_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                        CMFixtureFunction group_set_up, CMFixtureFunction group_tear_down);

#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, group_set_up, group_tear_down)                               \
    crn_run_group_tests(#tests, tests, sizeof(tests) / sizeof *(tests), group_set_up,              \
                        group_tear_down)

#endif
