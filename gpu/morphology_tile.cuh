/*
 * Tiles: what the kernels share that do a whole operation in one launch.
 *
 * A block loads a tile of the picture and what the element reaches around it into shared memory,
 * works there, and writes the result. A picture is a row of columns, all planes of an interleaved
 * one side by side: the neighbour stands `lanes` columns away.
 *
 * Between passes a tile is words: of f32 one pixel, of u8 four, one below the other, so that a
 * neighbour in a row is a whole word away whatever the lanes. Bytes are compared in pairs, as the
 * high bytes of 16-bit numbers (what stands in the low ones never decides); a word becomes two
 * registers, for its even and its odd bytes.
 */
#ifndef CRN_GPU_MORPHOLOGY_TILE_CUH
#define CRN_GPU_MORPHOLOGY_TILE_CUH

#include "gpu/morphology.cuh"

#define CRN_TILE_THREADS 512

#define CRN_NEUTRAL_FLOAT __uint_as_float(0x7f800000u)

/* A caller's picture and how it is cut up. Strides in bytes. */
typedef struct crn_tile_picture {
    const char *in;
    char *out;
    ptrdiff_t in_row, in_plane, in_view, out_row, out_plane, out_view;
    int32_t planes; /* of a view: 1 when interleaved */
    int32_t height, columns, lanes;
    int32_t in_aligned;          /* every row begins at a multiple of so many bytes: 16, 4, 1 */
    bool out_aligned;            /* of 8 (f32) or 4 (u8) */
    int32_t rows_at, columns_at; /* of a tile's result; multiples of 16 */
    crn_morphology_recipe recipe;
} crn_tile_picture;

/* Where a block works. */
typedef struct crn_tile_place {
    const char *in;
    char *out;
    int32_t row, column; /* of the picture, where the tile's result begins */
} crn_tile_place;

static inline __device__ crn_tile_place crn_tile_place_of(const crn_tile_picture &p)
{
    int32_t view = (int32_t)blockIdx.z / p.planes, plane = (int32_t)blockIdx.z % p.planes;
    crn_tile_place place;
    place.in = p.in + view * p.in_view + plane * p.in_plane;
    place.out = p.out + view * p.out_view + plane * p.out_plane;
    place.row = (int32_t)blockIdx.y * p.rows_at;
    place.column = (int32_t)blockIdx.x * p.columns_at;
    return place;
}

/* n / by for n * by < 2^32, without the division. */
typedef struct crn_divider {
    uint32_t by, factor;
} crn_divider;

static inline __device__ crn_divider crn_divider_of(int32_t by)
{
    crn_divider d = {(uint32_t)by, 0xffffffffu / (uint32_t)by + 1};
    return d;
}

static inline __device__ int32_t operator/(int32_t n, const crn_divider &d)
{
    return d.by == 1 ? n : (int32_t)__umulhi((uint32_t)n, d.factor);
}

/* Two or four bytes' minima: see above. */
typedef struct crn_bytes {
    uint32_t even, odd;
} crn_bytes;

static inline __device__ crn_bytes crn_least(crn_bytes a, crn_bytes b)
{
    return {__vminu2(a.even, b.even), __vminu2(a.odd, b.odd)};
}

static inline __device__ float crn_least(float a, float b)
{
    return fminf(a, b);
}

static inline __device__ float2 crn_least(float2 a, float2 b)
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
    static __device__ uint32_t complement(uint32_t w)
    {
        return ~w;
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
    static __device__ float complement(float w)
    {
        return -w;
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

template <typename T> static __device__ uint4 crn_tile_neutral()
{
    uint32_t v = sizeof(T) == 1 ? 0xffffffffu : 0x7f800000u;
    return {v, v, v, v};
}

/* 16 bytes from the picture's `row` and `column` on, at its sides or not aligned. */
template <typename T>
static __device__ __noinline__ uint4 crn_tile_gather(const crn_tile_picture &p, const char *from,
                                                     int32_t column, bool complement)
{
    uint4 v = crn_tile_neutral<T>();
    uint32_t *words = &v.x;
    if constexpr (sizeof(T) == 4) {
        for (int32_t i = 0; i < 4; i++)
            if (column + i >= 0 && column + i < p.columns)
                words[i] = crn_words<float>::clean_one(
                    __ldg(reinterpret_cast<const uint32_t *>(from) + i), complement);
    } else {
        for (int32_t i = 0; i < 16; i++)
            if (column + i >= 0 && column + i < p.columns) {
                uint32_t byte = __ldg(reinterpret_cast<const uint8_t *>(from) + i);
                byte = complement ? 255 - byte : byte;
                words[i / 4] = (words[i / 4] & ~(255u << (8 * (i % 4)))) | byte << (8 * (i % 4));
            }
    }
    return v;
}

static inline __device__ uint4 crn_tile_words(const char *from)
{
    const uint32_t *words = reinterpret_cast<const uint32_t *>(from);
    return {__ldg(words), __ldg(words + 1), __ldg(words + 2), __ldg(words + 3)};
}

/* COUNT chunks of 16 bytes that begin at (rows[i], columns[i]); neutral off the picture, and where
 * `there` says that there is nothing to do. */
template <typename T, int COUNT>
static __device__ void crn_tile_load(const crn_tile_picture &p, const char *in,
                                     const int32_t (&rows)[COUNT], const int32_t (&columns)[COUNT],
                                     const bool (&there)[COUNT], bool complement,
                                     uint4 (&chunks)[COUNT])
{
    const int32_t size = (int32_t)sizeof(T), most = 16 / size;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        bool inside = there[i] && rows[i] >= 0 && rows[i] < p.height;
        bool whole = inside && columns[i] >= 0 && columns[i] + most <= p.columns;
        const char *from = in + rows[i] * p.in_row + (ptrdiff_t)columns[i] * size;
        chunks[i] = crn_tile_neutral<T>();
        if (whole && p.in_aligned == 16)
            chunks[i] = __ldg(reinterpret_cast<const uint4 *>(from));
        else if (whole && p.in_aligned == 4)
            chunks[i] = crn_tile_words(from);
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        bool inside = there[i] && rows[i] >= 0 && rows[i] < p.height;
        bool whole = inside && columns[i] >= 0 && columns[i] + most <= p.columns;
        if (whole && p.in_aligned >= 4)
            chunks[i] = crn_words<T>::clean(chunks[i], complement);
        else if (inside && columns[i] < p.columns && columns[i] + most > 0)
            chunks[i] = crn_tile_gather<T>(
                p, in + rows[i] * p.in_row + (ptrdiff_t)columns[i] * size, columns[i], complement);
    }
}

/* Rows of f32, or of u8 as they lie in memory: WIDE columns of one row after the other. */
template <typename T> struct crn_row_source;

template <> struct crn_row_source<uint8_t> {
    const uint32_t *from;
    int32_t stride; /* words */
    __device__ crn_bytes get(int32_t row)
    {
        return crn_words<uint8_t>::expand(from[row * stride]);
    }
};

template <> struct crn_row_source<float> {
    const float *from;
    int32_t stride;
    __device__ float2 get(int32_t row)
    {
        return *reinterpret_cast<const float2 *>(from + row * stride);
    }
};

/* The same out of a plane of words: rows must be asked for in order, from a multiple of 4 on. */
template <typename T> struct crn_plane_source;

template <> struct crn_plane_source<float> : crn_row_source<float> {
};

template <> struct crn_plane_source<uint8_t> {
    const uint32_t *from;
    int32_t stride;
    uint4 words;
    __device__ crn_bytes get(int32_t row)
    {
        if ((row & 3) == 0)
            words = *reinterpret_cast<const uint4 *>(from + (row >> 2) * stride);
        uint32_t choice = 0x4400u + 0x1111u * (uint32_t)(row & 3);
        return {__byte_perm(words.x, words.z, choice), __byte_perm(words.y, words.w, choice)};
    }
};

/* Rows of WIDE columns into a plane of words, in order; `row` is counted from the first. */
template <typename T> struct crn_plane_sink;

template <> struct crn_plane_sink<float> {
    float *to;
    int32_t stride;
    __device__ void put(int32_t row, float2 v)
    {
        *reinterpret_cast<float2 *>(to + row * stride) = v;
    }
};

/* Four rows of bytes as words. */
static inline __device__ uint4 crn_bytes_upright(const crn_bytes (&rows)[4])
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
        if ((row & 3) == 3)
            *reinterpret_cast<uint4 *>(to + (row >> 2) * stride) = crn_bytes_upright(rows);
    }
};

/* What stands off the picture counts for nothing in the next step. */
typedef struct crn_tile_off {
    bool complement, near_border;
    int32_t row, column; /* of the picture, for the first of a plane */
    int32_t height, columns;
} crn_tile_off;

static inline __device__ uint32_t crn_tile_mend(const crn_tile_off &off, int32_t row,
                                                int32_t column, uint32_t word)
{
    word = off.complement ? ~word : word;
    if (off.near_border) {
        int32_t y = off.row + 4 * row, x = off.column + column;
        for (int32_t i = 0; i < 4; i++)
            if (y + i < 0 || y + i >= off.height)
                word |= 255u << (8 * i);
        if (x < 0 || x >= off.columns)
            word = 0xffffffffu;
    }
    return word;
}

static inline __device__ float crn_tile_mend(const crn_tile_off &off, int32_t row, int32_t column,
                                             float word)
{
    word = off.complement ? -word : word;
    if (off.near_border) {
        int32_t y = off.row + row, x = off.column + column;
        if (y < 0 || y >= off.height || x < 0 || x >= off.columns)
            word = CRN_NEUTRAL_FLOAT;
    }
    return word;
}

/* One pixel of the result: what the recipe still wants done, and into the picture. */
template <typename T>
static __device__ void crn_tile_put(const crn_tile_picture &p, const crn_tile_place &place,
                                    int32_t row, int32_t column, T v)
{
    if (row >= p.height || column >= p.columns)
        return;
    ptrdiff_t ahead = (ptrdiff_t)column * (ptrdiff_t)sizeof(T);
    const T *from = reinterpret_cast<const T *>(place.in + row * p.in_row + ahead);
    if (p.recipe.original > 0)
        v = crn_morphology_less(v, *from);
    else if (p.recipe.original < 0)
        v = crn_morphology_less(*from, v);
    *reinterpret_cast<T *>(place.out + row * p.out_row + ahead) = v;
}

/* WIDE columns of the result, less those of a plane or of the picture where that is asked. */
template <typename T> struct crn_out_sink;

template <> struct crn_out_sink<uint8_t> {
    const crn_tile_picture *picture;
    crn_tile_place place;
    int32_t row, column; /* of the picture */
    bool complement, subtracts;
    crn_plane_source<uint8_t> less;
    __device__ void put(int32_t ahead, crn_bytes v)
    {
        const crn_tile_picture &p = *picture;
        uint32_t word = crn_words<uint8_t>::compress(v);
        word = complement ? ~word : word;
        if (subtracts)
            word = __vsubus4(word, crn_words<uint8_t>::compress(less.get(ahead)));
        int32_t y = row + ahead;
        if (p.out_aligned && p.recipe.original == 0 && column + 4 <= p.columns) {
            if (y < p.height)
                *reinterpret_cast<uint32_t *>(place.out + y * p.out_row + column) = word;
            return;
        }
        for (int32_t i = 0; i < 4; i++)
            crn_tile_put<uint8_t>(p, place, y, column + i, (uint8_t)(word >> (8 * i)));
    }
};

template <> struct crn_out_sink<float> {
    const crn_tile_picture *picture;
    crn_tile_place place;
    int32_t row, column;
    bool complement, subtracts;
    crn_plane_source<float> less;
    __device__ void put(int32_t ahead, float2 v)
    {
        const crn_tile_picture &p = *picture;
        v.x = crn_morphology_result(complement ? -v.x : v.x);
        v.y = crn_morphology_result(complement ? -v.y : v.y);
        if (subtracts) {
            float2 other = less.get(ahead);
            v.x = crn_morphology_less(v.x, other.x);
            v.y = crn_morphology_less(v.y, other.y);
        }
        int32_t y = row + ahead;
        if (p.out_aligned && p.recipe.original == 0 && column + 2 <= p.columns) {
            if (y < p.height)
                *reinterpret_cast<float2 *>(place.out + y * p.out_row + 4 * (ptrdiff_t)column) = v;
            return;
        }
        crn_tile_put<float>(p, place, y, column, v.x);
        crn_tile_put<float>(p, place, y, column + 1, v.y);
    }
};

static inline int32_t crn_round_up(int32_t n, int32_t to)
{
    return (n + to - 1) / to * to;
}

/* Fills what does not depend on the size of tiles; false: tiles do not take such images. */
bool crn_tile_picture_of(const crn_context *context, const crn_morphology_params *params,
                         const crn_image *in, const crn_image *out, crn_tile_picture *ret_picture);

/* In one launch; -ENOTSUP: not with this picture or element. */
int crn_morphology_rect(crn_context *context, const crn_morphology_params *params,
                        const crn_tile_picture *picture, crn_type type);
int crn_morphology_chords(crn_context *context, const crn_morphology_params *params,
                          const crn_tile_picture *picture, crn_type type);

#endif
