#include "src/monitor/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/log.h"

#define MODE 0640

/* Damaged files that are kept; they may be large. */
#define ASIDE_MAX 9

#define NAME_BYTES 64
#define HEAD_BYTES 4096

int crn_state_file_write(int descriptor, const void *bytes, size_t size, off_t offset)
{
    ssize_t count;
    do
        count = pwrite(descriptor, bytes, size, offset);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count == (ssize_t)size ? 0 : -EIO;
}

/* It gets its name when it is whole. */
static int make(int folder, const crn_state_file *kind)
{
    char part[NAME_BYTES];
    snprintf(part, sizeof part, "%s.part", kind->name);
    if (unlinkat(folder, part, 0) < 0 && errno != ENOENT) /* of one that was killed */
        return -errno;
    int fd = openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
    if (fd < 0)
        return -errno;
    int r = -posix_fallocate(fd, 0, kind->bytes);
    if (r == 0)
        r = crn_state_file_write(fd, kind->head, kind->head_bytes, 0);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(folder, part, folder, kind->name) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(folder, part, 0);
    else if (fsync(folder) < 0)
        r = -errno;
    return r;
}

/* Opens the file and has it for this process alone. */
static int open_own(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd < 0 ? -errno : fd;
    int r = -errno;
    close(fd);
    return r;
}

/* The same, and makes one where there is none. */
static int open_or_make(int folder, const crn_state_file *kind)
{
    int fd = open_own(folder, kind->name);
    if (fd != -ENOENT)
        return fd;
    int r = make(folder, kind);
    return r < 0 ? r : open_own(folder, kind->name);
}

/* 0, -EINVAL if it is not such a file, or another errno. */
static int check(int descriptor, const crn_state_file *kind)
{
    unsigned char head[HEAD_BYTES];
    struct stat about;
    if (fstat(descriptor, &about) < 0)
        return -errno;
    if (!S_ISREG(about.st_mode) || about.st_size != kind->bytes)
        return -EINVAL;
    if (pread(descriptor, head, kind->head_bytes, 0) != (ssize_t)kind->head_bytes)
        return -EIO;
    return memcmp(head, kind->head, kind->head_bytes) == 0 ? 0 : -EINVAL;
}

/* A name that no file has: NAME.damaged, NAME.damaged.2 and so on. 0 or -EEXIST. */
static int find_aside(int folder, const crn_state_file *kind, char ret_name[NAME_BYTES])
{
    struct stat about;
    snprintf(ret_name, NAME_BYTES, "%s.damaged", kind->name);
    for (int number = 2; fstatat(folder, ret_name, &about, AT_SYMLINK_NOFOLLOW) == 0; number++) {
        if (number > ASIDE_MAX)
            return -EEXIST;
        snprintf(ret_name, NAME_BYTES, "%s.damaged.%d", kind->name, number);
    }
    return 0;
}

static int set_aside(int folder, const char *dir, const crn_state_file *kind)
{
    char aside[NAME_BYTES];
    int r = find_aside(folder, kind, aside);
    if (r < 0)
        return r;
    if (renameat(folder, kind->name, folder, aside) < 0)
        return -errno;
    crn_log(CRN_LOG_WARNING,
            "%s: %s/%s is damaged, or of another version of cernitad: it is now %s/%s, and a new "
            "one begins",
            kind->name, dir, kind->name, dir, aside);
    return 0;
}

static int open_checked(int folder, const char *dir, const crn_state_file *kind)
{
    int fd = open_or_make(folder, kind);
    if (fd < 0)
        return fd;
    int r = check(fd, kind);
    if (r == 0)
        return fd;
    close(fd);
    if (r == -EINVAL)
        r = set_aside(folder, dir, kind);
    return r < 0 ? r : open_or_make(folder, kind);
}

static void set_error(const char *dir, const crn_state_file *kind, int r, crn_error *error)
{
    if (r == -EEXIST)
        crn_error_set(error, r,
                      "%s/%s: damaged, or of another version of cernitad, as are %d files "
                      "%s.damaged… beside it: move these away, and start again",
                      dir, kind->name, ASIDE_MAX, kind->name);
    else
        crn_error_set(error, r, "%s/%s: %s", dir, kind->name,
                      r == -EWOULDBLOCK
                          ? "another line writes it; give each line a state.dir of its own"
                          : strerror(-r));
}

int crn_state_file_open(const char *dir, const crn_state_file *kind, crn_error *error)
{
    int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = folder < 0 ? -errno : open_checked(folder, dir, kind);
    if (folder >= 0)
        close(folder);
    if (r < 0)
        set_error(dir, kind, r, error);
    return r;
}
