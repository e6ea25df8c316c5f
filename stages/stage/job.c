/* Helpers of image stages: output images, conversion of f16 maps for operators without f16. Of
 * finish halves: where the received maps lie. */
#include <errno.h>

#include "stages/stage/stage.h"

int crn_job_output(crn_job *job, crn_type type, crn_image *ret_output)
{
    const crn_image *maps = &job->maps;
    /* Sized for the largest type, so that a slot never moves while maps are stored in it. */
    size_t bytes = crn_image_elements(maps) * sizeof(float);
    void *memory = crn_context_scratch(job->context, CRN_SLOT_MAPS_0, bytes);
    if (memory && memory == maps->data)
        memory = crn_context_scratch(job->context, CRN_SLOT_MAPS_1, bytes);
    if (!memory)
        return -ENOMEM;
    crn_layout layout = maps->step == 1 ? CRN_CHW : CRN_HWC;
    *ret_output = crn_image_dense(memory, type, layout, maps->planes, maps->height, maps->width);
    return 0;
}

int crn_job_widen(crn_job *job)
{
    if (job->maps.type != CRN_F16)
        return 0;
    crn_image output;
    int r = crn_job_output(job, CRN_F32, &output);
    if (r < 0)
        return r;
    r = job->ops->widen(job->context, &job->maps, &output);
    if (r == 0)
        job->maps = output;
    return r;
}

void *crn_job_shared(crn_job *job, int32_t slot, size_t bytes)
{
    return job->device ? job->device->shared(job->device, slot, bytes)
                       : crn_context_scratch(job->context, slot, bytes);
}

int crn_job_wait(crn_job *job)
{
    return job->device ? job->device->wait(job->device) : 0;
}
