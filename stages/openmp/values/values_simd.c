/* Copies and validates values in one pass; compiled once per target. */
#include "stages/openmp/values.h"

#include <string.h>

/*
 * Bit patterns of floats compared as signed integers have the order of the floats where these are
 * positive, with NaN above all; compared as unsigned integers, all negative floats are above all
 * positive ones and ordered by magnitude. So a signed maximum finds values above the range and an
 * unsigned maximum those below.
 */
#define MAX_BITS        0x3f8020c5 /* of CRN_VALUES_MAX */
#define MIN_BITS        0xba83126fu
#define MAX_BITS_OF_F16 0x3f802000 /* of CRN_VALUES_MAX_F16, widened */
#define MIN_BITS_OF_F16 0xba832000u

typedef crn_integers vector;
#define load(from)      CRN_SI(loadu)((const void *)(from))
#define store(to, v)    CRN_SI(storeu)((void *)(to), v)
#define zero_vector()   CRN_SI(setzero)()
#define or_bits(a, b)   CRN_SI(or)(a, b)
#define max_u8(a, b)    CRN_MM(max_epu8)(a, b)
#define max_s16(a, b)   CRN_MM(max_epi16)(a, b)
#define minus_u16(a, b) CRN_MM(subs_epu16)(a, b)
#define set1_u16(value) CRN_MM(set1_epi16)((short)(value))
#if !defined(CRN_TARGET_baseline)
#define max_s32(a, b) CRN_MM(max_epi32)(a, b)
#define max_u32(a, b) CRN_MM(max_epu32)(a, b)
#endif

/* Signed and unsigned maxima over all vectors so far. */
typedef struct extremes {
    vector above, below;
} extremes;

CRN_INLINE void add_f32(extremes *so_far, vector v)
{
#ifdef max_s32
    so_far->above = max_s32(so_far->above, v);
    so_far->below = max_u32(so_far->below, v);
#else
    /* SSE2 lacks these maxima: accumulates failed comparisons, which include NaN, as
     * all-ones masks. */
    __m128 f = _mm_castsi128_ps(v);
    __m128 outside = _mm_or_ps(_mm_cmpnge_ps(f, _mm_set1_ps(CRN_VALUES_MIN)),
                               _mm_cmpnle_ps(f, _mm_set1_ps(CRN_VALUES_MAX)));
    so_far->below = or_bits(so_far->below, _mm_castps_si128(outside));
    /* Of a NaN and a number max_ps returns its second operand: the number. */
    so_far->above = _mm_castps_si128(_mm_max_ps(f, _mm_castsi128_ps(so_far->above)));
#endif
}

CRN_INLINE void add_f16(extremes *so_far, vector v)
{
    so_far->above = max_s16(so_far->above, v);
    so_far->below = or_bits(so_far->below, minus_u16(v, set1_u16(CRN_VALUES_MIN_F16)));
}

CRN_INLINE void add(extremes *so_far, vector v, crn_type type)
{
    if (type == CRN_F32)
        add_f32(so_far, v);
    else if (type == CRN_F16)
        add_f16(so_far, v);
    else
        so_far->above = max_u8(so_far->above, v);
}

/* Both vectors have only probabilities where nothing is suspect, so their bits have the order of
 * the values. */
CRN_INLINE crn_values_seen judge(const extremes *all, crn_type type)
{
    union {
        vector v;
        uint8_t u8[sizeof(vector)];
        int16_t s16[sizeof(vector) / 2];
        uint16_t u16[sizeof(vector) / 2];
        int32_t s32[sizeof(vector) / 4];
        uint32_t u32[sizeof(vector) / 4];
    } above = {.v = all->above}, below = {.v = all->below};
    bool suspect = false;
    int32_t max = 0; /* bits */
    if (type == CRN_F32) {
        for (size_t i = 0; i < sizeof(vector) / 4; i++) {
            max = above.s32[i] > max ? above.s32[i] : max;
            suspect |= above.s32[i] > MAX_BITS || below.u32[i] > MIN_BITS;
        }
    } else if (type == CRN_F16) {
        for (size_t i = 0; i < sizeof(vector) / 2; i++) {
            max = above.s16[i] > max ? above.s16[i] : max;
            suspect |= above.s16[i] > (int32_t)CRN_VALUES_MAX_F16 || below.u16[i] > 0;
        }
    } else {
        for (size_t i = 0; i < sizeof(vector); i++)
            max = above.u8[i] > max ? above.u8[i] : max;
    }
    crn_values_seen seen = {.suspect = suspect || (type == CRN_U8 && max == 1)};
    if (type == CRN_F32)
        memcpy(&seen.max, &max, sizeof max);
    else
        seen.max = type == CRN_F16 ? crn_f16_to_f32((uint16_t)max) : (float)max;
    return seen;
}

/* Neither unrolling over several vectors nor prefetching is faster; non-temporal stores
 * are slower. */
CRN_INLINE crn_values_seen copy(uint8_t *restrict to, const uint8_t *restrict from, size_t bytes,
                                crn_type type, bool stores)
{
    extremes all = {zero_vector(), zero_vector()};
    size_t at = 0;
    for (; at + sizeof(vector) <= bytes; at += sizeof(vector)) {
        vector v = load(from + at);
        if (stores)
            store(to + at, v);
        add(&all, v, type);
    }
    if (at < bytes) {
        uint8_t last[sizeof(vector)] = {0};
        memcpy(last, from + at, bytes - at);
        if (stores)
            memcpy(to + at, last, bytes - at);
        add(&all, load(last), type);
    }
    return judge(&all, type);
}

CRN_INLINE void see(crn_values_sight *sight, const uint8_t *from, size_t bytes, crn_type type)
{
    extremes all = {load(sight->above), load(sight->below)};
    size_t at = 0;
    for (; at + sizeof(vector) <= bytes; at += sizeof(vector))
        add(&all, load(from + at), type);
    if (at < bytes) {
        uint8_t last[sizeof(vector)] = {0};
        memcpy(last, from + at, bytes - at);
        add(&all, load(last), type);
    }
    store(sight->above, all.above);
    store(sight->below, all.below);
}

static void see_values(crn_values_sight *sight, const void *from, size_t bytes, crn_type type)
{
    if (type == CRN_U8)
        see(sight, from, bytes, CRN_U8);
    else if (type == CRN_F16)
        see(sight, from, bytes, CRN_F16);
    else
        see(sight, from, bytes, CRN_F32);
}

static crn_values_seen judge_sight(const crn_values_sight *sight, crn_type type)
{
    extremes all = {load(sight->above), load(sight->below)};
    return judge(&all, type);
}

CRN_INLINE crn_values_seen copy_of(void *restrict to, const void *restrict from, size_t bytes,
                                   crn_type type)
{
    return to ? copy(to, from, bytes, type, true) : copy(NULL, from, bytes, type, false);
}

static crn_values_seen copy_u8(void *restrict to, const void *restrict from, size_t bytes)
{
    return copy_of(to, from, bytes, CRN_U8);
}

static crn_values_seen copy_f16(void *restrict to, const void *restrict from, size_t bytes)
{
    return copy_of(to, from, bytes, CRN_F16);
}

static crn_values_seen copy_f32(void *restrict to, const void *restrict from, size_t bytes)
{
    return copy_of(to, from, bytes, CRN_F32);
}

#define COUNTERS CRN_VALUES_CHANNELS_MAX

/* Counters for elements at intervals of whole pixels. Elements of different channels have separate
 * counters, so that all are counted at once. */
typedef struct values_tally {
    uint32_t not_finite[COUNTERS], out_of_range[COUNTERS];
    float min[COUNTERS], max[COUNTERS];
} values_tally;

/* Branchless, so that it vectorises. Limits as MAX_BITS and MIN_BITS. */
static void add_block(values_tally *restrict counts, const float *restrict values, size_t count,
                      int32_t max_bits, uint32_t min_bits)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        uint32_t is_finite = (bits & 0x7fffffffu) < 0x7f800000u;
        uint32_t is_outside = ((int32_t)bits > max_bits) | (bits > min_bits);
        counts->not_finite[i] += 1 - is_finite;
        counts->out_of_range[i] += is_finite & is_outside;
        bits &= -is_finite;
        float finite;
        memcpy(&finite, &bits, sizeof finite);
        counts->min[i] = finite < counts->min[i] ? finite : counts->min[i];
        counts->max[i] = finite > counts->max[i] ? finite : counts->max[i];
    }
}

/* `values` has COUNTERS elements. */
static void widen(const uint16_t *halves, float *values)
{
#if defined(CRN_TARGET_avx512)
    for (size_t i = 0; i < COUNTERS; i += 16)
        _mm512_storeu_ps(values + i,
                         _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(halves + i))));
#elif defined(CRN_TARGET_avx2)
    for (size_t i = 0; i < COUNTERS; i += 8)
        _mm256_storeu_ps(values + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(halves + i))));
#else
    for (size_t i = 0; i < COUNTERS; i++)
        values[i] = crn_f16_to_f32(halves[i]);
#endif
}

static void read_block(const void *from, crn_type type, size_t count, float *values)
{
    if (type == CRN_F32) {
        memcpy(values, from, count * sizeof *values);
        return;
    }
    uint16_t halves[COUNTERS] = {0};
    memcpy(halves, from, count * sizeof *halves);
    widen(halves, values);
}

static void count_values(const void *from, crn_type type, size_t pixels, int32_t channels,
                         crn_values_count *ret_counts)
{
    values_tally counts;
    memset(&counts, 0, sizeof counts);
    float values[COUNTERS];
    bool halves = type == CRN_F16;
    int32_t max_bits = halves ? MAX_BITS_OF_F16 : MAX_BITS;
    uint32_t min_bits = halves ? MIN_BITS_OF_F16 : MIN_BITS;
    size_t elements = pixels * (size_t)channels;
    size_t block = COUNTERS / (size_t)channels * (size_t)channels;
    for (size_t at = 0; at < elements; at += block) {
        size_t count = elements - at < block ? elements - at : block;
        read_block((const uint8_t *)from + at * crn_type_bytes(type), type, count, values);
        add_block(&counts, values, count, max_bits, min_bits);
    }
    memset(ret_counts, 0, (size_t)channels * sizeof *ret_counts);
    for (size_t i = 0; i < block; i++) {
        crn_values_count *channel = &ret_counts[i % (size_t)channels];
        channel->not_finite += counts.not_finite[i];
        channel->out_of_range += counts.out_of_range[i];
        channel->min = counts.min[i] < channel->min ? counts.min[i] : channel->min;
        channel->max = counts.max[i] > channel->max ? counts.max[i] : channel->max;
    }
}

const crn_values_kernels CRN_TARGETED(crn_values_kernels) = {
    .copy_u8 = copy_u8,
    .copy_f16 = copy_f16,
    .copy_f32 = copy_f32,
    .count = count_values,
    .see = see_values,
    .judge = judge_sight,
};
