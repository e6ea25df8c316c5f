/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/. Tells settings apart; no defence
 * against forgery. */
#ifndef CRN_STAGES_BASE_FNV_H
#define CRN_STAGES_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define CRN_FNV1A_START UINT64_C(0xcbf29ce484222325)

/* The hash of the bytes hashed so far (CRN_FNV1A_START: none) followed by these. */
static inline uint64_t crn_fnv1a(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
