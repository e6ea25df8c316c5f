/*
 * Requests of cernitactl at an AF_UNIX socket. A request is one packet, a line of text; its answer
 * is one packet, too: the line `ok` or `refused`, then lines of text. Clients are few, requests and
 * answers bounded, idle clients closed, and nobody is waited for.
 */
#ifndef CRN_SRC_SERVICE_CONTROL_SOCKET_H
#define CRN_SRC_SERVICE_CONTROL_SOCKET_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "stages/base/error.h"

#define CRN_CONTROL_REQUEST_BYTES 256
#define CRN_CONTROL_ANSWER_BYTES  65536
#define CRN_CONTROL_CLIENTS       8
#define CRN_CONTROL_DESCRIPTORS   (1 + CRN_CONTROL_CLIENTS)

typedef struct crn_control_socket crn_control_socket;

/* The program at the other end. */
typedef struct crn_control_asker {
    uid_t user;
    gid_t group;
    pid_t process;
} crn_control_asker;

/* Writes the whole answer to one line of text, without its line end. */
typedef void crn_control_answer(void *context, const char *request, const crn_control_asker *asker,
                                FILE *out);

typedef struct crn_control_plan {
    const char *path; /* the caller's; empty: there is no socket, and no clients */
    crn_control_answer *answer;
    void *context;
    int64_t idle_ns; /* a client that asks nothing for so long is closed; 0: 10 s */
} crn_control_plan;

/* Binds the path, which error messages call control.path. Returns 0 or a negative errno with a hint
 * in *error. */
int crn_control_socket_open(const crn_control_plan *plan, crn_control_socket **ret_socket,
                            crn_error *error);
void crn_control_socket_close(crn_control_socket **socket);

/* What to wait for: always as many; those that are not in use are -1, which poll() passes over. */
void crn_control_socket_descriptors(const crn_control_socket *socket,
                                    int ret_descriptors[CRN_CONTROL_DESCRIPTORS]);

/* Answers the requests that have arrived, then admits a client, and closes idle ones. */
void crn_control_socket_serve(crn_control_socket *socket);

/* Does what a request asks for; its lines go to `lines`. 0 or a negative errno. */
typedef int crn_control_change(void *context, FILE *lines);

/* Answers a request that changes something. Whether it was refused is known at its end, and stands
 * in the answer's first line: until then memory holds the rest. `copy` gets the lines, too; it may
 * be NULL. */
void crn_control_answer_change(crn_control_change *change, void *context, FILE *copy, FILE *out);

#endif
