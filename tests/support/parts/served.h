/* The HTTP thread without a line, and what it shows. */
#ifndef CRN_TESTS_SUPPORT_SERVED_H
#define CRN_TESTS_SUPPORT_SERVED_H

#include "src/monitor/http/server.h"

typedef struct served_pages {
    crn_config config;
    crn_meters meters;
    crn_snapshots *snapshots;
    crn_alarms *alarms;
    crn_minutes *minutes;
    crn_conditions *conditions;
    crn_flight *flight;
    crn_http *http;
    const char *address; /* HOST:PORT */
} served_pages;

/* Starts it on a free port of 127.0.0.1; a connection may idle and last for so long. `monitor`:
 * further keys of that section, as "hosts: [a]"; NULL: none. */
void served_start(served_pages *pages, const char *monitor, unsigned idle_s, unsigned request_s);
void served_stop(served_pages *pages);

#endif
