/* Decides which requests are answered: a page from elsewhere, opened in the same browser, must
 * reach nothing here. */
#include <stdio.h>
#include <string.h>

#include "tools/workbench/requests.h"

#define COOKIE "cernita_workbench"

static const char *header(const crn_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* With the token in the address the browser gets it as a cookie, and the address without it. */
static void take_token(crn_request *request)
{
    char cookie[CRN_HTTP_TOKEN_BYTES + 64];
    snprintf(cookie, sizeof cookie, COOKIE "=%s; HttpOnly; SameSite=Strict; Path=/",
             request->bench->token);
    crn_answer_bytes(request, "text/plain", "", 0, true);
    request->status = MHD_HTTP_SEE_OTHER;
    if (!request->response)
        return;
    MHD_add_response_header(request->response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
    MHD_add_response_header(request->response, MHD_HTTP_HEADER_LOCATION, "/");
}

static bool knows_token(crn_request *request)
{
    if (!request->bench->token[0])
        return true;
    const char *cookie = MHD_lookup_connection_value(request->connection, MHD_COOKIE_KIND, COOKIE);
    if (crn_http_token_is(request->bench->token, cookie))
        return true;
    const char *given = crn_request_text(request, "token");
    if (crn_http_token_is(request->bench->token, given))
        take_token(request);
    else
        crn_answer_refusal(request, MHD_HTTP_FORBIDDEN,
                           "the token is missing or wrong: open the address with ?token=… once");
    return false;
}

/* Pages from elsewhere cannot set this header without asking first, which nothing here answers. */
static bool is_own_page(crn_request *request)
{
    const char *origin = header(request, "Origin"), *host = header(request, MHD_HTTP_HEADER_HOST);
    bool own = header(request, "X-Cernita-Workbench") != NULL;
    if (own && origin)
        own = host && strncmp(origin, "http://", 7) == 0 && strcmp(origin + 7, host) == 0;
    if (!own)
        crn_answer_refusal(request, MHD_HTTP_FORBIDDEN,
                           "only the workbench's own page may ask for that (a program: with the "
                           "header X-Cernita-Workbench: 1)");
    return own;
}

/* Browsers say where a request comes from. A link from elsewhere may open the page, and no more: a
 * foreign page with a thousand pictures of /pictures/1/planes would keep the jobs busy. */
static bool is_from_here(crn_request *request, const char *path)
{
    const char *site = header(request, "Sec-Fetch-Site");
    bool own = !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0 ||
               strcmp(path, "/") == 0;
    if (!own)
        crn_answer_refusal(request, MHD_HTTP_FORBIDDEN,
                           "only the workbench's own page may ask for that");
    return own;
}

bool crn_guard_allows(crn_request *request, const char *method, const char *path)
{
    if (!crn_http_host_is_own(header(request, MHD_HTTP_HEADER_HOST), request->bench->listen,
                              NULL)) {
        crn_answer_refusal(request, MHD_HTTP_MISDIRECTED_REQUEST,
                           "unknown host name: use the address, localhost or the machine's name");
        return false;
    }
    bool reads =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    return knows_token(request) && is_from_here(request, path) && (reads || is_own_page(request));
}
