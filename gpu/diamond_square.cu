/* The diamond-square: a launch of tiles (diamond_square.cuh). */
#include "gpu/diamond_square.cuh"

#include <math.h>

/* Fewer rows cost more for what tiles share, more rows more shared memory; what a tile makes
 * besides its own is about so many rows. */
enum { PAIRS_MIN = 24, PAIRS_LEAST = 2, PAIRS_BESIDES = 8 };

static void set_keys(uint64_t seed, crn_diamond_square_keys *keys)
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
    for (int32_t level = 0; level < params->exponent; level++)
        job.amplitude[level] = crn_diamond_square_amplitude(params->roughness, level);
    job.exponent = params->exponent;
    job.x = params->x;
    job.y = params->y;
    job.width = out->width;
    job.height = out->height;
    job.data = out->data;
    job.row_stride = out->row_stride;
    job.step = out->step;
    job.type = out->type;
    job.pairs = PAIRS_BESIDES;
    return job;
}

/* Where noise is amplitude x 2^-31 times a word, with one rounding, in a dense row. */
static crn_diamond_square_way way_of(crn_diamond_square_job *job)
{
    double scale = (double)job->amplitude[job->exponent - 1] * 0x1p-31;
    job->scale = (float)scale;
    if ((double)job->scale != scale || job->step != 1)
        return CRN_DIAMOND_SQUARE_ANY;
    return job->type == CRN_U8 ? CRN_DIAMOND_SQUARE_BYTES : CRN_DIAMOND_SQUARE_FLOATS;
}

/* Tiles of a height that leaves few multiprocessors idle in the end. Returns how many. */
static int32_t set_tiles(const crn_context *context, crn_diamond_square_way way,
                         crn_diamond_square_job *job)
{
    /* A lane's word may begin 7 bytes before its points, the last bytes be the next lane's. */
    int32_t last_group = (job->x + job->width - 1 + 7) / 8;
    job->first_group = job->x / 8;
    job->first_pair = job->y / 2;
    job->tiles_across =
        crn_gpu_blocks(last_group - job->first_group + 1, CRN_DIAMOND_SQUARE_GROUPS);
    int32_t pairs = (job->y + job->height - 1) / 2 - job->first_pair + 1;
    int64_t best = INT64_MAX;
    for (int32_t high = PAIRS_MIN; high <= CRN_DIAMOND_SQUARE_PAIRS_MAX; high++) {
        int64_t at_once = (int64_t)crn_gpu_limits_of(context)->multiprocessors *
                          crn_diamond_square_tiles_at_once(context, way, high);
        int64_t tiles = (int64_t)job->tiles_across * crn_gpu_blocks(pairs, high);
        int64_t cost = (tiles + at_once - 1) / at_once * (high + PAIRS_BESIDES);
        if (cost <= best) {
            best = cost;
            job->pairs = high;
        }
    }
    return (int32_t)(job->tiles_across * (int64_t)crn_gpu_blocks(pairs, job->pairs));
}

int crn_diamond_square_cuda(crn_context *context, const crn_diamond_square_params *params,
                            crn_image *out)
{
    int r = crn_diamond_square_check(params, out);
    if (r < 0)
        return r;
    if (!crn_gpu_limits_of(context) || crn_context_views(context) > 1)
        return -EINVAL;
    crn_diamond_square_job job = job_of(params, out);
    if (params->exponent < 3)
        return crn_diamond_square_launch_small(context, &job);
    crn_diamond_square_way way = way_of(&job);
    int32_t tiles = set_tiles(context, way, &job);
    return crn_diamond_square_launch(context, way, tiles, &job);
}
