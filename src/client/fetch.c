#include "src/client/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "src/client/daemon_url.h"

#define CONNECT_MS 5000

/* A daemon that sends less than a byte a second for so long hangs. */
#define STALLED_S 10

/* A daemon closes a connection after 60 s. */
#define WHOLE_S 90

/* Where a page goes, and how much more of it may come. */
typedef struct sink {
    FILE *out;
    size_t left;
} sink;

/* libcurl's callback for what came. */
static size_t keep(char *bytes, size_t one, size_t count, void *context)
{
    sink *self = context;
    size_t size = one * count;
    if (size > self->left)
        return 0;
    self->left -= size;
    return fwrite(bytes, 1, size, self->out);
}

static int explain_status(const char *endpoint, long status, crn_error *error)
{
    if (status == 421)
        return crn_error_set(error, -EPROTO,
                             "%s: the daemon does not answer to this host name: use its address, "
                             "or the name that its monitor.http gives",
                             endpoint);
    if (status == 503)
        return crn_error_set(error, -EBUSY, "%s: others are reading this page: try again later",
                             endpoint);
    return crn_error_set(error, status == 404 ? -ENOENT : -EPROTO,
                         "%s: answers with status %ld, so it is not the monitor.http of a running "
                         "cernitad, or of one too old to keep its last fruits",
                         endpoint, status);
}

static int explain(const char *endpoint, CURLcode code, long status, crn_error *error)
{
    if (code == CURLE_OK && status != 200)
        return explain_status(endpoint, status, error);
    if (code == CURLE_OK || code == CURLE_WRITE_ERROR)
        return crn_error_set(error, -EPROTO,
                             "%s: sends something else%s, so it is not the monitor.http of a "
                             "running cernitad",
                             endpoint, code == CURLE_OK ? "" : ", or more than memory holds");
    if (status == 200)
        return crn_error_set(error, -EIO, "%s: the answer ends early (%s): is the daemon running?",
                             endpoint, curl_easy_strerror(code));
    return crn_error_set(error, -EIO, "%s: %s; " CRN_FETCH_CURE, endpoint,
                         curl_easy_strerror(code));
}

/* Returns true if the answer is of this media type. */
static bool is_of_type(CURL *curl, const char *type)
{
    const char *answered = NULL;
    curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &answered);
    return answered && strcmp(answered, type) == 0;
}

int crn_fetch(const char *endpoint, const crn_page *page, FILE *out, crn_error *error)
{
    char url[CRN_DAEMON_URL_BYTES];
    long status = 0;
    sink self = {.out = out, .left = page->bytes_max ? page->bytes_max : CRN_FETCH_MAX};
    if (!crn_daemon_url(endpoint, page->path, url))
        return crn_error_set(error, -ENAMETOOLONG, "%s: this is not HOST:PORT", endpoint);
    CURL *curl = curl_easy_init();
    if (!curl)
        return crn_error_set(error, -ENOMEM, "no memory");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &self);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALLED_S);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)WHOLE_S);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    bool expected = is_of_type(curl, page->type);
    curl_easy_cleanup(curl);
    if (page->or_unavailable && status == 503)
        status = 200;
    return code == CURLE_OK && status == 200 && expected ? 0
                                                         : explain(endpoint, code, status, error);
}
