/**
 * @file
 * FNV-1a, 64 bits. Detects differing settings; not cryptographic.
 *
 * @see http://www.isthe.com/chongo/tech/comp/fnv/
 */
#ifndef CRN_STAGES_BASE_FNV_H
#define CRN_STAGES_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

/** The hash of no bytes. */
#define CRN_FNV1A_START UINT64_C(0xcbf29ce484222325)

/** Continues a hash (CRN_FNV1A_START at first) with `count` bytes. */
static inline uint64_t crn_fnv1a(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
