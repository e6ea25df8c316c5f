#include "src/formats/recording/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/regular_file.h"

#define TRIES 8 /* another program may create and remove the same name meanwhile */

/* Returns 0 if the name is free, 1 if it is a regular file; otherwise -EEXIST or another error. */
static int check_kind(const char *path, crn_error *error)
{
    struct stat about;
    if (lstat(path, &about) < 0)
        return errno == ENOENT ? 0
                               : crn_error_set(error, -errno, "%s: cannot be written: %s", path,
                                               strerror(errno));
    if (S_ISREG(about.st_mode))
        return 1;
    return crn_error_set(error, -EEXIST, "%s: is %s, not a regular file; name another", path,
                         crn_file_kind(about.st_mode));
}

static bool is_named(int fd, const char *name)
{
    return crn_file_is_named(AT_FDCWD, fd, name);
}

/* Removes a regular .part that no program is writing. Returns 0 or a negative errno. */
static int remove_leftover(const char *name, crn_error *error)
{
    int r = check_kind(name, error);
    if (r <= 0)
        return r;
    int fd = open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0
                               : crn_error_set(error, -errno, "%s: cannot be written: %s", name,
                                               strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        r = crn_error_set(error, -EEXIST, "%s: another program is writing it; name another file",
                          name);
    else if (is_named(fd, name) && unlink(name) < 0)
        r = crn_error_set(error, -errno, "%s: cannot be removed: %s", name, strerror(errno));
    close(fd);
    return r < 0 ? r : 0;
}

/* Returns the descriptor or a negative errno. */
static int make(const crn_recording_part *part, crn_error *error)
{
    for (int tries = 0; tries < TRIES; tries++) {
        int fd = open(part->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0) {
            /* Best effort: not every file system supports locks. It waits for one only that looks
             * whether the file was left (crn_recording_part_adopt), and may have removed it. */
            flock(fd, LOCK_EX);
            if (is_named(fd, part->name))
                return fd;
            close(fd);
            continue;
        }
        int code = -errno;
        if (code != -EEXIST)
            return crn_error_set(error, code, "%s: cannot be written: %s", part->name,
                                 strerror(-code));
        if (!part->replace)
            break;
        code = remove_leftover(part->name, error);
        if (code)
            return code;
    }
    return crn_error_set(error, -EEXIST, "%s: exists already; name another file", part->name);
}

/* Returns 0 if the name may be given to a file. */
static int check_name(const char *path, bool replace, crn_error *error)
{
    int r = check_kind(path, error);
    if (r > 0 && !replace)
        r = crn_error_set(error, -EEXIST, "%s: exists already; name another file", path);
    return r < 0 ? r : 0;
}

int crn_recording_part_open(const char *path, bool replace, crn_recording_part *ret_part,
                            crn_error *error)
{
    crn_recording_part part = {.fd = -1, .path = strdup(path), .replace = replace};
    int r;
    if (!part.path || asprintf(&part.name, "%s.part", path) < 0) {
        part.name = NULL;
        r = crn_error_set(error, -ENOMEM, "%s: no memory", path);
        goto fail;
    }
    r = check_name(path, replace, error);
    if (r < 0)
        goto fail;
    r = part.fd = make(&part, error);
    if (r < 0)
        goto fail;
    /* Again: meanwhile a former .part may have got it (crn_recording_part_adopt). */
    r = check_name(path, replace, error);
    if (r < 0)
        goto fail;
    *ret_part = part;
    return 0;
fail:
    crn_recording_part_drop(&part);
    return r;
}

bool crn_recording_part_is_there(const crn_recording_part *part)
{
    struct stat named;
    if (lstat(part->name, &named) < 0)
        return errno != ENOENT && errno != ENOTDIR; /* a folder that is closed may open again */
    return is_named(part->fd, part->name);
}

static int rename_part(const crn_recording_part *part)
{
    if (part->replace)
        return rename(part->name, part->path) ? -errno : 0;
    if (!renameat2(AT_FDCWD, part->name, AT_FDCWD, part->path, RENAME_NOREPLACE))
        return 0;
    if (errno != EINVAL) /* EINVAL: the file system does not support RENAME_NOREPLACE */
        return -errno;
    if (!access(part->path, F_OK))
        return -EEXIST;
    return rename(part->name, part->path) ? -errno : 0;
}

static void release(crn_recording_part *part)
{
    free(part->name);
    free(part->path);
    *part = (crn_recording_part){.fd = -1};
}

void crn_recording_part_keep(crn_recording_part *part)
{
    if (part->fd >= 0)
        close(part->fd);
    release(part);
}

int crn_recording_part_finish(crn_recording_part *part, crn_error *error)
{
    int r = 0;
    if (!is_named(part->fd, part->name))
        r = crn_error_set(error, -ESTALE, "%s: was removed or replaced while it was written",
                          part->name);
    /* Each close tells what could not be written. The file's lock stays until the last one, so that
     * nobody adopts the file before it has its name. */
    int second = fcntl(part->fd, F_DUPFD_CLOEXEC, 0);
    if (second >= 0 && close(second) < 0 && !r)
        r = crn_error_set(error, -errno, "%s: cannot be written: %s", part->name, strerror(errno));
    if (!r && (r = check_kind(part->path, error)) >= 0) {
        r = rename_part(part);
        if (r)
            crn_error_set(error, r, "%s: cannot be named %s: %s; the recording is kept as it is",
                          part->name, part->path, strerror(-r));
    }
    crn_recording_part_keep(part);
    return r;
}

void crn_recording_part_drop(crn_recording_part *part)
{
    if (part->fd >= 0) {
        if (is_named(part->fd, part->name))
            unlink(part->name);
        close(part->fd);
    }
    release(part);
}

/* --- what a killed program left --- */

/* 1 if the file holds a view, 0 if it holds nothing, -EINVAL if it is not a recording. */
static int has_view(int fd)
{
    static const unsigned char start[] = {'I', 'I', 43, 0, 8, 0, 0, 0}; /* of a BigTIFF */
    unsigned char header[16] = {0};
    uint64_t first;
    ssize_t size = pread(fd, header, sizeof header, 0);
    if (size < 0)
        return -errno;
    if (memcmp(header, start, (size_t)size < sizeof start ? (size_t)size : sizeof start) != 0)
        return -EINVAL;
    memcpy(&first, header + sizeof start, sizeof first);
    return size == sizeof header && first > 0;
}

/* Opens and locks it. Returns the descriptor, -EBUSY if another one has the lock, or another
 * negative errno. */
static int open_left(int folder, const char *name)
{
    struct stat about;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fstat(fd, &about) < 0              ? -errno
            : !S_ISREG(about.st_mode)          ? -EINVAL
            : flock(fd, LOCK_EX | LOCK_NB) < 0 ? -EBUSY
                                               : 0;
    if (r == 0)
        return fd;
    close(fd);
    return r;
}

bool crn_recording_part_is_left(int folder, const char *name)
{
    int fd = open_left(folder, name);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int crn_recording_part_remove_left(int folder, const char *name)
{
    int fd = open_left(folder, name);
    if (fd < 0)
        return fd;
    int r = 0;
    if (crn_file_is_named(folder, fd, name) && unlinkat(folder, name, 0) < 0)
        r = -errno;
    close(fd);
    return r;
}

int crn_recording_part_adopt(const char *path)
{
    crn_recording_part part = {.fd = -1, .path = strdup(path)};
    int r = -ENOMEM;
    if (!part.path || asprintf(&part.name, "%s.part", path) < 0) {
        part.name = NULL;
        goto done;
    }
    r = part.fd = open_left(AT_FDCWD, part.name);
    if (r < 0)
        goto done;
    /* Another one may have adopted it between open and lock. */
    r = is_named(part.fd, part.name) ? has_view(part.fd) : -ENOENT;
    if (r > 0)
        r = (r = rename_part(&part)) < 0 ? r : 1;
    else if (r == 0 && unlink(part.name) < 0)
        r = -errno;
done:
    crn_recording_part_keep(&part);
    return r;
}
