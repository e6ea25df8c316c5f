/* A small rhombus, the disk of 3 or 5 pixels: runs are made and merged in registers. */
#include "stages/openmp/morphology_vector.h"

#if defined(CRN_TARGET_avx512)
#define ROWS_AT_ONCE 8
#else
#define ROWS_AT_ONCE 4
#endif

#define RADIUS_MOST 2

/* `left` and `right` become the vectors that lie `distance` elements beside the one at `row`. A
 * load across the border of two cache lines costs more than twice as much as one within a line, so
 * where neighbours are f32 side by side they are made from whole lines. */
#if defined(CRN_TARGET_avx512)

#define SHIFTS true

INLINE void load_beside(bool shifts, const uint8_t *row, ptrdiff_t unit, int32_t distance,
                        vector *left, vector *right)
{
    vector here = load_vector(row);
    if (shifts && distance == 1) {
        *left = _mm512_alignr_epi32(here, load_vector(row - VECTOR_BYTES), 15);
        *right = _mm512_alignr_epi32(load_vector(row + VECTOR_BYTES), here, 1);
    } else if (shifts) {
        *left = _mm512_alignr_epi32(here, load_vector(row - VECTOR_BYTES), 14);
        *right = _mm512_alignr_epi32(load_vector(row + VECTOR_BYTES), here, 2);
    } else {
        *left = load_vector(row - distance * unit);
        *right = load_vector(row + distance * unit);
    }
}

#else

#define SHIFTS false

INLINE void load_beside(bool shifts, const uint8_t *row, ptrdiff_t unit, int32_t distance,
                        vector *left, vector *right)
{
    (void)shifts;
    *left = load_vector(row - distance * unit);
    *right = load_vector(row + distance * unit);
}

#endif

/* The extremes of 1, 3 and 5 pixels about each. */
INLINE void make_lengths(crn_morphology_kind kind, int32_t radius, bool shifts, const uint8_t *row,
                         ptrdiff_t unit, vector lengths[RADIUS_MOST + 1])
{
    lengths[0] = load_vector(row);
    UNROLL
    for (int32_t i = 1; i <= radius; i++) {
        vector left, right;
        load_beside(shifts, row, unit, i, &left, &right);
        lengths[i] = extreme(kind, extreme(kind, lengths[i - 1], left), right);
    }
}

/* Row i lies in the windows of the results i - 2 radius to i: nearest to the middle of its own. */
INLINE void rhombus_at(crn_morphology_kind kind, int32_t radius, bool shifts,
                       const uint8_t *const *rows, ptrdiff_t unit, size_t x, vector v[ROWS_AT_ONCE])
{
    UNROLL
    for (int32_t i = 0; i < ROWS_AT_ONCE + 2 * radius; i++) {
        vector lengths[RADIUS_MOST + 1];
        make_lengths(kind, radius, shifts, rows[i] + x, unit, lengths);
        UNROLL
        for (int32_t k = 0; k <= 2 * radius; k++) {
            int32_t to = i - k;
            if (to < 0 || to >= ROWS_AT_ONCE)
                continue;
            vector one = lengths[k < radius ? k : 2 * radius - k];
            v[to] = k == 0 ? one : extreme(kind, v[to], one);
        }
    }
}

INLINE void rhombus_radius(crn_morphology_kind kind, int32_t radius, bool shifts, void *const *to,
                           const uint8_t *const *rows, ptrdiff_t unit, size_t bytes)
{
    for (size_t x = 0; x < bytes; x += VECTOR_BYTES) {
        vector v[ROWS_AT_ONCE];
        rhombus_at(kind, radius, shifts, rows, unit, x, v);
        if (bytes - x >= VECTOR_BYTES) {
            UNROLL
            for (int32_t i = 0; i < ROWS_AT_ONCE; i++)
                store_vector((uint8_t *)to[i] + x, v[i]);
        } else {
            UNROLL
            for (int32_t i = 0; i < ROWS_AT_ONCE; i++)
                store_part((uint8_t *)to[i] + x, v[i], bytes - x);
        }
    }
}

INLINE void rhombus_kind(crn_morphology_kind kind, int32_t radius, void *const *to,
                         const uint8_t *const *rows, ptrdiff_t unit, size_t bytes)
{
    for (int32_t i = 0; i < CRN_MORPHOLOGY_RHOMBUS_BLOCK; i += ROWS_AT_ONCE) {
        bool shifts = SHIFTS && crn_morphology_is_f32(kind) && unit == sizeof(float);
        if (shifts && radius == 1)
            rhombus_radius(kind, 1, SHIFTS, to + i, rows + i, unit, bytes);
        else if (shifts)
            rhombus_radius(kind, 2, SHIFTS, to + i, rows + i, unit, bytes);
        else if (radius == 1)
            rhombus_radius(kind, 1, false, to + i, rows + i, unit, bytes);
        else
            rhombus_radius(kind, 2, false, to + i, rows + i, unit, bytes);
    }
}

void CRN_TARGETED(crn_morphology_rhombus)(crn_morphology_kind kind, int32_t radius, void *const *to,
                                          const void *const *rows, size_t unit, size_t bytes)
{
    FOR_EACH_KIND(kind, rhombus_kind, radius, to, (const uint8_t *const *)rows, (ptrdiff_t)unit,
                  bytes)
}
