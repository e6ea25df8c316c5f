/* Requests that change something: whether they may, their bodies, and what they do. */
#include "src/monitor/http/server_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/http/headers.h"
#include "src/http/uri.h"
#include "src/monitor/http/guard.h"
#include "stages/base/clock.h"

#define FORM_BYTES_MAX 256

/* A report is forgotten so long after it came: they come once a second. */
#define REPORT_NS (5 * CRN_NS_PER_S)

/* What a form says, as far as it says it; -1: not. */
typedef struct post_form {
    int64_t number, newest, minutes;
    bool all;
} post_form;

typedef enum MHD_Result form_answer(crn_http *http, struct MHD_Connection *connection,
                                    const post_form *form, const char *by);

/* It has one of the two. */
struct crn_post {
    const char *path;
    size_t bytes_max; /* of its body */
    form_answer *form;
    enum MHD_Result (*answer)(crn_http *http, struct MHD_Connection *connection, const char *body,
                              size_t size);
};

/* --- what they do --- */

static enum MHD_Result answer_count(crn_http *http, struct MHD_Connection *connection,
                                    const char *key, int count)
{
    char text[64];
    if (count < 0)
        return crn_http_answer_text(http, connection, CRN_HTTP_NOT_FOUND,
                                    "there is no such alarm (any more)\n");
    snprintf(text, sizeof text, "{\"%s\":%d}\n", key, count);
    return crn_http_answer_bytes(http, connection, CRN_HTTP_OK, "application/json", text,
                                 strlen(text));
}

static enum MHD_Result acknowledge(crn_http *http, struct MHD_Connection *connection,
                                   const post_form *form, const char *by)
{
    crn_alarms *alarms = http->from.alarms;
    if (form->minutes >= 0 || form->all == (form->number >= 0) || (form->newest >= 0 && !form->all))
        return crn_http_answer_text(http, connection, CRN_HTTP_BAD,
                                    "expected number=N, or number=all, or number=all&newest=N: "
                                    "all up to that number\n");
    uint64_t newest = form->newest >= 0 ? (uint64_t)form->newest : UINT64_MAX;
    return answer_count(http, connection, "acknowledged",
                        form->all ? crn_alarms_acknowledge_to(alarms, newest, by)
                                  : crn_alarms_acknowledge(alarms, (uint64_t)form->number, by));
}

static enum MHD_Result shelve(crn_http *http, struct MHD_Connection *connection,
                              const post_form *form, const char *by)
{
    if (form->all || form->newest >= 0 || form->number < 0 || form->minutes < 0 ||
        form->minutes > CRN_ALARM_SHELVE_MINUTES)
        return crn_http_answer_text(http, connection, CRN_HTTP_BAD,
                                    "expected number=N&minutes=M, M from 1 to 480, or 0 to end "
                                    "the shelving\n");
    return answer_count(
        http, connection, "shelved",
        crn_alarms_shelve(http->from.alarms, (uint64_t)form->number, form->minutes, by));
}

const crn_outlet_report *crn_http_sorter(const crn_http *http, int64_t now_ns)
{
    return http->sorter_ns && now_ns - http->sorter_ns < REPORT_NS ? &http->sorter : NULL;
}

/* A line has one grader. Of two programs that report, the first is shown until it ends: else the
 * page would show one and the other in turn. */
static enum MHD_Result report_outlets(crn_http *http, struct MHD_Connection *connection,
                                      const char *body, size_t size)
{
    crn_outlet_report report;
    crn_error error;
    char text[sizeof error.text + 128];
    int64_t now_ns = crn_now_ns();
    const crn_outlet_report *shown = crn_http_sorter(http, now_ns);
    if (crn_outlet_report_parse(body, size, &report, &error) < 0) {
        snprintf(text, sizeof text, "not a report of outlets: %s\n", error.text);
        return crn_http_answer_text(http, connection, CRN_HTTP_BAD, text);
    }
    if (shown && strcmp(shown->file, report.file) != 0) {
        snprintf(text, sizeof text,
                 "another program, with the file %s, reports the outlets of this line\n",
                 shown->file);
        return crn_http_answer_text(http, connection, CRN_HTTP_CONFLICT, text);
    }
    http->sorter = report;
    http->sorter_ns = now_ns;
    return crn_http_answer_bytes(http, connection, CRN_HTTP_OK, CRN_HTTP_JSON, "{}\n", 3);
}

static const crn_post posts[] = {
    {"/alarms/acknowledge", FORM_BYTES_MAX, .form = acknowledge},
    {"/alarms/shelve", FORM_BYTES_MAX, .form = shelve},
    {CRN_OUTLET_REPORT_PATH, CRN_OUTLET_REPORT_BYTES_MAX, .answer = report_outlets},
};

const crn_post *crn_http_find_post(const char *path)
{
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++)
        if (strcmp(path, posts[i].path) == 0)
            return &posts[i];
    return NULL;
}

/* --- bodies --- */

/* Takes one pair of the form; false: it is not known, not a number, or there twice. */
static bool take_pair(post_form *form, const char *key, const char *value)
{
    int64_t *place = strcmp(key, "number") == 0    ? &form->number
                     : strcmp(key, "newest") == 0  ? &form->newest
                     : strcmp(key, "minutes") == 0 ? &form->minutes
                                                   : NULL;
    if (!place || *place >= 0)
        return false;
    if (place == &form->number && strcmp(value, "all") == 0 && !form->all)
        return form->all = true;
    *place = crn_http_number(value);
    return *place >= 0;
}

/* Reads key=value&key=value…, which is cut into pieces. */
static bool parse(char *text, post_form *ret_form)
{
    *ret_form = (post_form){.number = -1, .newest = -1, .minutes = -1};
    for (char *rest = text, *pair; (pair = strsep(&rest, "&"));) {
        char *value = strchr(pair, '=');
        if (!value)
            return false;
        *value++ = '\0';
        if (!take_pair(ret_form, pair, value))
            return false;
    }
    return true;
}

static crn_http_caller caller_of(struct MHD_Connection *connection)
{
    static const char *const of_proxies[] = {"X-Forwarded-For",   "X-Forwarded-Host",
                                             "X-Forwarded-Proto", "X-Real-IP",
                                             "Forwarded",         "Via"};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
#define HEADER(name) MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name)
    crn_http_caller caller = {.address = info ? info->client_addr : NULL,
                              .host = HEADER("Host"),
                              .origin = HEADER("Origin"),
                              .site = HEADER("Sec-Fetch-Site"),
                              .token = HEADER(CRN_HTTP_TOKEN_HEADER)};
    for (size_t i = 0; i < sizeof of_proxies / sizeof *of_proxies; i++)
        caller.forwarded |= HEADER(of_proxies[i]) != NULL;
#undef HEADER
    return caller;
}

static bool is_too_long(struct MHD_Connection *connection, const crn_post *post)
{
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    return length && strtoull(length, NULL, 10) > post->bytes_max;
}

enum MHD_Result crn_http_post_begin(crn_http *http, struct MHD_Connection *connection,
                                    const crn_post *post, void **request)
{
    crn_client *client = crn_clients_find(connection);
    crn_http_caller caller = caller_of(connection);
    crn_http_refusal refusal = crn_http_guard(http->facts.config, http->token, &caller);
    if (refusal != CRN_HTTP_ALLOWED)
        return crn_http_answer_refusal(http, connection, refusal);
    if (is_too_long(connection, post))
        return crn_http_answer_text(http, connection, CRN_HTTP_TOO_LARGE, "the body is too long\n");
    if (!client)
        return crn_http_answer_text(http, connection, CRN_HTTP_UNAVAILABLE,
                                    "too many connections: try again later\n");
    client->post = post;
    client->body_bytes = 0;
    client->body_too_long = false;
    *request = client;
    return MHD_YES;
}

static enum MHD_Result answer_form(crn_http *http, struct MHD_Connection *connection,
                                   crn_client *client)
{
    post_form form;
    char by[CRN_HTTP_CALLER_BYTES];
    if (strlen(client->body) != client->body_bytes || !parse(client->body, &form))
        return crn_http_answer_text(http, connection, CRN_HTTP_BAD,
                                    "expected a form of whole numbers, such as number=812\n");
    crn_http_caller caller = caller_of(connection);
    crn_http_caller_name(http->facts.config, &caller, by);
    return client->post->form(http, connection, &form, by);
}

enum MHD_Result crn_http_post_take(crn_http *http, struct MHD_Connection *connection,
                                   crn_client *client, const char *bytes, size_t *size)
{
    const crn_post *post = client->post;
    if (*size > 0) { /* an answer has to wait until all has come */
        size_t room = post->bytes_max - client->body_bytes, part = *size < room ? *size : room;
        memcpy(client->body + client->body_bytes, bytes, part);
        client->body_bytes += part;
        client->body_too_long |= part < *size;
        *size = 0;
        return MHD_YES;
    }
    if (client->body_too_long)
        return crn_http_answer_text(http, connection, CRN_HTTP_TOO_LARGE, "the body is too long\n");
    client->body[client->body_bytes] = '\0';
    return post->form ? answer_form(http, connection, client)
                      : post->answer(http, connection, client->body, client->body_bytes);
}
