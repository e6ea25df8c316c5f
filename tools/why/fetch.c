#include "tools/why/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define CONNECT_MS 5000

/* A daemon that sends less than a byte a second for so long hangs. */
#define STALLED_S 10

static void write_url(const char *endpoint, const char *page, char *url, size_t size)
{
    bool whole = strncmp(endpoint, "http://", strlen("http://")) == 0;
    size_t length = strlen(endpoint);
    while (length && endpoint[length - 1] == '/')
        length--;
    snprintf(url, size, "%s%s%.*s%s", whole ? "" : "http://", endpoint[0] == ':' ? "127.0.0.1" : "",
             (int)length, endpoint, page);
}

static int explain(const char *endpoint, CURLcode code, long status, crn_error *error)
{
    if (code == CURLE_OK)
        return crn_error_set(error, -EPROTO,
                             "%s: answers with status %ld, so it is not the monitor.http of a "
                             "running cernitad",
                             endpoint, status);
    if (code == CURLE_WRITE_ERROR)
        return crn_error_set(error, -EIO, "%s: cannot keep the answer: is $TMPDIR full?", endpoint);
    return crn_error_set(error, -EIO,
                         "%s: %s; expected the address of monitor.http in the daemon's file, which "
                         "its log names at the start",
                         endpoint, curl_easy_strerror(code));
}

int crn_fetch(const char *endpoint, const char *page, FILE *out, crn_error *error)
{
    char url[512];
    long status = 0;
    write_url(endpoint, page, url, sizeof url);
    CURL *curl = curl_easy_init();
    if (!curl)
        return crn_error_set(error, -ENOMEM, "no memory");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALLED_S);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    return code == CURLE_OK && status == 200 ? 0 : explain(endpoint, code, status, error);
}
