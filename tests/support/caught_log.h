/* Captures log lines, for tests of messages to the user. */
#ifndef CRN_TESTS_SUPPORT_CAUGHT_LOG_H
#define CRN_TESTS_SUPPORT_CAUGHT_LOG_H

typedef struct crn_caught_log {
    int file, stderr_copy;
    char text[8192];
} crn_caught_log;

/* Redirects standard error to a file. */
void crn_log_catch(crn_caught_log *caught);

/* Restores standard error; returns the captured text, truncated to the buffer. */
const char *crn_log_release(crn_caught_log *caught);

#endif
