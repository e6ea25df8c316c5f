/* Row operations of morphology; compiled once per target. */
#include "stages/openmp/morphology/morphology.h"

#include <string.h>

#include "stages/openmp/morphology/vector.h"
#include "stages/openmp/simd.h"

#define MERGE_FEW  5 /* rows */
#define STACK_WIDE 4 /* vectors */

/* --- load ----------------------------------------------------------------------------------- */

CRN_INLINE vector as_read(crn_morphology_kind kind, vector v)
{
    return crn_add_f32(extreme(kind, v, neutral(kind)), crn_set1_f32(0));
}

CRN_INLINE void load_kind(crn_morphology_kind kind, uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t x = 0;
    for (; x + CRN_VECTOR_BYTES <= bytes; x += CRN_VECTOR_BYTES)
        crn_store_vector(to + x, as_read(kind, crn_load_vector(from + x)));
    if (x < bytes)
        store_part(to + x, as_read(kind, load_part(from + x, bytes - x)), bytes - x);
}

static void load_row(crn_morphology_kind kind, void *to, const void *from, size_t bytes)
{
    if (kind == CRN_MORPHOLOGY_MIN_F32)
        load_kind(CRN_MORPHOLOGY_MIN_F32, to, from, bytes);
    else if (kind == CRN_MORPHOLOGY_MAX_F32)
        load_kind(CRN_MORPHOLOGY_MAX_F32, to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* --- merge ---------------------------------------------------------------------------------- */

/* Extreme of rows[0] to rows[count - 1] at x; `at_once` vectors, in registers. */
CRN_INLINE void merge_at(crn_morphology_kind kind, size_t at_once, vector *v,
                         const uint8_t *const *rows, size_t count, size_t x)
{
    CRN_MORPHOLOGY_UNROLL
    for (size_t k = 0; k < at_once; k++)
        v[k] = crn_load_vector(rows[0] + x + k * CRN_VECTOR_BYTES);
    for (size_t i = 1; i < count; i++) {
        const uint8_t *row = rows[i] + x;
        CRN_MORPHOLOGY_UNROLL
        for (size_t k = 0; k < at_once; k++)
            v[k] = extreme(kind, v[k], crn_load_vector(row + k * CRN_VECTOR_BYTES));
    }
}

CRN_INLINE void merge_count(crn_morphology_kind kind, size_t at_once, uint8_t *to,
                            const uint8_t *const *rows, size_t count, size_t bytes)
{
    vector v[CRN_MORPHOLOGY_MERGE_AT_ONCE];
    size_t x = 0;
    for (; x + at_once * CRN_VECTOR_BYTES <= bytes; x += at_once * CRN_VECTOR_BYTES) {
        merge_at(kind, at_once, v, rows, count, x);
        CRN_MORPHOLOGY_UNROLL
        for (size_t k = 0; k < at_once; k++)
            crn_store_vector(to + x + k * CRN_VECTOR_BYTES, v[k]);
    }
    for (; x < bytes; x += CRN_VECTOR_BYTES) {
        merge_at(kind, 1, v, rows, count, x);
        if (bytes - x < CRN_VECTOR_BYTES)
            store_part(to + x, v[0], bytes - x);
        else
            crn_store_vector(to + x, v[0]);
    }
}

/* A few rows, whose addresses stay in registers. */
CRN_INLINE void merge_few(crn_morphology_kind kind, uint8_t *to, const void *const *rows,
                          size_t count, size_t bytes)
{
    const uint8_t *few[MERGE_FEW];
    CRN_MORPHOLOGY_UNROLL
    for (size_t i = 0; i < count; i++)
        few[i] = rows[i];
    merge_count(kind, CRN_MORPHOLOGY_MERGE_AT_ONCE / 2, to, few, count, bytes);
}

CRN_INLINE void merge_kind(crn_morphology_kind kind, uint8_t *to, const void *const *rows,
                           size_t count, size_t bytes)
{
    switch (count) {
    case 2:
        merge_few(kind, to, rows, 2, bytes);
        return;
    case 3:
        merge_few(kind, to, rows, 3, bytes);
        return;
    case 5:
        merge_few(kind, to, rows, 5, bytes);
        return;
    default:
        merge_count(kind, CRN_MORPHOLOGY_MERGE_AT_ONCE, to, (const uint8_t *const *)rows, count,
                    bytes);
        return;
    }
}

static void merge_rows(crn_morphology_kind kind, void *to, const void *const *rows, size_t count,
                       size_t bytes){
    CRN_MORPHOLOGY_FOR_EACH_KIND(kind, merge_kind, to, rows, count, bytes)}

/* --- stack ---------------------------------------------------------------------------------- */

/*
 * Van Herk / Gil-Werman (1992, 1993) in registers: `count` <= window results share the rows that
 * lie in all their windows. The rows above and below those are merged cumulatively, and each result
 * takes the prefix that it needs. `at_once` vectors side by side: v[row][vector].
 */
CRN_INLINE
    void stack_at(crn_morphology_kind kind, size_t at_once, const void *const *rows, int32_t window,
                  int32_t count, size_t x, vector v[CRN_MORPHOLOGY_STACK_MAX][STACK_WIDE])
{
    vector merged[STACK_WIDE];
    merge_at(kind, at_once, merged, (const uint8_t *const *)rows + count - 1,
             (size_t)(window - count + 1), x);
    CRN_MORPHOLOGY_UNROLL
    for (size_t k = 0; k < at_once; k++)
        v[count - 1][k] = merged[k];
    CRN_MORPHOLOGY_UNROLL
    for (int32_t i = count - 2; i >= 0; i--) {
        const uint8_t *row = (const uint8_t *)rows[i] + x;
        CRN_MORPHOLOGY_UNROLL
        for (size_t k = 0; k < at_once; k++)
            v[i][k] = extreme(kind, v[i + 1][k], crn_load_vector(row + k * CRN_VECTOR_BYTES));
    }
    CRN_MORPHOLOGY_UNROLL
    for (int32_t i = 1; i < count; i++) {
        const uint8_t *row = (const uint8_t *)rows[window + i - 1] + x;
        CRN_MORPHOLOGY_UNROLL
        for (size_t k = 0; k < at_once; k++) {
            vector one = crn_load_vector(row + k * CRN_VECTOR_BYTES);
            merged[k] = i == 1 ? one : extreme(kind, merged[k], one);
            v[i][k] = extreme(kind, v[i][k], merged[k]);
        }
    }
}

/* A window of three, in which two results and the next two also share a row. */
CRN_INLINE void stack_three_at(crn_morphology_kind kind, size_t at_once, const void *const *rows,
                               int32_t count, size_t x,
                               vector v[CRN_MORPHOLOGY_STACK_MAX][STACK_WIDE])
{
    CRN_MORPHOLOGY_UNROLL
    for (size_t k = 0; k < at_once; k++) {
        size_t at = x + k * CRN_VECTOR_BYTES;
        vector first = crn_load_vector((const uint8_t *)rows[0] + at);
        vector second = crn_load_vector((const uint8_t *)rows[1] + at);
        CRN_MORPHOLOGY_UNROLL
        for (int32_t i = 0; i < count; i += 2) {
            vector third = crn_load_vector((const uint8_t *)rows[i + 2] + at);
            vector fourth = crn_load_vector((const uint8_t *)rows[i + 3] + at);
            vector shared = extreme(kind, second, third);
            v[i][k] = extreme(kind, first, shared);
            v[i + 1][k] = extreme(kind, shared, fourth);
            first = third;
            second = fourth;
        }
    }
}

CRN_INLINE void stack_any_at(crn_morphology_kind kind, size_t at_once, const void *const *rows,
                             int32_t window, int32_t count, size_t x,
                             vector v[CRN_MORPHOLOGY_STACK_MAX][STACK_WIDE])
{
    if (count > window)
        stack_three_at(kind, at_once, rows, count, x, v);
    else
        stack_at(kind, at_once, rows, window, count, x, v);
}

CRN_INLINE void stack_count(crn_morphology_kind kind, size_t at_once, int32_t count,
                            void *const *to, const void *const *rows, int32_t window, size_t bytes)
{
    vector v[CRN_MORPHOLOGY_STACK_MAX][STACK_WIDE];
    size_t x = 0;
    for (; x + at_once * CRN_VECTOR_BYTES <= bytes; x += at_once * CRN_VECTOR_BYTES) {
        stack_any_at(kind, at_once, rows, window, count, x, v);
        CRN_MORPHOLOGY_UNROLL
        for (int32_t i = 0; i < count; i++) {
            CRN_MORPHOLOGY_UNROLL
            for (size_t k = 0; k < at_once; k++)
                crn_store_vector((uint8_t *)to[i] + x + k * CRN_VECTOR_BYTES, v[i][k]);
        }
    }
    for (; x < bytes; x += CRN_VECTOR_BYTES) {
        stack_any_at(kind, 1, rows, window, count, x, v);
        size_t left = bytes - x < CRN_VECTOR_BYTES ? bytes - x : CRN_VECTOR_BYTES;
        for (int32_t i = 0; i < count; i++)
            store_part((uint8_t *)to[i] + x, v[i][0], left);
    }
}

/* Computes as many of the results as fit into registers; returns their number. */
CRN_INLINE int32_t stack_some(crn_morphology_kind kind, void *const *to, const void *const *rows,
                              int32_t window, int32_t count, size_t bytes)
{
    int32_t results = window < count ? window : count;
    if (window == 3 && count >= 4) {
        stack_count(kind, STACK_WIDE / 2, 4, to, rows, 3, bytes);
        return 4;
    }
    if (results >= CRN_MORPHOLOGY_STACK_MAX) {
        stack_count(kind, 1, CRN_MORPHOLOGY_STACK_MAX, to, rows, window, bytes);
        return CRN_MORPHOLOGY_STACK_MAX;
    }
    if (results >= 8) {
        stack_count(kind, CRN_MORPHOLOGY_STACK_MAX / 8, 8, to, rows, window, bytes);
        return 8;
    }
    if (results >= 4) {
        stack_count(kind, CRN_MORPHOLOGY_STACK_MAX / 4, 4, to, rows, window, bytes);
        return 4;
    }
    if (results >= 2) {
        stack_count(kind, STACK_WIDE, 2, to, rows, window, bytes);
        return 2;
    }
    stack_count(kind, STACK_WIDE, 1, to, rows, window, bytes);
    return 1;
}

CRN_INLINE void stack_kind(crn_morphology_kind kind, void *const *to, const void *const *rows,
                           int32_t window, int32_t count, size_t bytes)
{
    while (count > 0) {
        int32_t done = stack_some(kind, to, rows, window, count, bytes);
        to += done;
        rows += done;
        count -= done;
    }
}

static void stack_rows(crn_morphology_kind kind, void *const *to, const void *const *rows,
                       int32_t window, int32_t count, size_t bytes){
    CRN_MORPHOLOGY_FOR_EACH_KIND(kind, stack_kind, to, rows, window, count, bytes)}

/* --- raise ---------------------------------------------------------------------------------- */

#define RAISE_AT_ONCE 4 /* vectors */

CRN_INLINE vector raised(crn_morphology_kind kind, const uint8_t *from, float height)
{
    vector v = crn_load_vector(from);
    if (crn_morphology_is_f32(kind))
        return crn_add_f32(v, crn_set1_f32(height));
    v = crn_add_u8(v, crn_set1_u8(height > 0 ? (uint8_t)height : 0));
    return crn_sub_u8(v, crn_set1_u8(height < 0 ? (uint8_t)-height : 0));
}

/* All members lie on the picture, for the elements of `at_once` vectors. */
CRN_INLINE void raise_block(crn_morphology_kind kind, size_t at_once, vector *v,
                            const crn_morphology_raised *members, size_t count, size_t x)
{
    CRN_MORPHOLOGY_UNROLL
    for (size_t k = 0; k < at_once; k++)
        v[k] = neutral(kind);
    for (size_t i = 0; i < count; i++) {
        CRN_MORPHOLOGY_UNROLL
        for (size_t k = 0; k < at_once; k++)
            v[k] =
                extreme(kind, v[k],
                        raised(kind, members[i].row + x + k * CRN_VECTOR_BYTES, members[i].height));
    }
}

/* u8 near the picture's left and right sides. */
static void raise_at_sides(bool is_max, uint8_t *to, const crn_morphology_raised *members,
                           size_t count, ptrdiff_t from, ptrdiff_t until)
{
    memset(to + from, is_max ? 0 : UINT8_MAX, (size_t)(until - from));
    for (size_t i = 0; i < count; i++) {
        const crn_morphology_raised *m = &members[i];
        ptrdiff_t first = m->first > from ? m->first : from;
        ptrdiff_t end = m->end < until ? m->end : until;
        int32_t height = (int32_t)m->height;
        for (ptrdiff_t x = first; x < end; x++) {
            int32_t value = m->row[x] + height;
            value = value < 0 ? 0 : value > UINT8_MAX ? UINT8_MAX : value;
            if (is_max ? value > to[x] : value < to[x])
                to[x] = (uint8_t)value;
        }
    }
}

CRN_INLINE void raise_kind(crn_morphology_kind kind, uint8_t *to,
                           const crn_morphology_raised *members, size_t count, size_t bytes)
{
    size_t x = 0, end = bytes;
    if (!crn_morphology_is_f32(kind)) {
        for (size_t i = 0; i < count; i++) {
            x = (size_t)members[i].first > x ? (size_t)members[i].first : x;
            end = (size_t)members[i].end < end ? (size_t)members[i].end : end;
        }
        bool is_max = kind == CRN_MORPHOLOGY_MAX_U8;
        x = x < end ? x : end;
        raise_at_sides(is_max, to, members, count, 0, (ptrdiff_t)x);
        raise_at_sides(is_max, to, members, count, (ptrdiff_t)end, (ptrdiff_t)bytes);
    }
    vector v[RAISE_AT_ONCE];
    for (; x + RAISE_AT_ONCE * CRN_VECTOR_BYTES <= end; x += RAISE_AT_ONCE * CRN_VECTOR_BYTES) {
        raise_block(kind, RAISE_AT_ONCE, v, members, count, x);
        CRN_MORPHOLOGY_UNROLL
        for (size_t k = 0; k < RAISE_AT_ONCE; k++)
            crn_store_vector(to + x + k * CRN_VECTOR_BYTES, v[k]);
    }
    for (; x < end; x += CRN_VECTOR_BYTES) {
        raise_block(kind, 1, v, members, count, x);
        size_t left = end - x;
        store_part(to + x, v[0], left < CRN_VECTOR_BYTES ? left : CRN_VECTOR_BYTES);
    }
}

static void raise_rows(crn_morphology_kind kind, void *to, const crn_morphology_raised *members,
                       size_t count, size_t bytes)
{
    CRN_MORPHOLOGY_FOR_EACH_KIND(kind, raise_kind, to, members, count, bytes)
}

/* --- subtract ------------------------------------------------------------------------------- */

static void subtract_rows(bool is_f32, void *to, const void *a, const void *b, size_t bytes)
{
    if (is_f32) {
        const float *f = a, *g = b;
        float *h = to;
        for (size_t i = 0; i < bytes / sizeof *h; i++) {
            float d = f[i] - g[i] + 0.0f;
            h[i] = d == d ? d : __builtin_nanf("");
        }
    } else {
        const uint8_t *f = a, *g = b;
        uint8_t *h = to;
        for (size_t i = 0; i < bytes; i++)
            h[i] = f[i] > g[i] ? (uint8_t)(f[i] - g[i]) : 0;
    }
}

#define STRING_2(name) #name
#define STRING(name)   STRING_2(name)

const crn_morphology_kernels CRN_TARGETED(crn_morphology_kernels) = {
    STRING(CRN_TARGET), load_row,      merge_rows, stack_rows, CRN_TARGETED(crn_morphology_rhombus),
    raise_rows,         subtract_rows,
};
