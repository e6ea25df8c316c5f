/* Elements other than rectangles, in one launch: the device code (chords.cuh). */
#include "gpu/morphology/rhombus.cuh"

/* Transposes rows a to d of four bytes into columns. */
static __device__ uint4 upright(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t left_top = __byte_perm(a, b, 0x5140), left_bottom = __byte_perm(c, d, 0x5140);
    uint32_t right_top = __byte_perm(a, b, 0x7362), right_bottom = __byte_perm(c, d, 0x7362);
    return {__byte_perm(left_top, left_bottom, 0x5410), __byte_perm(left_top, left_bottom, 0x7632),
            __byte_perm(right_top, right_bottom, 0x5410),
            __byte_perm(right_top, right_bottom, 0x7632)};
}

static __device__ void load(const crn_chord_job &job, const crn_tile_place &place, int32_t above,
                            bool complement, uint32_t *to)
{
    const crn_divider &by = job.chunks;
    int32_t per_row = (int32_t)by.by, items = per_row * job.loaded_rows;
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t row = item / by, column = (item - row * per_row) * 16;
        int32_t rows[4], columns[4];
        const bool there[4] = {true, true, true, true};
        uint4 c[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            rows[i] = place.row - above + 4 * row + i;
            columns[i] = place.column - job.lead + column;
        }
        crn_tile_load<uint8_t, 4>(job.picture, place.in, rows, columns, there, complement, c);
        uint4 *words = reinterpret_cast<uint4 *>(to + row * job.pitch + column);
        words[0] = upright(c[0].x, c[1].x, c[2].x, c[3].x);
        words[1] = upright(c[0].y, c[1].y, c[2].y, c[3].y);
        words[2] = upright(c[0].z, c[1].z, c[2].z, c[3].z);
        words[3] = upright(c[0].w, c[1].w, c[2].w, c[3].w);
    }
}

static __device__ void load(const crn_chord_job &job, const crn_tile_place &place, int32_t above,
                            bool complement, float *to)
{
    const crn_divider &by = job.chunks;
    int32_t per_row = (int32_t)by.by, items = per_row * job.loaded_rows;
    for (int32_t first = (int32_t)threadIdx.x; first < items; first += 4 * (int32_t)blockDim.x) {
        int32_t rows[4], columns[4], places[4];
        bool there[4];
        uint4 chunks[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int32_t item = first + i * (int32_t)blockDim.x, row = item / by;
            int32_t column = (item - row * per_row) * 4;
            there[i] = item < items;
            rows[i] = place.row - above + row;
            columns[i] = place.column - job.lead + column;
            places[i] = row * job.pitch + column;
        }
        crn_tile_load<float, 4>(job.picture, place.in, rows, columns, there, complement, chunks);
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (there[i])
                *reinterpret_cast<uint4 *>(to + places[i]) = chunks[i];
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
                crn_least(words::expand(from[l.ahead[0]]), words::expand(from[l.ahead[1]]));
            *to = words::compress(crn_least(words::expand(from[0]), v));
            from += job.pitch;
            to += job.pitch;
        }
    }
}

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
            best[j] = crn_least(best[j], v);
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
            best[j] = crn_least(best[j], p[j * pitch]);
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
static __device__ void put_column(const crn_chord_job &job, const crn_chord_step &step,
                                  uint32_t flip, const crn_chord_out &out, int32_t row,
                                  int32_t column, const typename crn_words<T>::cell (&best)[COUNT],
                                  typename crn_words<T>::word *shared)
{
    typename crn_words<T>::word *to = shared + step.to + row * job.pitch + column;
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        typename crn_words<T>::word v =
            crn_words<T>::flipped(crn_words<T>::compress(best[j]), flip);
        if constexpr (sizeof(T) == 4)
            if (out.to) {
                put(out, row + j, column, v);
                continue;
            }
        *to = v;
        to += job.pitch;
    }
}

template <typename T, int RADIUS>
static __device__ void make_rhombus(const crn_chord_job &job, const crn_chord_step &step,
                                    uint32_t flip, const crn_chord_out &out,
                                    typename crn_words<T>::word *shared)
{
    const int count = sizeof(T) == 1 ? CRN_CHORD_GROUP : CRN_RHOMBUS_ROWS;
    const crn_divider &by = step.columns;
    int32_t columns = (int32_t)by.by, items = columns * ((step.rows + count - 1) / count);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t group = item / by, column = item - group * columns;
        int32_t row = min(group * count, step.rows - count);
        typename crn_words<T>::cell best[count];
        crn_rhombus_column<RADIUS>(shared + step.origin + row * job.pitch + column, job.pitch,
                                   job.picture.lanes, best);
        put_column<T, count>(job, step, flip, out, row, column, best, shared);
    }
}

template <typename T>
static __device__ void make_result(const crn_chord_job &job, const crn_chord_step &step,
                                   uint32_t flip, const crn_chord_out &out,
                                   typename crn_words<T>::word *shared)
{
    typedef crn_words<T> words;
    if (step.rhombus == 1) {
        make_rhombus<T, 1>(job, step, flip, out, shared);
        return;
    }
    if (step.rhombus == 2) {
        make_rhombus<T, 2>(job, step, flip, out, shared);
        return;
    }
    const int count = CRN_CHORD_GROUP;
    const crn_divider &by = step.columns;
    int32_t columns = (int32_t)by.by, items = columns * ((step.rows + count - 1) / count);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t group = item / by, column = item - group * columns;
        int32_t row = min(group * count, step.rows - count);
        typename words::cell best[count];
#pragma unroll
        for (int j = 0; j < count; j++)
            best[j] = words::expand(words::neutral());
        merge(step, shared + row * job.pitch + column, job.pitch, best);
        put_column<T, count>(job, step, flip, out, row, column, best, shared);
    }
}

/* u8: converts the last plane to the image's layout. */
static __device__ void lay_down(const crn_chord_job &job, const uint32_t *plane,
                                const crn_tile_variant &way)
{
    const crn_divider &by = job.wide_out;
    int32_t wide = (int32_t)by.by, items = wide * (job.picture.rows_at / 4);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t row = item / by, x = item - row * wide;
        crn_plane_source<uint8_t> from = {plane + row * job.pitch + 4 * x, 0};
        crn_out_sink<uint8_t> to = {way.to + 4 * row * way.stride + 4 * x, way.stride, 0};
#pragma unroll
        for (int i = 0; i < 4; i++)
            to.put(i, from.get(i));
    }
}

/* Directly into the image, or staged. */
static __device__ crn_chord_out floats_out(const crn_tile_picture &p, const crn_tile_place &place,
                                           float *stage)
{
    if (p.recipe.original != 0 || p.recipe.parallel)
        return {reinterpret_cast<char *>(stage), (ptrdiff_t)p.columns_at * 4, p.rows_at,
                p.columns_at};
    return {place.out + (ptrdiff_t)place.row * p.out_row + (ptrdiff_t)place.column * 4, p.out_row,
            p.height - place.row, p.columns - place.column};
}

/* Stores the last step's result into the image. */
template <typename T>
static __device__ void end(const crn_chord_job &job, const crn_tile_place &place, uint32_t flip,
                           typename crn_words<T>::word *shared)
{
    const crn_tile_picture &p = job.picture;
    const crn_chord_step &step = job.steps[p.recipe.steps - 1];
    typename crn_words<T>::word *stage = shared + job.stage;
    bool staged;
    if constexpr (sizeof(T) == 4) {
        staged = p.recipe.original != 0 || p.recipe.parallel;
        make_result<T>(job, step, flip, floats_out(p, place, stage), shared);
    } else {
        crn_tile_variant way = crn_tile_variant_of<T>(p, place, stage);
        staged = way.staged;
        make_result<T>(job, step, flip, {NULL, 0, 0, 0}, shared);
        __syncthreads();
        lay_down(job, shared + step.to, way);
    }
    if (!staged)
        return;
    __syncthreads();
    crn_tile_put_staged<T>(p, place, reinterpret_cast<const uint32_t *>(stage),
                           p.recipe.parallel ? shared + job.steps[0].to : NULL, job.pitch);
}

/* Runs a step from the image, or for a chain's second step from the first one's plane. */
template <typename T>
static __device__ void make_step(const crn_chord_job &job, const crn_tile_place &place,
                                 int32_t number, typename crn_words<T>::word *shared)
{
    const crn_tile_picture &p = job.picture;
    const crn_chord_step &step = job.steps[number];
    bool chain = p.recipe.steps == 2 && !p.recipe.parallel;
    if (number == 0 || p.recipe.parallel) {
        int32_t above = step.above + (chain ? job.steps[1].above : 0);
        load(job, place, above, p.recipe.dilates[number], shared);
        __syncthreads();
    }
    for (int32_t i = 0; i < step.level_count; i++) {
        make_level<T>(job, step, step.levels[i], shared);
        __syncthreads();
    }
    if (number == p.recipe.steps - 1) {
        end<T>(job, place, crn_words<T>::flip_of(p.recipe.dilates[number]), shared);
        return;
    }
    /* The first step of a chain is complemented for the second. */
    make_result<T>(job, step, crn_words<T>::flip_of(chain), {NULL, 0, 0, 0}, shared);
    __syncthreads();
    crn_tile_off off = {place.row - job.steps[1].above, place.column - job.steps[1].left * p.lanes,
                        step.rows, (int32_t)step.columns.by};
    if (chain && crn_tile_is_off<T>(p, off)) {
        crn_tile_blank<T>(p, off, shared + step.to, job.pitch);
        __syncthreads();
    }
}

template <typename T>
static __global__ __launch_bounds__(CRN_TILE_THREADS_MAX,
                                    2) void run_chords(const __grid_constant__ crn_chord_job job)
{
    extern __shared__ uint4 shared[];
    crn_tile_place place = crn_tile_place_of(job.picture);
    for (int32_t step = 0; step < job.picture.recipe.steps; step++)
        make_step<T>(job, place, step, reinterpret_cast<typename crn_words<T>::word *>(shared));
}

int crn_morphology_chords(crn_context *context, const crn_morphology_params *params,
                          const crn_tile_picture *picture, crn_type type)
{
    crn_chord_job job;
    crn_tile_launch how = {0, 0};
    int32_t views = crn_context_views(context);
    if (!crn_chord_plan(crn_gpu_limits_of(context), &params->element, picture, type, views, &job,
                        &how))
        return -ENOTSUP;
    int32_t planes = (int32_t)picture->planes.by * views;
    return crn_tile_launch_on(context, type == CRN_U8 ? run_chords<uint8_t> : run_chords<float>,
                              planes, how, job);
}
