/*
 * The layout of a tile between passes, in 32-bit words: of f32 one pixel, of u8 four pixels of a
 * column, so that the neighbour in a row is a whole word away for any number of interleaved planes.
 * Bytes are compared in pairs, as the high bytes of 16-bit numbers (the low bytes never decide); a
 * word is expanded to two registers, for its even and its odd bytes.
 */
#ifndef CRN_GPU_MORPHOLOGY_WORDS_CUH
#define CRN_GPU_MORPHOLOGY_WORDS_CUH

#include "gpu/morphology/morphology.cuh"

#define CRN_NEUTRAL_FLOAT __uint_as_float(0x7f800000u)

/* Four bytes in two registers, as described above. */
typedef struct crn_bytes {
    uint32_t even, odd;
} crn_bytes;

static inline __device__ crn_bytes crn_min(crn_bytes a, crn_bytes b)
{
    return {__vminu2(a.even, b.even), __vminu2(a.odd, b.odd)};
}

static inline __device__ float crn_min(float a, float b)
{
    return fminf(a, b);
}

static inline __device__ float2 crn_min(float2 a, float2 b)
{
    return {fminf(a.x, b.x), fminf(a.y, b.y)};
}

template <typename T> struct crn_words;

template <> struct crn_words<uint8_t> {
    enum { ROWS = 4, WIDE = 4, CHUNK = 16 };
    typedef uint32_t word;
    typedef crn_bytes cell; /* a word in registers */
    typedef crn_bytes wide; /* WIDE columns of a row in registers */
    static __device__ cell expand(uint32_t w)
    {
        return {w << 8, w};
    }
    static __device__ uint32_t compress(cell c)
    {
        return __byte_perm(c.even, c.odd, 0x7351);
    }
    static __device__ uint32_t flipped(uint32_t w, uint32_t flip)
    {
        return w ^ flip;
    }
    static __device__ uint32_t flip_of(bool complement)
    {
        return complement ? 0xffffffffu : 0;
    }
    static __device__ crn_bytes wide_at(const uint32_t *from)
    {
        return expand(*from);
    }
    static __device__ void set_wide(char *to, crn_bytes v, uint32_t flip)
    {
        *reinterpret_cast<uint32_t *>(to) = compress(v) ^ flip;
    }
    static __device__ void set_neutral(uint32_t *word, int32_t row)
    {
        *word |= 255u << (8 * row);
    }
    static __device__ uint32_t neutral()
    {
        return 0xffffffffu;
    }
    static __device__ uint4 clean(uint4 v, bool complement)
    {
        uint32_t flip = complement ? 0xffffffffu : 0;
        return {v.x ^ flip, v.y ^ flip, v.z ^ flip, v.w ^ flip};
    }
};

template <> struct crn_words<float> {
    enum { ROWS = 1, WIDE = 2, CHUNK = 4 };
    typedef float word;
    typedef float cell;
    typedef float2 wide;
    static __device__ float expand(float w)
    {
        return w;
    }
    static __device__ float compress(float c)
    {
        return c;
    }
    static __device__ float flipped(float w, uint32_t flip)
    {
        return __uint_as_float(__float_as_uint(w) ^ flip);
    }
    static __device__ uint32_t flip_of(bool complement)
    {
        return complement ? 0x80000000u : 0;
    }
    static __device__ float2 wide_at(const float *from)
    {
        return *reinterpret_cast<const float2 *>(from);
    }
    static __device__ void set_wide(char *to, float2 v, uint32_t flip)
    {
        *reinterpret_cast<float2 *>(to) = {crn_morphology_result(flipped(v.x, flip)),
                                           crn_morphology_result(flipped(v.y, flip))};
    }
    static __device__ void set_neutral(float *word, int32_t)
    {
        *word = CRN_NEUTRAL_FLOAT;
    }
    static __device__ float neutral()
    {
        return CRN_NEUTRAL_FLOAT;
    }
    static __device__ uint32_t clean_one(uint32_t v, bool complement)
    {
        return __float_as_uint(crn_morphology_clean(__uint_as_float(v), complement));
    }
    static __device__ uint4 clean(uint4 v, bool complement)
    {
        return {clean_one(v.x, complement), clean_one(v.y, complement), clean_one(v.z, complement),
                clean_one(v.w, complement)};
    }
};

template <typename Word> static inline __device__ Word *crn_add_bytes(Word *from, int32_t bytes)
{
    return reinterpret_cast<Word *>(reinterpret_cast<uintptr_t>(from) + (uintptr_t)(intptr_t)bytes);
}

/* One vector store, which the compiler does not generate by itself: single words
 * cause bank conflicts. */
static inline __device__ void crn_result_store(uint32_t *to, uint4 v)
{
#ifdef __CUDA_ARCH__
    asm volatile(
        "st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
        "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
        : "memory");
#else
    *reinterpret_cast<uint4 *>(to) = v;
#endif
}

static inline __device__ void crn_result_store(float *to, float2 v)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
                 "f"(v.x), "f"(v.y)
                 : "memory");
#else
    *reinterpret_cast<float2 *>(to) = v;
#endif
}

/*
 * Reads WIDE columns per row from shared memory in the image's layout (f32: or from a plane of
 * words). Rows are read in order; `row` counts from the first.
 */
template <typename T> struct crn_row_source {
    const typename crn_words<T>::word *from;
    int32_t stride; /* bytes */
    __device__ typename crn_words<T>::wide get(int32_t)
    {
        typename crn_words<T>::wide v = crn_words<T>::wide_at(from);
        from = crn_add_bytes(from, stride);
        return v;
    }
};

/* The same from a plane of words, starting at a multiple of 4 rows. */
template <typename T> struct crn_plane_source : crn_row_source<T> {
};

template <> struct crn_plane_source<uint8_t> {
    const uint32_t *from;
    int32_t stride;
    uint4 words;
    __device__ crn_bytes get(int32_t row)
    {
        if ((row & 3) == 0) {
            words = *reinterpret_cast<const uint4 *>(from);
            from = crn_add_bytes(from, stride);
        }
        uint32_t choice = 0x4400u + 0x1111u * (uint32_t)(row & 3);
        return {__byte_perm(words.x, words.z, choice), __byte_perm(words.y, words.w, choice)};
    }
};

/* Stores rows of WIDE columns into a plane of words, in order. */
template <typename T> struct crn_plane_sink;

template <> struct crn_plane_sink<float> {
    float *to;
    int32_t stride;
    __device__ void put(int32_t, float2 v)
    {
        crn_result_store(to, v);
        to = crn_add_bytes(to, stride);
    }
};

/* Transposes four rows of bytes into words. */
static inline __device__ uint4 crn_bytes_transpose(const crn_bytes (&rows)[4])
{
    uint32_t even_top = __byte_perm(rows[0].even, rows[1].even, 0x7351);
    uint32_t even_bottom = __byte_perm(rows[2].even, rows[3].even, 0x7351);
    uint32_t odd_top = __byte_perm(rows[0].odd, rows[1].odd, 0x7351);
    uint32_t odd_bottom = __byte_perm(rows[2].odd, rows[3].odd, 0x7351);
    return {__byte_perm(even_top, even_bottom, 0x5410), __byte_perm(odd_top, odd_bottom, 0x5410),
            __byte_perm(even_top, even_bottom, 0x7632), __byte_perm(odd_top, odd_bottom, 0x7632)};
}

template <> struct crn_plane_sink<uint8_t> {
    uint32_t *to;
    int32_t stride;
    crn_bytes rows[4];
    __device__ void put(int32_t row, crn_bytes v)
    {
        rows[row & 3] = v;
        if ((row & 3) == 3) {
            crn_result_store(to, crn_bytes_transpose(rows));
            to = crn_add_bytes(to, stride);
        }
    }
};

#endif
