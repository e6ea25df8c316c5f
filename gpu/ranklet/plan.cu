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
#define ALONE             1.2  /* relative time of a multiprocessor that has one block only */
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
static void set_sizes(const crn_ranklet_job *job, crn_ranklet_plan *plan)
{
    const bool is_wide = plan->kind == CRN_RANKLET_WIDE;
    plan->across = round_up(static_cast<int64_t>(plan->columns) + job->width, 32);
    plan->stride = (plan->kind == CRN_RANKLET_BYTES ? plan->bins / 2 : plan->bins) | 1;
    plan->group_warps = plan->warps / plan->groups;
    plan->group_bins = plan->bins / plan->groups;
    plan->group_words = plan->group_bins / (plan->kind == CRN_RANKLET_BYTES ? 2 : 1);
    plan->segments = is_wide ? plan->across >> plan->segment_shift : 0;
    plan->base_stride = 2 * (plan->bins | 1);
    plan->part_shift = 5;
    while (static_cast<int64_t>(plan->group_warps) << plan->part_shift < plan->across)
        plan->part_shift++;
    size_t across = static_cast<size_t>(plan->across), groups = static_cast<size_t>(plan->groups);
    size_t words = across * (static_cast<size_t>(plan->stride) + groups);
    words += static_cast<size_t>(plan->warps);
    if (is_wide)
        words += static_cast<size_t>(plan->segments) * static_cast<size_t>(plan->base_stride);
    else
        words += groups * 3 * static_cast<size_t>(plan->columns);
    plan->shared_bytes = words * sizeof(uint32_t) + 3 * across * (job->is_u16 ? 2 : 1);
    plan->blocks = (VALUES - 1) / plan->bins + 1;
    plan->stacks = crn_gpu_blocks(job->columns, plan->columns);
    plan->direct = plan->blocks == 1 && !job->is_u16 && !is_wide;
}

/* Cost of a row of a tile, for all its blocks. */
static double row_cost(const crn_ranklet_job *job, const crn_ranklet_plan *plan)
{
    const double half = job->width / 2, blocks = plan->blocks, columns = plan->columns;
    const double pixels = columns + job->width - 1, groups = blocks * plan->groups;
    double change = COST_CHANGE_WIDE * 32;
    if (plan->kind != CRN_RANKLET_WIDE)
        change = half > 16
                     ? 32 * (COST_CHANGE + COST_CHANGE_WORDS * ((job->width / 2 - 1) / 32 + 1))
                     : 10 * half;
    return columns * (VALUES * cost_value[plan->kind] + groups * (COST_GROUP + COST_SUM_GROUP) +
                      blocks * COST_SUM) +
           pixels * (3 * change + groups * COST_GROUP_COLUMN + blocks * COST_COLUMN) +
           blocks * plan->warps * COST_WARP;
}

/* Cost of a tile's first row, for all its blocks. */
static double first_cost(const crn_ranklet_job *job, const crn_ranklet_plan *plan)
{
    return static_cast<double>(plan->blocks) * plan->across *
           (plan->stride * COST_FIRST_WORD + job->height * COST_FIRST_PIXEL);
}

/* Sets the number of strips that balances the multiprocessors best; returns the
 * cost per multiprocessor. */
static double choose_strips(const crn_ranklet_job *job, int64_t slots, crn_ranklet_plan *plan)
{
    const double row = row_cost(job, plan) / plan->blocks;
    const double first = first_cost(job, plan) / plan->blocks;
    int64_t tiles = static_cast<int64_t>(plan->stacks) * plan->blocks * job->images;
    double least = 0;
    for (int64_t most = slots; most <= 6 * slots; most += slots) {
        int64_t strips = most / tiles < job->rows ? most / tiles : job->rows;
        strips = strips > 1 ? strips : 1;
        int32_t rows = static_cast<int32_t>((job->rows - 1) / strips + 1);
        double waves = static_cast<double>((tiles * strips - 1) / slots + 1);
        double uneven = static_cast<double>(tiles * strips) / static_cast<double>(slots) +
                        (plan->blocks > 2 ? UNEVEN : EVEN);
        double cost = (waves > uneven ? waves : uneven) * (rows * row + first);
        if (least == 0 || cost < least) {
            least = cost;
            plan->rows = rows;
        }
    }
    plan->strips = (job->rows - 1) / plan->rows + 1;
    return least;
}

/* The maximum number of columns, in multiples of `unit`, that fits; 0: none. */
static int32_t most_columns(const crn_ranklet_job *job, size_t shared_bytes, int32_t unit,
                            crn_ranklet_plan plan)
{
    int32_t fits = 0, too_many = round_up(job->columns, unit) / unit + 1;
    while (too_many - fits > 1) {
        int32_t middle = fits + (too_many - fits) / 2;
        plan.columns = middle * unit;
        set_sizes(job, &plan);
        if (plan.shared_bytes > shared_bytes)
            too_many = middle;
        else
            fits = middle;
    }
    return fits * unit;
}

/* Keeps the cheapest plan that fits if it is cheaper than *least. `per_processor` blocks share a
 * multiprocessor: one works while the other waits. */
static void choose(const crn_ranklet_job *job, const crn_gpu_limits *limits, int32_t per_processor,
                   crn_ranklet_plan plan, double *least, crn_ranklet_plan *ret_plan)
{
    static const int32_t bins[] = {256, 128, 96, 86, 64, 52, 43, 32, 26, 22, 16, 12, 8, 6, 4, 2, 1};
    /* The driver reserves 1 KiB of shared memory per block. */
    const size_t per_block = (limits->shared_bytes + 1024) / static_cast<size_t>(per_processor);
    const int64_t slots = static_cast<int64_t>(per_processor) * limits->multiprocessors;
    const int32_t groups_max = plan.kind == CRN_RANKLET_WIDE ? 1 : 16;
    plan.warps = CRN_RANKLET_WARPS_MAX / per_processor;
    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++)
        for (plan.groups = 1; plan.groups <= groups_max && plan.groups <= plan.warps;
             plan.groups *= 2) {
            plan.bins = bins[i];
            if (plan.kind != CRN_RANKLET_WIDE &&
                (plan.bins % (2 * plan.groups) ||
                 (plan.kind == CRN_RANKLET_BYTES && plan.bins % 4)))
                continue;
            const int32_t unit = plan.kind == CRN_RANKLET_WIDE ? 32 : 32 * plan.warps / plan.groups;
            int32_t most = most_columns(job, per_block - 1024, unit, plan);
            if (most == 0)
                continue;
            int32_t stacks = (job->columns - 1) / most + 1;
            plan.columns = round_up((job->columns - 1) / stacks + 1, unit);
            set_sizes(job, &plan);
            double cost =
                choose_strips(job, slots, &plan) * (per_processor == 1 ? ALONE : per_processor);
            if (*least == 0 || cost < *least) {
                *least = cost;
                *ret_plan = plan;
            }
        }
}

bool crn_ranklet_plan_make(const crn_ranklet_job *job, const crn_gpu_limits *limits,
                           crn_ranklet_plan *ret_plan)
{
    crn_ranklet_plan plan = {};
    int64_t quarter = static_cast<int64_t>(job->width) * job->height / 4;
    if (quarter > WIDE_QUARTER)
        return false;
    plan.kind = quarter <= BYTES_QUARTER    ? CRN_RANKLET_BYTES
                : quarter <= NARROW_QUARTER ? CRN_RANKLET_NARROW
                                            : CRN_RANKLET_WIDE;
    while (2 << plan.lanes_shift < job->width && plan.lanes_shift < 5)
        plan.lanes_shift++;
    while (plan.kind == CRN_RANKLET_WIDE && plan.segment_shift < 5 &&
           ((INT64_C(2) << plan.segment_shift) - 1) * (job->height / 2) <= UINT16_MAX)
        plan.segment_shift++;
    if (plan.kind == CRN_RANKLET_WIDE && plan.segment_shift == 0)
        return false;
    double least = 0;
    choose(job, limits, 2, plan, &least, ret_plan);
    choose(job, limits, 1, plan, &least, ret_plan);
    return least > 0;
}
