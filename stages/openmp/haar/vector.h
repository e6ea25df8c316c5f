/* Vector of floats per target and arithmetic on four of them. Only for haar_simd.c. */
#ifndef CRN_STAGES_OPENMP_HAAR_VECTOR_H
#define CRN_STAGES_OPENMP_HAAR_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "stages/openmp/simd.h"

/* Floats of a cache line. */
#define CRN_HAAR_CACHE_LINE 16

#define CRN_HAAR_WIDE (CRN_VECTOR_BYTES / 4)
typedef crn_floats vector;

CRN_INLINE vector set1(float value)
{
    return CRN_MM(set1_ps)(value);
}

/* max(v, 0), NaN for NaN. */
CRN_INLINE vector at_least_0(vector v)
{
    return CRN_MM(max_ps)(CRN_MM(setzero_ps)(), v);
}

CRN_INLINE void stream_at(float *at, vector v)
{
    CRN_MM(stream_ps)(at, v);
}

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
