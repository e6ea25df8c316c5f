#include "src/control/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "stages/base/file/path_lock.h"

#define BACKLOG 8
#define MODE    0660

static int cannot_make(const char *path, int code, crn_error *error)
{
    return crn_error_set(error, code,
                         "control.path: cannot make '%s': %s; give a path in a folder that this "
                         "user may write to",
                         path, strerror(-code));
}

static int make_address(const char *path, struct sockaddr_un *ret_address, crn_error *error)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof ret_address->sun_path)
        return crn_error_set(error, -ENAMETOOLONG, "control.path: '%s' has over 107 bytes", path);
    strcpy(ret_address->sun_path, path);
    return 0;
}

/* 0 if the path is free or holds the socket of a daemon that is gone (*ret_left). */
static int look(const char *path, const struct sockaddr_un *address, bool *ret_left,
                crn_error *error)
{
    struct stat about;
    *ret_left = false;
    if (lstat(path, &about) < 0)
        return errno == ENOENT
                   ? 0
                   : crn_error_set(error, -errno, "control.path: '%s': %s", path, strerror(errno));
    if (!S_ISSOCK(about.st_mode))
        return crn_error_set(error, -EEXIST,
                             "control.path: '%s' exists and is not a socket: move it away, or give "
                             "another path",
                             path);
    int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return crn_error_set(error, -errno, "control.path: no socket: %s", strerror(errno));
    int fault = connect(probe, (const struct sockaddr *)address, sizeof *address) < 0 ? errno : 0;
    close(probe);
    if (fault == ECONNREFUSED) {
        *ret_left = true;
        return 0;
    }
    return crn_error_set(error, fault && fault != EAGAIN ? -fault : -EADDRINUSE,
                         "control.path: '%s' is in use by another daemon%s%s", path,
                         fault ? ": " : "", fault ? strerror(fault) : "");
}

int crn_control_try(const char *path, crn_error *error)
{
    struct sockaddr_un address;
    bool left;
    char folder[sizeof address.sun_path];
    int r = make_address(path, &address, error);
    if (r == 0)
        r = look(path, &address, &left, error);
    if (r < 0)
        return r;
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    if (faccessat(AT_FDCWD, slash ? folder : ".", W_OK | X_OK, AT_EACCESS) < 0)
        return cannot_make(path, -errno, error);
    return 0;
}

/* The same daemon may start twice, or several at once. */
static int lock_path(const char *path, int *ret_lock, crn_error *error)
{
    long holder;
    int r = crn_path_lock(path, ret_lock, &holder);
    if (r == -EADDRINUSE)
        return crn_error_set(
            error, r, "control.path: '%s' is in use by another daemon (process %ld)", path, holder);
    return r < 0 ? cannot_make(path, r, error) : 0;
}

/* Binds the locked path. */
static int bind_path(const char *path, const struct sockaddr_un *address,
                     crn_control_listener *listener, crn_error *error)
{
    struct stat about;
    bool left;
    int r = look(path, address, &left, error);
    if (r < 0)
        return r;
    if (left)
        unlink(path);
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Before bind, so that the file is never open to others; after it, as the process's umask may
     * have taken the group's right away. */
    if (descriptor < 0 || fchmod(descriptor, MODE) < 0 ||
        bind(descriptor, (const struct sockaddr *)address, sizeof *address) < 0 ||
        chmod(path, MODE) < 0 || listen(descriptor, BACKLOG) < 0 || lstat(path, &about) < 0) {
        r = cannot_make(path, -errno, error);
        if (descriptor >= 0)
            close(descriptor);
        return r;
    }
    listener->descriptor = descriptor;
    listener->device = about.st_dev;
    listener->inode = about.st_ino;
    return 0;
}

int crn_control_listen(const char *path, crn_control_listener *ret_listener, crn_error *error)
{
    struct sockaddr_un address;
    crn_control_listener listener = {.path = path};
    int r = make_address(path, &address, error);
    if (r == 0)
        r = lock_path(path, &listener.lock, error);
    if (r < 0)
        return r;
    r = bind_path(path, &address, &listener, error);
    if (r < 0)
        crn_path_unlock(path, listener.lock);
    else
        *ret_listener = listener;
    return r;
}

int crn_control_link(const char *link, const char *path, crn_error *error)
{
    char whole[PATH_MAX];
    if (!realpath(path, whole) || (unlink(link) < 0 && errno != ENOENT) || symlink(whole, link) < 0)
        return crn_error_set(error, -errno,
                             "control.path: cannot make the link '%s' to it, by which systemctl "
                             "reload finds it: %s",
                             link, strerror(errno));
    return 0;
}

void crn_control_unlisten(crn_control_listener *listener)
{
    struct stat about;
    if (listener->descriptor < 0)
        return;
    if (lstat(listener->path, &about) == 0 && about.st_dev == listener->device &&
        about.st_ino == listener->inode)
        unlink(listener->path);
    close(listener->descriptor);
    crn_path_unlock(listener->path, listener->lock);
    listener->descriptor = listener->lock = -1;
}
