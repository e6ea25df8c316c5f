/*
 * Morphology for any strides, element and size: pass by pass over dense planar copies in scratch
 * memory. Adjacent members of a row are a run; the minimum over a run is that of two overlapping
 * runs whose length is a power of two, from levels made by doubling.
 */
#include "gpu/morphology/morphology.cuh"

#define THREADS_X       32
#define THREADS_Y       8
#define LEVEL_BYTES_MAX ((size_t)1 << 30) /* of all levels together; more if one plane needs it */

enum { SLOT_FIRST, SLOT_SECOND, SLOT_THIRD, SLOT_LEVELS, SLOT_RUNS, SLOT_COUNTS };

/* The next index of a grid-stride loop, `by` further on; does not overflow for any side. */
static __device__ int32_t next_index(int32_t from, uint32_t by, int32_t end)
{
    return (uint32_t)(end - from) > by ? from + (int32_t)by : end;
}

/* Grid-stride loop over the pixels of dense planes. */
#define EACH_PIXEL(field, s, y, x)                                                                 \
    for (int32_t s = (int32_t)blockIdx.z; s < (field).planes;                                      \
         s = next_index(s, gridDim.z, (field).planes))                                             \
        for (int32_t y = (int32_t)(blockIdx.y * THREADS_Y + threadIdx.y); y < (field).height;      \
             y = next_index(y, gridDim.y * THREADS_Y, (field).height))                             \
            for (int32_t x = (int32_t)(blockIdx.x * THREADS_X + threadIdx.x); x < (field).width;   \
                 x = next_index(x, gridDim.x * THREADS_X, (field).width))

typedef struct general_field {
    int32_t planes, height, width; /* planes: of all views */
} general_field;

/* A caller's image of several views. */
typedef struct strided {
    void *data;
    int32_t planes; /* of a view */
    ptrdiff_t view, plane, row, step;
} strided;

/* An element for a kernel. */
typedef struct shape {
    crn_element_shape kind;
    int32_t width, height;
    int32_t first_row, rows; /* the rows that the arrays hold */
    const uint8_t *members;  /* or NULL */
    const float *heights;
    bool reflect;
} shape;

/* Members `begin` to `end` - 1 of a row, relative to the anchor. */
typedef struct general_run {
    int16_t begin, end;
} general_run;

typedef struct run_list {
    general_run *runs; /* row after row, with capacity `most` each */
    int32_t *counts;
    int32_t most, rows, anchor_y;
    bool reflect;
} run_list;

static __device__ int64_t at(general_field f, int32_t s, int32_t y, int32_t x)
{
    return ((int64_t)s * f.height + y) * f.width + x;
}

static __device__ int64_t at(const strided &i, int32_t s, int32_t y, int32_t x)
{
    return s / i.planes * i.view + s % i.planes * i.plane + y * i.row + x * i.step;
}

static __device__ float min_of(float a, float b)
{
    return fminf(a, b);
}

static __device__ uint8_t min_of(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static __device__ void set_neutral(float *v)
{
    *v = __uint_as_float(0x7f800000u);
}

static __device__ void set_neutral(uint8_t *v)
{
    *v = 255;
}

template <typename T>
static __global__ void gather(general_field f, strided from, T *to, bool complement)
{
    const T *in = static_cast<const T *>(from.data);
    EACH_PIXEL(f, s, y, x)
    to[at(f, s, y, x)] = crn_morphology_clean(in[at(from, s, y, x)], complement);
}

template <typename T> static __global__ void complement_all(general_field f, T *pixels)
{
    EACH_PIXEL(f, s, y, x)
    pixels[at(f, s, y, x)] = crn_morphology_complement(pixels[at(f, s, y, x)]);
}

template <typename T> static __global__ void copy(general_field f, const T *from, T *to)
{
    EACH_PIXEL(f, s, y, x)
    to[at(f, s, y, x)] = from[at(f, s, y, x)];
}

/* less: subtrahend, or NULL. original: as in crn_morphology_recipe. */
template <typename T>
static __global__ void finish(general_field f, const T *result, bool complement, const T *less,
                              int32_t original, strided in, strided out)
{
    T *to = static_cast<T *>(out.data);
    const T *from = static_cast<const T *>(in.data);
    EACH_PIXEL(f, s, y, x)
    {
        T v = result[at(f, s, y, x)];
        v = crn_morphology_result(complement ? crn_morphology_complement(v) : v);
        if (less)
            v = crn_morphology_less(v, less[at(f, s, y, x)]);
        else if (original > 0)
            v = crn_morphology_less(v, from[at(in, s, y, x)]);
        else if (original < 0)
            v = crn_morphology_less(from[at(in, s, y, x)], v);
        to[at(out, s, y, x)] = v;
    }
}

/* to[p] = min(from[p], from[p + ahead]), along a row or down a column. */
template <typename T>
static __global__ void double_level(general_field f, const T *from, T *to, bool down, int32_t ahead)
{
    EACH_PIXEL(f, s, y, x)
    {
        int64_t i = at(f, s, y, x);
        T v = from[i];
        if (ahead < (down ? f.height - y : f.width - x))
            v = min_of(v, from[i + (int64_t)ahead * (down ? f.width : 1)]);
        to[i] = v;
    }
}

/* Minimum of `length` >= 1 values from p on; levels[l], `level_stride` elements after each other,
 * hold those of 2^l values. */
template <typename T>
static __device__ T min_of_run(const T *levels, int64_t level_stride, int64_t p, int32_t length,
                               int32_t stride)
{
    int32_t l = 31 - __clz(length);
    const T *level = levels + l * level_stride;
    return min_of(level[p], level[p + (int64_t)(length - (1 << l)) * stride]);
}

/* Minimum over a window of a row or column: `length` pixels from `begin` on. */
template <typename T>
static __global__ void window(general_field f, const T *levels, int64_t level_stride, T *to,
                              bool down, int32_t begin, int32_t length)
{
    EACH_PIXEL(f, s, y, x)
    {
        int32_t p = down ? y : x, to_border = down ? f.height - y : f.width - x;
        int32_t first = max(0, p + min(begin, to_border)), end = p + min(begin + length, to_border);
        T v;
        set_neutral(&v);
        if (first < end) {
            int64_t from = down ? at(f, s, first, x) : at(f, s, y, first);
            v = min_of_run(levels, level_stride, from, end - first, down ? f.width : 1);
        }
        to[at(f, s, y, x)] = v;
    }
}

template <typename T>
static __global__ void merge_runs(general_field f, const T *levels, int64_t level_stride,
                                  run_list list, T *to)
{
    EACH_PIXEL(f, s, y, x)
    {
        T best;
        set_neutral(&best);
        int32_t to_border = f.width - x;
        for (int32_t j = 0; j < list.rows; j++) {
            int32_t dy = j - list.anchor_y;
            int32_t from_y = list.reflect ? y - dy : y + dy;
            if (from_y < 0 || from_y >= f.height)
                continue;
            const general_run *runs = list.runs + (int64_t)j * list.most;
            for (int32_t i = 0; i < list.counts[j]; i++) {
                int32_t first = max(0, x + min((int32_t)runs[i].begin, to_border));
                int32_t end = x + min((int32_t)runs[i].end, to_border);
                if (first < end)
                    best = min_of(best, min_of_run(levels, level_stride, at(f, s, from_y, first),
                                                   end - first, 1));
            }
        }
        to[at(f, s, y, x)] = best;
    }
}

static __device__ bool has(const shape &e, int32_t x, int32_t y)
{
    int64_t across = e.width - 1, down = e.height - 1;
    int64_t from_x = 2 * (int64_t)(x - e.width / 2) * down;
    int64_t from_y = 2 * (int64_t)(y - e.height / 2) * across;
    switch (e.kind) {
    case CRN_ELEMENT_RECT:
        return true;
    case CRN_ELEMENT_DISK:
        return from_x * from_x + from_y * from_y <= across * across * down * down;
    case CRN_ELEMENT_CROSS:
        return x == e.width / 2 || y == e.height / 2;
    default:
        return e.members[(int64_t)(y - e.first_row) * e.width + x] != 0;
    }
}

/* Each thread scans one row of the element. */
static __global__ void find_runs(shape e, run_list list)
{
    int32_t j = e.first_row + (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (j >= e.first_row + e.rows)
        return;
    general_run *runs = list.runs + (int64_t)j * list.most;
    int32_t count = 0, anchor = e.width / 2;
    for (int32_t x = 0; x < e.width; x++) {
        if (!has(e, x, j))
            continue;
        int32_t first = x;
        while (x < e.width && has(e, x, j))
            x++;
        general_run r = {(int16_t)(first - anchor), (int16_t)(x - anchor)};
        if (e.reflect)
            r = {(int16_t)(anchor - x + 1), (int16_t)(anchor - first + 1)};
        runs[count++] = r;
    }
    list.counts[j] = count;
}

static __device__ float saturated(float v, float)
{
    return v;
}

static __device__ uint8_t saturated(float v, uint8_t)
{
    return (uint8_t)fminf(fmaxf(v, 0.0f), 255.0f);
}

/* Member by member, for some rows of the element; `more`: combine with the rows already in `to`. */
template <typename T>
static __global__ void merge_raised(general_field f, const T *from, shape e, bool more, T *to)
{
    EACH_PIXEL(f, s, y, x)
    {
        T best;
        set_neutral(&best);
        if (more)
            best = to[at(f, s, y, x)];
        for (int32_t j = e.first_row; j < e.first_row + e.rows; j++) {
            int32_t dy = j - e.height / 2;
            int32_t from_y = e.reflect ? y - dy : y + dy;
            if (from_y < 0 || from_y >= f.height)
                continue;
            for (int32_t i = 0; i < e.width; i++) {
                int32_t dx = i - e.width / 2;
                int32_t from_x = e.reflect ? x - dx : x + dx;
                if (from_x < 0 || from_x >= f.width || !has(e, i, j))
                    continue;
                float height = e.heights[(int64_t)(j - e.first_row) * e.width + i];
                best = min_of(best, saturated((float)from[at(f, s, from_y, from_x)] - height, T()));
            }
        }
        to[at(f, s, y, x)] = best;
    }
}

/* Common to the launches of one call. */
typedef struct work {
    crn_context *context;
    const crn_element *element;
    general_field whole;
    size_t plane_elements; /* of one plane */
    dim3 blocks, threads;
} work;

static dim3 blocks_for(general_field f)
{
    int32_t rows = crn_gpu_blocks(f.height, THREADS_Y), planes = f.planes;
    return dim3((unsigned)crn_gpu_blocks(f.width, THREADS_X),
                (unsigned)(rows < 65535 ? rows : 65535),
                (unsigned)(planes < 65535 ? planes : 65535));
}

#define LAUNCH(kernel, w) kernel<<<(w)->blocks, (w)->threads, 0, crn_gpu_stream((w)->context)>>>

/* Makes levels of lengths 1, 2, 4, ... up to `longest`, from `from`. */
template <typename T>
static void make_levels(const work *w, const T *from, T *levels, int64_t level_stride, bool down,
                        int32_t longest)
{
    LAUNCH(copy<T>, w)(w->whole, from, levels);
    for (int32_t l = 1; 1 << l <= longest; l++)
        LAUNCH(double_level<T>, w)
    (w->whole, levels + (l - 1) * level_stride, levels + l * level_stride, down, 1 << (l - 1));
}

static int32_t min_int(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* First pixel of a side of the element, relative to the anchor. */
static int32_t begin_of(int32_t side, bool reflect)
{
    return reflect ? side / 2 - (side - 1) : -(side / 2);
}

template <typename T>
static void erode_rect(const work *w, bool reflect, const T *from, T *to, T *levels,
                       int64_t level_stride)
{
    const crn_element *e = w->element;
    make_levels(w, from, levels, level_stride, false, min_int(e->width, w->whole.width));
    LAUNCH(window<T>, w)
    (w->whole, levels, level_stride, to, false, begin_of(e->width, reflect), e->width);
    if (e->height == 1)
        return;
    make_levels(w, static_cast<const T *>(to), levels, level_stride, true,
                min_int(e->height, w->whole.height));
    LAUNCH(window<T>, w)
    (w->whole, levels, level_stride, to, true, begin_of(e->height, reflect), e->height);
}

/* Number of the element's rows whose arrays go to the device at once. */
static int32_t rows_at_once(const crn_element *e)
{
    size_t row = (size_t)e->width * (e->heights ? sizeof(float) : 1);
    return min_int(e->height, (int32_t)(CRN_GPU_CONSTANT_BYTES_MAX / row));
}

/* Puts the arrays of the element's rows from `first` on onto the device. */
static int take_rows(const work *w, bool reflect, int32_t first, int32_t rows, shape *ret_shape)
{
    const crn_element *e = w->element;
    shape s = {e->shape, e->width, e->height, first, min_int(rows, e->height - first),
               NULL,     NULL,     reflect};
    size_t begin = (size_t)first * (size_t)e->width, count = (size_t)s.rows * (size_t)e->width;
    if (e->members) {
        s.members =
            static_cast<const uint8_t *>(crn_gpu_constants(w->context, e->members + begin, count));
        if (!s.members)
            return -ENOMEM;
    }
    if (e->heights) {
        s.heights = static_cast<const float *>(
            crn_gpu_constants(w->context, e->heights + begin, count * sizeof(float)));
        if (!s.heights)
            return -ENOMEM;
    }
    *ret_shape = s;
    return 0;
}

static int make_runs(const work *w, bool reflect, run_list *ret_list)
{
    const crn_element *e = w->element;
    run_list list = {NULL, NULL, (e->width + 1) / 2, e->height, e->height / 2, reflect};
    size_t most = (size_t)list.most * (size_t)e->height;
    list.runs = static_cast<general_run *>(
        crn_context_scratch(w->context, SLOT_RUNS, most * sizeof(general_run)));
    list.counts = static_cast<int32_t *>(
        crn_context_scratch(w->context, SLOT_COUNTS, (size_t)e->height * sizeof(int32_t)));
    if (!list.runs || !list.counts)
        return -ENOMEM;
    int32_t rows = rows_at_once(e);
    for (int32_t first = 0; first < e->height; first += rows) {
        shape s;
        int r = take_rows(w, reflect, first, rows, &s);
        if (r < 0)
            return r;
        find_runs<<<crn_gpu_blocks(s.rows, 64), 64, 0, crn_gpu_stream(w->context)>>>(s, list);
    }
    *ret_list = list;
    return crn_gpu_launch_error();
}

template <typename T> static int erode_raised(const work *w, bool reflect, const T *from, T *to)
{
    int32_t rows = rows_at_once(w->element);
    for (int32_t first = 0; first < w->element->height; first += rows) {
        shape s;
        int r = take_rows(w, reflect, first, rows, &s);
        if (r < 0)
            return r;
        LAUNCH(merge_raised<T>, w)(w->whole, from, s, first > 0, to);
    }
    return crn_gpu_launch_error();
}

/* Minimum over the element, or with `reflect` over its reflection. */
template <typename T> static int erode(const work *all, bool reflect, const T *from, T *to)
{
    const crn_element *e = all->element;
    if (e->heights)
        return erode_raised(all, reflect, from, to);
    run_list list = {NULL, NULL, 0, 0, 0, false};
    bool is_rect = e->shape == CRN_ELEMENT_RECT;
    int r = is_rect ? 0 : make_runs(all, reflect, &list);
    if (r < 0)
        return r;
    int32_t longest = min_int(e->width, all->whole.width), levels = 1;
    if (is_rect && min_int(e->height, all->whole.height) > longest)
        longest = min_int(e->height, all->whole.height);
    while (1 << levels <= longest)
        levels++;
    size_t per_plane = all->plane_elements * sizeof(T) * (size_t)levels;
    size_t at_once = LEVEL_BYTES_MAX / per_plane > 0 ? LEVEL_BYTES_MAX / per_plane : 1;
    if (at_once > (size_t)all->whole.planes)
        at_once = (size_t)all->whole.planes;
    /* Scratch memory is sized per view, and the levels of one plane must fit in any case. */
    size_t views = (size_t)crn_context_views(all->context);
    T *memory = static_cast<T *>(
        crn_context_scratch(all->context, SLOT_LEVELS, (at_once * per_plane + views - 1) / views));
    if (!memory)
        return -ENOMEM;
    for (int32_t first = 0; first < all->whole.planes; first += (int32_t)at_once) {
        work part = *all;
        part.whole.planes = min_int((int32_t)at_once, all->whole.planes - first);
        part.blocks = blocks_for(part.whole);
        int64_t level_stride = (int64_t)at_once * (int64_t)all->plane_elements;
        int64_t begin = (int64_t)first * (int64_t)all->plane_elements;
        if (is_rect) {
            erode_rect(&part, reflect, from + begin, to + begin, memory, level_stride);
            continue;
        }
        make_levels(&part, from + begin, memory, level_stride, false,
                    min_int(e->width, part.whole.width));
        LAUNCH(merge_runs<T>, &part)(part.whole, memory, level_stride, list, to + begin);
    }
    return crn_gpu_launch_error();
}

static strided strided_of(const crn_image *image)
{
    return {image->data,         image->planes,     crn_gpu_view_stride(image),
            image->plane_stride, image->row_stride, image->step};
}

template <typename T>
static int run_on(const work *w, const crn_morphology_recipe *recipe, const crn_image *in,
                  const crn_image *out)
{
    size_t bytes = crn_image_elements(in) * sizeof(T);
    T *first = static_cast<T *>(crn_context_scratch(w->context, SLOT_FIRST, bytes));
    T *second = static_cast<T *>(crn_context_scratch(w->context, SLOT_SECOND, bytes));
    T *third = second;
    if (recipe->parallel)
        third = static_cast<T *>(crn_context_scratch(w->context, SLOT_THIRD, bytes));
    if (!first || !second || !third)
        return -ENOMEM;
    LAUNCH(gather<T>, w)(w->whole, strided_of(in), first, recipe->dilates[0]);
    int r = erode<T>(w, recipe->dilates[0], first, second);
    const T *result = second;
    if (r == 0 && recipe->steps == 2) {
        T *from = recipe->parallel ? first : second, *to = recipe->parallel ? third : first;
        /* Read the input again: NaN must be neutral in both steps. */
        if (recipe->parallel)
            LAUNCH(gather<T>, w)(w->whole, strided_of(in), from, recipe->dilates[1]);
        else
            LAUNCH(complement_all<T>, w)(w->whole, from);
        r = erode<T>(w, recipe->dilates[1], from, to);
        result = to;
    }
    if (r < 0)
        return r;
    LAUNCH(finish<T>, w)
    (w->whole, result, recipe->dilates[recipe->steps - 1], recipe->parallel ? second : NULL,
     recipe->original, strided_of(in), strided_of(out));
    return crn_gpu_launch_error();
}

int crn_morphology_general(crn_context *context, const crn_morphology_params *params,
                           const crn_image *in, crn_image *out)
{
    int64_t planes = (int64_t)in->planes * crn_context_views(context);
    if (planes > INT32_MAX)
        return -EINVAL;
    work w = {context, &params->element, {(int32_t)planes, in->height, in->width}, 0, 0, 0};
    w.plane_elements = (size_t)in->height * (size_t)in->width;
    w.blocks = blocks_for(w.whole);
    w.threads = dim3(THREADS_X, THREADS_Y);
    crn_morphology_recipe recipe = crn_morphology_recipe_of(params->operation);
    return in->type == CRN_U8 ? run_on<uint8_t>(&w, &recipe, in, out)
                              : run_on<float>(&w, &recipe, in, out);
}
