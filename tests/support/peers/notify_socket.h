/* A service manager's side of sd_notify(3): a socket that NOTIFY_SOCKET names. */
#ifndef CRN_TESTS_SUPPORT_NOTIFY_SOCKET_H
#define CRN_TESTS_SUPPORT_NOTIFY_SOCKET_H

/* Binds a socket in the folder and sets NOTIFY_SOCKET; returns its descriptor. */
int notify_socket_open(const char *folder);

/* Reads messages until one contains `wanted`, a minute at most; it is returned, valid until the
 * next call. `unwanted` (NULL: none) must not come before. */
const char *notify_socket_await(int descriptor, const char *wanted, const char *unwanted);

#endif
