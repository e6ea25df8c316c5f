/* The requests of control.h and their answers. No sockets. */
#ifndef CRN_SRC_CONTROL_REQUESTS_H
#define CRN_SRC_CONTROL_REQUESTS_H

#include "src/control/control.h"
#include "src/control/lots.h"

/* What requests ask about, and change. */
typedef struct crn_request_target {
    crn_control_settings settings;
    crn_reloader *reloader;
    crn_lots lots;
} crn_request_target;

/* True if the request changes the line: it is logged with who made it. */
bool crn_request_changes(const char *request);

/* Writes the whole answer to one line of text, without its line end. `by` is who asks. */
void crn_request_answer(crn_request_target *target, const char *request, const crn_changed_by *by,
                        FILE *out);

/* A reload, with the calls of settings.reloading around it. */
int crn_request_reload(crn_request_target *target, const crn_changed_by *by, FILE *out);

#endif
