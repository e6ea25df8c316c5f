/* How a verdict's maps become structs. For decode.c and decode_surface.c only. */
#ifndef CRN_SRC_FORMATS_VERDICT_DECODE_FIELDS_H
#define CRN_SRC_FORMATS_VERDICT_DECODE_FIELDS_H

#include <stddef.h>

#include "src/formats/verdict/decode.h"
#include "src/formats/verdict/fields.h"

/* A field and where its value is stored: as bool, uint64_t, double (null reads as NaN), double[2],
 * double[4], or char[CRN_DECODED_TEXT_BYTES] (a text; an integer is stored as its text). */
typedef struct crn_decode_field {
    const crn_field *field;
    size_t offset;
    bool required; /* otherwise a missing or null value leaves the struct unchanged */
} crn_decode_field;

/* Reads a map's fields. 0, or -EBADMSG with one clause in *error that names the key. */
int crn_decode_fields(const msgpack_object *map, const crn_decode_field *fields, void *target,
                      crn_error *error);

/* False if it is not a number; null reads as NaN. */
bool crn_decode_real(const msgpack_object *value, double *ret_real);

/* False if it is not an array of `count` of these. */
bool crn_decode_reals(const msgpack_object *value, uint32_t count, double *ret_reals);

/* False if it is neither a text nor a whole number. */
bool crn_decode_text(const msgpack_object *value, char ret_text[CRN_DECODED_TEXT_BYTES]);

/* The map or array under a key, an empty one if the key is missing; NULL with *error otherwise. */
const msgpack_object *crn_decode_many(const msgpack_object *map, const char *key,
                                      msgpack_object_type type, crn_error *error);

#endif
