/* Rhombi (all pixels with |x| + |y| <= radius), in registers. */
#ifndef CRN_GPU_MORPHOLOGY_RHOMBUS_CUH
#define CRN_GPU_MORPHOLOGY_RHOMBUS_CUH

#include "gpu/morphology/chords.cuh"

/* Minima of 1, 3 and 5 pixels of a row, centred on a pixel. */
template <typename Cell> struct crn_rhombus_row {
    Cell one, three, five;
};

template <typename T, int RADIUS>
static __device__ crn_rhombus_row<typename crn_words<T>::cell>
crn_rhombus_read(const typename crn_words<T>::word *at, int32_t lanes, int reach)
{
    typedef crn_words<T> words;
    crn_rhombus_row<typename words::cell> row;
    row.one = words::expand(at[0]);
    row.three = row.five = row.one;
    if (reach >= 1)
        row.three =
            crn_least(row.one, crn_least(words::expand(at[-lanes]), words::expand(at[lanes])));
    if (reach >= 2)
        row.five = crn_least(
            row.three, crn_least(words::expand(at[-2 * lanes]), words::expand(at[2 * lanes])));
    return row;
}

/* CRN_RHOMBUS_ROWS results of a column; `at` is `radius` rows above the first. */
template <int RADIUS>
static __device__ void crn_rhombus_column(const float *at, int32_t pitch, int32_t lanes,
                                          float (&best)[CRN_RHOMBUS_ROWS])
{
    const int rows = CRN_RHOMBUS_ROWS;
#pragma unroll
    for (int j = 0; j < rows + 2 * RADIUS; j++) {
        /* Distance to the nearest result's row: it limits how wide a minimum is needed. */
        int outside = j < RADIUS ? RADIUS - j : j >= rows + RADIUS ? j - rows - RADIUS + 1 : 0;
        crn_rhombus_row<float> row = crn_rhombus_read<float, RADIUS>(at, lanes, RADIUS - outside);
        at += pitch;
#pragma unroll
        for (int i = j - 2 * RADIUS; i <= j; i++) {
            if (i < 0 || i >= rows)
                continue;
            int off = j - i - RADIUS, wide = RADIUS - (off < 0 ? -off : off);
            float v = wide == 0 ? row.one : wide == 1 ? row.three : row.five;
            best[i] = i == j ? v : fminf(best[i], v);
        }
    }
}

/* The last row of one word of rows, and the first of the next: moving by one row turns even rows
 * into odd ones, and odd rows into even ones of two words. */
static inline __device__ uint32_t crn_rhombus_across(uint32_t a, uint32_t b)
{
    return __byte_perm(a, b, 0x5533);
}

/* Minimum of `by`, the rows one further up and those one further down. */
static inline __device__ crn_bytes crn_rhombus_beside(crn_bytes by, crn_bytes above, crn_bytes at,
                                                      crn_bytes below)
{
    crn_bytes up = {crn_rhombus_across(above.odd, at.odd), at.even};
    crn_bytes down = {at.odd, crn_rhombus_across(at.even, below.even)};
    return crn_least(by, crn_least(up, down));
}

/* CRN_CHORD_GROUP words of a column; `at` is a word above the first. */
template <int RADIUS>
static __device__ void crn_rhombus_column(const uint32_t *at, int32_t pitch, int32_t lanes,
                                          crn_bytes (&best)[CRN_CHORD_GROUP])
{
    const int words = CRN_CHORD_GROUP;
    crn_rhombus_row<crn_bytes> rows[words + 2];
#pragma unroll
    for (int j = 0; j < words + 2; j++) {
        bool inside = j > 0 && j <= words;
        rows[j] = crn_rhombus_read<uint8_t, RADIUS>(at, lanes, inside ? RADIUS : RADIUS - 1);
        at += pitch;
    }
#pragma unroll
    for (int j = 1; j <= words; j++) {
        crn_bytes v = RADIUS == 1 ? rows[j].three : rows[j].five;
        if (RADIUS == 1) {
            v = crn_rhombus_beside(v, rows[j - 1].one, rows[j].one, rows[j + 1].one);
        } else {
            v = crn_rhombus_beside(v, rows[j - 1].three, rows[j].three, rows[j + 1].three);
            crn_bytes up = {crn_rhombus_across(rows[j - 1].one.even, rows[j].one.even),
                            crn_rhombus_across(rows[j - 1].one.odd, rows[j].one.odd)};
            crn_bytes down = {crn_rhombus_across(rows[j].one.even, rows[j + 1].one.even),
                              crn_rhombus_across(rows[j].one.odd, rows[j + 1].one.odd)};
            v = crn_least(v, crn_least(up, down));
        }
        best[j - 1] = v;
    }
}

#endif
