#include "src/formats/verdict_log/archived.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/verdict_log/format.h"
#include "stages/base/file/new_file.h"
#include "stages/base/file/path_lock.h"
#include "stages/base/file/regular_file.h"

#define NAME       "archived"
#define MODE       0644
#define TEXT_BYTES 32 /* a number and its line end */

/* The number that the file's text is; 0: it is none. */
static uint64_t parse(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t number = strtoull(text, NULL, 10);
    bool is_number = digits > 0 && strcmp(text + digits, "\n") == 0;
    return is_number && number <= CRN_VERDICT_LOG_NUMBER_MAX ? number : 0;
}

int crn_verdict_log_get_archived(const char *dir, uint64_t *ret_below, crn_error *error)
{
    char path[PATH_MAX], text[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/" NAME, dir);
    int fd = crn_regular_open(path, error);
    *ret_below = fd == -ENOENT ? UINT64_MAX : 0;
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    ssize_t size = read(fd, text, sizeof text - 1);
    int r = size < 0 ? -errno : 0;
    close(fd);
    if (r < 0)
        return crn_error_set(error, r, "%s: cannot be read: %s", path, strerror(-r));
    text[size] = '\0';
    *ret_below = parse(text);
    return *ret_below ? 0
                      : crn_error_set(error, -EBADMSG, "%s: is not the number of a segment", path);
}

int crn_verdict_log_set_archived(const char *dir, uint64_t number, crn_error *error)
{
    char path[PATH_MAX];
    crn_new_file file = {0};
    snprintf(path, sizeof path, "%s/" NAME, dir);
    int r = crn_new_file_open_stream(path, &file, error);
    if (r < 0)
        return r;
    fchmod(file.fd, MODE); /* a stricter umask would hide it from the daemon's user */
    fprintf(file.stream, "%" PRIu64 "\n", number);
    r = crn_new_file_finish_synced(&file, error);
    crn_new_file_drop(&file);
    return r;
}

int crn_verdict_log_lock_archived(const char *dir, int *ret_lock, crn_error *error)
{
    char path[PATH_MAX];
    long holder;
    *ret_lock = -1;
    snprintf(path, sizeof path, "%s/" NAME, dir);
    if (crn_path_lock(path, ret_lock, &holder) != -EADDRINUSE)
        return 0;
    return crn_error_set(error, -EBUSY,
                         "%s: another cernita-archive (process %ld) follows this log, and the log "
                         "keeps for one what it does not have yet: end that, or archive without "
                         "--follow",
                         dir, holder);
}

void crn_verdict_log_unlock_archived(const char *dir, int lock)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" NAME, dir);
    crn_path_unlock(path, lock);
}
