/* One level of the Haar transform on two rows; compiled once per target. */
#include "stages/openmp/haar/haar.h"
#include "stages/openmp/haar/vector.h"
#include "stages/openmp/simd.h"

#include <math.h>
#include <string.h>

typedef enum operation { FORWARD, INVERSE, AVERAGE, DENOISE } operation;

/*
 * Each target provides its vector of floats (vector.h); haar_range, the part of a row that is
 * processed at once; loads and stores of such a range as pairs of pixels and as halves (the
 * transformed rows); and a loop over the ranges of two rows. The arithmetic is the same for all.
 */

/* --- scalar code: ends of rows, and shapes that do not vectorise --- */

/* One element of each of the four rows; `unpaired`: without a second pixel to the right. */
CRN_INLINE void transform_one(operation op, const crn_haar_rows *g, float threshold, size_t half,
                              size_t full, bool unpaired)
{
    size_t right = unpaired ? full : full + (size_t)g->channels;
    float a, b, c, d;
    if (op == INVERSE) {
        a = g->average[half], b = unpaired ? 0 : g->row[half];
        c = g->column[half], d = unpaired ? 0 : g->diagonal[half];
    } else {
        a = g->top[full], b = g->top[right], c = g->bottom[full], d = g->bottom[right];
    }
    for (int turn = 0;; turn++) {
        float top = a + b, bottom = c + d, top_less = a - b, bottom_less = c - d;
        a = (top + bottom) * 0.5f, b = (top_less + bottom_less) * 0.5f;
        c = (top - bottom) * 0.5f, d = (top_less - bottom_less) * 0.5f;
        if (op != DENOISE || turn == 1)
            break;
        float *differences[3] = {&b, &c, &d};
        for (int i = 0; i < 3; i++) {
            bool kept = (i == 1 || !unpaired) && (i == 0 || g->bottom != g->top);
            float left = fabsf(*differences[i]) - threshold;
            *differences[i] = kept ? copysignf(left < 0 ? 0 : left, *differences[i]) : 0;
        }
        a = g->average ? g->average[half] : a;
    }
    if (op == AVERAGE || op == FORWARD)
        g->average[half] = a;
    if (op == FORWARD) {
        g->column[half] = c;
        if (!unpaired)
            g->row[half] = b, g->diagonal[half] = d;
    }
    float *to_top = op == DENOISE ? g->soft_top : g->top;
    float *to_bottom = op == DENOISE ? g->soft_bottom : g->bottom;
    if (op == DENOISE || op == INVERSE) {
        to_top[full] = a, to_bottom[full] = c;
        if (!unpaired)
            to_top[right] = b, to_bottom[right] = d;
    }
}

CRN_INLINE void last_pixel(operation op, const crn_haar_rows *g, float threshold)
{
    size_t channels = (size_t)g->channels, pairs = (size_t)(g->width / 2);
    for (size_t k = 0; g->width % 2 == 1 && k < channels; k++)
        transform_one(op, g, threshold, pairs * channels + k, 2 * pairs * channels + k, true);
}

/* --- ranges --- */

#if defined(CRN_TARGET_avx512)

/* `packed`: as many pairs as fit; permutations over two vectors separate even and odd pixels (even,
 * odd) and interleave them again (low, high). Otherwise part of one pair. `whole`: the masks
 * are full. */
typedef struct haar_range {
    size_t half, full, channels;
    __mmask16 mask, low_mask, high_mask;
    __m512i even, odd, low, high;
} haar_range;

CRN_INLINE vector read_masked(const float *at, __mmask16 mask, bool whole)
{
    return whole ? _mm512_loadu_ps(at) : _mm512_maskz_loadu_ps(mask, at);
}

CRN_INLINE void write_masked(float *at, vector v, __mmask16 mask, bool whole, bool streamed)
{
    if (whole && streamed)
        stream_at(at, v);
    else if (whole)
        _mm512_storeu_ps(at, v);
    else
        _mm512_mask_storeu_ps(at, mask, v);
}

CRN_INLINE void read_pairs(const float *row, const haar_range *s, bool packed, bool whole,
                           vector *ret_a, vector *ret_b)
{
    const float *at = row + s->full;
    if (packed) {
        vector low = read_masked(at, s->low_mask, whole);
        vector high = read_masked(at + CRN_HAAR_WIDE, s->high_mask, whole);
        *ret_a = _mm512_permutex2var_ps(low, s->even, high);
        *ret_b = _mm512_permutex2var_ps(low, s->odd, high);
    } else {
        *ret_a = read_masked(at, s->mask, whole);
        *ret_b = read_masked(at + s->channels, s->mask, whole);
    }
}

CRN_INLINE void write_pairs(float *row, const haar_range *s, bool packed, bool whole, bool streamed,
                            vector a, vector b)
{
    float *at = row + s->full;
    if (packed) {
        write_masked(at, _mm512_permutex2var_ps(a, s->low, b), s->low_mask, whole, streamed);
        write_masked(at + CRN_HAAR_WIDE, _mm512_permutex2var_ps(a, s->high, b), s->high_mask, whole,
                     streamed);
    } else {
        write_masked(at, a, s->mask, whole, streamed);
        write_masked(at + s->channels, b, s->mask, whole, streamed);
    }
}

CRN_INLINE vector read_half(const float *row, const haar_range *s, bool whole)
{
    return read_masked(row + s->half, s->mask, whole);
}

CRN_INLINE void write_half(float *row, const haar_range *s, bool whole, bool streamed, vector v)
{
    write_masked(row + s->half, v, s->mask, whole, streamed);
}

#else

/* `packed`: pairs of single elements. Otherwise part of one pair of more channels. `whole`: begins
 * at a multiple of the vector size. */
typedef struct haar_range {
    size_t half, full, channels;
} haar_range;

CRN_INLINE void write_as(float *at, vector v, bool streamed)
{
    if (streamed)
        stream_at(at, v);
    else
        write_at(at, v);
}

CRN_INLINE void read_pairs(const float *row, const haar_range *s, bool packed, bool whole,
                           vector *ret_a, vector *ret_b)
{
    (void)whole;
    const float *at = row + s->full;
    vector low = read_at(at), high = read_at(at + (packed ? CRN_HAAR_WIDE : s->channels));
    *ret_a = low;
    *ret_b = high;
    if (packed) {
#if CRN_HAAR_WIDE == 8
        *ret_a = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
        *ret_b = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15);
#else
        *ret_a = __builtin_shufflevector(low, high, 0, 2, 4, 6);
        *ret_b = __builtin_shufflevector(low, high, 1, 3, 5, 7);
#endif
    }
}

CRN_INLINE void write_pairs(float *row, const haar_range *s, bool packed, bool whole, bool streamed,
                            vector a, vector b)
{
    float *at = row + s->full;
    vector low = a, high = b;
    if (packed) {
#if CRN_HAAR_WIDE == 8
        low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
        low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
    }
    write_as(at, low, whole && streamed);
    write_as(at + (packed ? CRN_HAAR_WIDE : s->channels), high, whole && streamed);
}

CRN_INLINE vector read_half(const float *row, const haar_range *s, bool whole)
{
    (void)whole;
    return read_at(row + s->half);
}

CRN_INLINE void write_half(float *row, const haar_range *s, bool whole, bool streamed, vector v)
{
    write_as(row + s->half, v, whole && streamed);
}

#endif

CRN_INLINE void transform_range(operation op, const crn_haar_rows *g, float threshold,
                                const haar_range *s, bool packed, bool whole, bool large)
{
    vector_square q;
    if (op == INVERSE) {
        q = (vector_square){read_half(g->average, s, whole), read_half(g->row, s, whole),
                            read_half(g->column, s, whole), read_half(g->diagonal, s, whole)};
    } else {
        read_pairs(g->top, s, packed, whole, &q.a, &q.b);
        read_pairs(g->bottom, s, packed, whole, &q.c, &q.d);
    }
    q = four_sums(q);
    if (op == DENOISE) {
        bool kept = g->bottom != g->top;
        q.a = g->average ? read_half(g->average, s, whole) : q.a;
        q.b = soft_threshold(q.b, set1(threshold));
        q.c = keep_if(soft_threshold(q.c, set1(threshold)), kept);
        q.d = keep_if(soft_threshold(q.d, set1(threshold)), kept);
        q = four_sums(q);
    }
    if (op == AVERAGE || op == FORWARD)
        write_half(g->average, s, whole, large && g->streamed[0], q.a);
    if (op == FORWARD) {
        write_half(g->row, s, whole, large && g->streamed[1], q.b);
        write_half(g->column, s, whole, large && g->streamed[2], q.c);
        write_half(g->diagonal, s, whole, large && g->streamed[3], q.d);
    }
    if (op == DENOISE || op == INVERSE) {
        write_pairs(op == DENOISE ? g->soft_top : g->top, s, packed, whole, large && g->streamed[0],
                    q.a, q.b);
        write_pairs(op == DENOISE ? g->soft_bottom : g->bottom, s, packed, whole,
                    large && g->streamed[1], q.c, q.d);
    }
}

/* Prefetches the input that follows this range's. */
CRN_INLINE void prefetch_next(operation op, const crn_haar_rows *g, const haar_range *s,
                              bool packed)
{
    if (op == INVERSE) {
        for (int i = 0; i < 4; i++)
            __builtin_prefetch(g->prefetch[i] + s->half);
        return;
    }
    for (int i = 0; i < 2; i++) {
        __builtin_prefetch(g->prefetch[i] + s->full);
        if (!packed || CRN_HAAR_WIDE == CRN_HAAR_CACHE_LINE)
            __builtin_prefetch(g->prefetch[i] + s->full +
                               (packed ? CRN_HAAR_CACHE_LINE : s->channels));
    }
}

/* --- all pairs of two rows --- */

#if defined(CRN_TARGET_avx512)

CRN_INLINE __mmask16 first_elements(size_t count)
{
    return count < CRN_HAAR_WIDE ? (__mmask16)((1u << count) - 1) : 0xffff;
}

CRN_INLINE void set_pairs(haar_range *s, size_t first, size_t count)
{
    size_t elements = count * s->channels;
    s->half = first * s->channels;
    s->full = 2 * s->half;
    s->mask = first_elements(elements);
    s->low_mask = first_elements(2 * elements);
    s->high_mask = 2 * elements > CRN_HAAR_WIDE ? first_elements(2 * elements - CRN_HAAR_WIDE) : 0;
}

/* Index of element i of the first pixels of all pairs in memory, where pairs are interleaved, and
 * the inverse (from 16 on: index among the second pixels). */
#define APART(channels, i) ((i) / (channels)*2 * (channels) + (i) % (channels))
#define TOGETHER(channels, i)                                                                      \
    ((i) / (2 * (channels)) * (channels) + (i) % (channels) + (i) / (channels) % 2 * CRN_HAAR_WIDE)
#define FOUR(what, channels, i)                                                                    \
    what(channels, i), what(channels, i + 1), what(channels, i + 2), what(channels, i + 3)
#define SIXTEEN(what, channels, i)                                                                 \
    {                                                                                              \
        FOUR(what, channels, i), FOUR(what, channels, i + 4), FOUR(what, channels, i + 8),         \
            FOUR(what, channels, i + 12)                                                           \
    }
#define PERMUTATIONS(channels)                                                                     \
    {                                                                                              \
        SIXTEEN(APART, channels, 0), SIXTEEN(TOGETHER, channels, 0),                               \
            SIXTEEN(TOGETHER, channels, 16)                                                        \
    }

/* By number of channels, from 1. Indices are modulo 32; those past the last pair are masked. */
static const int32_t permutations[CRN_HAAR_WIDE / 2][3][CRN_HAAR_WIDE] = {
    PERMUTATIONS(1), PERMUTATIONS(2), PERMUTATIONS(3), PERMUTATIONS(4),
    PERMUTATIONS(5), PERMUTATIONS(6), PERMUTATIONS(7), PERMUTATIONS(8),
};

CRN_INLINE void set_permutations(haar_range *s)
{
    const int32_t(*rows)[CRN_HAAR_WIDE] = permutations[s->channels - 1];
    s->even = _mm512_loadu_si512(rows[0]);
    s->odd = _mm512_add_epi32(s->even, _mm512_set1_epi32((int32_t)s->channels));
    s->low = _mm512_loadu_si512(rows[1]);
    s->high = _mm512_loadu_si512(rows[2]);
}

CRN_INLINE void packed_pairs(operation op, const crn_haar_rows *g, float threshold, bool large)
{
    size_t pairs = (size_t)(g->width / 2), p = 0;
    size_t at_once = (size_t)(CRN_HAAR_WIDE / g->channels);
    haar_range s = {.channels = (size_t)g->channels};
    set_permutations(&s);
    set_pairs(&s, 0, at_once);
    if (at_once * s.channels == CRN_HAAR_WIDE) {
        for (; p + at_once <= pairs; p += at_once) {
            s.half = p * s.channels;
            s.full = 2 * s.half;
            transform_range(op, g, threshold, &s, true, true, large);
            if (large)
                prefetch_next(op, g, &s, true);
        }
    } else {
        for (; p + at_once <= pairs; p += at_once) {
            s.half = p * s.channels;
            s.full = 2 * s.half;
            transform_range(op, g, threshold, &s, true, false, large);
            if (large)
                prefetch_next(op, g, &s, true);
        }
    }
    if (p < pairs) {
        set_pairs(&s, p, pairs - p);
        transform_range(op, g, threshold, &s, true, false, large);
    }
}

CRN_INLINE void pairs_of_parts(operation op, const crn_haar_rows *g, float threshold, bool large)
{
    size_t pairs = (size_t)(g->width / 2), channels = (size_t)g->channels;
    haar_range s = {.channels = channels, .mask = first_elements(channels)};
    for (size_t p = 0; p < pairs; p++)
        for (size_t k = 0; k < channels; k += CRN_HAAR_WIDE) {
            s.half = p * channels + k;
            s.full = 2 * p * channels + k;
            if (channels > CRN_HAAR_WIDE)
                s.mask = first_elements(channels - k);
            transform_range(op, g, threshold, &s, false, false, large);
            if (large)
                prefetch_next(op, g, &s, false);
        }
}

CRN_INLINE void transform_rows(operation op, const crn_haar_rows *rows, float threshold, bool large)
{
    crn_haar_rows g = *rows;
    if (2 * g.channels <= CRN_HAAR_WIDE)
        packed_pairs(op, &g, threshold, large);
    else
        pairs_of_parts(op, &g, threshold, large);
    last_pixel(op, &g, threshold);
}

#else

/* If the length is not a multiple of a vector, the last range overlaps the one before and
 * recomputes the same values. */
CRN_INLINE void packed_pairs(operation op, const crn_haar_rows *g, float threshold, bool large)
{
    size_t pairs = (size_t)(g->width / 2);
    for (size_t p = 0; p < pairs; p += CRN_HAAR_WIDE) {
        size_t first = p + CRN_HAAR_WIDE <= pairs ? p : pairs - CRN_HAAR_WIDE;
        haar_range s = {.half = first, .full = 2 * first, .channels = 1};
        transform_range(op, g, threshold, &s, true, first == p, large);
        if (large && first == p)
            prefetch_next(op, g, &s, true);
    }
}

CRN_INLINE void pairs_of_parts(operation op, const crn_haar_rows *g, float threshold, bool large)
{
    size_t pairs = (size_t)(g->width / 2), channels = (size_t)g->channels;
    for (size_t p = 0; p < pairs; p++)
        for (size_t k = 0; k < channels; k += CRN_HAAR_WIDE) {
            size_t first = k + CRN_HAAR_WIDE <= channels ? k : channels - CRN_HAAR_WIDE;
            haar_range s = {.half = p * channels + first,
                            .full = 2 * p * channels + first,
                            .channels = channels};
            transform_range(op, g, threshold, &s, false, first == k, large);
            if (large)
                prefetch_next(op, g, &s, false);
        }
}

CRN_INLINE void pairs_one_by_one(operation op, const crn_haar_rows *g, float threshold)
{
    size_t pairs = (size_t)(g->width / 2), channels = (size_t)g->channels;
    for (size_t p = 0; p < pairs; p++)
        for (size_t k = 0; k < channels; k++)
            transform_one(op, g, threshold, p * channels + k, 2 * p * channels + k, false);
}

CRN_INLINE void transform_rows(operation op, const crn_haar_rows *rows, float threshold, bool large)
{
    crn_haar_rows g = *rows;
    if (g.channels == 1 && g.width / 2 >= CRN_HAAR_WIDE)
        packed_pairs(op, &g, threshold, large);
    else if (g.channels >= CRN_HAAR_WIDE)
        pairs_of_parts(op, &g, threshold, large);
    else
        pairs_one_by_one(op, &g, threshold);
    last_pixel(op, &g, threshold);
}

#endif

/* Separate functions, so that the code for small pictures stays as compact as it is alone. */
static __attribute__((noinline)) void forward_large(const crn_haar_rows *rows)
{
    transform_rows(FORWARD, rows, 0, true);
}

static __attribute__((noinline)) void inverse_large(const crn_haar_rows *rows)
{
    transform_rows(INVERSE, rows, 0, true);
}

static __attribute__((noinline)) void denoise_large(const crn_haar_rows *rows, float threshold)
{
    transform_rows(DENOISE, rows, threshold, true);
}

static void forward(const crn_haar_rows *rows)
{
    if (rows->is_large)
        forward_large(rows);
    else
        transform_rows(FORWARD, rows, 0, false);
}

static void inverse(const crn_haar_rows *rows)
{
    if (rows->is_large)
        inverse_large(rows);
    else
        transform_rows(INVERSE, rows, 0, false);
}

static void average(const crn_haar_rows *rows)
{
    transform_rows(AVERAGE, rows, 0, false);
}

static void denoise(const crn_haar_rows *rows, float threshold)
{
    if (rows->is_large)
        denoise_large(rows, threshold);
    else
        transform_rows(DENOISE, rows, threshold, false);
}

/* 1/255 is so near to 0x1p-8 + 0x1.010102p-16 that for every byte the sum of the two products
 * equals the correctly rounded quotient; the first product is exact. */
static void widen(const uint8_t *from, float *to, size_t count, bool unit)
{
    if (unit)
        for (size_t i = 0; i < count; i++)
            to[i] = (float)from[i] * 0x1p-8f + (float)from[i] * 0x1.010102p-16f;
    else
        for (size_t i = 0; i < count; i++)
            to[i] = (float)from[i];
}

static void stream(const float *from, float *to, size_t count)
{
    /* Only whole cache lines are streamed. */
    size_t head = (64 - ((uintptr_t)to & 63)) % 64 / sizeof *to;
    head = head < count ? head : count;
    memcpy(to, from, head * sizeof *to);
    size_t i = head;
    for (; i + CRN_HAAR_CACHE_LINE <= count; i += CRN_HAAR_CACHE_LINE)
        stream_line(from + i, to + i);
    memcpy(to + i, from + i, (count - i) * sizeof *to);
}

const crn_haar_kernels CRN_TARGETED(crn_haar_kernels) = {forward, inverse, average,
                                                         denoise, widen,   stream};
