/* How a picture is cut up for ranklet_counts.cu. */
#include "gpu/ranklet.cuh"

/* Of so many pixels a quarter, two fit into 8 bits. */
#define BYTES_QUARTER 127

/* |AW + CW| is at most (2 quarters)^2: of so many pixels a quarter that fits into 32 bits, and
 * their number into 16. */
#define NARROW_QUARTER 23170

/* Of so many, twice the window's fit into 32 bits. */
#define WIDE_QUARTER (INT32_MAX / 4)

/* Values that the plan is made for, where only the device knows how many there are. */
#define VALUES 256

#define NARROW_GROUPS 8

/* What is the cost, in a lane's instructions, of a position and value by kind; a pixel that comes
 * or goes, where it is counted and where not; a sum that is added to those of other blocks. */
static const double value_costs[] = {5, 11, 20};
#define COST_CHANGE 10.0
#define COST_COLUMN 15.0
#define COST_SUM    20.0

static int32_t round_up(int64_t value, int32_t to)
{
    return static_cast<int32_t>((value + to - 1) / to * to);
}

/* Sets what follows from bins and columns. */
static void set_sizes(const crn_ranklet_job *job, crn_ranklet_plan *plan)
{
    const bool is_wide = plan->kind == CRN_RANKLET_WIDE;
    plan->groups = is_wide ? 1 : NARROW_GROUPS;
    plan->across = round_up(static_cast<int64_t>(plan->columns) + job->width, 32);
    plan->stride = (plan->kind == CRN_RANKLET_BYTES ? plan->bins / 2 : plan->bins) | 1;
    plan->segments = is_wide ? plan->across >> plan->segment_shift : 0;
    plan->base_stride = 2 * (plan->bins | 1);
    plan->part_shift = 5;
    while ((CRN_RANKLET_WARPS / plan->groups) << plan->part_shift < plan->across)
        plan->part_shift++;
    size_t across = static_cast<size_t>(plan->across), groups = static_cast<size_t>(plan->groups);
    size_t words = across * static_cast<size_t>(plan->stride) + groups * across + CRN_RANKLET_WARPS;
    if (is_wide)
        words += static_cast<size_t>(plan->segments) * static_cast<size_t>(plan->base_stride);
    else
        words += groups * 3 * static_cast<size_t>(plan->columns);
    plan->shared_bytes = words * sizeof(uint32_t) + 3 * across * (job->is_u16 ? 2 : 1);
    plan->blocks = (VALUES - 1) / plan->bins + 1;
    plan->stacks = crn_gpu_blocks(job->columns, plan->columns);
    plan->direct = plan->blocks == 1 && !job->is_u16 && !is_wide;
}

/* Of all rows of a picture's width, about. */
static double cost_of(const crn_ranklet_job *job, const crn_ranklet_plan *plan)
{
    double half = job->width / 2;
    double touched = plan->kind == CRN_RANKLET_WIDE ? 5 : (job->width / 2 - 1) / 32 + 1;
    double pixels = 3.0 * (plan->columns + job->width - 1);
    double of_tile = static_cast<double>(VALUES) * plan->columns * value_costs[plan->kind];
    of_tile += pixels * (half > 16 ? 32 : half) * (COST_CHANGE + 2 * touched);
    of_tile += pixels * COST_COLUMN * plan->blocks;
    of_tile += plan->direct ? 0 : COST_SUM * 3 * plan->columns * plan->blocks;
    return of_tile * plan->stacks;
}

/* The most columns, in multiples of `unit`, that fit; 0: none. */
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

/* The cheapest that fits. */
static bool choose_bins(const crn_ranklet_job *job, size_t shared_bytes, crn_ranklet_plan *ret_plan)
{
    static const int32_t bins[] = {256, 128, 86, 64, 52, 43, 37, 32, 26,
                                   22,  16,  12, 8,  6,  4,  3,  2,  1};
    const int32_t unit =
        ret_plan->kind == CRN_RANKLET_WIDE ? 32 : 32 * CRN_RANKLET_WARPS / NARROW_GROUPS;
    double least = 0;
    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++) {
        crn_ranklet_plan plan = *ret_plan;
        plan.bins = bins[i];
        if (plan.kind != CRN_RANKLET_WIDE && plan.bins % (2 * NARROW_GROUPS))
            continue;
        int32_t most = most_columns(job, shared_bytes, unit, plan);
        if (most == 0)
            continue;
        int32_t stacks = (job->columns - 1) / most + 1;
        plan.columns = round_up((job->columns - 1) / stacks + 1, unit);
        set_sizes(job, &plan);
        double cost = cost_of(job, &plan);
        if (least == 0 || cost < least) {
            least = cost;
            *ret_plan = plan;
        }
    }
    return least > 0;
}

/* As many strips as keep all multiprocessors equally busy: each strip begins with counting its
 * first row's windows. */
static void choose_strips(const crn_ranklet_job *job, int64_t slots, crn_ranklet_plan *plan)
{
    double pixels = plan->columns + job->width - 1.0, bins = plan->bins;
    double row = plan->columns * bins * value_costs[plan->kind] + 3 * pixels * COST_COLUMN;
    double begin = bins * pixels * 30 + pixels * job->height * 10;
    int64_t tiles = static_cast<int64_t>(plan->stacks) * plan->blocks * job->images;
    double least = 0;
    for (int32_t strips = 1; strips <= job->rows && strips <= 2 * slots; strips++) {
        int32_t rows = (job->rows - 1) / strips + 1;
        int64_t waves = (tiles * strips - 1) / slots + 1;
        double cost = static_cast<double>(waves) * (rows * row + begin);
        if (least == 0 || cost < least) {
            least = cost;
            plan->rows = rows;
        }
    }
    plan->strips = (job->rows - 1) / plan->rows + 1;
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
    while (plan.kind == CRN_RANKLET_WIDE && plan.segment_shift < 5 &&
           ((INT64_C(2) << plan.segment_shift) - 1) * (job->height / 2) <= UINT16_MAX)
        plan.segment_shift++;
    if (plan.kind == CRN_RANKLET_WIDE && plan.segment_shift == 0)
        return false;
    /* Two blocks to a multiprocessor: one works while the other waits. The device keeps 1 KiB of
     * each block's memory to itself. */
    int64_t blocks = 2;
    size_t half = (limits->shared_bytes + 1024) / 2 - 1024;
    if (!choose_bins(job, half, &plan)) {
        blocks = 1;
        if (!choose_bins(job, limits->shared_bytes, &plan))
            return false;
    }
    choose_strips(job, blocks * limits->multiprocessors, &plan);
    *ret_plan = plan;
    return true;
}
