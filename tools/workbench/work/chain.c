/* The request for a chain, and the chain that other requests have. */
#include <stdio.h>
#include <string.h>

#include "stages/backend.h"
#include "tools/workbench/requests.h"

/* Kernels may be files, but none outside the pictures' folder. Escapes could hide the slash. */
static bool has_slash(const char *yaml)
{
    return strchr(yaml, '/') || strcasestr(yaml, "\\x2f") || strcasestr(yaml, "\\u002f") ||
           strcasestr(yaml, "\\u0000002f");
}

bool crn_request_read_chain(crn_request *request)
{
    crn_task *task = &request->task;
    const char *backend = crn_request_text(request, "backend");
    int64_t threads = crn_request_number(request, "threads", 1);
    int64_t repeat = crn_request_number(request, "repeat", 0);
    if (request->body && has_slash(request->body)) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "a chain here has no /: name kernels and elements, not files");
        return false;
    }
    task->backend = -1;
    for (int i = 0; backend && crn_backend_names[i]; i++)
        if (strcmp(crn_backend_names[i], backend) == 0)
            task->backend = i;
    if (task->backend < 0 || threads < 1 || threads > 1024 || repeat < 0 || repeat > 1000) {
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "a chain runs on auto, serial, openmp or cuda with 1 to 1024 threads, "
                           "and 0 to 1000 times more");
        return false;
    }
    task->threads = (int32_t)threads;
    task->repeat = (int32_t)repeat;
    task->yaml = request->body ? request->body : "";
    task->yaml_bytes = request->body_bytes;
    return true;
}

void crn_work_chain(crn_request *request)
{
    crn_task *task = &request->task;
    const crn_stored *maps = crn_request_input(request, "in");
    if (!maps || !crn_request_read_chain(request))
        return;
    const crn_stored *photograph = crn_request_pin(request, maps->photograph);
    if (photograph)
        snprintf(task->photograph, sizeof task->photograph, "%s", photograph->name);
    crn_request_work(request, CRN_QUEUE_OPERATORS, crn_task_chain, crn_request_printed);
}
