#include "src/formats/changes/settings_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/changes/entry.h"
#include "stages/base/file/regular_file.h"

bool crn_settings_hash_is_valid(const char *hash)
{
    return strlen(hash) == CRN_SETTINGS_HASH_DIGITS &&
           strspn(hash, "0123456789abcdef") == CRN_SETTINGS_HASH_DIGITS;
}

/* To the file's end. The result of the last read: negative with errno set, else 0. */
static ssize_t copy(int fd, FILE *out, size_t *ret_size)
{
    char bytes[4096];
    ssize_t count;
    *ret_size = 0;
    while ((count = read(fd, bytes, sizeof bytes)) > 0 && *ret_size <= CRN_SETTINGS_TEXT_BYTES_MAX)
        *ret_size += fwrite(bytes, 1, (size_t)count, out);
    return count < 0 ? count : 0;
}

static int read_file(int fd, const char *path, char **ret_text, size_t *ret_size, crn_error *error)
{
    char *text = NULL;
    size_t bytes, size;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return crn_error_set(error, -ENOMEM, "%s: no memory for it", path);
    int r = copy(fd, out, &size) < 0 ? -errno : 0;
    if (r < 0)
        crn_error_set(error, r, "%s: cannot be read: %s", path, strerror(-r));
    else if (size > CRN_SETTINGS_TEXT_BYTES_MAX)
        r = crn_error_set(error, -EFBIG, "%s: is no text of settings: it has more than %d MiB",
                          path, CRN_SETTINGS_TEXT_BYTES_MAX >> 20);
    if ((fclose(out) != 0 || bytes != size) && r == 0)
        r = crn_error_set(error, -ENOMEM, "%s: no memory for it", path);
    if (r < 0) {
        free(text);
        return r;
    }
    *ret_text = text;
    *ret_size = size;
    return 0;
}

int crn_settings_text_read(const char *state_dir, const char *hash, char **ret_text,
                           size_t *ret_size, crn_error *error)
{
    char path[PATH_MAX + 64];
    *ret_text = NULL;
    snprintf(path, sizeof path, "%s/" CRN_SETTINGS_FOLDER "/%s.yaml", state_dir, hash);
    int fd = crn_regular_open(path, error);
    if (fd < 0)
        return fd;
    int r = crn_file_is_named(AT_FDCWD, fd, path)
                ? read_file(fd, path, ret_text, ret_size, error)
                : crn_error_set(error, -ELOOP, "%s: is a symbolic link: remove it", path);
    close(fd);
    return r;
}
