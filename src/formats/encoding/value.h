/* Values of a message's tree, read without a check before: what is not there, or of another type,
 * reads as nothing. */
#ifndef CRN_SRC_FORMATS_ENCODING_VALUE_H
#define CRN_SRC_FORMATS_ENCODING_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <msgpack.h>

/* All take NULL for a value that is not there. */

/* The value under `key` in a map, or NULL. */
const msgpack_object *crn_value_get(const msgpack_object *map, const char *key);

/* The number of elements of an array; 0 for anything else. */
uint32_t crn_value_count(const msgpack_object *array);

/* An element of an array, or NULL. */
const msgpack_object *crn_value_item(const msgpack_object *array, uint32_t at);

/* True for a whole number from 0 to `max`, which *ret_number then is. */
bool crn_value_unsigned(const msgpack_object *value, uint64_t max, uint64_t *ret_number);

/* A number; NaN for anything else. */
double crn_value_real(const msgpack_object *value);

/* True for the boolean true. */
bool crn_value_is_true(const msgpack_object *value);

/* True for this text. */
bool crn_value_is_text(const msgpack_object *value, const char *text);

/* True for printable text of 1 to `size` - 1 bytes, of which *ret_text then is a copy. */
bool crn_value_copy_text(const msgpack_object *value, char *ret_text, size_t size);

/* True for text of up to `size` - 1 bytes, whatever they are; *ret_text is a copy of it, or else
 * empty. */
bool crn_value_copy_bytes(const msgpack_object *value, char *ret_text, size_t size);

#endif
