/*
 * The HTTP thread: the pages of monitor.http, for Prometheus, service managers and people. It only
 * reads snapshots (snapshot.h) and keeps the flight recorder's verdicts (fruits/flight.h), so that
 * nothing a client does takes time of the line; it runs at a raised nice value, and all that
 * clients may use is bounded (clients.h).
 */
#ifndef CRN_SRC_MONITOR_HTTP_SERVER_H
#define CRN_SRC_MONITOR_HTTP_SERVER_H

#include "src/monitor/fruits/flight.h"
#include "src/monitor/fruits/kept_maps.h"
#include "src/monitor/alarms/thread.h"
#include "src/monitor/conditions/thread.h"
#include "src/monitor/meters.h"
#include "src/monitor/drift/feed.h"
#include "src/monitor/minutes/thread.h"
#include "src/monitor/fruits/live_photos.h"
#include "src/monitor/resources/resources.h"
#include "src/monitor/snapshot.h"
#include "stages/base/error.h"

CRN_C_BEGIN

/* Memory for a request's line and headers, and for what is sent at once; longer headers are
 * refused. */
#define CRN_HTTP_CLIENT_BYTES 16384

typedef struct crn_http crn_http;

#define CRN_HTTP_IDLE_S    20
#define CRN_HTTP_REQUEST_S 60

/* What the pages show, and for how long; all pointers but `run` must outlive the server. */
typedef struct crn_http_settings {
    const char *run; /* identifies the start */
    const crn_meters *meters;
    crn_snapshots *snapshots;
    crn_resources_reader *resources; /* NULL: the disks are unknown */
    crn_conditions *conditions;
    crn_alarms *alarms;
    crn_minutes *minutes;
    crn_drift *drift;
    crn_flight *flight;
    crn_kept_maps *kept_maps; /* NULL: none are kept */
    crn_live_photos *photos;  /* NULL: none */
    unsigned idle_s;          /* a connection is closed when it transfers nothing for so long, */
    unsigned request_s;       /* or has existed for so long, event streams excepted: it carries one
                                 request */
} crn_http_settings;

/*
 * Binds config->monitor.http and starts the thread. `config` is the caller's and must outlive the
 * server. Returns 0 or a negative errno with the address and a hint in *error.
 *
 * An address that the file does not name (monitor.http_named false) is a default that another
 * daemon of this machine may have: one of the next ports is taken then, and a warning names it. If
 * none can be bound another warning says so, and 0 is returned with *ret_http NULL.
 */
int crn_http_open(const crn_config *config, const crn_http_settings *settings, crn_http **ret_http,
                  crn_error *error);

/* Closes all connections, joins the thread, frees and sets *http to NULL; NULL is allowed. */
void crn_http_close(crn_http **http);

/* True if the default's port was in use, and another one was taken; NULL is allowed. */
bool crn_http_moved(const crn_http *http);

/* The address as bound, with its actual port; "" if http is NULL. */
const char *crn_http_address(const crn_http *http);

CRN_C_END

#endif
