/* Captures log lines, for tests of messages to the user. */
#ifndef CRN_TESTS_SUPPORT_LOG_CAPTURE_H
#define CRN_TESTS_SUPPORT_LOG_CAPTURE_H

typedef struct crn_log_capture {
    int file, stderr_copy;
    char text[8192];
} crn_log_capture;

/* Redirects standard error to a file. */
void crn_log_capture_start(crn_log_capture *caught);

/* Restores standard error; returns the captured text, truncated to the buffer. */
const char *crn_log_capture_stop(crn_log_capture *caught);

#endif
