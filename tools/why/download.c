#include "tools/why/download.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/publish/log/format.h"

#define CONNECT_MS 5000

/* A daemon that sends less than a byte a second for so long hangs. */
#define STALLED_S 10

#define PATH_BYTES 384

bool crn_download_is_endpoint(const char *operand)
{
    if (strncmp(operand, "http://", strlen("http://")) == 0)
        return true;
    const char *colon = strrchr(operand, ':');
    return colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
           !strchr(operand, '/');
}

static void write_url(const char *endpoint, const char *page, char *url, size_t size)
{
    bool whole = strncmp(endpoint, "http://", strlen("http://")) == 0;
    size_t length = strlen(endpoint);
    while (length && endpoint[length - 1] == '/')
        length--;
    snprintf(url, size, "%s%s%.*s%s", whole ? "" : "http://", endpoint[0] == ':' ? "127.0.0.1" : "",
             (int)length, endpoint, page);
}

static int make_folder(crn_download *download, crn_error *error)
{
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent)
        parent = "/tmp";
    int written = snprintf(download->dir, sizeof download->dir, "%s/cernita-why-XXXXXX", parent);
    if (written < (int)sizeof download->dir && mkdtemp(download->dir))
        return 0;
    int r = written < (int)sizeof download->dir ? -errno : -ENAMETOOLONG;
    download->dir[0] = '\0';
    return crn_error_set(error, r, "%s: cannot make a folder in it: %s; set TMPDIR to another",
                         parent, strerror(-r));
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

static int fetch(const char *endpoint, const char *page, FILE *out, crn_error *error)
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

static int fetch_to(const char *endpoint, const char *page, const char *path, crn_error *error)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    int r = fetch(endpoint, page, out, error);
    if (fclose(out) != 0 && r == 0)
        r = crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (r < 0)
        unlink(path);
    return r;
}

int crn_download_verdicts(const char *endpoint, crn_download *ret_download, crn_error *error)
{
    *ret_download = (crn_download){""};
    int r = make_folder(ret_download, error);
    if (r < 0)
        return r;
    char path[PATH_BYTES];
    crn_verdict_log_path(path, sizeof path, ret_download->dir, 1);
    return fetch_to(endpoint, "/verdicts", path, error);
}

int crn_download_trace(const char *endpoint, const char *path, crn_error *error)
{
    return fetch_to(endpoint, "/trace", path, error);
}

void crn_download_remove(crn_download *download)
{
    if (!download->dir[0])
        return;
    char path[PATH_BYTES];
    crn_verdict_log_path(path, sizeof path, download->dir, 1);
    unlink(path);
    rmdir(download->dir);
    download->dir[0] = '\0';
}
