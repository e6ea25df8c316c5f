#include "tests/support/operators/probabilities.h"

#include <string.h>

static const uint32_t bad_f32[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001,
                                   0xff800001, 0xffffffff, 0x7fffffff, 0x3f8020c6, 0xba831270,
                                   0x3fc00000, 0xbf000000, 0x437f0000, 0x7f7fffff, 0xff7fffff};
static const uint32_t bad_f16[] = {0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0xffff, 0x7fff,
                                   0x3c02, 0x941a, 0x3e00, 0xb800, 0x5bf8, 0x7bff, 0xfbff};
static const uint32_t bad_u8[] = {1};
static const uint32_t good_f32[] = {0,          0x80000000, 1,          0x80000001,
                                    0x007fffff, 0x807fffff, 0x00800000, 0x3f800000,
                                    0x3f8020c5, 0xba83126f, 0x3f000000, 0x3f7fffff};
static const uint32_t good_f16[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x83ff,
                                    0x0400, 0x3c00, 0x3c01, 0x9419, 0x3800, 0x3bff};
static const uint32_t good_u8[] = {0};

#define LIST(array) ((probabilities_list){array, sizeof(array) / sizeof *(array)})

probabilities_list probabilities_bad(crn_type type)
{
    return type == CRN_U8 ? LIST(bad_u8) : type == CRN_F16 ? LIST(bad_f16) : LIST(bad_f32);
}

probabilities_list probabilities_good(crn_type type)
{
    return type == CRN_U8 ? LIST(good_u8) : type == CRN_F16 ? LIST(good_f16) : LIST(good_f32);
}

float probabilities_value(const void *from, crn_type type, size_t i)
{
    const unsigned char *at = (const unsigned char *)from + i * crn_type_bytes(type);
    uint16_t half;
    float value;
    memcpy(&half, at, sizeof half);
    if (type == CRN_F16)
        return crn_f16_to_f32(half);
    memcpy(&value, at, sizeof value);
    return value;
}

bool probabilities_is_valid(float value, crn_type type)
{
    float min = type == CRN_F16 ? crn_f16_to_f32(CRN_VALUES_MIN_F16) : -0.001f;
    float max = type == CRN_F16 ? crn_f16_to_f32(CRN_VALUES_MAX_F16) : 1.001f;
    return value >= min && value <= max;
}

crn_values_seen probabilities_see(const void *from, crn_type type, size_t count)
{
    crn_values_seen seen = {false, 0};
    for (size_t i = 0; i < count; i++) {
        float value =
            type == CRN_U8 ? ((const uint8_t *)from)[i] : probabilities_value(from, type, i);
        seen.suspect |= type != CRN_U8 && !probabilities_is_valid(value, type);
        seen.max = value > seen.max ? value : seen.max;
    }
    seen.suspect |= type == CRN_U8 && seen.max == 1;
    return seen;
}

bool probabilities_same(crn_values_seen seen, crn_values_seen expected, crn_type type)
{
    bool defined = type == CRN_U8 || !expected.suspect;
    return seen.suspect == expected.suspect && (!defined || seen.max == expected.max);
}

void probabilities_put(void *to, crn_type type, size_t i, uint32_t bits)
{
    size_t bytes = crn_type_bytes(type);
    memcpy((unsigned char *)to + i * bytes, &bits, bytes);
}

uint32_t probabilities_pick_good(crn_random *random, crn_type type)
{
    if (type == CRN_U8)
        return crn_random_below(random, 2);
    probabilities_list good = probabilities_good(type);
    if (crn_random_once_in(random, 4))
        return good.bits[crn_random_below(random, (uint32_t)good.count)];
    return crn_random_below(random, type == CRN_F16 ? 0x3c02 : 0x3f8020c6);
}

uint32_t probabilities_pick_bad(crn_random *random, crn_type type)
{
    probabilities_list bad = probabilities_bad(type);
    return type == CRN_U8 ? (uint32_t)crn_random_between(random, 2, 255)
                          : bad.bits[crn_random_below(random, (uint32_t)bad.count)];
}
