/* A socket for programs of this machine: AF_UNIX, SOCK_SEQPACKET, mode 0660, so that the file
 * system admits its owner, its group and root only. */
#ifndef CRN_SRC_SERVICE_LISTENER_H
#define CRN_SRC_SERVICE_LISTENER_H

#include <sys/types.h>

#include "stages/base/error.h"

/* A bound socket; `descriptor` -1: none. */
typedef struct crn_listener {
    int descriptor;
    int lock;         /* of the path; -1: none */
    const char *path; /* the caller's */
    dev_t device;     /* of the socket's file, as the next */
    ino_t inode;
} crn_listener;

/* Binds the path, which may hold the socket of a daemon that is gone. Of several that start at
 * once one gets it: PATH.lock is locked while it listens. Returns 0, or a negative errno with the
 * path and a hint in *error: -EADDRINUSE if a daemon listens there. `key` names the setting in
 * error messages. */
int crn_listener_open(const char *key, const char *path, crn_listener *ret_listener,
                      crn_error *error);

/* Tests whether that would work, and leaves nothing behind. */
int crn_listener_try(const char *key, const char *path, crn_error *error);

/* Closes it and removes its files, unless they are another one's meanwhile. */
void crn_listener_close(crn_listener *listener);

#endif
