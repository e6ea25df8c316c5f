/* Fixture: gives every test of a table the same set-up and tear-down. */
#ifndef CRN_TESTS_SUPPORT_FIXTURE_H
#define CRN_TESTS_SUPPORT_FIXTURE_H

#define CRN_SET_FIXTURE(tests, set_up, tear_down)                                                  \
    for (size_t test = 0; test < sizeof(tests) / sizeof *(tests); test++) {                        \
        (tests)[test].setup_func = (set_up);                                                       \
        (tests)[test].teardown_func = (tear_down);                                                 \
    }

#endif
