/* Validates the lengths that MessagePack data declares before any memory is allocated for them. */
#ifndef CRN_SRC_FORMATS_ENCODING_MESSAGEPACK_CHECK_H
#define CRN_SRC_FORMATS_ENCODING_MESSAGEPACK_CHECK_H

#include <stddef.h>

#include "stages/base/error.h"

/* Maximum nesting depth of arrays and maps; libmsgpack's
 * own limit, which it reports as a lack of memory. */
#define CRN_PACKED_DEPTH_MAX 32

/*
 * Walks the first value of `bytes`: every length must lie within the remaining bytes, and no more
 * values may be declared than bytes remain, so that unpacking allocates memory in proportion to the
 * message's size. 0, or -EBADMSG with one clause in *error.
 */
int crn_messagepack_check(const void *bytes, size_t size, crn_error *error);

#endif
