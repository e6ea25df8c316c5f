/*
 * Vector operations of diamond-square that differ between instruction sets; the others are written
 * with the compiler's vector operators. Only for *_simd.c files.
 *
 * `words` has 64-bit elements, `reals` is as many bytes of f32. An element holds a Philox block of
 * four words: of CRN_DIAMOND_SQUARE_LANES blocks, element 2k is number k and element 2k + 1 number
 * CRN_DIAMOND_SQUARE_LANES / 2 + k, so that crn_words_join yields them in order.
 */
#ifndef CRN_STAGES_OPENMP_DIAMOND_SQUARE_VECTOR_H
#define CRN_STAGES_OPENMP_DIAMOND_SQUARE_VECTOR_H

#include <immintrin.h>
#include <stdint.h>

#if defined CRN_TARGET_avx512

#define CRN_DIAMOND_SQUARE_LANES 8
typedef uint64_t words __attribute__((vector_size(64)));
typedef float reals __attribute__((vector_size(64)));

/* Products of the low halves. */
static inline words crn_words_multiply(words a, words b)
{
    return (words)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

/* Moves the high halves to the low ones; the high ones become garbage. A shuffle, since it runs on
 * more execution ports than a shift. */
static inline words crn_words_high(words a)
{
    return (words)_mm512_shuffle_epi32((__m512i)a, (_MM_PERM_ENUM)_MM_SHUFFLE(3, 3, 1, 1));
}

static inline words crn_words_xor3(words a, words b, words c)
{
    return (words)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, 0x96);
}

/* Low halves of a in the low halves, low halves of b in the high ones. */
static inline words crn_words_join(words a, words b)
{
    return (words)_mm512_mask_shuffle_epi32((__m512i)a, 0xaaaa, (__m512i)b,
                                            (_MM_PERM_ENUM)_MM_SHUFFLE(2, 2, 0, 0));
}

/* Converts signed words to floats; ret[0] has the elements 0, 2, ... of both, ret[1] the others. */
static inline void crn_words_to_reals(words a, words b, reals ret[2])
{
    ret[0] = (reals)_mm512_cvtepi32_ps(_mm512_unpacklo_epi64((__m512i)a, (__m512i)b));
    ret[1] = (reals)_mm512_cvtepi32_ps(_mm512_unpackhi_epi64((__m512i)a, (__m512i)b));
}

/* `at` shifted right by one element, preceded by the last element of `before`. */
static inline reals crn_reals_shift(reals before, reals at)
{
    return (reals)_mm512_alignr_epi32((__m512i)at, (__m512i)before, 15);
}

/* Interleaves: a[0] b[0] a[1] b[1] ... */
static inline void crn_reals_zip(reals a, reals b, reals ret[2])
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high =
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    ret[0] = (reals)_mm512_permutex2var_ps((__m512)a, low, (__m512)b);
    ret[1] = (reals)_mm512_permutex2var_ps((__m512)a, high, (__m512)b);
}

/* Interleaves two vectors each, rounded half to even and saturated to bytes. */
static inline words crn_reals_zip_bytes(const reals a[2], const reals b[2])
{
    __m512i a16 =
        _mm512_packs_epi32(_mm512_cvtps_epi32((__m512)a[0]), _mm512_cvtps_epi32((__m512)a[1]));
    __m512i b16 =
        _mm512_packs_epi32(_mm512_cvtps_epi32((__m512)b[0]), _mm512_cvtps_epi32((__m512)b[1]));
    __m512i bytes = _mm512_packus_epi16(a16, b16);
    bytes = _mm512_unpacklo_epi8(bytes, _mm512_unpackhi_epi64(bytes, bytes));
    return (words)_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes);
}

#elif defined CRN_TARGET_avx2

#define CRN_DIAMOND_SQUARE_LANES 4
typedef uint64_t words __attribute__((vector_size(32)));
typedef float reals __attribute__((vector_size(32)));

static inline words crn_words_multiply(words a, words b)
{
    return (words)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

static inline words crn_words_high(words a)
{
    return (words)_mm256_shuffle_epi32((__m256i)a, _MM_SHUFFLE(3, 3, 1, 1));
}

static inline words crn_words_xor3(words a, words b, words c)
{
    return a ^ b ^ c;
}

static inline words crn_words_join(words a, words b)
{
    return (words)_mm256_blend_epi32((__m256i)a, _mm256_slli_epi64((__m256i)b, 32), 0xaa);
}

static inline void crn_words_to_reals(words a, words b, reals ret[2])
{
    ret[0] = (reals)_mm256_cvtepi32_ps(_mm256_unpacklo_epi64((__m256i)a, (__m256i)b));
    ret[1] = (reals)_mm256_cvtepi32_ps(_mm256_unpackhi_epi64((__m256i)a, (__m256i)b));
}

static inline reals crn_reals_shift(reals before, reals at)
{
    __m256i middle = _mm256_permute2x128_si256((__m256i)before, (__m256i)at, 0x21);
    return (reals)_mm256_alignr_epi8((__m256i)at, middle, 12);
}

static inline void crn_reals_zip(reals a, reals b, reals ret[2])
{
    __m256 low = _mm256_unpacklo_ps((__m256)a, (__m256)b);
    __m256 high = _mm256_unpackhi_ps((__m256)a, (__m256)b);
    ret[0] = (reals)_mm256_permute2f128_ps(low, high, 0x20);
    ret[1] = (reals)_mm256_permute2f128_ps(low, high, 0x31);
}

static inline words crn_reals_zip_bytes(const reals a[2], const reals b[2])
{
    __m256i a16 =
        _mm256_packs_epi32(_mm256_cvtps_epi32((__m256)a[0]), _mm256_cvtps_epi32((__m256)a[1]));
    __m256i b16 =
        _mm256_packs_epi32(_mm256_cvtps_epi32((__m256)b[0]), _mm256_cvtps_epi32((__m256)b[1]));
    __m256i bytes = _mm256_packus_epi16(a16, b16);
    bytes = _mm256_unpacklo_epi8(bytes, _mm256_unpackhi_epi64(bytes, bytes));
    return (words)_mm256_permute4x64_epi64(bytes, _MM_SHUFFLE(3, 1, 2, 0));
}

#else

#define CRN_DIAMOND_SQUARE_LANES 2
typedef uint64_t words __attribute__((vector_size(16)));
typedef float reals __attribute__((vector_size(16)));

static inline words crn_words_multiply(words a, words b)
{
    return (words)_mm_mul_epu32((__m128i)a, (__m128i)b);
}

static inline words crn_words_high(words a)
{
    return (words)_mm_shuffle_epi32((__m128i)a, _MM_SHUFFLE(3, 3, 1, 1));
}

static inline words crn_words_xor3(words a, words b, words c)
{
    return a ^ b ^ c;
}

static inline words crn_words_join(words a, words b)
{
    return (a & UINT32_MAX) | b << 32;
}

static inline void crn_words_to_reals(words a, words b, reals ret[2])
{
    ret[0] = (reals)_mm_cvtepi32_ps(_mm_unpacklo_epi64((__m128i)a, (__m128i)b));
    ret[1] = (reals)_mm_cvtepi32_ps(_mm_unpackhi_epi64((__m128i)a, (__m128i)b));
}

static inline reals crn_reals_shift(reals before, reals at)
{
    __m128 last = _mm_shuffle_ps((__m128)before, (__m128)before, _MM_SHUFFLE(3, 3, 3, 3));
    __m128 turned = _mm_shuffle_ps((__m128)at, (__m128)at, _MM_SHUFFLE(2, 1, 0, 3));
    return (reals)_mm_move_ss(turned, last);
}

static inline void crn_reals_zip(reals a, reals b, reals ret[2])
{
    ret[0] = (reals)_mm_unpacklo_ps((__m128)a, (__m128)b);
    ret[1] = (reals)_mm_unpackhi_ps((__m128)a, (__m128)b);
}

static inline words crn_reals_zip_bytes(const reals a[2], const reals b[2])
{
    __m128i a16 = _mm_packs_epi32(_mm_cvtps_epi32((__m128)a[0]), _mm_cvtps_epi32((__m128)a[1]));
    __m128i b16 = _mm_packs_epi32(_mm_cvtps_epi32((__m128)b[0]), _mm_cvtps_epi32((__m128)b[1]));
    __m128i bytes = _mm_packus_epi16(a16, b16);
    return (words)_mm_unpacklo_epi8(bytes, _mm_unpackhi_epi64(bytes, bytes));
}

#endif

#endif
