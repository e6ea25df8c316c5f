/*
 * A message of the line, MessagePack or JSON, as one tree of values, and its output as JSON text.
 * With encoder.c, json_read.c and src/formats/verdict/decode.c the only user of libmsgpack.
 */
#ifndef CRN_SRC_FORMATS_ENCODING_MESSAGEPACK_JSON_H
#define CRN_SRC_FORMATS_ENCODING_MESSAGEPACK_JSON_H

#include <stddef.h>
#include <stdio.h>

#include <msgpack.h>

#include "src/formats/encoding/value.h"
#include "stages/base/error.h"

/* Valid until crn_messagepack_json_done, and for MessagePack only while the message's bytes are. */
typedef struct crn_messagepack_json {
    msgpack_unpacked tree;    /* tree.data is the root, always a map */
    msgpack_sbuffer repacked; /* a JSON message converted to MessagePack; else empty */
} crn_messagepack_json;

/*
 * Parses a message; its first byte tells MessagePack from JSON. Memory is allocated in proportion
 * to its size, whatever lengths it declares. 0, or -EBADMSG or -ENOMEM with one clause in *error
 * (*ret_packed is then untouched and needs no done).
 */
int crn_messagepack_json_init(crn_messagepack_json *ret_packed, const void *bytes, size_t size,
                              crn_error *error);

/* Frees the tree; a zeroed one is fine. */
void crn_messagepack_json_done(crn_messagepack_json *packed);

/*
 * Prints the message as one line of JSON with its newline. Coordinates (`xy`) become [[x, y], …];
 * `epoch` and the other keys of crn_encoder_is_id are followed by their texts; numbers get the
 * fewest digits that read back as the same value, NaN and infinities become null. 0, -ENOMEM, or
 * -EIO when the stream is in error.
 */
int crn_messagepack_json_print(const crn_messagepack_json *packed, FILE *out);

#endif
