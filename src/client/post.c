#include "src/client/post.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/client/daemon_url.h"
#include "stages/base/utf8.h"

#define CONNECT_MS 1000
#define WHOLE_MS   2000

/* The first bytes of the answer, which say what to do where it is a refusal. */
typedef struct answer {
    char text[200];
    size_t size;
} answer;

/* libcurl's callback for what came. */
static size_t keep(char *bytes, size_t one, size_t count, void *context)
{
    answer *self = context;
    size_t size = one * count, room = sizeof self->text - 1 - self->size;
    memcpy(self->text + self->size, bytes, size < room ? size : room);
    self->size += size < room ? size : room;
    return size;
}

/* libcurl's callback for progress, at least once a second. */
static int is_ended(void *ended, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                    curl_off_t up)
{
    (void)down_all;
    (void)down;
    (void)up_all;
    (void)up;
    return atomic_load((const atomic_bool *)ended);
}

static struct curl_slist *make_headers(const char *token)
{
    char line[256];
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
    snprintf(line, sizeof line, "X-Cernita-Token: %s", token);
    struct curl_slist *longer = list && token[0] ? curl_slist_append(list, line) : list;
    if (!longer)
        curl_slist_free_all(list);
    return longer;
}

static int explain(CURLcode code, long status, answer *got, crn_error *error)
{
    if (code != CURLE_OK)
        return crn_error_set(error, -EIO, "%s", curl_easy_strerror(code));
    if (status == 404 || status == 405)
        return crn_error_set(
            error, -EPROTO,
            "answers with status %ld: it is another server, or a cernitad too old to show outlets",
            status);
    got->text[got->size] = '\0';
    got->text[strcspn(got->text, "\r\n")] = '\0';
    crn_utf8_clean(got->text);
    return crn_error_set(error, status == 403 ? -EACCES : -EPROTO, "refused with status %ld: %s",
                         status, got->text);
}

bool crn_post_is_built(void)
{
    return true;
}

int crn_post_send(const char *endpoint, const crn_post_request *request, crn_error *error)
{
    char url[CRN_DAEMON_URL_BYTES];
    long status = 0;
    answer got = {.size = 0};
    if (!crn_daemon_url(endpoint, request->path, url))
        return crn_error_set(error, -ENAMETOOLONG, "this is not HOST:PORT");
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = make_headers(request->token);
    if (!curl || !headers) {
        curl_easy_cleanup(curl);
        curl_slist_free_all(headers);
        return crn_error_set(error, -ENOMEM, "no memory");
    }
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->json);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)request->size);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &got);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_ended);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, (void *)(uintptr_t)request->ended);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)WHOLE_MS);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    return code == CURLE_OK && status == 200 ? 0 : explain(code, status, &got, error);
}
