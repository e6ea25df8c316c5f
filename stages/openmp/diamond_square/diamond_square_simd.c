/* Two rows of a level from two rows of the previous one (diamond_square.h). */
#include "stages/openmp/diamond_square/diamond_square.h"

#include <string.h>

#include "stages/openmp/simd.h"

/*
 * Vectors: `words` has 64-bit elements, `reals` is as many bytes of f32. An element holds a Philox
 * block of four words: of BLOCKS blocks, element 2k is number k and element 2k + 1 number
 * BLOCKS / 2 + k, so that join() yields them in order.
 */
#define BLOCKS (CRN_VECTOR_BYTES / 8)
typedef uint64_t words __attribute__((vector_size(CRN_VECTOR_BYTES)));
typedef float reals __attribute__((vector_size(CRN_VECTOR_BYTES)));

/* Products of the low halves. */
CRN_INLINE words multiply(words a, words b)
{
    return (words)CRN_MM(mul_epu32)((crn_integers)a, (crn_integers)b);
}

/* Moves the high halves to the low ones; the high ones become garbage. A shuffle, since it runs on
 * more execution ports than a shift. */
CRN_INLINE words high_halves(words a)
{
    return (words)CRN_MM(shuffle_epi32)((crn_integers)a, _MM_SHUFFLE(3, 3, 1, 1));
}

/* Converts signed words to floats; ret[0] has the elements 0, 2, ... of both, ret[1] the others. */
CRN_INLINE void to_reals(words a, words b, reals ret[2])
{
    ret[0] = (reals)CRN_MM(cvtepi32_ps)(CRN_MM(unpacklo_epi64)((crn_integers)a, (crn_integers)b));
    ret[1] = (reals)CRN_MM(cvtepi32_ps)(CRN_MM(unpackhi_epi64)((crn_integers)a, (crn_integers)b));
}

/* The others differ between instruction sets. xor3: a ^ b ^ c. join: low halves of a in the low
 * halves, low halves of b in the high ones. shift: `at` shifted right by one element, preceded by
 * the last element of `before`. zip: a[0] b[0] a[1] b[1] ... interleave: the same for
 * bytes, of which each 128 bits hold 8 of a, then 8 of b. */

#if defined(CRN_TARGET_avx512)

CRN_INLINE words xor3(words a, words b, words c)
{
    return (words)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, 0x96);
}

CRN_INLINE words join(words a, words b)
{
    return (words)_mm512_mask_shuffle_epi32((__m512i)a, 0xaaaa, (__m512i)b,
                                            (_MM_PERM_ENUM)_MM_SHUFFLE(2, 2, 0, 0));
}

CRN_INLINE reals shift(reals before, reals at)
{
    return (reals)_mm512_alignr_epi32((__m512i)at, (__m512i)before, 15);
}

CRN_INLINE void zip(reals a, reals b, reals ret[2])
{
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high =
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    ret[0] = (reals)_mm512_permutex2var_ps((__m512)a, low, (__m512)b);
    ret[1] = (reals)_mm512_permutex2var_ps((__m512)a, high, (__m512)b);
}

CRN_INLINE crn_integers interleave(crn_integers bytes)
{
    bytes = _mm512_unpacklo_epi8(bytes, _mm512_unpackhi_epi64(bytes, bytes));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes);
}

#elif defined(CRN_TARGET_avx2)

CRN_INLINE words xor3(words a, words b, words c)
{
    return a ^ b ^ c;
}

CRN_INLINE words join(words a, words b)
{
    return (words)_mm256_blend_epi32((__m256i)a, _mm256_slli_epi64((__m256i)b, 32), 0xaa);
}

CRN_INLINE reals shift(reals before, reals at)
{
    __m256i middle = _mm256_permute2x128_si256((__m256i)before, (__m256i)at, 0x21);
    return (reals)_mm256_alignr_epi8((__m256i)at, middle, 12);
}

CRN_INLINE void zip(reals a, reals b, reals ret[2])
{
    __m256 low = _mm256_unpacklo_ps((__m256)a, (__m256)b);
    __m256 high = _mm256_unpackhi_ps((__m256)a, (__m256)b);
    ret[0] = (reals)_mm256_permute2f128_ps(low, high, 0x20);
    ret[1] = (reals)_mm256_permute2f128_ps(low, high, 0x31);
}

CRN_INLINE crn_integers interleave(crn_integers bytes)
{
    bytes = _mm256_unpacklo_epi8(bytes, _mm256_unpackhi_epi64(bytes, bytes));
    return _mm256_permute4x64_epi64(bytes, _MM_SHUFFLE(3, 1, 2, 0));
}

#else

CRN_INLINE words xor3(words a, words b, words c)
{
    return a ^ b ^ c;
}

CRN_INLINE words join(words a, words b)
{
    return (a & UINT32_MAX) | b << 32;
}

CRN_INLINE reals shift(reals before, reals at)
{
    __m128 last = _mm_shuffle_ps((__m128)before, (__m128)before, _MM_SHUFFLE(3, 3, 3, 3));
    __m128 turned = _mm_shuffle_ps((__m128)at, (__m128)at, _MM_SHUFFLE(2, 1, 0, 3));
    return (reals)_mm_move_ss(turned, last);
}

CRN_INLINE void zip(reals a, reals b, reals ret[2])
{
    ret[0] = (reals)_mm_unpacklo_ps((__m128)a, (__m128)b);
    ret[1] = (reals)_mm_unpackhi_ps((__m128)a, (__m128)b);
}

CRN_INLINE crn_integers interleave(crn_integers bytes)
{
    return _mm_unpacklo_epi8(bytes, _mm_unpackhi_epi64(bytes, bytes));
}

#endif

/* Interleaves two vectors each, rounded half to even and saturated to bytes. */
CRN_INLINE words zip_bytes(const reals a[2], const reals b[2])
{
    crn_integers a16 = CRN_MM(packs_epi32)(CRN_MM(cvtps_epi32)((crn_floats)a[0]),
                                           CRN_MM(cvtps_epi32)((crn_floats)a[1]));
    crn_integers b16 = CRN_MM(packs_epi32)(CRN_MM(cvtps_epi32)((crn_floats)b[0]),
                                           CRN_MM(cvtps_epi32)((crn_floats)b[1]));
    return (words)interleave(CRN_MM(packus_epi16)(a16, b16));
}

/* Rounds after the third, which are not shared. */
#define ROUNDS_LEFT (CRN_PHILOX_ROUNDS - 3)

#define REALS  ((int32_t)(sizeof(reals) / sizeof(float)))
#define STRIDE (2 * REALS) /* x per iteration: the noise of one vector of blocks */

CRN_INLINE words all(uint64_t word)
{
    words zero = {0};
    return zero + word;
}

CRN_INLINE reals load(const float *from)
{
    reals value;
    memcpy(&value, from, sizeof value);
    return value;
}

CRN_INLINE words load_words(const uint64_t *from)
{
    words value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* Constants of the noise generator, in registers. */
typedef struct generator {
    words factor0, factor1;
    words key0[ROUNDS_LEFT], key1[ROUNDS_LEFT];
} generator;

CRN_INLINE generator start_generator(const crn_diamond_square_keys *keys)
{
    generator g = {.factor0 = all(CRN_PHILOX_FACTOR0), .factor1 = all(CRN_PHILOX_FACTOR1)};
    for (int i = 0; i < ROUNDS_LEFT; i++) {
        g.key0[i] = all(keys->round[i + 3][0]);
        g.key1[i] = all(keys->round[i + 3][1]);
    }
    return g;
}

/* Philox state of a row's next STRIDE points: the four words of their blocks. High halves
 * are garbage. */
typedef struct diamond_square_stream {
    words x0, x1, x2, x3;
} diamond_square_stream;

/* Third round: combines column and row state. */
CRN_INLINE diamond_square_stream start_stream(const generator *g, words first, words second,
                                              words u, words v)
{
    words product = multiply(first ^ u, g->factor1);
    return (diamond_square_stream){high_halves(product ^ first), product, high_halves(second) ^ v,
                                   second};
}

/* Remaining rounds, interleaved over several rows to hide the latency of the multiplications. */
CRN_INLINE void run_streams(const generator *g, diamond_square_stream *streams, int count)
{
#pragma GCC unroll 8
    for (int i = 0; i < ROUNDS_LEFT; i++)
#pragma GCC unroll 4
        for (int k = 0; k < count; k++) {
            diamond_square_stream *s = &streams[k];
            words a = multiply(s->x0, g->factor0);
            words b = multiply(s->x2, g->factor1);
            s->x0 = xor3(high_halves(b), s->x1, g->key0[i]);
            s->x2 = xor3(high_halves(a), s->x3, g->key1[i]);
            s->x1 = b;
            s->x3 = a;
        }
}

/* Converts the signed words to floats. */
CRN_INLINE void end_stream(const diamond_square_stream *s, reals ret[2])
{
    to_reals(join(s->x0, s->x1), join(s->x2, s->x3), ret);
}

void CRN_TARGETED(crn_diamond_square_columns)(const crn_diamond_square_keys *keys, int32_t level,
                                              crn_diamond_square_phase phase, int32_t start,
                                              int32_t count,
                                              const crn_diamond_square_columns *columns)
{
    words factor0 = all(CRN_PHILOX_FACTOR0), factor1 = all(CRN_PHILOX_FACTOR1), block;
    for (int k = 0; k < BLOCKS; k++)
        block[k] = (uint64_t)(start / 4 + k / 2 + k % 2 * (BLOCKS / 2));
    words key0 = all((uint32_t)phase ^ keys->round[0][1]);
    words key1 = all((uint32_t)(CRN_PHILOX_FACTOR1 * (uint32_t)level) ^ keys->round[1][0]);
    for (int32_t i = 0; i < count / 4; i += BLOCKS, block += BLOCKS) {
        words a = multiply(block, factor0);
        words b = multiply((a >> 32) ^ key0, factor1);
        words c = multiply((b >> 32) ^ key1, factor0);
        words first = join(a, b ^ keys->round[2][0]);
        words second = c ^ (uint64_t)keys->round[2][1] << 32;
        memcpy(columns->first + i, &first, sizeof first);
        memcpy(columns->second + i, &second, sizeof second);
    }
}

/* The operands of the four-neighbour mean, a vector of each. */
typedef struct around {
    reals up, left, right, down;
} around;

CRN_INLINE reals mean_of(const around *n, bool no_up, bool no_down)
{
    reals sum = no_up ? n->left : n->up + n->left;
    sum = sum + n->right;
    if (!no_down)
        sum = sum + n->down;
    return sum * (no_up || no_down ? 1.0f / 3.0f : 0.25f);
}

/* Interleaves and stores two vectors of each row. */
CRN_INLINE void put(crn_type type, void *row, int32_t x, const reals even[2], const reals odd[2])
{
    if (type == CRN_U8) {
        words bytes = zip_bytes(even, odd);
        memcpy((uint8_t *)row + 2 * x, &bytes, sizeof bytes);
        return;
    }
    for (int k = 0; k < 2; k++) {
        reals zipped[2];
        zip(even[k], odd[k], zipped);
        for (int i = 0; i < 2; i++)
            memcpy((float *)row + 2 * (x + k * REALS) + i * REALS, &zipped[i], sizeof zipped[i]);
    }
}

/*
 * Longer than a function should be, but it is one loop whose parts share registers.
 *
 * careful: handles the first and last row, and scales the noise in two steps. In the common case
 * one step suffices, since amplitude x 2^-31 is exact.
 */
CRN_INLINE void make_pair(const crn_diamond_square_pair *p, crn_type type, bool careful)
{
    const bool no_up = careful && p->top, no_down = careful && !p->below;
    const float unit = careful ? 0x1p-31f : p->amplitude * 0x1p-31f;
    const float scale = careful ? p->amplitude : 1;
    generator g = start_generator(p->keys);
    words diamond_u = all(p->diamond_row.u), diamond_v = all(p->diamond_row.v);
    words even_u = all(p->even_row.u), even_v = all(p->even_row.v);
    words odd_u = all(p->odd_row.u), odd_v = all(p->odd_row.v);
    const float *above = p->above, *below = no_down ? above : p->below;
    reals before = load(p->diamonds - REALS);
    for (int32_t x = 0; x < p->count; x += STRIDE) {
        words first = load_words(p->diamond_columns.first + x / 4);
        words second = load_words(p->diamond_columns.second + x / 4);
        reals d[2], h[2], v[2], g0[2];
        diamond_square_stream streams[3];
        streams[0] = start_stream(&g, first, second, diamond_u, diamond_v);
        first = load_words(p->square_columns.first + x / 4);
        second = load_words(p->square_columns.second + x / 4);
        streams[1] = start_stream(&g, first, second, even_u, even_v);
        streams[2] = start_stream(&g, first, second, odd_u, odd_v);
        run_streams(&g, streams, 3);
        end_stream(&streams[0], d);
        end_stream(&streams[1], h);
        end_stream(&streams[2], v);
        for (int k = 0; k < 2; k++) {
            const int32_t at = x + k * REALS;
            reals left = load(above + at), right = load(above + at + 1);
            reals low = load(below + at), low_right = load(below + at + 1);
            reals up = load(p->diamonds + at);
            reals diamond = (((left + right) + low) + low_right) * 0.25f;
            d[k] = diamond + (careful ? scale * (d[k] * unit) : d[k] * unit);
            memcpy(p->diamonds + at, &d[k], sizeof d[k]);
            around horizontal = {up, left, right, d[k]};
            around vertical = {left, shift(before, d[k]), d[k], low};
            before = d[k];
            h[k] = mean_of(&horizontal, no_up, no_down) +
                   (careful ? scale * (h[k] * unit) : h[k] * unit);
            v[k] =
                mean_of(&vertical, false, false) + (careful ? scale * (v[k] * unit) : v[k] * unit);
            g0[k] = left;
        }
        put(type, p->even, x, g0, h);
        if (!no_down)
            put(type, p->odd, x, v, d);
    }
}

void CRN_TARGETED(crn_diamond_square_pair)(const crn_diamond_square_pair *pair)
{
    bool careful = pair->top || !pair->below || pair->amplitude < 0x1p-95f;
    if (pair->type == CRN_U8 && careful)
        make_pair(pair, CRN_U8, true);
    else if (pair->type == CRN_U8)
        make_pair(pair, CRN_U8, false);
    else if (careful)
        make_pair(pair, CRN_F32, true);
    else
        make_pair(pair, CRN_F32, false);
}
