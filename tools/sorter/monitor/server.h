/*
 * The sorter's HTTP server: /metrics and /healthz. It has no thread: the sorter's own calls it when
 * there is something to do, and it waits for no client.
 */
#ifndef CRN_TOOLS_SORTER_MONITOR_SERVER_H
#define CRN_TOOLS_SORTER_MONITOR_SERVER_H

#include <zmq.h>

#include "stages/base/error.h"
#include "tools/sorter/monitor/observation.h"

typedef struct crn_sorter_http crn_sorter_http;

/* Fills what a page is made of. */
typedef void crn_sorter_observe(void *context, crn_sorter_observation *ret_observation);

/* Listens at HOST:PORT, which stays the caller's. 0 or a negative errno with one line in *error. */
int crn_sorter_http_open(const char *address, crn_sorter_observe *observe, void *context,
                         crn_sorter_http **ret_http, crn_error *error);
void crn_sorter_http_close(crn_sorter_http **http);

/* The address with its actual port. */
const char *crn_sorter_http_address(const crn_sorter_http *http);

/* What to wait for. */
zmq_pollitem_t crn_sorter_http_poll(const crn_sorter_http *http);

/* Answers. Returns when to come again at the latest, or CRN_NEVER_NS. */
int64_t crn_sorter_http_serve(crn_sorter_http *http, int64_t now_ns);

#endif
