#include "src/engine/remote_maps.h"

#include <errno.h>
#include <stdlib.h>

#include "stages/context.h"

struct crn_remote_maps {
    crn_job_device job; /* first: it stands for the whole */
    int32_t worker;
    crn_device_view *from;
    crn_context *memory; /* of runs and sums */
};

/* Its contexts have no memory: they stand for the object. */
static const crn_context_allocator remote = {.take = NULL};

static int sum_runs(crn_context *context, const crn_image *in, const crn_run *runs, uint32_t count,
                    crn_run_sum *sums)
{
    const crn_remote_maps *maps = crn_context_owner(context, &remote);
    return crn_device_sum_runs(maps->from, maps->worker, in, runs, count, sums);
}

/* What the finish half of contours needs; steps that need more get a copy of the maps. */
static const crn_ops remote_ops = {.name = "remote", .sum_runs = sum_runs};

static void *shared(crn_job_device *device, int32_t slot, size_t bytes)
{
    return crn_context_scratch(((crn_remote_maps *)device)->memory, slot, bytes);
}

/* The reads themselves wait. */
static int wait(crn_job_device *device)
{
    (void)device;
    return 0;
}

int crn_remote_maps_create(int32_t worker, crn_remote_maps **ret_maps)
{
    crn_remote_maps *maps = calloc(1, sizeof *maps);
    if (!maps)
        return -ENOMEM;
    maps->job = (crn_job_device){.ops = &remote_ops, .shared = shared, .wait = wait};
    maps->worker = worker;
    int r = crn_context_create(1, &maps->memory);
    if (r == 0)
        r = crn_context_create_at(&remote, maps, 1, &maps->job.context);
    if (r < 0)
        crn_remote_maps_free(&maps);
    else
        *ret_maps = maps;
    return r;
}

void crn_remote_maps_free(crn_remote_maps **maps)
{
    if (!*maps)
        return;
    crn_context_free(&(*maps)->job.context);
    crn_context_free(&(*maps)->memory);
    free(*maps);
    *maps = NULL;
}

crn_job_device *crn_remote_maps_of(crn_remote_maps *maps, crn_device_view *from)
{
    maps->from = from;
    return &maps->job;
}
