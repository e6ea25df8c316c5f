/* Tiling for counts.cu, by a cost model. */
#include "gpu/ranklet/ranklet.cuh"

/* With so many pixels per quarter, the sum of two counts fits into 8 bits. */
#define BYTES_QUARTER 127

/* |AW + CW| is at most (2 quarters)^2: with so many pixels per quarter it fits into 32 bits,
 * and a count into 16. */
#define NARROW_QUARTER 23170

/* With so many, twice the window's pixels fit into 32 bits. */
#define WIDE_QUARTER (INT32_MAX / 4)

/* Number of values assumed where only the device knows it. */
#define VALUES 256

/* Costs are instructions of one thread, counted with a profiler: of a value at a position, by kind;
 * of a position for each group of values; of a column of pixels for each group, and for each block;
 * of an entering or leaving pixel, and per 32 words of it; of a position for each block, and for
 * each of its groups; of a warp per row in any case. */
static const double cost_value[] = {5.5, 11.5, 18};
#define COST_GROUP        45.0
#define COST_GROUP_COLUMN 29.0
#define COST_COLUMN       75.0
#define COST_CHANGE       22.0
#define COST_CHANGE_WORDS 6.0
#define COST_CHANGE_WIDE  40.0
#define COST_SUM          60.0
#define COST_SUM_GROUP    9.0
#define COST_WARP         (32 * 140.0)
#define COST_SINGLE_BLOCK 1.2  /* relative time of a multiprocessor that has one block only */
#define COST_FIRST_PIXEL  12.0 /* of a tile's first row, per pixel */
#define COST_FIRST_WORD   32.0 /* per count */

/* Imbalance as a share of a block's time: some values are more frequent than others, so blocks
 * end at different times. */
#define UNEVEN 0.4
#define EVEN   0.1

static int32_t round_up(int64_t value, int32_t to)
{
    return static_cast<int32_t>((value + to - 1) / to * to);
}

/* Derives sizes from bins, groups, warps and columns. */
static void set_sizes(const crn_ranklet_job *job, crn_ranklet_tiling *tiling)
{
    const bool is_wide = tiling->kind == CRN_RANKLET_WIDE;
    tiling->across = round_up(static_cast<int64_t>(tiling->columns) + job->width, 32);
    tiling->stride = (tiling->kind == CRN_RANKLET_BYTES ? tiling->bins / 2 : tiling->bins) | 1;
    tiling->group_warps = tiling->warps / tiling->groups;
    tiling->group_bins = tiling->bins / tiling->groups;
    tiling->group_words = tiling->group_bins / (tiling->kind == CRN_RANKLET_BYTES ? 2 : 1);
    tiling->segments = is_wide ? tiling->across >> tiling->segment_shift : 0;
    tiling->base_stride = 2 * (tiling->bins | 1);
    tiling->part_shift = 5;
    while (static_cast<int64_t>(tiling->group_warps) << tiling->part_shift < tiling->across)
        tiling->part_shift++;
    size_t across = static_cast<size_t>(tiling->across),
           groups = static_cast<size_t>(tiling->groups);
    size_t words = across * (static_cast<size_t>(tiling->stride) + groups);
    words += static_cast<size_t>(tiling->warps);
    if (is_wide)
        words += static_cast<size_t>(tiling->segments) * static_cast<size_t>(tiling->base_stride);
    else
        words += groups * 3 * static_cast<size_t>(tiling->columns);
    tiling->shared_bytes = words * sizeof(uint32_t) + 3 * across * (job->is_u16 ? 2 : 1);
    tiling->blocks = (VALUES - 1) / tiling->bins + 1;
    tiling->stacks = crn_gpu_blocks(job->columns, tiling->columns);
    tiling->direct = tiling->blocks == 1 && !job->is_u16 && !is_wide;
}

/* Cost of a row of a tile, for all its blocks. */
static double row_cost(const crn_ranklet_job *job, const crn_ranklet_tiling *tiling)
{
    const double half = job->width / 2, blocks = tiling->blocks, columns = tiling->columns;
    const double pixels = columns + job->width - 1, groups = blocks * tiling->groups;
    double change = COST_CHANGE_WIDE * 32;
    if (tiling->kind != CRN_RANKLET_WIDE)
        change = half > 16
                     ? 32 * (COST_CHANGE + COST_CHANGE_WORDS * ((job->width / 2 - 1) / 32 + 1))
                     : 10 * half;
    return columns * (VALUES * cost_value[tiling->kind] + groups * (COST_GROUP + COST_SUM_GROUP) +
                      blocks * COST_SUM) +
           pixels * (3 * change + groups * COST_GROUP_COLUMN + blocks * COST_COLUMN) +
           blocks * tiling->warps * COST_WARP;
}

/* Cost of a tile's first row, for all its blocks. */
static double first_cost(const crn_ranklet_job *job, const crn_ranklet_tiling *tiling)
{
    return static_cast<double>(tiling->blocks) * tiling->across *
           (tiling->stride * COST_FIRST_WORD + job->height * COST_FIRST_PIXEL);
}

/* Sets the number of strips that balances the multiprocessors best; returns the
 * cost per multiprocessor. */
static double choose_strips(const crn_ranklet_job *job, int64_t slots, crn_ranklet_tiling *tiling)
{
    const double row = row_cost(job, tiling) / tiling->blocks;
    const double first = first_cost(job, tiling) / tiling->blocks;
    int64_t tiles = static_cast<int64_t>(tiling->stacks) * tiling->blocks * job->images;
    double best_cost = 0;
    for (int64_t most = slots; most <= 6 * slots; most += slots) {
        int64_t strips = most / tiles < job->rows ? most / tiles : job->rows;
        strips = strips > 1 ? strips : 1;
        int32_t rows = static_cast<int32_t>((job->rows - 1) / strips + 1);
        double waves = static_cast<double>((tiles * strips - 1) / slots + 1);
        double uneven = static_cast<double>(tiles * strips) / static_cast<double>(slots) +
                        (tiling->blocks > 2 ? UNEVEN : EVEN);
        double cost = (waves > uneven ? waves : uneven) * (rows * row + first);
        if (best_cost == 0 || cost < best_cost) {
            best_cost = cost;
            tiling->rows = rows;
        }
    }
    tiling->strips = (job->rows - 1) / tiling->rows + 1;
    return best_cost;
}

/* The maximum number of columns, in multiples of `unit`, that fits; 0: none. */
static int32_t most_columns(const crn_ranklet_job *job, size_t shared_bytes, int32_t unit,
                            crn_ranklet_tiling tiling)
{
    int32_t fits = 0, too_many = round_up(job->columns, unit) / unit + 1;
    while (too_many - fits > 1) {
        int32_t middle = fits + (too_many - fits) / 2;
        tiling.columns = middle * unit;
        set_sizes(job, &tiling);
        if (tiling.shared_bytes > shared_bytes)
            too_many = middle;
        else
            fits = middle;
    }
    return fits * unit;
}

/* Keeps the cheapest tiling that fits if it is cheaper than *best_cost. `per_processor` blocks
 * share a multiprocessor: one works while the other waits. */
static void choose(const crn_ranklet_job *job, const crn_gpu_limits *limits, int32_t per_processor,
                   crn_ranklet_tiling tiling, double *best_cost, crn_ranklet_tiling *ret_tiling)
{
    static const int32_t bins[] = {256, 128, 96, 86, 64, 52, 43, 32, 26, 22, 16, 12, 8, 6, 4, 2, 1};
    /* The driver reserves 1 KiB of shared memory per block. */
    const size_t per_block = (limits->shared_bytes + 1024) / static_cast<size_t>(per_processor);
    const int64_t slots = static_cast<int64_t>(per_processor) * limits->multiprocessors;
    const int32_t groups_max = tiling.kind == CRN_RANKLET_WIDE ? 1 : 16;
    tiling.warps = CRN_RANKLET_WARPS_MAX / per_processor;
    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++)
        for (tiling.groups = 1; tiling.groups <= groups_max && tiling.groups <= tiling.warps;
             tiling.groups *= 2) {
            tiling.bins = bins[i];
            if (tiling.kind != CRN_RANKLET_WIDE &&
                (tiling.bins % (2 * tiling.groups) ||
                 (tiling.kind == CRN_RANKLET_BYTES && tiling.bins % 4)))
                continue;
            const int32_t unit =
                tiling.kind == CRN_RANKLET_WIDE ? 32 : 32 * tiling.warps / tiling.groups;
            int32_t most = most_columns(job, per_block - 1024, unit, tiling);
            if (most == 0)
                continue;
            int32_t stacks = (job->columns - 1) / most + 1;
            tiling.columns = round_up((job->columns - 1) / stacks + 1, unit);
            set_sizes(job, &tiling);
            double cost = choose_strips(job, slots, &tiling) *
                          (per_processor == 1 ? COST_SINGLE_BLOCK : per_processor);
            if (*best_cost == 0 || cost < *best_cost) {
                *best_cost = cost;
                *ret_tiling = tiling;
            }
        }
}

bool crn_ranklet_tiling_make(const crn_ranklet_job *job, const crn_gpu_limits *limits,
                             crn_ranklet_tiling *ret_tiling)
{
    crn_ranklet_tiling tiling = {};
    int64_t quarter = static_cast<int64_t>(job->width) * job->height / 4;
    if (quarter > WIDE_QUARTER)
        return false;
    tiling.kind = quarter <= BYTES_QUARTER    ? CRN_RANKLET_BYTES
                  : quarter <= NARROW_QUARTER ? CRN_RANKLET_NARROW
                                              : CRN_RANKLET_WIDE;
    while (2 << tiling.threads_shift < job->width && tiling.threads_shift < 5)
        tiling.threads_shift++;
    while (tiling.kind == CRN_RANKLET_WIDE && tiling.segment_shift < 5 &&
           ((INT64_C(2) << tiling.segment_shift) - 1) * (job->height / 2) <= UINT16_MAX)
        tiling.segment_shift++;
    if (tiling.kind == CRN_RANKLET_WIDE && tiling.segment_shift == 0)
        return false;
    double best_cost = 0;
    choose(job, limits, 2, tiling, &best_cost, ret_tiling);
    choose(job, limits, 1, tiling, &best_cost, ret_tiling);
    return best_cost > 0;
}
