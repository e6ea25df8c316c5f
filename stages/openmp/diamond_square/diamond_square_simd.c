/* Two rows of a level from two rows of the previous one (diamond_square.h). */
#include "stages/openmp/diamond_square/diamond_square.h"

#include <string.h>

#include "stages/openmp/diamond_square/vector.h"
#include "stages/openmp/simd.h"

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
    words product = crn_words_multiply(first ^ u, g->factor1);
    return (diamond_square_stream){crn_words_high(product ^ first), product,
                                   crn_words_high(second) ^ v, second};
}

/* Remaining rounds, interleaved over several rows to hide the latency of the multiplications. */
CRN_INLINE void run_streams(const generator *g, diamond_square_stream *streams, int count)
{
#pragma GCC unroll 8
    for (int i = 0; i < ROUNDS_LEFT; i++)
#pragma GCC unroll 4
        for (int k = 0; k < count; k++) {
            diamond_square_stream *s = &streams[k];
            words a = crn_words_multiply(s->x0, g->factor0);
            words b = crn_words_multiply(s->x2, g->factor1);
            s->x0 = crn_words_xor3(crn_words_high(b), s->x1, g->key0[i]);
            s->x2 = crn_words_xor3(crn_words_high(a), s->x3, g->key1[i]);
            s->x1 = b;
            s->x3 = a;
        }
}

/* Converts the signed words to floats. */
CRN_INLINE void end_stream(const diamond_square_stream *s, reals ret[2])
{
    crn_words_to_reals(crn_words_join(s->x0, s->x1), crn_words_join(s->x2, s->x3), ret);
}

void CRN_TARGETED(crn_diamond_square_columns)(const crn_diamond_square_keys *keys, int32_t level,
                                              crn_diamond_square_phase phase, int32_t start,
                                              int32_t count,
                                              const crn_diamond_square_columns *columns)
{
    words factor0 = all(CRN_PHILOX_FACTOR0), factor1 = all(CRN_PHILOX_FACTOR1), block;
    for (int k = 0; k < CRN_DIAMOND_SQUARE_LANES; k++)
        block[k] = (uint64_t)(start / 4 + k / 2 + k % 2 * (CRN_DIAMOND_SQUARE_LANES / 2));
    words key0 = all((uint32_t)phase ^ keys->round[0][1]);
    words key1 = all((uint32_t)(CRN_PHILOX_FACTOR1 * (uint32_t)level) ^ keys->round[1][0]);
    for (int32_t i = 0; i < count / 4;
         i += CRN_DIAMOND_SQUARE_LANES, block += CRN_DIAMOND_SQUARE_LANES) {
        words a = crn_words_multiply(block, factor0);
        words b = crn_words_multiply((a >> 32) ^ key0, factor1);
        words c = crn_words_multiply((b >> 32) ^ key1, factor0);
        words first = crn_words_join(a, b ^ keys->round[2][0]);
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
        words bytes = crn_reals_zip_bytes(even, odd);
        memcpy((uint8_t *)row + 2 * x, &bytes, sizeof bytes);
        return;
    }
    for (int k = 0; k < 2; k++) {
        reals zipped[2];
        crn_reals_zip(even[k], odd[k], zipped);
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
            around vertical = {left, crn_reals_shift(before, d[k]), d[k], low};
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
