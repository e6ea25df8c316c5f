#include "tools/why/download.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/publish/log/format.h"
#include "tools/why/fetch.h"

#define PATH_BYTES 384

bool crn_download_is_endpoint(const char *operand)
{
    if (strncmp(operand, "http://", strlen("http://")) == 0)
        return true;
    const char *colon = strrchr(operand, ':');
    return colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
           !strchr(operand, '/');
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

static int fetch_to(const char *endpoint, const char *page, const char *path, crn_error *error)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    int r = crn_fetch(endpoint, page, out, error);
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
