/*
 * Key files of CURVE, made by cernita-keys. A file has one key: a line of 40 characters of Z85
 * (rfc.zeromq.org/spec/32). A client's public file may have a line `for: ingest, viewers`: the
 * sockets that the client may use; without it, all. Empty lines and comments, which begin with
 * `#` (no key does: a block of Z85 that begins with it exceeds 32 bits), are ignored.
 *
 *   DIR/server.key         secret, of the daemon; nobody else may read it
 *   DIR/server.pub         public; clients need a copy
 *   DIR/clients/NAME.pub   public, of a client that may connect
 */
#ifndef CRN_SRC_FORMATS_KEYS_KEY_FILE_H
#define CRN_SRC_FORMATS_KEYS_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

/* A key in Z85, with its final 0. */
#define CRN_KEY_BYTES 41

/* Longest name of a client; letters, digits, `-`, `_` and `.`, but not in front. */
#define CRN_KEY_NAME_MAX 63

#define CRN_KEY_SERVER_SECRET "server.key"
#define CRN_KEY_SERVER_PUBLIC "server.pub"
#define CRN_KEY_CLIENTS       "clients"
#define CRN_KEY_SUFFIX        ".pub"

/* The sockets of a line, each with its own permission. */
typedef enum crn_access_use {
    CRN_ACCESS_INGEST,
    CRN_ACCESS_GRADER,
    CRN_ACCESS_VIEWERS,
    CRN_ACCESS_USES,
} crn_access_use;

extern const char *const crn_access_use_names[CRN_ACCESS_USES];

/* A set of uses: bit `use` of each. */
#define CRN_ACCESS_ALL_USES ((1u << CRN_ACCESS_USES) - 1)

typedef struct crn_key_file {
    char key[CRN_KEY_BYTES];
    uint32_t uses; /* CRN_ACCESS_ALL_USES without a `for:` line */
} crn_key_file;

typedef enum crn_key_kind {
    CRN_KEY_PUBLIC,
    CRN_KEY_CLIENT, /* public; refused if its group or others may write it: it admits its owner */
    CRN_KEY_SECRET, /* refused if its group or others may read or write it */
} crn_key_kind;

/* Reads a key file. Returns 0 or a negative errno with one line in *error that names the file, the
 * line in it and the cure. */
int crn_key_read(const char *path, crn_key_kind kind, crn_key_file *ret_file, crn_error *error);

/* True below the folder of this service's credentials, which systemd made for it at its start. */
bool crn_key_is_credential(const char *path);

/* Parses `ingest, viewers` (also without commas). Returns 0, or -EINVAL with a clause in *error. */
int crn_key_parse_uses(const char *text, uint32_t *ret_uses, crn_error *error);

/* Writes the names of the uses with ", " between them. */
void crn_key_print_uses(uint32_t uses, char *text, size_t size);

/* True for a valid name of a client. */
bool crn_key_name_is_valid(const char *name);

/* 0 if this libzmq has CURVE, else -EOPNOTSUPP with one line in *error. */
int crn_key_supported(crn_error *error);

#endif
