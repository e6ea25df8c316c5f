/* The line as the service manager sees it: its thread's pulse, and its state in a sentence. */
#include "src/line/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/events/sentence.h"
#include "src/service/service.h"
#include "src/service/watchdog.h"

_Static_assert(CRN_SERVICE_STATUS_BYTES > CRN_CONDITION_CLAUSE_BYTES,
               "a status has room for a condition");

struct crn_line_service {
    crn_pulse *pulse;
    crn_conditions *conditions;
    const char *page; /* where the live page is, if not where it is looked for; or "" */
};

int crn_line_service_create(crn_conditions *conditions, crn_line_service **ret_service)
{
    crn_line_service *service = calloc(1, sizeof *service);
    if (!service)
        return -ENOMEM;
    service->conditions = conditions;
    service->pulse = crn_pulse_create();
    if (!service->pulse) {
        crn_line_service_free(&service);
        return -ENOMEM;
    }
    *ret_service = service;
    return 0;
}

void crn_line_service_free(crn_line_service **service)
{
    if (!service || !*service)
        return;
    free((*service)->pulse);
    free(*service);
    *service = NULL;
}

crn_pulse *crn_line_service_pulse(crn_line_service *service)
{
    return service->pulse;
}

void crn_line_starting(char text[CRN_SERVICE_STATUS_BYTES])
{
    static const crn_condition_list none = {.state = CRN_STATE_STARTING};
    crn_sentence_write(&none, text, CRN_SERVICE_STATUS_BYTES);
}

static void write_status(void *context, char text[CRN_SERVICE_STATUS_BYTES])
{
    crn_line_service *service = context;
    crn_condition_list list;
    crn_conditions_get(service->conditions, &list);
    crn_sentence_write(&list, text, CRN_SERVICE_STATUS_BYTES);
    size_t used = strlen(text);
    if (service->page[0])
        snprintf(text + used, CRN_SERVICE_STATUS_BYTES - used, " (live page: http://%s)",
                 service->page);
}

void crn_line_service_begin(crn_line_service *service, const char *page)
{
    service->page = page;
    crn_watchdog_add(service->pulse, CRN_PULSE_ROUNDS, "line");
    crn_service_ask(write_status, service);
    crn_service_ready();
}

void crn_line_service_end(crn_line_service *service)
{
    crn_watchdog_remove(service->pulse);
    crn_service_ask(NULL, NULL);
}
