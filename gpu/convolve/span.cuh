/*
 * What a thread of small.cuh reads of a row for its ACROSS adjacent results: loads as wide as
 * possible, then conversion to float.
 *
 * With STEP > 0 the elements under the kernel are one span; with STEP 0 the neighbour's distance is
 * known only at run time, and each column of the kernel has a span of its own. A byte becomes a
 * float by moving its bits: v in bits 16 to 23 is v 2^-133 (from 128 on no longer subnormal, but on
 * the same scale); the weights compensate.
 */
#ifndef CRN_GPU_CONVOLVE_SPAN_CUH
#define CRN_GPU_CONVOLVE_SPAN_CUH

#include <stdint.h>

/* Loads words FROM to TO - 1 relative to `at`, which is aligned to 4 ALIGNED bytes. */
template <int FROM, int TO, int ALIGNED>
static __device__ __forceinline__ void load_words(const uint32_t *at, uint32_t *words)
{
    if constexpr (FROM < TO) {
        constexpr int wide = FROM % 4 == 0 && ALIGNED % 4 == 0 && TO - FROM >= 4   ? 4
                             : FROM % 2 == 0 && ALIGNED % 2 == 0 && TO - FROM >= 2 ? 2
                                                                                   : 1;
        if constexpr (wide == 4) {
            uint4 v = __ldg(reinterpret_cast<const uint4 *>(at + FROM));
            words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
        } else if constexpr (wide == 2) {
            uint2 v = __ldg(reinterpret_cast<const uint2 *>(at + FROM));
            words[0] = v.x, words[1] = v.y;
        } else {
            words[0] = __ldg(at + FROM);
        }
        load_words<FROM + wide, TO, ALIGNED>(at, words + wide);
    }
}

/* The same from any byte on; reads up to 3 bytes before it and 4 after the last. */
template <int COUNT>
static __device__ __forceinline__ void load_shifted(const uint8_t *at, uint32_t *words)
{
    uintptr_t offset = reinterpret_cast<uintptr_t>(at);
    const uint32_t *whole = reinterpret_cast<const uint32_t *>(offset & ~uintptr_t(3));
    uint32_t shift = 8 * (uint32_t)(offset & 3), low = __ldg(whole);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        uint32_t high = __ldg(whole + k + 1);
        words[k] = __funnelshift_r(low, high, shift);
        low = high;
    }
}

/* Byte `index` of the words as a float, as described above. */
static __device__ __forceinline__ float float_of_byte(const uint32_t *words, int index)
{
    return __uint_as_float(__byte_perm(words[index / 4], 0, 0x4044 | (index % 4) << 8));
}

template <typename T, int SIDE, int STEP, int ACROSS> struct span;

template <int SIDE, int STEP, int ACROSS> struct span<uint8_t, SIDE, STEP, ACROSS> {
    static constexpr int HALO = SIDE / 2 * STEP;
    static constexpr int BACK = (HALO + 3) / 4; /* words before `at` */
    static constexpr int COUNT = BACK + (ACROSS + HALO + 3) / 4;
    static constexpr int VALUES = ACROSS + 2 * HALO;
    uint32_t words[COUNT];

    /* Maximum number of elements read beyond the ACROSS at `at`, on either side. */
    static int64_t reach(int64_t, bool aligned)
    {
        int behind = 4 * (COUNT - BACK) - ACROSS;
        return (behind > 4 * BACK ? behind : 4 * BACK) + (aligned ? 0 : 4);
    }

    __device__ __forceinline__ void load(const uint8_t *at, int, bool aligned)
    {
        if (aligned)
            load_words<-BACK, COUNT - BACK, ACROSS / 4>(reinterpret_cast<const uint32_t *>(at),
                                                        words);
        else
            load_shifted<COUNT>(at - 4 * BACK, words);
    }

    __device__ __forceinline__ float value(int i) const
    {
        return float_of_byte(words, 4 * BACK - HALO + i);
    }
};

template <int SIDE, int ACROSS> struct span<uint8_t, SIDE, 0, ACROSS> {
    static constexpr int EACH = ACROSS / 4;
    static constexpr int COUNT = SIDE * EACH;
    static constexpr int VALUES = SIDE * ACROSS;
    uint32_t words[COUNT];

    static int64_t reach(int64_t step, bool aligned)
    {
        return SIDE / 2 * step + (aligned ? 0 : 4);
    }

    __device__ __forceinline__ void load(const uint8_t *at, int step, bool aligned)
    {
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            const uint8_t *tap = at + (i - SIDE / 2) * step;
            if (aligned)
                load_words<0, EACH, 1>(reinterpret_cast<const uint32_t *>(tap), words + i * EACH);
            else
                load_shifted<EACH>(tap, words + i * EACH);
        }
    }

    __device__ __forceinline__ float value(int i) const
    {
        return float_of_byte(words, i);
    }
};

template <int SIDE, int STEP, int ACROSS> struct span<float, SIDE, STEP, ACROSS> {
    static constexpr int HALO = SIDE / 2 * STEP;
    static constexpr int BACK = HALO % 4 == 3 ? HALO + 1 : HALO; /* one wide load instead of two */
    static constexpr int COUNT = ACROSS + 2 * BACK;
    static constexpr int VALUES = ACROSS + 2 * HALO;
    uint32_t words[COUNT];

    static int64_t reach(int64_t, bool)
    {
        return BACK;
    }

    __device__ __forceinline__ void load(const float *at, int, bool aligned)
    {
        const uint32_t *from = reinterpret_cast<const uint32_t *>(at);
        if (aligned)
            load_words<-BACK, COUNT - BACK, ACROSS>(from, words);
        else
            load_words<-BACK, COUNT - BACK, 1>(from, words);
    }

    __device__ __forceinline__ float value(int i) const
    {
        return __uint_as_float(words[BACK - HALO + i]);
    }
};

template <int SIDE, int ACROSS> struct span<float, SIDE, 0, ACROSS> {
    static constexpr int COUNT = SIDE * ACROSS;
    static constexpr int VALUES = COUNT;
    uint32_t words[COUNT];

    static int64_t reach(int64_t step, bool)
    {
        return SIDE / 2 * step;
    }

    __device__ __forceinline__ void load(const float *at, int step, bool aligned)
    {
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            const uint32_t *tap = reinterpret_cast<const uint32_t *>(at + (i - SIDE / 2) * step);
            if (aligned)
                load_words<0, ACROSS, ACROSS>(tap, words + i * ACROSS);
            else
                load_words<0, ACROSS, 1>(tap, words + i * ACROSS);
        }
    }

    __device__ __forceinline__ float value(int i) const
    {
        return __uint_as_float(words[i]);
    }
};

static __device__ __forceinline__ uint32_t word_of(const float *at)
{
    return __ldg(reinterpret_cast<const uint32_t *>(at));
}

static __device__ __forceinline__ uint32_t word_of(const uint8_t *at)
{
    return (uint32_t)__ldg(at) << 16;
}

/* One result near a side of the image: each element under the kernel has its own index in
 * the row, or none (-1). */
template <typename T, int SIDE> struct edge_span {
    static constexpr int COUNT = SIDE;
    static constexpr int VALUES = SIDE;
    uint32_t words[COUNT];

    __device__ __forceinline__ void load(const T *row, const int32_t *offsets)
    {
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            words[i] = offsets[i] >= 0 ? word_of(row + offsets[i]) : 0;
    }

    __device__ __forceinline__ float value(int i) const
    {
        return __uint_as_float(words[i]);
    }
};

#endif
