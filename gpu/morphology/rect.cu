/*
 * Rectangles, in one launch: sliding minima down the columns of the loaded tile, then along the
 * rows; a second step goes along the rows again, then down the columns while storing.
 *
 * Sliding minima follow van Herk, Gil and Werman: a thread takes some neighbouring results of a
 * line, computes the minimum of what all their windows share once, and extends it to both sides, so
 * that a result costs about three minima for any window length.
 */
#include "gpu/morphology/tile.cuh"

/* The passes over one tile. Lengths of lines are in words unless stated otherwise. */
typedef struct rect_job {
    crn_tile_images images;
    int32_t width, height;       /* of the element */
    int32_t above[2], left[2];   /* extent of a step's window before its anchor, in pixels */
    int32_t loaded_rows, loaded; /* size of the loaded tile: rows, columns (whole 16 bytes) */
    int32_t left_halo;           /* loaded columns before the tile's result */
    int32_t plane_rows;          /* rows between the passes */
    int32_t pitch;               /* of a row of words */
    int32_t pixels[2];           /* results of a step along a row, per interleaved plane */
    int32_t plane_words;
    /* crn_divider for all divisors of thread indices: chunks of 16 bytes in a loaded row, WIDE
     * columns in it, in the result; lines of results along a row, and those of the faster index. */
    crn_divider chunks, wide, wide_out, lines[2], fast[2];
} rect_job;

/* P results of a line, whose windows of `window` >= P begin at 0, 1, ... P - 1. Reads are batched
 * before writes: the compiler must assume that they alias and keeps their order. */
template <int P, typename Source, typename Sink>
static __device__ void slide(Source &from, Sink &to, int32_t window)
{
    const int batch = 4;
    auto m = from.get(0);
    decltype(m) own[P - 1], next[batch];
    own[0] = m;
#pragma unroll
    for (int i = 1; i < P - 1; i++)
        own[i] = from.get(i);
#pragma unroll
    for (int i = P - 3; i >= 0; i--)
        own[i] = crn_min(own[i], own[i + 1]);
    m = from.get(P - 1);
#pragma unroll 4
    for (int32_t i = P; i < window; i++)
        m = crn_min(m, from.get(i));
    to.put(0, crn_min(own[0], m));
#pragma unroll
    for (int i = 1; i < P; i += batch) {
#pragma unroll
        for (int j = i; j < P && j < i + batch; j++)
            next[j - i] = from.get(window - 1 + j);
#pragma unroll
        for (int j = i; j < P && j < i + batch; j++) {
            m = crn_min(m, next[j - i]);
            to.put(j, j < P - 1 ? crn_min(own[j], m) : m);
        }
    }
}

/* The same for windows of 1, 2 or 3. */
template <int P, int WINDOW, typename Source, typename Sink>
static __device__ void slide_short(Source &from, Sink &to)
{
    auto first = from.get(0);
    decltype(first) all[P + WINDOW - 1];
    all[0] = first;
#pragma unroll
    for (int i = 1; i < P + WINDOW - 1; i++)
        all[i] = from.get(i);
#pragma unroll
    for (int i = 0; i < P; i++)
        to.put(i, WINDOW == 1 ? all[i]
                  : WINDOW == 2
                      ? crn_min(all[i], all[i + WINDOW - 1])
                      : crn_min(all[i], crn_min(all[i + WINDOW / 2], all[i + WINDOW - 1])));
}

template <int P, int WINDOW, typename Source, typename Sink>
static __device__ void slide_any(Source &from, Sink &to, int32_t window)
{
    if (WINDOW > 0)
        slide_short<P, WINDOW>(from, to);
    else
        slide<P>(from, to, window);
}

/* A pass down `wide` times WIDE columns, with `rows` results each. */
template <int P, int WINDOW, typename Pass>
static __device__ void down_by(const Pass &pass, const crn_divider &by, int32_t rows,
                               int32_t window)
{
    int32_t wide = (int32_t)by.by, items = wide * ((rows + P - 1) / P);
    for (int32_t i = (int32_t)threadIdx.x; i < items; i += (int32_t)blockDim.x) {
        int32_t group = i / by, x = i - group * wide;
        int32_t row = min(group * P, rows - P);
        auto from = pass.source(x, row);
        auto to = pass.sink(x, row);
        slide_any<P, WINDOW>(from, to, window);
    }
}

template <typename Pass>
static __device__ void down(const Pass &pass, const crn_divider &wide, int32_t rows, int32_t window)
{
    if (window == 1)
        down_by<16, 1>(pass, wide, rows, window);
    else if (window == 2)
        down_by<16, 2>(pass, wide, rows, window);
    else if (window == 3)
        down_by<16, 3>(pass, wide, rows, window);
    else if (window < 8)
        down_by<4, 0>(pass, wide, rows, window);
    else if (window < 16)
        down_by<8, 0>(pass, wide, rows, window);
    else
        down_by<16, 0>(pass, wide, rows, window);
}

/* From the loaded tile into a plane of words. */
template <typename T> struct in_pass {
    typedef typename crn_words<T>::word word;
    const word *from;
    word *to;
    int32_t stride, pitch;
    __device__ crn_row_source<T> source(int32_t x, int32_t row) const
    {
        const int32_t words = (int32_t)(crn_words<T>::WIDE * sizeof(T) / 4);
        return {from + row * stride + x * words, 4 * stride};
    }
    __device__ crn_plane_sink<T> sink(int32_t x, int32_t row) const
    {
        crn_plane_sink<T> s;
        s.to = to + row / crn_words<T>::ROWS * pitch + x * crn_words<T>::WIDE;
        s.stride = 4 * pitch;
        return s;
    }
};

/* From a plane of words into the image. */
template <typename T> struct out_pass {
    const typename crn_words<T>::word *from;
    int32_t pitch;
    crn_tile_target target;
    uint32_t flip;
    __device__ crn_plane_source<T> source(int32_t x, int32_t row) const
    {
        crn_plane_source<T> s;
        s.from = from + row / crn_words<T>::ROWS * pitch + x * crn_words<T>::WIDE;
        s.stride = 4 * pitch;
        return s;
    }
    __device__ crn_out_sink<T> sink(int32_t x, int32_t row) const
    {
        return {target.to + row * target.stride + x * (int32_t)(crn_words<T>::WIDE * sizeof(T)),
                target.stride, flip};
    }
};

/* Along a row, the pixels of one interleaved plane. CHANNELS 0: any number of planes. */
template <typename T, int CHANNELS> struct along_source {
    const typename crn_words<T>::word *from;
    int32_t channels;
    __device__ typename crn_words<T>::cell get(int32_t)
    {
        typename crn_words<T>::cell v = crn_words<T>::expand(*from);
        from += CHANNELS ? CHANNELS : channels;
        return v;
    }
};

template <typename T, int CHANNELS> struct along_sink {
    typename crn_words<T>::word *to;
    int32_t channels;
    uint32_t flip;
    __device__ void put(int32_t, typename crn_words<T>::cell v)
    {
        *to = crn_words<T>::flipped(crn_words<T>::compress(v), flip);
        to += CHANNELS ? CHANNELS : channels;
    }
};

/* A pass along the rows, for all interleaved planes. A warp works on eight rows, whose
 * pitch is 4 banks, at 4 columns that differ in the last 2 bits, so that its reads are
 * free of bank conflicts. */
template <typename T, int CHANNELS, int P, int WINDOW>
static __device__ void along_by(const rect_job &job, const typename crn_words<T>::word *from,
                                typename crn_words<T>::word *to, int32_t step, uint32_t flip)
{
    int32_t channels = CHANNELS ? CHANNELS : job.images.channels;
    int32_t rows = job.plane_rows / crn_words<T>::ROWS;
    const crn_divider &by_lines = job.lines[step], &by_fast = job.fast[step];
    int32_t lines = (int32_t)by_lines.by, pixels = job.pixels[step];
    int32_t items = (rows + 7) / 8 * 8 * lines;
    for (int32_t i = (int32_t)threadIdx.x; i < items; i += (int32_t)blockDim.x) {
        int32_t block = (i >> 3) / by_lines, line = (i >> 3) - block * lines;
        int32_t row = 8 * block + (i & 7);
        if (row >= rows)
            continue;
        int32_t slow = line / by_fast, fast = line - slow * (int32_t)by_fast.by;
        int32_t channel = channels & 1 ? slow : fast, group = channels & 1 ? fast : slow;
        int32_t at = row * job.pitch + min(group * P, pixels - P) * channels + channel;
        along_source<T, CHANNELS> source = {from + at, channels};
        along_sink<T, CHANNELS> sink = {to + at, channels, flip};
        slide_any<P, WINDOW>(source, sink, job.width);
    }
}

template <typename T, int CHANNELS>
static __device__ void along_channels(const rect_job &job, const typename crn_words<T>::word *from,
                                      typename crn_words<T>::word *to, int32_t step, uint32_t flip)
{
    if (job.width == 1)
        along_by<T, CHANNELS, 7, 1>(job, from, to, step, flip);
    else if (job.width == 2)
        along_by<T, CHANNELS, 7, 2>(job, from, to, step, flip);
    else if (job.width == 3)
        along_by<T, CHANNELS, 15, 3>(job, from, to, step, flip);
    else if (job.width < 7)
        along_by<T, CHANNELS, 3, 0>(job, from, to, step, flip);
    else if (job.width < 15)
        along_by<T, CHANNELS, 7, 0>(job, from, to, step, flip);
    else
        along_by<T, CHANNELS, 15, 0>(job, from, to, step, flip);
}

template <typename T>
static __device__ void along(const rect_job &job, const typename crn_words<T>::word *from,
                             typename crn_words<T>::word *to, int32_t step, uint32_t flip)
{
    if (job.images.channels == 1)
        along_channels<T, 1>(job, from, to, step, flip);
    else if (job.images.channels == 3)
        along_channels<T, 3>(job, from, to, step, flip);
    else
        along_channels<T, 0>(job, from, to, step, flip);
    __syncthreads();
}

/* For tiles that lie wholly inside the image, in whole chunks. */
template <typename T>
static __device__ void load_inside(const rect_job &job, const char *from, bool complement,
                                   uint4 *to)
{
    const crn_divider &by = job.chunks;
    int32_t per_row = (int32_t)by.by, items = per_row * job.loaded_rows;
    int32_t threads = (int32_t)blockDim.x;
    for (int32_t first = (int32_t)threadIdx.x; first < items; first += 4 * threads) {
        uint4 chunks[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int32_t item = first + i * threads, row = item / by;
            const char *at = from + (int64_t)row * job.images.in_row;
            if (item < items)
                chunks[i] = __ldg(reinterpret_cast<const uint4 *>(at) + (item - row * per_row));
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (first + i * threads < items)
                to[first + i * threads] = crn_words<T>::clean(chunks[i], complement);
    }
}

template <typename T>
static __device__ void load_rows(const rect_job &job, const crn_tile_origin &origin, int32_t above,
                                 bool complement, uint4 *to)
{
    const crn_tile_images &p = job.images;
    int32_t top = origin.row - above, left = origin.column - job.left_halo;
    if (p.in_aligned == 16 && top >= 0 && left >= 0 && top + job.loaded_rows <= p.height &&
        left + job.loaded <= p.columns) {
        const char *from =
            origin.in + (ptrdiff_t)top * p.in_row + (ptrdiff_t)left * (ptrdiff_t)sizeof(T);
        load_inside<T>(job, from, complement, to);
        return;
    }
    const int32_t chunk = crn_words<T>::CHUNK;
    const crn_divider &by = job.chunks;
    int32_t per_row = (int32_t)by.by, items = per_row * job.loaded_rows;
    for (int32_t first = (int32_t)threadIdx.x; first < items; first += 2 * (int32_t)blockDim.x) {
        int32_t rows[2], columns[2];
        bool valid[2];
        uint4 chunks[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int32_t item = first + i * (int32_t)blockDim.x, row = item / by;
            valid[i] = item < items;
            rows[i] = top + row;
            columns[i] = left + (item - row * per_row) * chunk;
        }
        crn_tile_load<T, 2>(p, origin.in, rows, columns, valid, complement, chunks);
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (valid[i])
                to[first + i * (int32_t)blockDim.x] = chunks[i];
    }
}

/* One step from the image into a plane: load, down, along. Overwrites `first`. */
template <typename T>
static __device__ void make_step(const rect_job &job, const crn_tile_origin &origin, int32_t step,
                                 uint4 *loaded, typename crn_words<T>::word *first,
                                 typename crn_words<T>::word *to)
{
    typedef typename crn_words<T>::word word;
    const crn_morphology_recipe &recipe = job.images.recipe;
    int32_t channels = job.images.channels;
    bool chain = recipe.steps == 2 && !recipe.parallel;
    int32_t above = job.above[step] + (chain ? job.above[1] : 0);
    int32_t left = job.left[step] + (chain ? job.left[1] : 0);
    load_rows<T>(job, origin, above, recipe.dilates[step], loaded);
    __syncthreads();
    in_pass<T> pass = {reinterpret_cast<word *>(loaded), first,
                       (int32_t)(job.loaded * sizeof(T) / 4), job.pitch};
    down(pass, job.wide, job.plane_rows, job.height);
    __syncthreads();
    along<T>(job, first + job.left_halo - left * channels, to, 0, crn_words<T>::flip_of(chain));
    crn_tile_outside outside = {origin.row - job.above[1], origin.column - job.left[1] * channels,
                                job.plane_rows / crn_words<T>::ROWS, job.pixels[0] * channels};
    if (chain && crn_tile_is_outside<T>(job.images, outside)) {
        crn_tile_fill_outside<T>(job.images, outside, to, job.pitch);
        __syncthreads();
    }
}

template <typename T>
static __global__ __launch_bounds__(CRN_TILE_THREADS_MAX,
                                    2) void run_rect(const __grid_constant__ rect_job job)
{
    typedef typename crn_words<T>::word word;
    extern __shared__ uint4 shared[];
    /* A step's result plane shares memory with the loaded tile. */
    word *second = reinterpret_cast<word *>(shared), *first = second + job.plane_words;
    word *third = first + job.plane_words;
    const crn_tile_images &p = job.images;
    crn_tile_origin origin = crn_tile_origin_of(p);
    bool parallel = p.recipe.parallel, chain = p.recipe.steps == 2 && !parallel;
    if (parallel)
        make_step<T>(job, origin, 0, shared, first, third);
    make_step<T>(job, origin, parallel, shared, first, second);
    if (chain)
        along<T>(job, second, first, 1, 0);
    word *stage = chain ? second : first;
    out_pass<T> out = {chain ? first : second, job.pitch, crn_tile_target_of<T>(p, origin, stage),
                       crn_words<T>::flip_of(p.recipe.dilates[p.recipe.steps - 1])};
    down(out, job.wide_out, p.rows_at, chain ? job.height : 1);
    if (out.target.staged) {
        __syncthreads();
        crn_tile_store_staged<T>(p, origin, reinterpret_cast<const uint32_t *>(stage),
                                 parallel ? third : NULL, job.pitch);
    }
}

/* Results of a line per thread, as `along` selects them. */
static int32_t results_along(int32_t window)
{
    return window < 3 ? 7 : window == 3 ? 15 : window < 7 ? 3 : window < 15 ? 7 : 15;
}

/* Computes a tile's layout; returns bytes of shared memory, 0 if there is no such tile. */
static size_t lay_out(rect_job *job, int32_t size, int32_t rows, int32_t columns)
{
    const crn_morphology_recipe *recipe = &job->images.recipe;
    int32_t channels = job->images.channels, per_word = size == 1 ? 4 : 1, chunk = 16 / size;
    bool chain = recipe->steps == 2 && !recipe->parallel;
    int32_t left = chain                         ? job->left[0] + job->left[1]
                   : !recipe->parallel           ? job->left[0]
                   : job->left[0] > job->left[1] ? job->left[0]
                                                 : job->left[1];
    int32_t reach = job->width - 1, results = results_along(job->width);
    job->images.rows_at = rows;
    job->images.columns_at = columns;
    job->left_halo = crn_round_up(left * channels, chunk);
    job->pixels[1] = (columns + channels - 1) / channels;
    job->pixels[0] = job->pixels[1] + (chain ? reach : 0);
    if (job->pixels[1] < results)
        return 0;
    /* `left_halo` minus the left reach, less than a chunk except for parallel steps. */
    int32_t unused =
        job->left_halo - (recipe->parallel ? (reach - left) * channels : left * channels);
    job->loaded = crn_round_up(unused + (job->pixels[0] + reach) * channels, chunk);
    job->plane_rows = crn_round_up(rows + (chain ? job->height - 1 : 0), per_word);
    job->loaded_rows = job->plane_rows + job->height - 1;
    job->pitch = crn_round_up(job->loaded - 4, 32) + 4;
    int32_t plane = job->plane_rows / per_word * job->pitch;
    int32_t loaded = job->loaded_rows * job->loaded * size / 4;
    job->plane_words = crn_round_up(plane > loaded ? plane : loaded, 4);
    return (size_t)job->plane_words * 4 * (recipe->parallel ? 3 : 2);
}

/* A tile's work for the cost model, in passes over a pixel. */
static double work_of(const rect_job *job)
{
    const crn_tile_images *p = &job->images;
    double work = 1.0 * job->loaded * job->loaded_rows + 1.2 * job->loaded * job->plane_rows +
                  1.5 * job->pixels[0] * p->channels * job->plane_rows;
    if (p->recipe.steps == 2)
        work += 1.5 * job->pixels[1] * p->channels * job->plane_rows;
    return work + 1.5 * p->columns_at * p->rows_at;
}

static bool choose_tile(rect_job *job, const crn_gpu_limits *limits, int32_t size, int32_t planes,
                        crn_tile_launch *ret_launch)
{
    static const int32_t rows_of[] = {16, 32, 48, 64, 80, 96, 128, 160};
    static const int32_t columns_of[] = {32, 64, 96, 128, 160, 192, 256, 320, 384, 512};
    double in_fours = size == 1 ? 0.95 : 1.06; /* measured */
    rect_job best = *job;
    double best_cost = -1;
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++)
        for (size_t j = 0; j < sizeof columns_of / sizeof *columns_of; j++) {
            crn_tile_launch how = {0, lay_out(job, size, rows_of[i], columns_of[j])};
            if (how.bytes == 0 || how.bytes > limits->shared_bytes)
                continue;
            double cost = crn_tile_cost(limits, &job->images, planes, work_of(job), in_fours, &how);
            if (best_cost >= 0 && cost >= best_cost)
                continue;
            best_cost = cost;
            best = *job;
            *ret_launch = how;
        }
    *job = best;
    if (best_cost < 0)
        return false;
    int32_t channels = job->images.channels, wide = size == 1 ? 4 : 2;
    job->chunks = crn_divider_of(job->loaded * size / 16);
    job->wide = crn_divider_of(job->loaded / wide);
    job->wide_out = crn_divider_of(job->images.columns_at / wide);
    for (int32_t step = 0; step < 2; step++) {
        int32_t groups = crn_gpu_blocks(job->pixels[step], results_along(job->width));
        job->lines[step] = crn_divider_of(channels * groups);
        job->fast[step] = crn_divider_of(channels & 1 ? groups : channels);
    }
    return true;
}

int crn_morphology_rect(crn_context *context, const crn_morphology_params *params,
                        const crn_tile_images *images, crn_type type)
{
    const crn_element *e = &params->element;
    const crn_gpu_limits *limits = crn_gpu_limits_of(context);
    rect_job job = {*images, e->width, e->height};
    for (int32_t step = 0; step < images->recipe.steps; step++) {
        bool reflect = images->recipe.dilates[step];
        job.above[step] = reflect ? e->height - 1 - e->height / 2 : e->height / 2;
        job.left[step] = reflect ? e->width - 1 - e->width / 2 : e->width / 2;
    }
    if (e->width > 1024 || e->height > 1024)
        return -ENOTSUP;
    int32_t planes = (int32_t)images->planes.by * crn_context_views(context);
    crn_tile_launch how = {0, 0};
    if (!choose_tile(&job, limits, type == CRN_U8 ? 1 : 4, planes, &how))
        return -ENOTSUP;
    return crn_tile_launch_on(context, type == CRN_U8 ? run_rect<uint8_t> : run_rect<float>, planes,
                              how, job);
}
