/* How a picture is cut up for ranklet_counts.cu. */
#include "gpu/ranklet.cuh"

/* |AW + CW| is at most (2 quarters)^2: of so many pixels a quarter that fits into 32 bits, and
 * their number into 16. */
#define NARROW_QUARTER 23170

/* Of so many, twice the window's fit into 32 bits. */
#define WIDE_QUARTER (INT32_MAX / 4)

/* Values that the plan is made for, where only the device knows how many there are. */
#define VALUES 256

#define NARROW_GROUPS 8

/* What about a lane's instructions are, per position and value, pixel that comes or goes, and sum
 * that is added to those of other blocks. */
#define COST_VALUE  12.0
#define COST_COLUMN 10.0
#define COST_SUM    40.0

static int32_t round_up(int64_t value, int32_t to)
{
    return static_cast<int32_t>((value + to - 1) / to * to);
}

/* Sets what follows from bins and columns. */
static void set_sizes(const crn_ranklet_job *job, crn_ranklet_plan *plan)
{
    plan->groups = plan->wide ? 1 : NARROW_GROUPS;
    int64_t pixels = static_cast<int64_t>(plan->columns) + job->width - 1;
    plan->stride = round_up(pixels + 1, 32);
    plan->segment_shift = 5;
    while ((CRN_RANKLET_WARPS / plan->groups) << plan->segment_shift < plan->stride)
        plan->segment_shift++;
    size_t stride = static_cast<size_t>(plan->stride), bins = static_cast<size_t>(plan->bins);
    size_t words = bins * stride;
    if (plan->wide)
        words = 2 * bins * (stride + stride / 32);
    words += static_cast<size_t>(plan->groups) * stride + CRN_RANKLET_WARPS;
    if (!plan->wide)
        words += static_cast<size_t>(plan->groups) * 3 * static_cast<size_t>(plan->columns);
    plan->shared_bytes = words * sizeof(uint32_t) + 3 * stride * (job->is_u16 ? 2 : 1);
    plan->blocks = (VALUES - 1) / plan->bins + 1;
    plan->stacks = crn_gpu_blocks(job->columns, plan->columns);
    plan->direct = plan->blocks == 1 && !job->is_u16 && !plan->wide;
}

/* Of all rows of a picture's width, about. */
static double cost_of(const crn_ranklet_job *job, const crn_ranklet_plan *plan)
{
    double half = job->width / 2;
    double touched = plan->wide ? 4 : static_cast<double>((job->width / 2 - 1) / 32 + 1);
    double lanes = half > 16 ? 32 : half;
    double pixels = 3.0 * (plan->columns + job->width - 1);
    double of_tile = static_cast<double>(VALUES) * plan->columns * COST_VALUE;
    of_tile += pixels * lanes * (COST_COLUMN + 2 * touched);
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
    static const int32_t bins[] = {256, 128, 64, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1};
    const int32_t unit = ret_plan->wide ? 32 : 32 * CRN_RANKLET_WARPS / NARROW_GROUPS;
    double least = 0;
    for (size_t i = 0; i < sizeof bins / sizeof *bins; i++) {
        crn_ranklet_plan plan = *ret_plan;
        plan.bins = bins[i];
        if (!plan.wide && plan.bins % NARROW_GROUPS)
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
    double row = plan->columns * bins * COST_VALUE + 3 * pixels * COST_COLUMN;
    double begin = bins * pixels * (plan->wide ? 50 : 30) + pixels * job->height * 10;
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
    plan.wide = quarter > NARROW_QUARTER;
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
