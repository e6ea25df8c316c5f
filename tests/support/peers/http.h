/* An HTTP client for tests: plain sockets, so that anything can be sent. All waiting is for events,
 * with a timeout that only a failure reaches. */
#ifndef CRN_TESTS_SUPPORT_HTTP_H
#define CRN_TESTS_SUPPORT_HTTP_H

#include <stdbool.h>
#include <stddef.h>

/* Connects to HOST:PORT, HOST an IPv4 address; fails the test if nobody listens. */
int http_connect(const char *address);

/* Sends a text; false if the server has closed the connection. */
bool http_send(int connection, const char *text);

/* Reads until the server closes the connection. Returns the text, freed by the caller. */
char *http_read_all(int connection);

/* The same for a body that is not text: *ret_size is what was read. */
char *http_read_bytes(int connection, size_t *ret_size);

/* Reads until `wanted` was read; false if the server closes before. `text` keeps what was read. */
bool http_read_until(int connection, const char *wanted, char *text, size_t capacity);

/* Reads the head of a response, and nothing of what follows. */
void http_read_head(int connection, char *text, size_t capacity);

/* The status code of a response; 0 if it is none. */
int http_code(const char *response);

/* Requests a page and closes the connection. Returns the body, freed by the caller. */
char *http_get(const char *address, const char *path, int *ret_code);

/* Value of a sample (`name{labels}`) in an exposition; fails the test if it is not there. */
double http_sample(const char *exposition, const char *sample);

#endif
