/* The control socket of a line of this machine, by its name or because it is the only one. */
#ifndef CRN_SRC_CLIENT_FIND_SOCKET_H
#define CRN_SRC_CLIENT_FIND_SOCKET_H

#include <stdbool.h>
#include <sys/un.h>

#include "stages/base/error.h"

/* How long a daemon may take to answer: a reload reads files, and may wait for fruits. */
#define CRN_SOCKET_PATIENCE_S 60

typedef struct sockaddr_un crn_socket_address;

/* False if the path is too long for an address. */
bool crn_socket_address_set(crn_socket_address *address, const char *path);

/* Connects to it. Returns the descriptor, which waits so long, or a negative errno with the cure in
 * `error`. */
int crn_socket_connect(const crn_socket_address *address, crn_error *error);

/* The socket FOLDER/LINE/control, where a unit's line has it. LINE NULL: the only one of
 * FOLDER/control and FOLDER/NAME/control at which a daemon answers; -ENOENT if none does, -ENOTUNIQ
 * if several do, whose names are then in `error`, -EACCES if this user may ask none of them. */
int crn_socket_find(const char *folder, const char *line, crn_socket_address *ret_address,
                    crn_error *error);

#endif
