/* Vector of floats per target and arithmetic on four of them. Only for haar_simd.c. */
#ifndef CRN_STAGES_OPENMP_HAAR_VECTOR_H
#define CRN_STAGES_OPENMP_HAAR_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <immintrin.h>

#include "stages/openmp/simd.h"

/* Floats of a cache line. */
#define CRN_HAAR_CACHE_LINE 16

#if defined(CRN_TARGET_avx512)

#define CRN_HAAR_WIDE 16
typedef __m512 vector;

CRN_INLINE vector set1(float value)
{
    return _mm512_set1_ps(value);
}

/* max(v, 0), NaN for NaN. */
CRN_INLINE vector at_least_0(vector v)
{
    return _mm512_max_ps(_mm512_setzero_ps(), v);
}

CRN_INLINE void stream_at(float *at, vector v)
{
    _mm512_stream_ps(at, v);
}

#elif defined(CRN_TARGET_avx2)

#define CRN_HAAR_WIDE 8
typedef __m256 vector;

CRN_INLINE vector set1(float value)
{
    return _mm256_set1_ps(value);
}

CRN_INLINE vector at_least_0(vector v)
{
    return _mm256_max_ps(_mm256_setzero_ps(), v);
}

CRN_INLINE void stream_at(float *at, vector v)
{
    _mm256_stream_ps(at, v);
}

#else

#define CRN_HAAR_WIDE 4
typedef __m128 vector;

CRN_INLINE vector set1(float value)
{
    return _mm_set1_ps(value);
}

CRN_INLINE vector at_least_0(vector v)
{
    return _mm_max_ps(_mm_setzero_ps(), v);
}

CRN_INLINE void stream_at(float *at, vector v)
{
    _mm_stream_ps(at, v);
}

#endif

CRN_INLINE vector read_at(const float *at)
{
    vector v;
    memcpy(&v, at, sizeof v);
    return v;
}

CRN_INLINE void write_at(float *at, vector v)
{
    memcpy(at, &v, sizeof v);
}

/* Streams one cache line. */
CRN_INLINE void stream_line(const float *from, float *to)
{
    for (int i = 0; i < CRN_HAAR_CACHE_LINE; i += CRN_HAAR_WIDE)
        stream_at(to + i, read_at(from + i));
}

typedef int32_t vector_bits __attribute__((vector_size(CRN_HAAR_WIDE * 4)));

typedef struct vector_square {
    vector a, b, c, d;
} vector_square;

CRN_INLINE vector_square four_sums(vector_square q)
{
    const vector half = set1(0.5f);
    vector top = q.a + q.b, bottom = q.c + q.d, top_less = q.a - q.b, bottom_less = q.c - q.d;
    return (vector_square){(top + bottom) * half, (top_less + bottom_less) * half,
                           (top - bottom) * half, (top_less - bottom_less) * half};
}

CRN_INLINE vector soft_threshold(vector difference, vector threshold)
{
    vector magnitude = (vector)((vector_bits)difference & INT32_MAX);
    vector left = at_least_0(magnitude - threshold);
    return (vector)((vector_bits)left | ((vector_bits)difference & INT32_MIN));
}

CRN_INLINE vector keep_if(vector v, bool kept)
{
    return (vector)((vector_bits)v & -(int32_t)kept);
}

#endif
