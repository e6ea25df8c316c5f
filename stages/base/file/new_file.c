#include "stages/base/file/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/folder.h"
#include "stages/base/file/regular_file.h"

#define NAMES_MAX       1000
#define PROC_PATH_BYTES 32

/* The file that a signal handler removes; NULL: none. Threads may write files at the same time. */
static char *_Atomic unfinished;

static void remove_unfinished(int number)
{
    const char *name = unfinished;
    if (name)
        unlink(name);
    raise(number); /* SA_RESETHAND: the default action follows */
}

void crn_new_file_remove_at_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = remove_unfinished, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) /* by nohup, for example */
            sigaction(numbers[i], &action, NULL);
    }
}

static void proc_path(int fd, char path[PROC_PATH_BYTES])
{
    snprintf(path, PROC_PATH_BYTES, "/proc/self/fd/%d", fd);
}

/* Calls `make` with unused names until one succeeds; that name is then *ret_name. */
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
            unfinished = name;
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

/* O_TMPFILE: the file vanishes by itself if the program is killed. Not every file system supports
 * it, and naming it takes /proc. */
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

/* A link is neither followed, which would replace a file that nobody named, nor replaced, which
 * would put the data elsewhere than the one who made it wants. 0, or an error. */
static int refuse_link(const char *path, crn_error *error)
{
    struct stat status;
    char *target;
    if (lstat(path, &status) || !S_ISLNK(status.st_mode))
        return 0;
    target = realpath(path, NULL);
    int r = target ? crn_error_set(error, -ELOOP,
                                   "%s: is a symbolic link; name %.512s, which it leads to, or "
                                   "remove the link",
                                   path, target)
                   : crn_error_set(error, -ELOOP,
                                   "%s: is a symbolic link that leads to no file; remove it, or "
                                   "name another",
                                   path);
    free(target);
    return r;
}

int crn_new_file_check(const char *path, crn_error *error)
{
    struct stat status;
    bool there = !stat(path, &status);
    if (there && S_ISDIR(status.st_mode))
        return crn_error_set(error, -EISDIR, "%s: is a folder; name a file", path);
    if (there && !S_ISREG(status.st_mode))
        return crn_error_set(error, -EEXIST, "%s: is %s, not a regular file; name another", path,
                             crn_file_kind(status.st_mode));
    return refuse_link(path, error);
}

static int find_folder(crn_new_file *file, crn_error *error)
{
    const char *slash = strrchr(file->path, '/');
    file->folder = slash ? strndup(file->path, (size_t)(slash - file->path) + 1) : strdup("./");
    if (!file->folder)
        return crn_error_set(error, -ENOMEM, "%s: no memory for its path", file->path);
    return 0;
}

int crn_new_file_open(const char *path, crn_new_file *ret_file, crn_error *error)
{
    crn_new_file file = {.path = path, .fd = -1};
    int r = crn_new_file_check(path, error);
    if (!r)
        r = find_folder(&file, error);
    if (r)
        goto fail;
    file.fd = open_nameless(file.folder);
    if (file.fd < 0)
        file.fd = with_free_name(file.folder, make_file, -1, &file.name);
    if (file.fd < 0) {
        r = crn_error_set(error, file.fd, "%s: cannot be written in %s: %s", path, file.folder,
                          strerror(-file.fd));
        goto fail;
    }
    *ret_file = file;
    return 0;
fail:
    crn_new_file_drop(&file);
    return r;
}

static int open_stream(crn_new_file *file, crn_error *error)
{
    int fd = dup(file->fd);
    file->stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (file->stream)
        return 0;
    int code = -errno;
    if (fd >= 0)
        close(fd);
    return crn_error_set(error, code, "%s: cannot be written: %s", file->path, strerror(-code));
}

int crn_new_file_open_stream(const char *path, crn_new_file *ret_file, crn_error *error)
{
    crn_new_file file;
    int r = crn_new_file_open(path, &file, error);
    if (r < 0)
        return r;
    r = open_stream(&file, error);
    if (r < 0)
        crn_new_file_drop(&file);
    else
        *ret_file = file;
    return r;
}

/* 0, or the negative errno of the first failed write. */
static int end_stream(crn_new_file *file)
{
    errno = 0;
    bool failed = fflush(file->stream) || ferror(file->stream);
    int code = failed ? -(errno ? errno : EIO) : 0;
    if (fclose(file->stream) && !failed)
        code = -errno;
    file->stream = NULL;
    return code;
}

static void forget_name(crn_new_file *file)
{
    char *name = file->name;
    atomic_compare_exchange_strong(&unfinished, &name, NULL);
    free(file->name);
    file->name = NULL;
}

static int finish(crn_new_file *file, bool synced, crn_error *error)
{
    int r = file->stream ? end_stream(file) : 0;
    if (!r && synced && fsync(file->fd) < 0)
        r = -errno;
    if (!r && !file->name)
        r = with_free_name(file->folder, make_link, file->fd, &file->name);
    if (!r) {
        int fd = file->fd;
        file->fd = -1;
        if (close(fd)) /* some file systems report a full disk only now */
            r = -errno;
    }
    if (!r && rename(file->name, file->path))
        r = -errno;
    if (!r) {
        forget_name(file);
        r = synced ? crn_folder_sync(file->folder) : 0;
    }
    if (r)
        crn_error_set(error, r, "%s: cannot be written: %s", file->path, strerror(-r));
    crn_new_file_drop(file);
    return r;
}

int crn_new_file_finish(crn_new_file *file, crn_error *error)
{
    return finish(file, false, error);
}

int crn_new_file_finish_synced(crn_new_file *file, crn_error *error)
{
    return finish(file, true, error);
}

void crn_new_file_drop(crn_new_file *file)
{
    if (file->stream)
        fclose(file->stream);
    if (file->path && file->fd >= 0)
        close(file->fd);
    if (file->name)
        unlink(file->name);
    forget_name(file);
    free(file->folder);
    *file = (crn_new_file){.fd = -1};
}
