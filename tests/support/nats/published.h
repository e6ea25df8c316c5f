/* The log of archived.h by way of a NATS server to its archive. */
#ifndef CRN_TESTS_SUPPORT_NATS_PUBLISHED_H
#define CRN_TESTS_SUPPORT_NATS_PUBLISHED_H

#include <stdint.h>

#include "tests/support/nats/nats_server.h"
#include "tests/support/parts/archived.h"

#define CRN_PUBLISHED_STREAM "FLEET"

extern archived_line published_line;
extern nats_server published_server;
extern char published_url[160];     /* of the stream, at that server */
extern char published_output[4096]; /* of the last run */

/* Set up with it, and tear down with logged_teardown. The server does not run yet. */
int published_setup(void **state);

/* Starts the server with further lines of its file; skips the test where it is not installed. */
void published_start(const char *settings);

void published_write(uint64_t verdicts);

/* Runs cernita-archive to the end of `from`; returns its exit status. */
int published_run(const char *from, const char *to, const char *options);
void published_expect_said(const char *wanted);

/* The log to the stream, and that to the archive: both have to succeed. */
void published_publish(void);
void published_archive(void);

#endif
