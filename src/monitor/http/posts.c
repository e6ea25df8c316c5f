/* Requests that change something: whether they may, their bodies, and what they do. */
#include "src/monitor/http/server_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/http/uri.h"
#include "src/monitor/http/guard.h"

/* What a form says, as far as it says it; -1: not. */
typedef struct post_form {
    int64_t number, newest, minutes;
    bool all;
} post_form;

typedef enum MHD_Result post_answer(crn_http *http, struct MHD_Connection *connection,
                                    const post_form *form, const char *by);

struct crn_post {
    const char *path;
    post_answer *answer;
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

static const crn_post posts[] = {
    {"/alarms/acknowledge", acknowledge},
    {"/alarms/shelve", shelve},
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

static bool is_too_long(struct MHD_Connection *connection)
{
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    return length && strtoull(length, NULL, 10) > CRN_HTTP_BODY_BYTES;
}

enum MHD_Result crn_http_post_begin(crn_http *http, struct MHD_Connection *connection,
                                    const crn_post *post, void **request)
{
    crn_client *client = crn_clients_find(connection);
    crn_http_caller caller = caller_of(connection);
    crn_http_refusal refusal = crn_http_guard(http->facts.config, http->token, &caller);
    if (refusal != CRN_HTTP_ALLOWED)
        return crn_http_answer_refusal(http, connection, refusal);
    if (is_too_long(connection))
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

enum MHD_Result crn_http_post_take(crn_http *http, struct MHD_Connection *connection,
                                   crn_client *client, const char *bytes, size_t *size)
{
    post_form form;
    char by[CRN_HTTP_CALLER_BYTES];
    if (*size > 0) { /* an answer has to wait until all has come */
        size_t room = CRN_HTTP_BODY_BYTES - client->body_bytes, part = *size < room ? *size : room;
        memcpy(client->body + client->body_bytes, bytes, part);
        client->body_bytes += part;
        client->body_too_long |= part < *size;
        *size = 0;
        return MHD_YES;
    }
    if (client->body_too_long)
        return crn_http_answer_text(http, connection, CRN_HTTP_TOO_LARGE, "the body is too long\n");
    client->body[client->body_bytes] = '\0';
    if (strlen(client->body) != client->body_bytes || !parse(client->body, &form))
        return crn_http_answer_text(http, connection, CRN_HTTP_BAD,
                                    "expected a form of whole numbers, such as number=812\n");
    crn_http_caller caller = caller_of(connection);
    crn_http_caller_name(http->facts.config, &caller, by);
    return client->post->answer(http, connection, &form, by);
}
