/* Elements other than rectangles, in one launch: the device code (chords.cuh). */
#include "gpu/morphology/chords.cuh"

/* Transposes rows a to d of four bytes into columns. */
static __device__ uint4 transpose(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t left_top = __byte_perm(a, b, 0x5140), left_bottom = __byte_perm(c, d, 0x5140);
    uint32_t right_top = __byte_perm(a, b, 0x7362), right_bottom = __byte_perm(c, d, 0x7362);
    return {__byte_perm(left_top, left_bottom, 0x5410), __byte_perm(left_top, left_bottom, 0x7632),
            __byte_perm(right_top, right_bottom, 0x5410),
            __byte_perm(right_top, right_bottom, 0x7632)};
}

static __device__ void load(const crn_chord_job &job, const crn_tile_origin &origin, int32_t above,
                            bool complement, uint32_t *to)
{
    const crn_divider &by = job.chunks;
    int32_t per_row = (int32_t)by.by, items = per_row * job.loaded_rows;
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t row = item / by, column = (item - row * per_row) * 16;
        int32_t rows[4], columns[4];
        const bool valid[4] = {true, true, true, true};
        uint4 c[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            rows[i] = origin.row - above + 4 * row + i;
            columns[i] = origin.column - job.left_halo + column;
        }
        crn_tile_load<uint8_t, 4>(job.images, origin.in, rows, columns, valid, complement, c);
        uint4 *words = reinterpret_cast<uint4 *>(to + row * job.pitch + column);
        words[0] = transpose(c[0].x, c[1].x, c[2].x, c[3].x);
        words[1] = transpose(c[0].y, c[1].y, c[2].y, c[3].y);
        words[2] = transpose(c[0].z, c[1].z, c[2].z, c[3].z);
        words[3] = transpose(c[0].w, c[1].w, c[2].w, c[3].w);
    }
}

static __device__ void load(const crn_chord_job &job, const crn_tile_origin &origin, int32_t above,
                            bool complement, float *to)
{
    const crn_divider &by = job.chunks;
    int32_t per_row = (int32_t)by.by, items = per_row * job.loaded_rows;
    for (int32_t first = (int32_t)threadIdx.x; first < items; first += 4 * (int32_t)blockDim.x) {
        int32_t rows[4], columns[4], offsets[4];
        bool valid[4];
        uint4 chunks[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int32_t item = first + i * (int32_t)blockDim.x, row = item / by;
            int32_t column = (item - row * per_row) * 4;
            valid[i] = item < items;
            rows[i] = origin.row - above + row;
            columns[i] = origin.column - job.left_halo + column;
            offsets[i] = row * job.pitch + column;
        }
        crn_tile_load<float, 4>(job.images, origin.in, rows, columns, valid, complement, chunks);
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (valid[i])
                *reinterpret_cast<uint4 *>(to + offsets[i]) = chunks[i];
    }
}

/* Each thread computes four rows of a column at a time. */
template <typename T>
static __device__ void make_level(const crn_chord_job &job, const crn_chord_step &step,
                                  const crn_chord_level &l, typename crn_words<T>::word *shared)
{
    typedef crn_words<T> words;
    const crn_divider &by = l.columns;
    int32_t columns = (int32_t)by.by, items = columns * ((step.base_rows + 3) / 4);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t group = item / by, row = min(4 * group, step.base_rows - 4);
        int32_t at = row * job.pitch + item - group * columns;
        const typename words::word *from = shared + l.from + at;
        typename words::word *to = shared + l.to + at;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            typename words::cell v =
                crn_min(words::expand(from[l.ahead[0]]), words::expand(from[l.ahead[1]]));
            *to = words::compress(crn_min(words::expand(from[0]), v));
            from += job.pitch;
            to += job.pitch;
        }
    }
}

/* --- rhombi: all pixels with |x| + |y| <= radius, in registers --- */

/* Minima of 1, 3 and 5 pixels of a row, centred on a pixel. */
template <typename Cell> struct rhombus_row {
    Cell one, three, five;
};

template <typename T>
static __device__ rhombus_row<typename crn_words<T>::cell>
rhombus_read(const typename crn_words<T>::word *at, int32_t channels, int reach)
{
    typedef crn_words<T> words;
    rhombus_row<typename words::cell> row;
    row.one = words::expand(at[0]);
    row.three = row.five = row.one;
    if (reach >= 1)
        row.three =
            crn_min(row.one, crn_min(words::expand(at[-channels]), words::expand(at[channels])));
    if (reach >= 2)
        row.five = crn_min(
            row.three, crn_min(words::expand(at[-2 * channels]), words::expand(at[2 * channels])));
    return row;
}

/* CRN_RHOMBUS_ROWS results of a column; `at` is `radius` rows above the first. */
template <int RADIUS>
static __device__ void rhombus_column(const float *at, int32_t pitch, int32_t channels,
                                      float (&best)[CRN_RHOMBUS_ROWS])
{
    const int rows = CRN_RHOMBUS_ROWS;
#pragma unroll
    for (int j = 0; j < rows + 2 * RADIUS; j++) {
        /* Distance to the nearest result's row: it limits how wide a minimum is needed. */
        int outside = j < RADIUS ? RADIUS - j : j >= rows + RADIUS ? j - rows - RADIUS + 1 : 0;
        rhombus_row<float> row = rhombus_read<float>(at, channels, RADIUS - outside);
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
static __device__ uint32_t rhombus_shift(uint32_t a, uint32_t b)
{
    return __byte_perm(a, b, 0x5533);
}

/* Minimum of `by`, the rows one further up and those one further down. */
static __device__ crn_bytes rhombus_min_rows(crn_bytes by, crn_bytes above, crn_bytes at,
                                             crn_bytes below)
{
    crn_bytes up = {rhombus_shift(above.odd, at.odd), at.even};
    crn_bytes down = {at.odd, rhombus_shift(at.even, below.even)};
    return crn_min(by, crn_min(up, down));
}

/* CRN_CHORD_GROUP words of a column; `at` is a word above the first. */
template <int RADIUS>
static __device__ void rhombus_column(const uint32_t *at, int32_t pitch, int32_t channels,
                                      crn_bytes (&best)[CRN_CHORD_GROUP])
{
    const int words = CRN_CHORD_GROUP;
    rhombus_row<crn_bytes> rows[words + 2];
#pragma unroll
    for (int j = 0; j < words + 2; j++) {
        bool inside = j > 0 && j <= words;
        rows[j] = rhombus_read<uint8_t>(at, channels, inside ? RADIUS : RADIUS - 1);
        at += pitch;
    }
#pragma unroll
    for (int j = 1; j <= words; j++) {
        crn_bytes v = RADIUS == 1 ? rows[j].three : rows[j].five;
        if (RADIUS == 1) {
            v = rhombus_min_rows(v, rows[j - 1].one, rows[j].one, rows[j + 1].one);
        } else {
            v = rhombus_min_rows(v, rows[j - 1].three, rows[j].three, rows[j + 1].three);
            crn_bytes up = {rhombus_shift(rows[j - 1].one.even, rows[j].one.even),
                            rhombus_shift(rows[j - 1].one.odd, rows[j].one.odd)};
            crn_bytes down = {rhombus_shift(rows[j].one.even, rows[j + 1].one.even),
                              rhombus_shift(rows[j].one.odd, rows[j + 1].one.odd)};
            v = crn_min(v, crn_min(up, down));
        }
        best[j - 1] = v;
    }
}

/* --- other elements --- */

/* CRN_CHORD_GROUP words of a column, each the minimum over the element's runs. */
static __device__ void merge(const crn_chord_step &step, const uint32_t *from, int32_t pitch,
                             crn_bytes (&best)[CRN_CHORD_GROUP])
{
#pragma unroll 2
    for (int32_t i = 0; i < step.chord_count; i++) {
        int32_t chord = step.chords[i], down = chord & 3;
        const uint32_t *p = from + (chord >> 2);
        uint32_t choice = 0x2200u + 0x1111u * (uint32_t)down, above = p[0];
#pragma unroll
        for (int j = 0; j < CRN_CHORD_GROUP; j++) {
            uint32_t below = j < CRN_CHORD_GROUP - 1 || down ? p[(j + 1) * pitch] : 0;
            crn_bytes v = {__byte_perm(above, below, choice),
                           __byte_perm(above, below, choice + 0x1111u)};
            best[j] = crn_min(best[j], v);
            above = below;
        }
    }
}

static __device__ void merge(const crn_chord_step &step, const float *from, int32_t pitch,
                             float (&best)[CRN_CHORD_GROUP])
{
#pragma unroll 2
    for (int32_t i = 0; i < step.chord_count; i++) {
        const float *p = from + (step.chords[i] >> 2);
#pragma unroll
        for (int j = 0; j < CRN_CHORD_GROUP; j++)
            best[j] = crn_min(best[j], p[j * pitch]);
    }
}

static __device__ void put(const crn_chord_out &out, int32_t row, int32_t column, float v)
{
    if (row < out.rows && column < out.columns)
        *reinterpret_cast<float *>(out.to + row * out.stride + (ptrdiff_t)column * 4) =
            crn_morphology_result(v);
}

/* Stores the words of a column from `row` on. */
template <typename T, int COUNT>
static __device__ void store_column(const crn_chord_job &job, const crn_chord_step &step,
                                    const crn_chord_out &out, int32_t row, int32_t column,
                                    const typename crn_words<T>::cell (&best)[COUNT],
                                    typename crn_words<T>::word *shared)
{
    typename crn_words<T>::word *to = shared + step.to + row * job.pitch + column;
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        typename crn_words<T>::word v =
            crn_words<T>::flipped(crn_words<T>::compress(best[j]), out.flip);
        if constexpr (sizeof(T) == 4)
            if (out.to) {
                put(out, row + j, column, v);
                continue;
            }
        *to = v;
        to += job.pitch;
    }
}

/* A step's result: of a rhombus of RADIUS, or for 0 of the element's runs. */
template <typename T, int RADIUS>
static __device__ void make_columns(const crn_chord_job &job, const crn_chord_step &step,
                                    const crn_chord_out &out, typename crn_words<T>::word *shared)
{
    typedef crn_words<T> words;
    const int count = RADIUS && sizeof(T) == 4 ? CRN_RHOMBUS_ROWS : CRN_CHORD_GROUP;
    const crn_divider &by = step.columns;
    int32_t columns = (int32_t)by.by, items = columns * ((step.rows + count - 1) / count);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t group = item / by, column = item - group * columns;
        int32_t row = min(group * count, step.rows - count);
        typename words::cell best[count];
        if constexpr (RADIUS > 0) {
            rhombus_column<RADIUS>(shared + step.first_word + row * job.pitch + column, job.pitch,
                                   job.images.channels, best);
        } else {
#pragma unroll
            for (int j = 0; j < count; j++)
                best[j] = words::expand(words::neutral());
            merge(step, shared + row * job.pitch + column, job.pitch, best);
        }
        store_column<T, count>(job, step, out, row, column, best, shared);
    }
}

template <typename T>
static __device__ void make_result(const crn_chord_job &job, const crn_chord_step &step,
                                   const crn_chord_out &out, typename crn_words<T>::word *shared)
{
    if (step.rhombus == 1)
        make_columns<T, 1>(job, step, out, shared);
    else if (step.rhombus == 2)
        make_columns<T, 2>(job, step, out, shared);
    else
        make_columns<T, 0>(job, step, out, shared);
}

/* u8: converts the last plane to the image's layout. */
static __device__ void store_rows(const crn_chord_job &job, const uint32_t *plane,
                                  const crn_tile_target &target)
{
    const crn_divider &by = job.wide_out;
    int32_t wide = (int32_t)by.by, items = wide * (job.images.rows_at / 4);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t row = item / by, x = item - row * wide;
        crn_plane_source<uint8_t> from = {plane + row * job.pitch + 4 * x, 0};
        crn_out_sink<uint8_t> to = {target.to + 4 * row * target.stride + 4 * x, target.stride, 0};
#pragma unroll
        for (int i = 0; i < 4; i++)
            to.put(i, from.get(i));
    }
}

/* Directly into the image, or staged. */
static __device__ crn_chord_out floats_out(const crn_tile_images &p, const crn_tile_origin &origin,
                                           float *stage, uint32_t flip)
{
    if (p.recipe.original != 0 || p.recipe.parallel)
        return {reinterpret_cast<char *>(stage), (ptrdiff_t)p.columns_at * 4, p.rows_at,
                p.columns_at, flip};
    return {origin.out + (ptrdiff_t)origin.row * p.out_row + (ptrdiff_t)origin.column * 4,
            p.out_row, p.height - origin.row, p.columns - origin.column, flip};
}

/* Stores the last step's result into the image. */
template <typename T>
static __device__ void store_result(const crn_chord_job &job, const crn_tile_origin &origin,
                                    uint32_t flip, typename crn_words<T>::word *shared)
{
    const crn_tile_images &p = job.images;
    const crn_chord_step &step = job.steps[p.recipe.steps - 1];
    typename crn_words<T>::word *stage = shared + job.stage;
    bool staged;
    if constexpr (sizeof(T) == 4) {
        staged = p.recipe.original != 0 || p.recipe.parallel;
        make_result<T>(job, step, floats_out(p, origin, stage, flip), shared);
    } else {
        crn_tile_target target = crn_tile_target_of<T>(p, origin, stage);
        staged = target.staged;
        make_result<T>(job, step, {NULL, 0, 0, 0, flip}, shared);
        __syncthreads();
        store_rows(job, shared + step.to, target);
    }
    if (!staged)
        return;
    __syncthreads();
    crn_tile_store_staged<T>(p, origin, reinterpret_cast<const uint32_t *>(stage),
                             p.recipe.parallel ? shared + job.steps[0].to : NULL, job.pitch);
}

/* Runs a step from the image, or for a chain's second step from the first one's plane. */
template <typename T>
static __device__ void make_step(const crn_chord_job &job, const crn_tile_origin &origin,
                                 int32_t number, typename crn_words<T>::word *shared)
{
    const crn_tile_images &p = job.images;
    const crn_chord_step &step = job.steps[number];
    bool chain = p.recipe.steps == 2 && !p.recipe.parallel;
    if (number == 0 || p.recipe.parallel) {
        int32_t above = step.above + (chain ? job.steps[1].above : 0);
        load(job, origin, above, p.recipe.dilates[number], shared);
        __syncthreads();
    }
    for (int32_t i = 0; i < step.level_count; i++) {
        make_level<T>(job, step, step.levels[i], shared);
        __syncthreads();
    }
    if (number == p.recipe.steps - 1) {
        store_result<T>(job, origin, crn_words<T>::flip_of(p.recipe.dilates[number]), shared);
        return;
    }
    /* The first step of a chain is complemented for the second. */
    make_result<T>(job, step, {NULL, 0, 0, 0, crn_words<T>::flip_of(chain)}, shared);
    __syncthreads();
    crn_tile_outside outside = {origin.row - job.steps[1].above,
                                origin.column - job.steps[1].left * p.channels, step.rows,
                                (int32_t)step.columns.by};
    if (chain && crn_tile_is_outside<T>(p, outside)) {
        crn_tile_fill_outside<T>(p, outside, shared + step.to, job.pitch);
        __syncthreads();
    }
}

template <typename T>
static __global__ __launch_bounds__(CRN_TILE_THREADS_MAX,
                                    2) void run_chords(const __grid_constant__ crn_chord_job job)
{
    extern __shared__ uint4 shared[];
    crn_tile_origin origin = crn_tile_origin_of(job.images);
    for (int32_t step = 0; step < job.images.recipe.steps; step++)
        make_step<T>(job, origin, step, reinterpret_cast<typename crn_words<T>::word *>(shared));
}

int crn_morphology_chords(crn_context *context, const crn_morphology_params *params,
                          const crn_tile_images *images, crn_type type)
{
    crn_chord_job job;
    crn_tile_launch how = {0, 0};
    int32_t views = crn_context_views(context);
    if (!crn_chord_plan(crn_gpu_limits_of(context), &params->element, images, type, views, &job,
                        &how))
        return -ENOTSUP;
    int32_t planes = (int32_t)images->planes.by * views;
    return crn_tile_launch_on(context, type == CRN_U8 ? run_chords<uint8_t> : run_chords<float>,
                              planes, how, job);
}
