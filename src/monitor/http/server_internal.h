/* Shared by server.c, answers.c and posts.c only. */
#ifndef CRN_SRC_MONITOR_HTTP_SERVER_INTERNAL_H
#define CRN_SRC_MONITOR_HTTP_SERVER_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>

#include "src/http/address.h"
#include "src/http/token.h"
#include "src/monitor/http/clients.h"
#include "src/monitor/http/guard.h"
#include "src/monitor/events/events.h"
#include "src/monitor/http/server.h"
#include "src/monitor/http/responses/minutes.h"
#include "src/monitor/http/responses/streams.h"
#include "src/service/pulse.h"

CRN_C_BEGIN

struct crn_http {
    crn_monitor_facts facts;
    crn_http_settings from;
    struct MHD_Daemon *daemon;
    int wake_descriptor; /* readable: stop */
    pthread_t thread;
    bool started;
    crn_pulse *pulse;
    char address[CRN_HTTP_ADDRESS_BYTES];
    char token[CRN_HTTP_TOKEN_BYTES]; /* of monitor.token_file; "": none */

    /* Used by the thread only: */
    crn_condition_list conditions;
    crn_streams *streams;
    crn_encoder *encoder;
    crn_event_rates rates;
    uint64_t event_number; /* of the snapshot last sent to the streams */
    int64_t event_ns;
    crn_history *history;
    uint64_t history_number; /* of the snapshot that it saw last */
    crn_last_fruits fruits;
    crn_sheets *sheets;
    struct MHD_Response *metrics; /* the last rendering of /metrics */
    uint64_t metrics_number;
    int64_t metrics_ns;
    crn_minutes_answers minutes;
    crn_minutes_totals totals;
    int traces, maps; /* being read */
    crn_outlet_report sorter;
    int64_t sorter_ns; /* when it came; 0: none did */
    crn_clients clients;
    crn_http_stats stats;
};

/* libmicrohttpd's callback for a request whose headers have been read; `context` is the crn_http.
 */
enum MHD_Result crn_http_handle(void *context, struct MHD_Connection *connection, const char *path,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **request);

/* Requests that change something. The kind of that address, or NULL. */
const crn_post *crn_http_find_post(const char *path);

/* A request of that kind whose headers have been read: refuses it, or has its body come
 * (crn_http_post_take) with *request set. */
enum MHD_Result crn_http_post_begin(crn_http *http, struct MHD_Connection *connection,
                                    const crn_post *post, void **request);

/* Takes a part of the body; *size 0: does what was asked, and answers. */
enum MHD_Result crn_http_post_take(crn_http *http, struct MHD_Connection *connection,
                                   crn_client *client, const char *bytes, size_t *size);

/* What a sorter reported of its outlets; NULL: nothing of late. */
const crn_outlet_report *crn_http_sorter(const crn_http *http, int64_t now_ns);

/* In requests a client's token; in a refusal "wanted" if that was missing or wrong. */
#define CRN_HTTP_TOKEN_HEADER "X-Cernita-Token"

/* Answers with a copy of these bytes, with a text, with why the guard refuses. */
enum MHD_Result crn_http_answer_bytes(crn_http *http, struct MHD_Connection *connection,
                                      crn_http_code code, const char *type, const void *bytes,
                                      size_t size);
enum MHD_Result crn_http_answer_text(crn_http *http, struct MHD_Connection *connection,
                                     crn_http_code code, const char *text);
enum MHD_Result crn_http_answer_refusal(crn_http *http, struct MHD_Connection *connection,
                                        crn_http_refusal refusal);

/* All that pages are made of, as of now; `machine`: with what the operating system says. */
void crn_http_observe(crn_http *http, bool machine, crn_observation *ret_observation);

/* Sends the latest snapshot to the event streams. */
void crn_http_send_event(crn_http *http, int64_t now_ns);

CRN_C_END

#endif
