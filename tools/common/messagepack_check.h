/* Whether MessagePack can be what it claims, before any memory is taken for it. */
#ifndef CRN_TOOLS_COMMON_MESSAGEPACK_CHECK_H
#define CRN_TOOLS_COMMON_MESSAGEPACK_CHECK_H

#include <stddef.h>

#include "stages/base/error.h"

/* How deep lists and maps may lie in one another; libmsgpack's own limit, which it tells as a lack
 * of memory. */
#define CRN_PACKED_DEPTH_MAX 32

/*
 * Walks the first value of `bytes`: every length must lie within the bytes that are left, and no
 * more values may be announced than there are bytes left for them, so that reading it takes memory
 * in proportion to its size. 0, or -EBADMSG with one clause in *error.
 */
int crn_messagepack_check(const void *bytes, size_t size, crn_error *error);

#endif
