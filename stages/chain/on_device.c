/* The chain of cernita.h on maps in device memory: the enqueue halves run there, on the caller's
 * stream; the finish halves on the host, which asks the device for what they need of the maps. */
#include <errno.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/chain/internal.h"

/* For the work of one view; far above the slowest. */
#define LIMIT_NS (60 * CRN_NS_PER_S)

/* crn_job_device.shared: grows as crn_context_scratch() does. Nothing reads the old memory: the
 * halves ask for theirs before they enqueue. */
static void *reserve_shared(crn_job_device *job, int32_t slot, size_t bytes)
{
    crn_chain_device *device = (crn_chain_device *)job;
    if (bytes > device->shared[slot].bytes || !device->shared[slot].memory) {
        device->gpu->pinned_free(device->shared[slot].memory);
        device->shared[slot].memory = device->gpu->pinned_create(bytes ? bytes : 1);
        device->shared[slot].bytes = device->shared[slot].memory ? bytes : 0;
    }
    return device->shared[slot].memory;
}

static int wait(crn_job_device *job)
{
    return crn_gpu_wait(((crn_chain_device *)job)->gpu, job->context, LIMIT_NS);
}

int crn_chain_open_device(crn_chain_opened *opened)
{
    const crn_gpu *gpu = opened->gpu;
    opened->device.gpu = gpu;
    opened->device.job = (crn_job_device){
        .ops = gpu->ops, .context = opened->callers, .shared = reserve_shared, .wait = wait};
    opened->job = gpu->pinned_create(sizeof *opened->job);
    if (!opened->job)
        return -ENOMEM;
    memset(opened->job, 0, sizeof *opened->job);
    /* The capacities of a view on the CPU: what is cut there is cut here. */
    crn_contours *contours = &opened->job->contours;
    contours->point_capacity = (uint32_t)opened->config.limits.points;
    contours->contour_capacity = contours->point_capacity / 2 + 1;
    contours->points = gpu->pinned_create(contours->point_capacity * sizeof *contours->points);
    contours->contours =
        gpu->pinned_create(contours->contour_capacity * sizeof *contours->contours);
    return contours->points && contours->contours ? 0 : -ENOMEM;
}

void crn_chain_close_device(crn_chain_opened *opened)
{
    const crn_gpu *gpu = opened->gpu;
    if (opened->job) {
        gpu->pinned_free(opened->job->contours.points);
        gpu->pinned_free(opened->job->contours.contours);
    }
    gpu->pinned_free(opened->job);
    opened->job = NULL;
    for (int32_t slot = 0; slot < CRN_SCRATCH_SLOTS; slot++)
        gpu->pinned_free(opened->device.shared[slot].memory);
    memset(opened->device.shared, 0, sizeof opened->device.shared);
}

static int enqueue(crn_chain_opened *opened, const crn_chain_input *input)
{
    const crn_gpu *gpu = opened->gpu;
    crn_job *job = opened->job;
    job->ops = gpu->ops;
    job->context = opened->callers;
    job->classes = &opened->config.classes;
    job->received = job->maps = input->maps;
    int r = 0;
    for (int32_t i = 0; i < opened->config.steps && r == 0; i++) {
        const crn_step *step = &opened->config.chain[i];
        if (step->stage->enqueue)
            r = step->stage->enqueue(step->settings, job);
    }
    return r;
}

int crn_chain_judge_device(crn_chain *chain, const crn_chain_input *input)
{
    crn_chain_opened *opened = chain->opened;
    crn_job_device *device = &opened->device.job;
    int r = enqueue(opened, input);
    if (r == 0)
        r = device->wait(device);
    if (r == 0)
        r = crn_chain_finish_there(chain, input, &opened->job->contours, device, &opened->defects);
    if (r < 0)
        device->wait(device); /* what was enqueued before a failure still writes into our memory */
    return r;
}
