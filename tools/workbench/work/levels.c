/* The request for levels from labelled recordings. */
#include <stdlib.h>
#include <string.h>

#include "tools/workbench/requests.h"

/* Keeps a recording until the answer, as an argument of the task; false: the refusal is set. */
static bool take_recording(crn_request *request, uint64_t id)
{
    crn_task *task = &request->task;
    const crn_stored *recording =
        task->argument_count < CRN_ARGUMENTS_MAX - 1 ? crn_request_pin(request, id) : NULL;
    if (!recording) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "more than %d recordings at a time: use cernita-workbench --levels",
                           CRN_ARGUMENTS_MAX - 1);
        return false;
    }
    request->arguments[task->argument_count] = strdup(recording->name);
    if (request->arguments[task->argument_count])
        task->argument_count++;
    else
        crn_answer_refusal(request, MHD_HTTP_INSUFFICIENT_STORAGE, "no memory");
    return request->response == NULL;
}

/* That of `in`, or all that are open, in the order in which they were opened. */
static bool take_recordings(crn_request *request)
{
    const crn_store *store = &request->bench->store;
    int64_t wanted = crn_request_number(request, "in", 0);
    for (uint64_t last = 0;;) {
        const crn_stored *next = NULL;
        for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++) {
            const crn_stored *one = &store->at[i];
            if (one->id > last && one->facts.kind == CRN_PICTURE_RECORDING &&
                (wanted == 0 || (int64_t)one->id == wanted) && (!next || one->id < next->id))
                next = one;
        }
        if (!next)
            return true;
        last = next->id;
        if (!take_recording(request, last))
            return false;
    }
}

void crn_work_levels(crn_request *request)
{
    crn_task *task = &request->task;
    int64_t id = crn_request_number(request, "labels", 0);
    const crn_stored *labels = id > 0 ? crn_request_pin(request, (uint64_t)id) : NULL;
    task->arguments = request->arguments;
    if (!labels || labels->facts.kind != CRN_PICTURE_LABELS) {
        crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "these labels are not open any more");
        return;
    }
    snprintf(task->in, sizeof task->in, "%s", labels->name);
    if (!crn_request_read_chain(request) || !take_recordings(request))
        return;
    if (task->argument_count == 0)
        crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "this recording is not open any more");
    else
        crn_request_work(request, CRN_QUEUE_OPERATORS, crn_task_levels, crn_request_printed);
}
