/*
 * A message of the line as one tree of values, whether it came as MessagePack or as JSON, and as
 * JSON text again. The only user of yajl, and with decode.c of libmsgpack, among the tools.
 */
#ifndef CRN_TOOLS_COMMON_MESSAGEPACK_JSON_H
#define CRN_TOOLS_COMMON_MESSAGEPACK_JSON_H

#include <stddef.h>
#include <stdio.h>

#include <msgpack.h>

#include "stages/base/error.h"

/* Valid until crn_messagepack_json_done, and for MessagePack only while the message's bytes are. */
typedef struct crn_messagepack_json {
    msgpack_unpacked tree;    /* tree.data is the outermost value, always a map */
    msgpack_sbuffer repacked; /* a JSON message's values as MessagePack; else empty */
} crn_messagepack_json;

/*
 * Reads a message; whether it is MessagePack or JSON shows in its first byte. Memory is taken in
 * proportion to its size, whatever it claims. 0, or -EBADMSG or
 * -ENOMEM with one clause in *error (*ret_packed is then untouched and needs no done).
 */
int crn_messagepack_json_init(crn_messagepack_json *ret_packed, const void *bytes, size_t size,
                              crn_error *error);

/* Frees what the tree holds; a zeroed one is fine. */
void crn_messagepack_json_done(crn_messagepack_json *packed);

/* The value under `key` in a map, or NULL. */
const msgpack_object *crn_messagepack_json_get(const msgpack_object *map, const char *key);

/*
 * The message as one line of JSON, its end included. Coordinates (`xy`) become [[x, y], …]; numbers
 * have as many digits as it takes to read the same value back, those that are none become null.
 * 0, -ENOMEM, or -EIO when the stream is in error.
 */
int crn_messagepack_json_print(const crn_messagepack_json *packed, FILE *out);

#endif
