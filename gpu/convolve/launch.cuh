/* Small kernels in registers, host code: strips and launch. */
#ifndef CRN_GPU_CONVOLVE_LAUNCH_CUH
#define CRN_GPU_CONVOLVE_LAUNCH_CUH

#include "gpu/convolve/small.cuh"

#include <math.h>

/* Tuning of a kernel: adjacent results per thread, rows of the image in flight, and blocks per
 * multiprocessor; limited by registers, and measured on an H200. */
typedef struct convolve_tuning {
    int across, depth, blocks;
} convolve_tuning;

/* Too few pixels for threads with many results each: the latency of the last thread dominates. */
static bool has_few_pixels(const crn_convolve_task *task)
{
    const crn_convolve_shape *shape = &task->shape;
    return (double)shape->width * shape->channels * shape->height * shape->count < 0x1p20;
}

/* Latency of a row's load in clocks, when nothing hides it. */
#define CRN_CONVOLVE_ROW_CLOCKS 800

/* True if each row, and each image's first, is aligned to `bytes`. */
static bool is_aligned(const crn_convolve_images *p, size_t size, size_t bytes)
{
    uintptr_t all = reinterpret_cast<uintptr_t>(p->data) | (uintptr_t)p->row * size |
                    (uintptr_t)p->image * size;
    return all % bytes == 0;
}

/* Clocks for one instruction of `each` warps on a scheduler, of which `most` are resident at once:
 * a single warp stalls on its own results. */
static double issue_clocks(int64_t each, int32_t most)
{
    int64_t together = each < most ? each : most;
    return (double)each * (1 + 0.7 / (double)(together * together));
}

/* The smallest number of strips that makes them shorter than *rows; updates *rows. 0: they
 * have one row already. */
static int32_t next_strips(int32_t height, int32_t *rows)
{
    if (*rows == 1)
        return 0;
    int32_t strips = (height + *rows - 2) / (*rows - 1);
    *rows = (height + strips - 1) / strips;
    return strips;
}

/*
 * Cost model for the number of strips: more strips balance the multiprocessors, fewer read fewer
 * rows twice. A strip costs its rows and about half of those that it reads above and below; a row
 * takes as long as all warps of a scheduler need for it, or its load.
 */
static int32_t best_strips(const crn_gpu_limits *limits, int32_t height, int64_t warps_a_strip,
                           int32_t side, int32_t row_instructions, int32_t blocks, int32_t depth)
{
    double best = INFINITY;
    int32_t best_number = 1;
    for (int32_t rows = height, strips = 1; strips > 0; strips = next_strips(height, &rows)) {
        int64_t warps = warps_a_strip * strips;
        int64_t block_count = (warps + CRN_CONVOLVE_SMALL_WARPS - 1) / CRN_CONVOLVE_SMALL_WARPS;
        int64_t each = (block_count + limits->multiprocessors - 1) / limits->multiprocessors;
        double busy = issue_clocks(each, blocks) * row_instructions;
        double waiting = (double)((each + blocks - 1) / blocks) * CRN_CONVOLVE_ROW_CLOCKS / depth;
        double cost = (busy > waiting ? busy : waiting) * (rows + 0.6 * side) +
                      (double)((each + blocks - 1) / blocks) * CRN_CONVOLVE_ROW_CLOCKS;
        if (cost < best) {
            best = cost;
            best_number = strips;
        }
    }
    return best_number;
}

/* Sets the columns that are not edges; false if there are none. */
template <typename T, int STEP, int ACROSS, int SIDE, bool PRODUCT>
static bool set_columns(const crn_convolve_task *task, convolve_small_job<SIDE, PRODUCT> *job)
{
    int64_t channels = task->shape.channels, elements = task->shape.width * channels;
    job->in_aligned = is_aligned(&task->in, sizeof(T), ACROSS * sizeof(T)) &&
                      (STEP || task->shape.channels % 4 == 0);
    job->out_aligned = is_aligned(&task->out, sizeof(T), ACROSS * sizeof(T));
    int64_t reach = span<T, SIDE, STEP, ACROSS>::reach(channels, job->in_aligned);
    int64_t begin = (reach + ACROSS - 1) / ACROSS * ACROSS;
    int64_t columns = (elements - begin - reach) / ACROSS;
    if (columns < 1)
        return false;
    job->begin = (int32_t)begin;
    job->columns = (int32_t)columns;
    job->edges = (int32_t)(elements - columns * ACROSS);
    return true;
}

/* Returns 1 when done, 0 if rows are too short, or a negative errno. */
template <typename T, int SIDE, bool PRODUCT, int STEP, int ACROSS, int DEPTH, int BLOCKS>
static int launch(const crn_convolve_task *task)
{
    const crn_convolve_shape *shape = &task->shape;
    convolve_small_job<SIDE, PRODUCT> job;
    if (!set_columns<T, STEP, ACROSS>(task, &job))
        return 0;
    job.in = task->in.data;
    job.out = task->out.data;
    job.in_image = task->in.image;
    job.out_image = task->out.image;
    job.in_row = task->in.row;
    job.out_row = task->out.row;
    job.height = shape->height;
    job.width = shape->width;
    job.channels = shape->channels;
    job.border = shape->border;
    job.main_across = crn_gpu_blocks(job.columns, 32);
    job.edges_across = crn_gpu_blocks(job.edges, 32);
    int32_t multiplications = PRODUCT ? 2 * SIDE : SIDE * SIDE;
    job.strips = best_strips(crn_gpu_limits_of(task->context), shape->height,
                             (int64_t)shape->count * (job.main_across + job.edges_across), SIDE,
                             (multiplications + 4) * ACROSS + 40, BLOCKS, DEPTH);
    job.strip_rows = (shape->height + job.strips - 1) / job.strips;
    int64_t strips = (int64_t)shape->count * job.strips;
    int64_t warps = strips * (job.main_across + job.edges_across);
    if (warps > CRN_CONVOLVE_SIZE_MAX)
        return 0;
    job.main_warps = (int32_t)strips * job.main_across;
    job.edge_warps = (int32_t)strips * job.edges_across;
    for (size_t i = 0; i < sizeof job.weights / sizeof *job.weights; i++) {
        bool up = sizeof(T) == 1 && (!PRODUCT || i < SIDE);
        job.weights[i] =
            up ? task->kernel.weights[i] * CRN_CONVOLVE_WEIGHT_SCALE : task->kernel.weights[i];
    }
    filter_small<T, SIDE, PRODUCT, STEP, ACROSS, DEPTH, BLOCKS>
        <<<crn_gpu_blocks(warps, CRN_CONVOLVE_SMALL_WARPS), CRN_CONVOLVE_SMALL_THREADS, 0,
           crn_gpu_stream(task->context)>>>(job);
    int r = crn_gpu_launch_error();
    return r < 0 ? r : 1;
}

/*
 * Selects the tuning: TUNINGS::of has, by side, that for 1 channel, for 3, and for any number (also
 * for few pixels). The smallest side is TUNINGS::side_min; 0 if this side has none.
 */
template <typename T, bool PRODUCT, typename TUNINGS, int SIDE>
static int launch_side(const crn_convolve_task *task)
{
    if constexpr (SIDE < TUNINGS::side_min) {
        return 0;
    } else {
        constexpr int row = (SIDE - TUNINGS::side_min) / 2;
        constexpr convolve_tuning one = TUNINGS::of[row][0], three = TUNINGS::of[row][1],
                                  any = TUNINGS::of[row][2];
        switch (has_few_pixels(task) ? 0 : task->shape.channels) {
        case 1:
            return launch<T, SIDE, PRODUCT, 1, one.across, one.depth, one.blocks>(task);
        case 3:
            return launch<T, SIDE, PRODUCT, 3, three.across, three.depth, three.blocks>(task);
        default:
            return launch<T, SIDE, PRODUCT, 0, any.across, any.depth, any.blocks>(task);
        }
    }
}

template <typename T, bool PRODUCT, typename TUNINGS>
static int launch_small(const crn_convolve_task *task)
{
    switch (task->kernel.width) {
    case 3:
        return launch_side<T, PRODUCT, TUNINGS, 3>(task);
    case 5:
        return launch_side<T, PRODUCT, TUNINGS, 5>(task);
    case 7:
        return launch_side<T, PRODUCT, TUNINGS, 7>(task);
    case 9:
        return launch_side<T, PRODUCT, TUNINGS, 9>(task);
    case 11:
        return launch_side<T, PRODUCT, TUNINGS, 11>(task);
    case 13:
        return launch_side<T, PRODUCT, TUNINGS, 13>(task);
    case 15:
        return launch_side<T, PRODUCT, TUNINGS, 15>(task);
    default:
        return 0;
    }
}

#endif
