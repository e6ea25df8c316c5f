#include "src/formats/encoding/messagepack_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

/* Sizes declared by a value's first bytes. */
typedef struct claim {
    uint64_t bytes;  /* of the value itself with its first byte, without nested values */
    uint64_t values; /* nested: items, or keys and values */
} claim;

static uint64_t read_big_endian(const uint8_t *bytes, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Types 0xc0 to 0xdf. Width: bytes of the length field; fixed: further bytes after it. */
static const struct {
    uint8_t width, fixed;
    enum { PLAIN, BYTES, ITEMS, PAIRS } kind;
} types[32] = {
    [0x04] = {1, 0, BYTES},  [0x05] = {2, 0, BYTES}, [0x06] = {4, 0, BYTES}, /* bin */
    [0x07] = {1, 1, BYTES},  [0x08] = {2, 1, BYTES}, [0x09] = {4, 1, BYTES}, /* ext */
    [0x0a] = {0, 4, PLAIN},  [0x0b] = {0, 8, PLAIN},                         /* float */
    [0x0c] = {0, 1, PLAIN},  [0x0d] = {0, 2, PLAIN}, [0x0e] = {0, 4, PLAIN}, /* uint */
    [0x0f] = {0, 8, PLAIN},  [0x10] = {0, 1, PLAIN}, [0x11] = {0, 2, PLAIN}, /* int */
    [0x12] = {0, 4, PLAIN},  [0x13] = {0, 8, PLAIN}, [0x14] = {0, 2, PLAIN}, /* fixext */
    [0x15] = {0, 3, PLAIN},  [0x16] = {0, 5, PLAIN}, [0x17] = {0, 9, PLAIN},
    [0x18] = {0, 17, PLAIN}, [0x19] = {1, 0, BYTES}, [0x1a] = {2, 0, BYTES}, /* str */
    [0x1b] = {4, 0, BYTES},  [0x1c] = {2, 0, ITEMS}, [0x1d] = {4, 0, ITEMS}, /* array */
    [0x1e] = {2, 0, PAIRS},  [0x1f] = {4, 0, PAIRS},                         /* map */
};

/* Reads the sizes declared by the value at `bytes` (`left` > 0 of them); false if truncated. */
static bool read_claim(const uint8_t *bytes, size_t left, claim *ret_claim)
{
    uint8_t type = bytes[0];
    if (type >= 0xe0 || type < 0x80)
        *ret_claim = (claim){1, 0}; /* positive fixint */
    else if (type < 0x90)
        *ret_claim = (claim){1, UINT64_C(2) * (type & 15)};
    else if (type < 0xa0)
        *ret_claim = (claim){1, type & 15};
    else if (type < 0xc0)
        *ret_claim = (claim){1 + (uint64_t)(type & 31), 0};
    if (type >= 0xe0 || type < 0xc0)
        return true;
    int width = types[type - 0xc0].width;
    if (left < 1 + (size_t)width)
        return false;
    uint64_t length = read_big_endian(bytes + 1, width);
    *ret_claim = (claim){1 + (uint64_t)width + types[type - 0xc0].fixed, 0};
    if (types[type - 0xc0].kind == BYTES)
        ret_claim->bytes += length;
    else
        ret_claim->values = types[type - 0xc0].kind == PAIRS ? 2 * length : length;
    return true;
}

int crn_messagepack_check(const void *bytes, size_t size, crn_error *error)
{
    const uint8_t *at = bytes;
    uint64_t open[CRN_PACKED_DEPTH_MAX]; /* values still expected, by depth */
    uint64_t owed = 1;                   /* at all depths */
    int depth = 0;
    for (size_t left = size; owed > 0;) {
        claim one;
        if (!left || !read_claim(at, left, &one) || one.bytes > left)
            return crn_error_set(error, -EBADMSG, "MessagePack that is cut short (%zu bytes)",
                                 size);
        at += one.bytes;
        left -= (size_t)one.bytes;
        owed += one.values - 1;
        if (owed > left)
            return crn_error_set(error, -EBADMSG,
                                 "MessagePack that announces %" PRIu64 " values in %zu bytes", owed,
                                 left);
        if (depth)
            open[depth - 1]--;
        if (one.values && depth == CRN_PACKED_DEPTH_MAX)
            return crn_error_set(error, -EBADMSG, "MessagePack that is nested more than %d deep",
                                 CRN_PACKED_DEPTH_MAX);
        if (one.values)
            open[depth++] = one.values;
        while (depth && !open[depth - 1])
            depth--;
    }
    return 0;
}
