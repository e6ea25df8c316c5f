/* The request for a camera's scale. */
#include <stdio.h>
#include <string.h>

#include "tools/workbench/requests.h"

/* "disc" or "chequerboard", and its size in mm. */
static bool read_target(const char *text, crn_calibration_target *ret_target)
{
    char what[16];
    double mm = 0;
    int used = 0;
    if (!text || sscanf(text, "%15[a-z]\n%lf%n", what, &mm, &used) != 2 || text[used] ||
        !(mm >= CRN_CALIBRATION_TARGET_MIN_MM && mm <= CRN_CALIBRATION_TARGET_MAX_MM))
        return false;
    bool is_board = strcmp(what, "chequerboard") == 0;
    *ret_target =
        (crn_calibration_target){.disc_mm = is_board ? 0 : mm, .pitch_mm = is_board ? mm : 0};
    return is_board || strcmp(what, "disc") == 0;
}

void crn_work_calibrate(crn_request *request)
{
    crn_task *task = &request->task;
    int64_t id = crn_request_number(request, "in", 0);
    const crn_stored *picture = id > 0 ? crn_request_pin(request, (uint64_t)id) : NULL;
    if (!picture) {
        crn_answer_refusal(request, MHD_HTTP_NOT_FOUND, "this picture is not open any more");
        return;
    }
    snprintf(task->in, sizeof task->in, "%s", picture->name);
    if (!read_target(request->body, &task->target))
        crn_answer_refusal(request, MHD_HTTP_UNPROCESSABLE_CONTENT,
                           "a target is a disc or a chequerboard of %g to %g mm",
                           CRN_CALIBRATION_TARGET_MIN_MM, CRN_CALIBRATION_TARGET_MAX_MM);
    else
        crn_request_work(request, CRN_QUEUE_QUICK, crn_task_calibrate, crn_request_printed);
}
