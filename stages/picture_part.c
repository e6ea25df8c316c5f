#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/picture_parts.h"

#define NAMES_MAX       1000
#define PROC_PATH_BYTES 32

static void proc_path(int fd, char path[PROC_PATH_BYTES])
{
    snprintf(path, PROC_PATH_BYTES, "/proc/self/fd/%d", fd);
}

/* Calls `make` with names that might be free until one is; the name is then *ret_name. */
static int with_free_name(const char *folder, int (*make)(const char *name, int fd), int fd,
                          char **ret_name)
{
    for (int i = 0; i < NAMES_MAX; i++) {
        char *name = NULL;
        if (asprintf(&name, "%s.cernita-%d-%d.part", folder, (int)getpid(), i) < 0)
            return -ENOMEM;
        int r = make(name, fd);
        if (r >= 0) {
            *ret_name = name;
            return r;
        }
        int code = -errno;
        free(name);
        if (code != -EEXIST)
            return code;
    }
    return -EEXIST;
}

static int make_file(const char *name, int fd)
{
    (void)fd;
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int make_link(const char *name, int fd)
{
    char path[PROC_PATH_BYTES];
    proc_path(fd, path);
    return linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* A file without a name goes by itself when the program is killed; not every file system has them,
 * and it takes /proc to name one. */
static int open_nameless(const char *folder)
{
    int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
    char path[PROC_PATH_BYTES];
    proc_path(fd, path);
    if (fd >= 0 && access(path, F_OK)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Where the path leads: through links when it exists, else itself. */
static int find_target(crn_picture_part *part, crn_error *error)
{
    struct stat status;
    bool there = !stat(part->path, &status);
    if (there && S_ISDIR(status.st_mode))
        return crn_error_set(error, -EISDIR, "%s: is a folder; name a file", part->path);
    if (there && !S_ISREG(status.st_mode))
        return crn_error_set(error, -EEXIST, "%s: is there, and is no ordinary file", part->path);
    part->target = there ? realpath(part->path, NULL) : strdup(part->path);
    if (!part->target)
        return crn_error_set(error, -ENOMEM, "%s: no memory for its path", part->path);
    char *slash = strrchr(part->target, '/');
    part->folder = slash ? strndup(part->target, (size_t)(slash - part->target) + 1) : strdup("./");
    if (!part->folder)
        return crn_error_set(error, -ENOMEM, "%s: no memory for its path", part->path);
    return 0;
}

int crn_picture_part_open(const char *path, crn_picture_part *ret_part, crn_error *error)
{
    crn_picture_part part = {.path = path, .fd = -1};
    int r = find_target(&part, error);
    if (r)
        goto fail;
    part.fd = open_nameless(part.folder);
    if (part.fd < 0)
        part.fd = with_free_name(part.folder, make_file, -1, &part.name);
    if (part.fd < 0) {
        r = crn_error_set(error, part.fd, "%s: cannot be written in %s: %s", path, part.folder,
                          strerror(-part.fd));
        goto fail;
    }
    *ret_part = part;
    return 0;
fail:
    crn_picture_part_drop(&part);
    return r;
}

int crn_picture_part_finish(crn_picture_part *part, crn_error *error)
{
    int r = part->name ? 0 : with_free_name(part->folder, make_link, part->fd, &part->name);
    if (!r && close(part->fd)) /* some file systems only now say that the disk is full */
        r = -errno;
    if (!r || part->name)
        part->fd = -1;
    if (!r && rename(part->name, part->target))
        r = -errno;
    if (r) {
        crn_error_set(error, r, "%s: cannot be written: %s", part->path, strerror(-r));
    } else {
        free(part->name);
        part->name = NULL;
    }
    crn_picture_part_drop(part);
    return r;
}

void crn_picture_part_drop(crn_picture_part *part)
{
    if (part->path && part->fd >= 0)
        close(part->fd);
    if (part->name)
        unlink(part->name);
    free(part->name);
    free(part->folder);
    free(part->target);
    *part = (crn_picture_part){.fd = -1};
}
