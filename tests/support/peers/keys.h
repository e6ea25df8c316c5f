/* A folder of keys for tests, and sockets that use them. */
#ifndef CRN_TESTS_SUPPORT_KEYS_H
#define CRN_TESTS_SUPPORT_KEYS_H

#include "src/formats/keys/key_file.h"

typedef struct crn_test_keys {
    char folder[96];
    char server[CRN_KEY_BYTES]; /* public */
} crn_test_keys;

/* A client's pair. */
typedef struct crn_test_pair {
    char public[CRN_KEY_BYTES], secret[CRN_KEY_BYTES];
} crn_test_pair;

/* Makes the folder `parent`/keys with a server's keys; whoever made `parent` removes both. */
void crn_test_keys_make(const char *parent, crn_test_keys *ret_keys);

void crn_test_pair_make(crn_test_pair *ret_pair);

/* Writes `text` to `name` below the folder, with this mode. */
void crn_test_keys_write(const crn_test_keys *keys, const char *name, const char *text,
                         unsigned mode);

/* Adds a client: its public key, and a line `for: uses` unless NULL. */
void crn_test_keys_add(const crn_test_keys *keys, const char *name, const char *uses,
                       crn_test_pair *ret_pair);

/* Connects a socket with a client's pair to a server's public key; waits in sends and receives for
 * CRN_PEER_WAIT_MS at most. */
void *crn_test_keys_connect(void *zmq, int type, const char *endpoint, const crn_test_pair *pair,
                            const char *server);

/* Removes a folder and all below it. */
void crn_test_remove_all(const char *folder);

#endif
