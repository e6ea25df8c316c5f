/*
 * Tiles, for the kernels that do a whole operation in one launch.
 *
 * A block loads a tile of the image and the halo that the element reaches into shared memory, works
 * there, and stores the result. The columns of an interleaved image are the elements of its rows: a
 * pixel's neighbour is `channels` (the number of interleaved planes) columns away.
 */
#ifndef CRN_GPU_MORPHOLOGY_TILE_CUH
#define CRN_GPU_MORPHOLOGY_TILE_CUH

#include "gpu/morphology/words.cuh"

#define CRN_TILE_THREADS_MAX 512
#define CRN_TILE_ROW_MAX     (1 << 21) /* bytes from row to row */

/* n / by for n * by < 2^32, by multiplication. */
typedef struct crn_divider {
    uint32_t by, factor;
} crn_divider;

static inline __host__ __device__ crn_divider crn_divider_of(int32_t by)
{
    crn_divider d = {(uint32_t)by, 0xffffffffu / (uint32_t)by + 1};
    return d;
}

static inline __device__ int32_t operator/(int32_t n, const crn_divider &d)
{
    return d.by == 1 ? n : (int32_t)__umulhi((uint32_t)n, d.factor);
}

/* A caller's image and how it is split into tiles. Strides in bytes. */
typedef struct crn_tile_images {
    const char *in;
    char *out;
    int32_t in_row, out_row; /* at most CRN_TILE_ROW_MAX, of either sign */
    ptrdiff_t in_plane, in_view, out_plane, out_view;
    crn_divider planes; /* of a view: 1 when interleaved */
    int32_t height, columns, channels;
    int32_t in_aligned; /* alignment of every row, in bytes: 16, 4, 1 */
    int32_t out_aligned;
    int32_t rows_at, columns_at; /* size of a tile's result; multiples of 16 */
    crn_morphology_recipe recipe;
} crn_tile_images;

/* Position of a block's tile. */
typedef struct crn_tile_origin {
    const char *in;
    char *out;
    int32_t row, column; /* of the image, where the tile's result begins */
} crn_tile_origin;

static inline __device__ crn_tile_origin crn_tile_origin_of(const crn_tile_images &p)
{
    int32_t view = (int32_t)blockIdx.z / p.planes;
    int32_t plane = (int32_t)blockIdx.z - view * (int32_t)p.planes.by;
    crn_tile_origin origin;
    origin.in = p.in + view * p.in_view + plane * p.in_plane;
    origin.out = p.out + view * p.out_view + plane * p.out_plane;
    origin.row = (int32_t)blockIdx.y * p.rows_at;
    origin.column = (int32_t)blockIdx.x * p.columns_at;
    return origin;
}

template <typename T> static __device__ uint4 crn_tile_neutral()
{
    uint32_t v = sizeof(T) == 1 ? 0xffffffffu : 0x7f800000u;
    return {v, v, v, v};
}

/* Loads 16 bytes at the image's `row` and `column` when they are unaligned or cross its border. */
template <typename T>
static __device__ __noinline__ uint4 crn_tile_gather(const crn_tile_images &p, const char *from,
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

/* Loads COUNT chunks of 16 bytes at (rows[i], columns[i]); neutral outside the image, and
 * where `valid` is false. */
template <typename T, int COUNT>
static __device__ void crn_tile_load(const crn_tile_images &p, const char *in,
                                     const int32_t (&rows)[COUNT], const int32_t (&columns)[COUNT],
                                     const bool (&valid)[COUNT], bool complement,
                                     uint4 (&chunks)[COUNT])
{
    const int32_t size = (int32_t)sizeof(T), most = 16 / size;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        bool inside = valid[i] && rows[i] >= 0 && rows[i] < p.height;
        bool whole = inside && columns[i] >= 0 && columns[i] + most <= p.columns;
        const char *from = in + (ptrdiff_t)rows[i] * p.in_row + (ptrdiff_t)columns[i] * size;
        chunks[i] = crn_tile_neutral<T>();
        if (whole && p.in_aligned == 16)
            chunks[i] = __ldg(reinterpret_cast<const uint4 *>(from));
        else if (whole && p.in_aligned == 4)
            chunks[i] = crn_tile_words(from);
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        bool inside = valid[i] && rows[i] >= 0 && rows[i] < p.height;
        bool whole = inside && columns[i] >= 0 && columns[i] + most <= p.columns;
        if (whole && p.in_aligned >= 4)
            chunks[i] = crn_words<T>::clean(chunks[i], complement);
        else if (inside && columns[i] < p.columns && columns[i] + most > 0)
            chunks[i] = crn_tile_gather<T>(
                p, in + (ptrdiff_t)rows[i] * p.in_row + (ptrdiff_t)columns[i] * size, columns[i],
                complement);
    }
}

/*
 * Stores rows of WIDE columns of the result in order: directly into the caller's image if the tile
 * lies wholly inside it and nothing is subtracted; else into shared memory, for
 * crn_tile_store_staged.
 */
template <typename T> struct crn_out_sink {
    char *to;
    ptrdiff_t stride; /* bytes */
    uint32_t flip;
    __device__ void put(int32_t, typename crn_words<T>::wide v)
    {
        crn_words<T>::set_wide(to, v, flip);
        to += stride;
    }
};

/* Where a tile's result is stored first. */
typedef struct crn_tile_target {
    bool staged;
    char *to;
    ptrdiff_t stride;
} crn_tile_target;

template <typename T>
static __device__ crn_tile_target crn_tile_target_of(const crn_tile_images &p,
                                                     const crn_tile_origin &origin, void *stage)
{
    const int32_t size = (int32_t)sizeof(T), need = crn_words<T>::WIDE * size;
    crn_tile_target target = {p.recipe.original != 0 || p.recipe.parallel || p.out_aligned < need ||
                                  origin.row + p.rows_at > p.height ||
                                  origin.column + p.columns_at > p.columns,
                              static_cast<char *>(stage), (ptrdiff_t)p.columns_at * size};
    if (!target.staged) {
        target.to =
            origin.out + (ptrdiff_t)origin.row * p.out_row + (ptrdiff_t)origin.column * size;
        target.stride = p.out_row;
    }
    return target;
}

static inline __device__ uint32_t crn_words_less(uint32_t a, uint32_t b, uint8_t)
{
    return __vsubus4(a, b);
}

static inline __device__ uint32_t crn_words_less(uint32_t a, uint32_t b, float)
{
    return __float_as_uint(crn_morphology_less(__uint_as_float(a), __uint_as_float(b)));
}

/* Four columns (one of f32) of a plane's row, in the image's layout. */
static inline __device__ uint32_t crn_plane_word(const uint32_t *plane, int32_t pitch, int32_t row,
                                                 int32_t column)
{
    crn_plane_source<uint8_t> from = {plane + (row >> 2) * pitch + column, pitch};
    from.words = *reinterpret_cast<const uint4 *>(from.from);
    uint32_t choice = 0x4400u + 0x1111u * (uint32_t)(row & 3);
    return crn_words<uint8_t>::compress({__byte_perm(from.words.x, from.words.z, choice),
                                         __byte_perm(from.words.y, from.words.w, choice)});
}

static inline __device__ uint32_t crn_plane_word(const float *plane, int32_t pitch, int32_t row,
                                                 int32_t column)
{
    return __float_as_uint(plane[row * pitch + column]);
}

template <typename T>
static __device__ void crn_tile_store_word(const crn_tile_images &p, const crn_tile_origin &origin,
                                           int32_t row, int32_t column, uint32_t word)
{
    const int32_t size = (int32_t)sizeof(T), many = 4 / size;
    const char *from = origin.in + (ptrdiff_t)row * p.in_row + (ptrdiff_t)column * size;
    char *to = origin.out + (ptrdiff_t)row * p.out_row + (ptrdiff_t)column * size;
    bool whole = column + many <= p.columns && p.in_aligned >= 4 && p.out_aligned >= 4;
    uint32_t original = 0;
    if (p.recipe.original != 0 && whole)
        original = __ldg(reinterpret_cast<const uint32_t *>(from));
    if (p.recipe.original != 0 && !whole)
        for (int32_t i = 0; i < many && column + i < p.columns; i++)
            original |= (uint32_t)__ldg(reinterpret_cast<const uint8_t *>(from) + i) << (8 * i);
    if (p.recipe.original > 0)
        word = crn_words_less(word, original, T());
    else if (p.recipe.original < 0)
        word = crn_words_less(original, word, T());
    if (whole)
        *reinterpret_cast<uint32_t *>(to) = word;
    else
        for (int32_t i = 0; i < many && column + i < p.columns; i++)
            to[i] = (char)(word >> (8 * i));
}

/* Stores the staged result into the image, minus a plane (or NULL), and applies the
 * recipe's difference. */
template <typename T>
static __device__ void crn_tile_store_staged(const crn_tile_images &p,
                                             const crn_tile_origin &origin, const uint32_t *stage,
                                             const typename crn_words<T>::word *less, int32_t pitch)
{
    const int32_t many = (int32_t)(4 / sizeof(T));
    int32_t wide = p.columns_at / many, items = wide * p.rows_at;
    crn_divider by = crn_divider_of(wide);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t row = item / by, column = (item - row * wide) * many;
        if (origin.row + row >= p.height || origin.column + column >= p.columns)
            continue;
        uint32_t word = stage[item];
        if (less)
            word = crn_words_less(word, crn_plane_word(less, pitch, row, column), T());
        crn_tile_store_word<T>(p, origin, origin.row + row, origin.column + column, word);
    }
}

/* The part of a plane that lies outside the image. */
typedef struct crn_tile_outside {
    int32_t row, column;   /* of the image, for the first of the plane */
    int32_t rows, columns; /* rows of words */
} crn_tile_outside;

template <typename T>
static __device__ bool crn_tile_is_outside(const crn_tile_images &p,
                                           const crn_tile_outside &outside)
{
    return outside.row < 0 || outside.row + outside.rows * crn_words<T>::ROWS > p.height ||
           outside.column < 0 || outside.column + outside.columns > p.columns;
}

/* Sets that part to the neutral value for the next step: whole columns, and rows of the others. */
template <typename T>
static __device__ void crn_tile_fill_outside(const crn_tile_images &p,
                                             const crn_tile_outside &outside,
                                             typename crn_words<T>::word *plane, int32_t pitch)
{
    typedef crn_words<T> words;
    int32_t left = min(max(-outside.column, 0), outside.columns);
    int32_t right = max(min(p.columns - outside.column, outside.columns), left);
    int32_t away = left + outside.columns - right, threads = (int32_t)blockDim.x;
    crn_divider by_away = crn_divider_of(max(away, 1));
    for (int32_t item = (int32_t)threadIdx.x; item < away * outside.rows; item += threads) {
        int32_t row = item / by_away, column = item - row * away;
        column = column < left ? column : column - left + right;
        plane[row * pitch + column] = words::neutral();
    }
    int32_t top = min((max(-outside.row, 0) + words::ROWS - 1) / words::ROWS, outside.rows);
    int32_t bottom = max(min((p.height - outside.row) / words::ROWS, outside.rows), top);
    int32_t rows = top + outside.rows - bottom, inside = right - left;
    crn_divider by_inside = crn_divider_of(max(inside, 1));
    for (int32_t item = (int32_t)threadIdx.x; item < inside * rows; item += threads) {
        int32_t row = item / by_inside, column = left + item - row * inside;
        row = row < top ? row : row - top + bottom;
        for (int32_t i = 0; i < words::ROWS; i++) {
            int32_t y = outside.row + row * words::ROWS + i;
            if (y < 0 || y >= p.height)
                words::set_neutral(&plane[row * pitch + column], i);
        }
    }
}

static inline int32_t crn_round_up(int32_t n, int32_t to)
{
    return (n + to - 1) / to * to;
}

/* Block size and dynamic shared memory. */
typedef struct crn_tile_launch {
    int32_t threads;
    size_t bytes;
} crn_tile_launch;

/*
 * Cost model: the time for an image in tiles of so much work (in passes over a pixel) and shared
 * memory each; sets the number of threads. With four blocks per multiprocessor they have half as
 * many threads as with two; in_fours is the cost of that relative to two. A single block has none
 * to overlap its stalls with.
 */
double crn_tile_cost(const crn_gpu_limits *limits, const crn_tile_images *images, int32_t planes,
                     double work, double in_fours, crn_tile_launch *launch);

/* Launches a tile kernel on that many planes. */
template <typename JOB>
static inline int crn_tile_launch_on(const crn_context *context, void (*kernel)(JOB),
                                     int32_t planes, const crn_tile_launch &how, const JOB &job)
{
    const crn_tile_images &p = job.images;
    dim3 blocks((unsigned)crn_gpu_blocks(p.columns, p.columns_at),
                (unsigned)crn_gpu_blocks(p.height, p.rows_at), (unsigned)planes);
    if (blocks.y > 65535)
        return -ENOTSUP;
    return crn_gpu_launch_kernel(context, kernel, blocks, how.threads, how.bytes, job);
}

/* Fills the fields that do not depend on the tile size. false: tiles do not support such images. */
bool crn_tile_images_of(const crn_context *context, const crn_morphology_params *params,
                        const crn_image *in, const crn_image *out, crn_tile_images *ret_images);

/* One launch for the whole operation; -ENOTSUP if not possible with this image or element. */
int crn_morphology_rect(crn_context *context, const crn_morphology_params *params,
                        const crn_tile_images *images, crn_type type);
int crn_morphology_chords(crn_context *context, const crn_morphology_params *params,
                          const crn_tile_images *images, crn_type type);

#endif
