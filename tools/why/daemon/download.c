#include "tools/why/daemon/download.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/verdict_log/format.h"
#include "stages/base/file/new_file.h"

#define PATH_BYTES 384

bool crn_download_is_endpoint(const char *operand)
{
    if (strncasecmp(operand, "http://", strlen("http://")) == 0)
        return true;
    const char *end = operand + strcspn(operand, "/");
    const char *colon = memrchr(operand, ':', (size_t)(end - operand));
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    return digits && colon + 1 + digits == end && (!*end || strcmp(end, "/") == 0);
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

static int write_file(const char *path, const char *bytes, size_t size, crn_error *error)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    size_t written = fwrite(bytes, 1, size, out);
    if (fclose(out) != 0 || written < size)
        return crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    return 0;
}

/* Into memory first: a failure leaves no file, nor harms the one that is there. */
int crn_download_page(const char *endpoint, const crn_page *page, char **ret_bytes,
                      size_t *ret_size, crn_error *error)
{
    *ret_bytes = NULL;
    FILE *out = open_memstream(ret_bytes, ret_size);
    if (!out)
        return crn_error_set(error, -ENOMEM, "no memory");
    int r = crn_fetch(endpoint, page, out, error);
    if (fclose(out) != 0 && r == 0)
        r = crn_error_set(error, -ENOMEM, "no memory");
    return r;
}

/* A device or a pipe cannot be replaced. */
static bool is_special(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

static int replace_file(const char *path, const char *bytes, size_t size, crn_error *error)
{
    crn_new_file file = {0};
    int r = crn_new_file_open_stream(path, &file, error);
    if (r < 0)
        return r;
    fwrite(bytes, 1, size, file.stream);
    return crn_new_file_finish(&file, error);
}

int crn_download_verdicts(const char *endpoint, crn_download *ret_download, crn_error *error)
{
    static const crn_page page = {"/verdicts", CRN_VERDICT_LOG_TYPE, 0, false};
    *ret_download = (crn_download){""};
    char path[PATH_BYTES], *bytes;
    size_t size;
    int r = crn_download_page(endpoint, &page, &bytes, &size, error);
    if (r == 0)
        r = make_folder(ret_download, error);
    if (r == 0) {
        crn_verdict_log_path(path, sizeof path, ret_download->dir, 1);
        r = write_file(path, bytes, size, error);
    }
    free(bytes);
    return r;
}

int crn_download_trace(const char *endpoint, const char *path, crn_error *error)
{
    static const crn_page page = {"/trace", "application/json", 0, false};
    char *bytes;
    size_t size;
    int r = crn_download_page(endpoint, &page, &bytes, &size, error);
    if (r == 0)
        r = is_special(path) ? write_file(path, bytes, size, error)
                             : replace_file(path, bytes, size, error);
    free(bytes);
    return r;
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
