/*
 * Elements other than rectangles, in one launch: the element's rows are runs of members (chords;
 * Urbach and Wilkinson 2008). For each length that occurs, the least of as many pixels from each on
 * is made of that of a lesser length, laid over itself two or three times; then the runs are
 * merged.
 */
#include "gpu/morphology_tile.cuh"

#define LEVELS_MAX 8
#define CHORDS_MAX 64
#define SIDE_MAX   64 /* of an element */
#define ROWS_LEAST 16
#define GROUP      4 /* words of a column that a thread merges */

/* Offsets in words from where shared memory begins. */
typedef struct level {
    int32_t to, from, ahead[2], columns;
} level;

/* One step: what a plane holds becomes another. */
typedef struct chord_step {
    int32_t level_count, chord_count;
    level levels[LEVELS_MAX];
    int32_t chords[CHORDS_MAX]; /* offset * 4 + rows beyond a whole word */
    int32_t to, rows, columns;  /* the result: rows of words */
    int32_t base_rows;          /* of words: what the levels are made of */
    int32_t above, left;        /* how far the element reaches, in pixels */
} chord_step;

typedef struct chord_job {
    crn_tile_picture picture;
    chord_step steps[2];
    int32_t lead, loaded, loaded_rows; /* columns, rows of words */
    int32_t pitch;
    int32_t stage; /* where a result may stand before it goes into the picture */
} chord_job;

/* Rows a to d of four bytes become columns. */
static __device__ uint4 upright(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t left_top = __byte_perm(a, b, 0x5140), left_bottom = __byte_perm(c, d, 0x5140);
    uint32_t right_top = __byte_perm(a, b, 0x7362), right_bottom = __byte_perm(c, d, 0x7362);
    return {__byte_perm(left_top, left_bottom, 0x5410), __byte_perm(left_top, left_bottom, 0x7632),
            __byte_perm(right_top, right_bottom, 0x5410),
            __byte_perm(right_top, right_bottom, 0x7632)};
}

static __device__ void load(const chord_job &job, const crn_tile_place &place, int32_t above,
                            bool complement, uint32_t *to)
{
    int32_t per_row = job.loaded / 16, items = per_row * job.loaded_rows;
    crn_divider by = crn_divider_of(per_row);
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

static __device__ void load(const chord_job &job, const crn_tile_place &place, int32_t above,
                            bool complement, float *to)
{
    int32_t per_row = job.loaded / 4, items = per_row * job.loaded_rows;
    crn_divider by = crn_divider_of(per_row);
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

template <typename T>
static __device__ void make_level(const chord_job &job, const chord_step &step, const level &l,
                                  typename crn_words<T>::word *shared)
{
    typedef crn_words<T> words;
    crn_divider by = crn_divider_of(l.columns);
    int32_t items = l.columns * step.base_rows;
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t row = item / by, at = row * job.pitch + item - row * l.columns;
        const typename words::word *from = shared + l.from + at;
        typename words::cell v = words::expand(from[0]);
        v = crn_least(v,
                      crn_least(words::expand(from[l.ahead[0]]), words::expand(from[l.ahead[1]])));
        shared[l.to + at] = words::compress(v);
    }
}

/* GROUP words of a column, each the least of the runs about it. */
static __device__ void merge(const chord_step &step, const uint32_t *from, int32_t pitch,
                             crn_bytes (&best)[GROUP])
{
#pragma unroll 2
    for (int32_t i = 0; i < step.chord_count; i++) {
        int32_t chord = step.chords[i], down = chord & 3;
        const uint32_t *p = from + (chord >> 2);
        uint32_t choice = 0x2200u + 0x1111u * (uint32_t)down, above = p[0];
#pragma unroll
        for (int j = 0; j < GROUP; j++) {
            uint32_t below = j < GROUP - 1 || down ? p[(j + 1) * pitch] : 0;
            crn_bytes v = {__byte_perm(above, below, choice),
                           __byte_perm(above, below, choice + 0x1111u)};
            best[j] = crn_least(best[j], v);
            above = below;
        }
    }
}

static __device__ void merge(const chord_step &step, const float *from, int32_t pitch,
                             float (&best)[GROUP])
{
#pragma unroll 2
    for (int32_t i = 0; i < step.chord_count; i++) {
        const float *p = from + (step.chords[i] >> 2);
#pragma unroll
        for (int j = 0; j < GROUP; j++)
            best[j] = crn_least(best[j], p[j * pitch]);
    }
}

/* A step's result into its plane, or with `stride` other than 0 f32 into what has such rows. */
template <typename T>
static __device__ void make_result(const chord_job &job, const chord_step &step, uint32_t flip,
                                   char *out, ptrdiff_t stride, typename crn_words<T>::word *shared)
{
    typedef crn_words<T> words;
    crn_divider by = crn_divider_of(step.columns);
    int32_t items = step.columns * ((step.rows + GROUP - 1) / GROUP);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t group = item / by, column = item - group * step.columns;
        int32_t row = min(group * GROUP, step.rows - GROUP), at = row * job.pitch + column;
        typename words::cell best[GROUP];
#pragma unroll
        for (int j = 0; j < GROUP; j++)
            best[j] = words::expand(words::neutral());
        merge(step, shared + at, job.pitch, best);
#pragma unroll
        for (int j = 0; j < GROUP; j++) {
            typename words::word v = words::flipped(words::compress(best[j]), flip);
            if constexpr (sizeof(T) == 4)
                if (stride) {
                    char *to = out + (row + j) * stride + (ptrdiff_t)column * 4;
                    *reinterpret_cast<float *>(to) = crn_morphology_result(v);
                    continue;
                }
            shared[step.to + at + j * job.pitch] = v;
        }
    }
}

/* u8: the last plane as a picture has it. */
static __device__ void lay_down(const chord_job &job, const uint32_t *plane,
                                const crn_tile_way &way)
{
    int32_t wide = job.picture.columns_at / 4, items = wide * (job.picture.rows_at / 4);
    crn_divider by = crn_divider_of(wide);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += (int32_t)blockDim.x) {
        int32_t row = item / by, x = item - row * wide;
        crn_plane_source<uint8_t> from = {plane + row * job.pitch + 4 * x, job.pitch};
        crn_out_sink<uint8_t> to = {way.to + 4 * row * way.stride + 4 * x, way.stride, 0};
#pragma unroll
        for (int i = 0; i < 4; i++)
            to.put(i, from.get(i));
    }
}

/* The picture, or for a chain's second step the first one's plane, becomes a plane. */
template <typename T>
static __device__ void make_step(const chord_job &job, const crn_tile_place &place, int32_t number,
                                 typename crn_words<T>::word *shared)
{
    const crn_tile_picture &p = job.picture;
    const chord_step &step = job.steps[number];
    bool chain = p.recipe.steps == 2 && !p.recipe.parallel, ends = number == p.recipe.steps - 1;
    if (number == 0 || p.recipe.parallel) {
        int32_t above = step.above + (chain ? job.steps[1].above : 0);
        load(job, place, above, p.recipe.dilates[number], shared);
        __syncthreads();
    }
    for (int32_t i = 0; i < step.level_count; i++) {
        make_level<T>(job, step, step.levels[i], shared);
        __syncthreads();
    }
    /* A chain's first step is complemented for the second, what ends if it was a dilation. */
    uint32_t flip = crn_words<T>::flip_of(ends ? p.recipe.dilates[number] : chain);
    typename crn_words<T>::word *stage = shared + job.stage;
    crn_tile_way way = crn_tile_way_of<T>(p, place, stage);
    bool direct = sizeof(T) == 4 && ends;
    make_result<T>(job, step, flip, way.to, direct ? way.stride : 0, shared);
    if (ends) {
        if constexpr (sizeof(T) == 1) {
            __syncthreads();
            lay_down(job, shared + step.to, way);
        }
        if (!way.staged)
            return;
        __syncthreads();
        crn_tile_put_staged<T>(p, place, reinterpret_cast<const uint32_t *>(stage),
                               p.recipe.parallel ? shared + job.steps[0].to : NULL, job.pitch);
        return;
    }
    __syncthreads();
    crn_tile_off off = {place.row - job.steps[1].above, place.column - job.steps[1].left * p.lanes,
                        step.rows, step.columns};
    if (chain && crn_tile_is_off<T>(p, off)) {
        crn_tile_blank<T>(p, off, shared + step.to, job.pitch);
        __syncthreads();
    }
}

template <typename T>
static __global__ __launch_bounds__(CRN_TILE_THREADS_MAX,
                                    2) void run_chords(const __grid_constant__ chord_job job)
{
    extern __shared__ uint4 shared[];
    crn_tile_place place = crn_tile_place_of(job.picture);
    for (int32_t step = 0; step < job.picture.recipe.steps; step++)
        make_step<T>(job, place, step, reinterpret_cast<typename crn_words<T>::word *>(shared));
}

template <typename T>
static int launch(crn_context *context, const chord_job *job, int32_t planes, size_t bytes)
{
    const crn_tile_picture *p = &job->picture;
    int r = crn_gpu_allow_shared(context, reinterpret_cast<const void *>(run_chords<T>), bytes);
    if (r < 0)
        return r;
    dim3 blocks((unsigned)crn_gpu_blocks(p->columns, p->columns_at),
                (unsigned)crn_gpu_blocks(p->height, p->rows_at), (unsigned)planes);
    if (blocks.y > 65535)
        return -ENOTSUP;
    run_chords<T><<<blocks, CRN_TILE_THREADS_MAX, bytes, crn_gpu_stream(context)>>>(*job);
    return crn_gpu_launched();
}

/* Runs and levels, before a tile's layout makes offsets of them. In pixels. */
typedef struct run {
    int32_t dx, dy, length, level;
} run;

typedef struct plan {
    run runs[CHORDS_MAX];
    int32_t run_count;
    int32_t lengths[LEVELS_MAX + 1], from[LEVELS_MAX + 1]; /* level 0 has length 1 */
    int32_t level_count;
    int32_t above, below, left, right;
} plan;

static int32_t greater(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* (x - (W - 1) / 2 and so on as in ops.h.) */
static bool has(const crn_element *e, int32_t x, int32_t y)
{
    int32_t across = e->width - 1, down = e->height - 1;
    int32_t from_x = 2 * (x - e->width / 2) * down, from_y = 2 * (y - e->height / 2) * across;
    switch (e->shape) {
    case CRN_ELEMENT_RECT:
        return true;
    case CRN_ELEMENT_DISK:
        return (int64_t)from_x * from_x + (int64_t)from_y * from_y <=
               (int64_t)(across * down) * (across * down);
    case CRN_ELEMENT_CROSS:
        return x == e->width / 2 || y == e->height / 2;
    default:
        return e->members[(size_t)y * (size_t)e->width + (size_t)x] != 0;
    }
}

static bool add_run(plan *p, const crn_element *e, bool reflect, int32_t y, int32_t first,
                    int32_t end)
{
    if (p->run_count == CHORDS_MAX)
        return false;
    run r = {first - e->width / 2, y - e->height / 2, end - first, 0};
    if (reflect)
        r = {e->width / 2 - (end - 1), e->height / 2 - y, end - first, 0};
    p->above = greater(p->above, -r.dy);
    p->below = greater(p->below, r.dy);
    p->left = greater(p->left, -r.dx);
    p->right = greater(p->right, r.dx + r.length - 1);
    p->runs[p->run_count++] = r;
    return true;
}

static bool find_runs(plan *p, const crn_element *e, bool reflect)
{
    for (int32_t y = 0; y < e->height; y++)
        for (int32_t x = 0; x < e->width; x++) {
            int32_t first = x;
            while (x < e->width && has(e, x, y))
                x++;
            if (x > first && !add_run(p, e, reflect, y, first, x))
                return false;
        }
    return true;
}

/* Levels up to `length`, which is greater than all before. */
static bool climb_to(plan *p, int32_t length)
{
    int32_t steps[LEVELS_MAX], count = 0, last = p->lengths[p->level_count];
    for (int32_t step = length; step > last; step = step > 3 * last ? (step + 2) / 3 : last) {
        if (count == LEVELS_MAX)
            return false;
        steps[count++] = step;
    }
    while (count > 0) {
        if (p->level_count == LEVELS_MAX)
            return false;
        p->lengths[++p->level_count] = steps[--count];
    }
    return true;
}

/* The longest length, where but one run has it, is no level: the run becomes two or three. */
static void split_longest(plan *p)
{
    int32_t top = p->level_count, found = 0, at = 0;
    for (int32_t i = 0; i < p->run_count; i++)
        if (p->runs[i].level == top) {
            at = i;
            found++;
        }
    if (found != 1 || top == 0 || p->run_count + 2 > CHORDS_MAX)
        return;
    run r = p->runs[at];
    int32_t part = p->lengths[top - 1], end = r.dx + r.length;
    r.level = top - 1;
    p->runs[at] = r;
    if (r.length > 2 * part) {
        p->runs[p->run_count] = r;
        p->runs[p->run_count++].dx += part;
    }
    p->runs[p->run_count] = r;
    p->runs[p->run_count++].dx = end - part;
    p->level_count--;
}

static bool make_plan(plan *p, const crn_element *e, bool reflect)
{
    *p = plan();
    p->lengths[0] = 1;
    if (!find_runs(p, e, reflect))
        return false;
    for (int32_t length = 1; length <= e->width; length++) {
        bool occurs = false;
        for (int32_t i = 0; i < p->run_count; i++)
            occurs = occurs || p->runs[i].length == length;
        if (!occurs)
            continue;
        if (length > 1 && !climb_to(p, length))
            return false;
        for (int32_t i = 0; i < p->run_count; i++)
            if (p->runs[i].length == length)
                p->runs[i].level = p->level_count;
    }
    split_longest(p);
    return true;
}

/* Of one step, whose level 0 is the plane at `base`; `column` of it belongs to the result's first,
 * for a run at dx 0. */
static void lay_out_step(chord_job *job, const plan *p, int32_t number, int32_t base,
                         int32_t column, int32_t base_columns, int32_t plane_words,
                         int32_t per_word)
{
    chord_step *step = &job->steps[number];
    int32_t lanes = job->picture.lanes;
    step->level_count = p->level_count;
    step->chord_count = p->run_count;
    step->above = p->above;
    step->left = p->left;
    for (int32_t i = 1; i <= p->level_count; i++) {
        int32_t length = p->lengths[i], part = p->lengths[i - 1];
        level *l = &step->levels[i - 1];
        l->to = i * plane_words;
        l->from = i == 1 ? base : (i - 1) * plane_words;
        l->ahead[0] = (length > 2 * part ? part : length - part) * lanes;
        l->ahead[1] = (length - part) * lanes;
        l->columns = base_columns - (length - 1) * lanes;
    }
    for (int32_t i = 0; i < p->run_count; i++) {
        const run *r = &p->runs[i];
        int32_t down = p->above + r->dy;
        int32_t plane = r->level == 0 ? base : r->level * plane_words;
        step->chords[i] =
            4 * (plane + down / per_word * job->pitch + column + r->dx * lanes) + down % per_word;
    }
}

/* Bytes of shared memory. */
static size_t lay_out(chord_job *job, const plan *plans, int32_t size, int32_t rows,
                      int32_t columns)
{
    const crn_morphology_recipe *recipe = &job->picture.recipe;
    int32_t lanes = job->picture.lanes, per_word = size == 1 ? 4 : 1, chunk = 16 / size;
    bool chain = recipe->steps == 2 && !recipe->parallel;
    const plan *a = &plans[0], *b = &plans[recipe->steps - 1];
    int32_t left = chain ? a->left + b->left : greater(a->left, b->left);
    int32_t right = chain ? a->right + b->right : greater(a->right, b->right);
    job->picture.rows_at = rows;
    job->picture.columns_at = columns;
    job->lead = crn_round_up(left * lanes, chunk);
    job->loaded = crn_round_up(job->lead + columns + right * lanes, chunk);
    job->pitch = crn_round_up(job->loaded, 4);
    int32_t middle = crn_round_up(rows + (chain ? b->above + b->below : 0), per_word);
    int32_t reach = chain ? a->above + a->below : b->above + b->below;
    job->loaded_rows = crn_round_up(middle + reach, per_word) / per_word;
    int32_t plane_words = crn_round_up(job->loaded_rows * job->pitch, 4);
    int32_t levels = greater(a->level_count, b->level_count), planes = levels + 1;
    int32_t shift = chain ? b->left * lanes : 0;
    lay_out_step(job, a, 0, 0, job->lead - shift, job->loaded, plane_words, per_word);
    chord_step *first = &job->steps[0], *last = &job->steps[1];
    first->rows = middle / per_word;
    first->columns = columns + (chain ? (b->left + b->right) * lanes : 0);
    first->base_rows = job->loaded_rows;
    first->to = planes++ * plane_words;
    if (recipe->steps == 2) {
        lay_out_step(job, b, 1, chain ? first->to : 0, chain ? shift : job->lead,
                     chain ? first->columns : job->loaded, plane_words, per_word);
        last->rows = rows / per_word;
        last->columns = columns;
        last->base_rows = chain ? first->rows : job->loaded_rows;
        /* A chain's second step has no use for what was loaded. */
        last->to = chain ? 0 : planes++ * plane_words;
    }
    /* Bytes have left the first step's plane, or what was loaded, when they are staged; floats come
     * from it. */
    job->stage = size == 4 ? (chain ? 0 : job->steps[recipe->steps - 1].to) : chain ? first->to : 0;
    return (size_t)planes * (size_t)plane_words * 4;
}

/* What a tile costs, roughly, in words read, and waiting for each pass. */
static double cost_of(const chord_job *job, const crn_gpu_limits *limits, size_t bytes,
                      int32_t planes)
{
    const crn_tile_picture *p = &job->picture;
    double tiles = (double)crn_gpu_blocks(p->columns, p->columns_at) *
                   crn_gpu_blocks(p->height, p->rows_at) * planes;
    double work = 2.0 * job->loaded * job->loaded_rows;
    for (int32_t i = 0; i < p->recipe.steps; i++) {
        const chord_step *step = &job->steps[i];
        work += 3.0 * step->level_count * job->loaded * step->base_rows;
        work += (2.0 + step->chord_count) * step->columns * step->rows;
    }
    int32_t resident = (int32_t)((limits->shared_bytes + 1024) / (bytes + 1024));
    resident = resident > 2 ? 2 : resident;
    double rounds = tiles / limits->multiprocessors;
    double whole = (double)(int64_t)(rounds / resident + 0.999) * resident;
    rounds = rounds < resident ? (rounds < 1 ? 1 : rounds) : (rounds + whole) / 2;
    return rounds * (work + 30000) * (resident == 1 ? 1.25 : 1);
}

static bool choose_tile(chord_job *job, const plan *plans, const crn_gpu_limits *limits,
                        int32_t size, int32_t planes, size_t *ret_bytes)
{
    static const int32_t rows_of[] = {16, 24, 32, 48, 64, 96, 128, 176};
    static const int32_t columns_of[] = {32, 64, 96, 128, 192, 256, 384};
    int32_t best_rows = 0, best_columns = 0;
    double least = -1;
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++)
        for (size_t j = 0; j < sizeof columns_of / sizeof *columns_of; j++) {
            size_t bytes = lay_out(job, plans, size, rows_of[i], columns_of[j]);
            if (bytes > limits->shared_bytes)
                continue;
            double cost = cost_of(job, limits, bytes, planes);
            if (least >= 0 && cost >= least)
                continue;
            least = cost;
            best_rows = rows_of[i];
            best_columns = columns_of[j];
        }
    if (least >= 0)
        *ret_bytes = lay_out(job, plans, size, best_rows, best_columns);
    return least >= 0;
}

int crn_morphology_chords(crn_context *context, const crn_morphology_params *params,
                          const crn_tile_picture *picture, crn_type type)
{
    const crn_element *e = &params->element;
    if (e->width > SIDE_MAX || e->height > SIDE_MAX)
        return -ENOTSUP;
    plan plans[2];
    chord_job job = {*picture};
    for (int32_t i = 0; i < picture->recipe.steps; i++)
        if (!make_plan(&plans[i], e, picture->recipe.dilates[i]))
            return -ENOTSUP;
    int32_t planes = picture->planes * crn_context_views(context);
    size_t bytes = 0;
    if (!choose_tile(&job, plans, crn_gpu_limits_of(context), type == CRN_U8 ? 1 : 4, planes,
                     &bytes))
        return -ENOTSUP;
    return type == CRN_U8 ? launch<uint8_t>(context, &job, planes, bytes)
                          : launch<float>(context, &job, planes, bytes);
}
