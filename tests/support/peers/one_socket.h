/* A fixture of one ZeroMQ socket and a program that is connected to it. */
#ifndef CRN_TESTS_SUPPORT_ONE_SOCKET_H
#define CRN_TESTS_SUPPORT_ONE_SOCKET_H

#include <stdio.h>

typedef struct one_socket {
    void *zmq, *socket; /* the test opens `socket` */
    char endpoint[64];
    FILE *out; /* the program's output */
} one_socket;

/* Set-up and tear-down of cmocka: *state is a one_socket. */
int one_socket_setup(void **state);
int one_socket_teardown(void **state);

#endif
