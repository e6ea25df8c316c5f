/* Reads JSON that is not trusted: the only parser of JSON in the tree. */
#ifndef CRN_SRC_FORMATS_ENCODING_JSON_READ_H
#define CRN_SRC_FORMATS_ENCODING_JSON_READ_H

#include <stddef.h>

#include <msgpack/sbuffer.h>

#include "stages/base/error.h"

/*
 * Appends one JSON value to the buffer as MessagePack. The parser itself counts the nesting, which
 * may have CRN_PACKED_DEPTH_MAX levels, and refuses comments; memory is allocated in proportion to
 * the text. Whole numbers of up to 64 bits stay exact; a key that occurs twice stays twice. 0, or
 * -EBADMSG or -ENOMEM with one clause in *error, and the buffer may then hold a part.
 */
int crn_json_read(const void *text, size_t size, msgpack_sbuffer *buffer, crn_error *error);

#endif
