/* The log's lines of a while, for tests that ask what a person was told. */
#ifndef CRN_TESTS_SUPPORT_CAUGHT_LOG_H
#define CRN_TESTS_SUPPORT_CAUGHT_LOG_H

typedef struct crn_caught_log {
    int file, stderr_copy;
    char text[8192];
} crn_caught_log;

/* From here on standard error goes into a file. */
void crn_log_catch(crn_caught_log *caught);

/* Standard error is itself again; returns what was written meanwhile, cut to the text's size. */
const char *crn_log_release(crn_caught_log *caught);

#endif
