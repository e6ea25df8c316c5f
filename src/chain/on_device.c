/* The chain of cernita.h on maps in device memory: the enqueue halves there, on the caller's
 * stream, the finish halves on the host, on a copy of the maps. */
#include <errno.h>
#include <string.h>

#include "stages/base/clock.h"
#include "src/chain/internal.h"

/* For the work of one view; far above the slowest. */
#define LIMIT_NS (60 * CRN_NS_PER_S)

int crn_chain_open_device(crn_chain_opened *opened)
{
    const crn_gpu *gpu = opened->gpu;
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
    gpu->pinned_free(opened->maps);
    opened->job = NULL;
    opened->maps = NULL;
}

static int reserve_maps(crn_chain_opened *opened, size_t bytes)
{
    if (bytes <= opened->maps_bytes)
        return 0;
    opened->gpu->pinned_free(opened->maps);
    opened->maps = opened->gpu->pinned_create(bytes);
    opened->maps_bytes = opened->maps ? bytes : 0;
    return opened->maps ? 0 : -ENOMEM;
}

static int enqueue(crn_chain_opened *opened, const crn_chain_input *input, size_t bytes)
{
    const crn_gpu *gpu = opened->gpu;
    crn_job *job = opened->job;
    job->ops = gpu->ops;
    job->context = opened->callers;
    job->classes = &opened->config.classes;
    job->received = job->maps = input->maps;
    int r = gpu->download(opened->callers, opened->maps, input->maps.data, bytes);
    for (int32_t i = 0; i < opened->config.steps && r == 0; i++) {
        const crn_step *step = &opened->config.chain[i];
        if (step->stage->enqueue)
            r = step->stage->enqueue(step->settings, job);
    }
    /* Whatever was enqueued before a failure still runs, and writes into our memory. */
    int waited = crn_gpu_wait(gpu, opened->callers, LIMIT_NS);
    return r < 0 ? r : waited;
}

int crn_chain_judge_device(crn_chain *chain, const crn_chain_input *input)
{
    crn_chain_opened *opened = chain->opened;
    size_t bytes = crn_image_elements(&input->maps) * crn_type_bytes(input->maps.type);
    int r = reserve_maps(opened, bytes);
    if (r == 0)
        r = enqueue(opened, input, bytes);
    if (r < 0)
        return r;
    crn_chain_input here = *input;
    here.maps.data = opened->maps;
    crn_device_result done = {.contours = &opened->job->contours, .begun_ns = input->received_ns};
    done.submitted_ns = done.begun_ns;
    crn_device_result_find(&done, input->maps.planes);
    crn_judgement judgement;
    r = crn_chain_finish(chain, &here, &done, &opened->defects, &judgement);
    if (r == -EOVERFLOW) /* more than the file's limits: the CPU decides what is cut */
        r = crn_chain_run(chain, &here, &opened->defects, &judgement);
    return r;
}
