/* The diamond-square: the entry. Splits a field into tiles and launches (diamond_square.cuh). */
#include "gpu/diamond_square/diamond_square.cuh"

/* Bounds on a tile's rows: fewer share less of the common work, more need more shared memory. A
 * tile's overhead is about PAIRS_BESIDES rows. */
enum { PAIRS_MIN = 8, PAIRS_BESIDES = 8 };

/* From this exponent on a field may start from a coarser one. */
#define EXPONENT_FROM 6

static void set_keys(uint64_t seed, crn_gpu_diamond_square_keys *keys)
{
    uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    for (int32_t round = 0; round < CRN_PHILOX_ROUNDS; round++) {
        keys->round[round][0] = low;
        keys->round[round][1] = high;
        low += CRN_PHILOX_WEYL0;
        high += CRN_PHILOX_WEYL1;
    }
}

static crn_diamond_square_job job_of(const crn_diamond_square_params *params, const crn_image *out)
{
    crn_diamond_square_job job = {};
    set_keys(params->seed, &job.keys);
    for (int32_t level = 0; level < params->exponent; level++) {
        job.amplitude[level] = crn_diamond_square_amplitude(params->roughness, level);
        job.scale[level] = job.amplitude[level] * 0x1p-31f;
    }
    job.exponent = params->exponent;
    job.x = params->x;
    job.y = params->y;
    job.width = out->width;
    job.height = out->height;
    job.data = out->data;
    job.row_stride = out->row_stride;
    job.step = out->step;
    job.type = out->type;
    job.pairs = PAIRS_MIN; /* for small fields; set_tiles sets all others */
    return job;
}

/* Amplitudes fall from level to level, so the last level decides. */
static crn_gpu_diamond_square_variant variant_of(const crn_diamond_square_job *job)
{
    if (job->scale[job->exponent - 1] < 0x1p-95f || job->step != 1)
        return CRN_DIAMOND_SQUARE_ANY;
    return job->type == CRN_U8 ? CRN_DIAMOND_SQUARE_BYTES : CRN_DIAMOND_SQUARE_FLOATS;
}

/* Chooses the tile height that leaves few multiprocessors idle at the end. Returns true if all
 * tiles are resident at once. */
static bool set_tiles(const crn_context *context, crn_gpu_diamond_square_variant variant,
                      crn_diamond_square_job *job)
{
    /* A thread's word may begin 7 bytes before its points; its last bytes
     * belong to the next thread. */
    int32_t last_group = (job->x + job->width - 1 + 7) / 8;
    job->first_group = job->x / 8;
    job->first_pair = job->y / 2;
    job->tiles_across =
        crn_gpu_blocks(last_group - job->first_group + 1, CRN_DIAMOND_SQUARE_GROUPS);
    int32_t pairs = (job->y + job->height - 1) / 2 - job->first_pair + 1;
    int32_t best_pairs = 0;
    int64_t best = INT64_MAX, best_waves = 0;
    for (job->pairs = PAIRS_MIN; job->pairs <= CRN_DIAMOND_SQUARE_PAIRS_MAX; job->pairs++) {
        int64_t at_once = (int64_t)crn_gpu_limits_of(context)->multiprocessors *
                          crn_diamond_square_tiles_at_once(context, variant, job);
        int64_t tiles = (int64_t)job->tiles_across * crn_gpu_blocks(pairs, job->pairs);
        int64_t waves = (tiles + at_once - 1) / at_once;
        int64_t cost = waves * (job->pairs + PAIRS_BESIDES);
        if (cost <= best) {
            best = cost;
            best_waves = waves;
            best_pairs = job->pairs;
        }
    }
    job->pairs = best_pairs;
    job->tiles = job->tiles_across * crn_gpu_blocks(pairs, best_pairs);
    return best_waves == 1;
}

/* The rectangle of grid exponent - 2 that the tiles need, in rows of whole groups. */
static void set_from(const crn_diamond_square_job *job, crn_diamond_square_params *params,
                     crn_image *from)
{
    int32_t last = 1 << (job->exponent - 2);
    int32_t x = 4 * (job->first_group - 1), y = job->first_pair - 1;
    int32_t x1 = x + 4 * (CRN_DIAMOND_SQUARE_GROUPS * job->tiles_across + 1);
    int32_t y1 = y + 1 + job->pairs * (job->tiles / job->tiles_across);
    params->exponent = job->exponent - 2;
    params->x = crn_diamond_square_low(x, 1) & ~3;
    params->y = crn_diamond_square_low(y, 1);
    x1 = crn_diamond_square_high(x1, 1);
    y1 = crn_diamond_square_high(y1, 1);
    *from = crn_image_dense(NULL, CRN_F32, CRN_CHW, 1, (y1 < last ? y1 : last) - params->y + 1,
                            (x1 < last ? x1 : last) - params->x + 1);
    from->row_stride = ((ptrdiff_t)from->width + 3) / 4 * 4;
}

static int make(crn_context *context, const crn_diamond_square_params *params, const crn_image *out,
                int32_t slot)
{
    crn_diamond_square_job job = job_of(params, out);
    if (params->exponent < 3)
        return crn_diamond_square_launch_small(context, &job);
    crn_gpu_diamond_square_variant variant = variant_of(&job);
    bool at_once = set_tiles(context, variant, &job);
    if (!at_once && params->exponent >= EXPONENT_FROM) {
        crn_diamond_square_params before = *params;
        crn_image from;
        set_from(&job, &before, &from);
        size_t floats = (size_t)from.row_stride * (size_t)from.height;
        from.data = crn_context_scratch(context, slot, floats * sizeof(float));
        if (!from.data)
            return -ENOMEM;
        int r = make(context, &before, &from, slot + 1);
        if (r < 0)
            return r;
        job.from = static_cast<const float *>(from.data);
        job.from_x = before.x;
        job.from_y = before.y;
        job.from_width = from.width;
        job.from_stride = (int32_t)from.row_stride;
    }
    return crn_diamond_square_launch(context, variant, &job);
}

int crn_diamond_square_cuda(crn_context *context, const crn_diamond_square_params *params,
                            crn_image *out)
{
    int r = crn_diamond_square_check(params, out);
    if (r < 0)
        return r;
    if (!crn_gpu_limits_of(context) || crn_context_views(context) > 1)
        return -EINVAL;
    return make(context, params, out, 0);
}
