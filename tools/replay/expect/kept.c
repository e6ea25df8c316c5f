#include "tools/replay/expect/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct crn_kept_verdicts {
    int fd;
    const char *dir;
    uint64_t size;
    unsigned char *bytes; /* of the verdict that was read last */
    size_t capacity;
};

static int fail(const char *dir, int code, crn_error *error)
{
    return crn_error_set(error, -code,
                         "%s: cannot keep the line's verdicts there until they are compared: %s; "
                         "make room, or name another folder by TMPDIR",
                         dir, strerror(code));
}

/* A file without a name; where the file system has none, one whose name is removed at once. */
static int open_file(const char *dir)
{
    char path[4096];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    if ((size_t)snprintf(path, sizeof path, "%s/cernita-replay-XXXXXX", dir) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

int crn_kept_verdicts_open(crn_kept_verdicts **ret_kept, crn_error *error)
{
    const char *named = getenv("TMPDIR"), *dir = named && *named ? named : "/var/tmp";
    int fd = open_file(dir);
    if (fd < 0)
        return fail(dir, errno, error);
    crn_kept_verdicts *kept = calloc(1, sizeof *kept);
    if (!kept) {
        close(fd);
        return fail(dir, ENOMEM, error);
    }
    kept->fd = fd;
    kept->dir = dir;
    *ret_kept = kept;
    return 0;
}

int crn_kept_verdicts_add(crn_kept_verdicts *kept, const unsigned char *bytes, size_t size,
                          crn_kept_place *ret_place, crn_error *error)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = pwrite(kept->fd, bytes + done, size - done, (off_t)(kept->size + done));
        if (written < 0 && errno != EINTR)
            return fail(kept->dir, errno, error);
        done += written > 0 ? (size_t)written : 0;
    }
    *ret_place = (crn_kept_place){kept->size, size};
    kept->size += size;
    return 0;
}

int crn_kept_verdicts_get(crn_kept_verdicts *kept, const crn_kept_place *place,
                          const unsigned char **ret_bytes, crn_error *error)
{
    if (place->size > kept->capacity) {
        unsigned char *larger = realloc(kept->bytes, place->size);
        if (!larger)
            return fail(kept->dir, ENOMEM, error);
        kept->bytes = larger;
        kept->capacity = place->size;
    }
    for (size_t done = 0; done < place->size;) {
        ssize_t got =
            pread(kept->fd, kept->bytes + done, place->size - done, (off_t)(place->offset + done));
        if (got == 0 || (got < 0 && errno != EINTR))
            return fail(kept->dir, got ? errno : EIO, error);
        done += got > 0 ? (size_t)got : 0;
    }
    *ret_bytes = kept->bytes;
    return 0;
}

void crn_kept_verdicts_close(crn_kept_verdicts **kept)
{
    if (!*kept)
        return;
    close((*kept)->fd);
    free((*kept)->bytes);
    free(*kept);
    *kept = NULL;
}
