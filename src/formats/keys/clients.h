/* The clients of a folder of keys. For access.c and cernita-keys. */
#ifndef CRN_SRC_FORMATS_KEYS_CLIENTS_H
#define CRN_SRC_FORMATS_KEYS_CLIENTS_H

#include <stdbool.h>
#include <stdio.h>

#include "stages/base/error.h"
#include "src/formats/keys/key_file.h"

/* Most clients of a line. */
#define CRN_ACCESS_CLIENTS_MAX 1024

typedef struct crn_access_client {
    char name[CRN_KEY_NAME_MAX + 1];
    crn_key_file file;
} crn_access_client;

typedef struct crn_access_clients {
    int32_t count;
    crn_access_client *client; /* by name */
    bool have_place;           /* there is DIR/clients, or a DIR/clients_NAME.pub */
} crn_access_clients;

/*
 * Reads every DIR/clients/NAME.pub, and DIR/clients_NAME.pub, as systemd names the credentials
 * that it loads from a folder; other names are passed over. A missing folder has no clients.
 * Returns 0 or a negative errno: a faulty file, two files with the same key, a folder that others
 * may write to. Each fault is a line on `faults` (NULL: no output) that names the file and the
 * cure; the first one is also in *error.
 */
int crn_access_clients_read(const char *folder, FILE *faults, crn_access_clients *ret_clients,
                            crn_error *error);

void crn_access_clients_done(crn_access_clients *clients);

/* The client with that key, or NULL. */
const crn_access_client *crn_access_clients_find(const crn_access_clients *clients,
                                                 const char *key);

#endif
