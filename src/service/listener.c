#include "src/service/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "stages/base/file/path_lock.h"

/* Connections that may wait to be accepted: after a restart some forty producers of a line connect
 * at once. */
#define BACKLOG 64

#define MODE 0660

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16; not in older headers */
#endif

static int cannot_make(const char *key, const char *path, int code, crn_error *error)
{
    return crn_error_set(
        error, code,
        "%s: cannot make '%s': %s; give a path in a folder that this user may write to", key, path,
        strerror(-code));
}

static int make_address(const char *key, const char *path, struct sockaddr_un *ret_address,
                        crn_error *error)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof ret_address->sun_path)
        return crn_error_set(error, -ENAMETOOLONG, "%s: '%s' has over 107 bytes", key, path);
    strcpy(ret_address->sun_path, path);
    return 0;
}

/* 0 if the path is free or holds the socket of a daemon that is gone (*ret_left). */
static int look(const char *key, const char *path, const struct sockaddr_un *address,
                bool *ret_left, crn_error *error)
{
    struct stat about;
    *ret_left = false;
    if (lstat(path, &about) < 0)
        return errno == ENOENT
                   ? 0
                   : crn_error_set(error, -errno, "%s: '%s': %s", key, path, strerror(errno));
    if (!S_ISSOCK(about.st_mode))
        return crn_error_set(error, -EEXIST,
                             "%s: '%s' exists and is not a socket: move it away, or give "
                             "another path",
                             key, path);
    int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return crn_error_set(error, -errno, "%s: no socket: %s", key, strerror(errno));
    int fault = connect(probe, (const struct sockaddr *)address, sizeof *address) < 0 ? errno : 0;
    close(probe);
    if (fault == ECONNREFUSED) {
        *ret_left = true;
        return 0;
    }
    return crn_error_set(error, fault && fault != EAGAIN ? -fault : -EADDRINUSE,
                         "%s: '%s' is in use by another daemon%s%s", key, path, fault ? ": " : "",
                         fault ? strerror(fault) : "");
}

int crn_listener_try(const char *key, const char *path, crn_error *error)
{
    struct sockaddr_un address;
    bool left;
    char folder[sizeof address.sun_path];
    int r = make_address(key, path, &address, error);
    if (r == 0)
        r = look(key, path, &address, &left, error);
    if (r < 0)
        return r;
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    if (faccessat(AT_FDCWD, slash ? folder : ".", W_OK | X_OK, AT_EACCESS) < 0)
        return cannot_make(key, path, -errno, error);
    return 0;
}

/* The same daemon may start twice, or several at once. */
static int lock_path(const char *key, const char *path, int *ret_lock, crn_error *error)
{
    long holder;
    int r = crn_path_lock(path, ret_lock, &holder);
    if (r == -EADDRINUSE)
        return crn_error_set(error, r, "%s: '%s' is in use by another daemon (process %ld)", key,
                             path, holder);
    return r < 0 ? cannot_make(key, path, r, error) : 0;
}

/* Whoever receives a descriptor that it has no use for closes it, and that may take as long as its
 * sender likes: a TCP socket with SO_LINGER, say. Refused to those that connect, where the kernel
 * can. */
static void refuse_descriptors(int descriptor)
{
    int no = 0;
    if (setsockopt(descriptor, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof no) < 0)
        return; /* before Linux 6.16 */
}

/* Binds the locked path. */
static int bind_path(const char *key, const struct sockaddr_un *address, crn_listener *listener,
                     crn_error *error)
{
    const char *path = listener->path;
    struct stat about;
    bool left;
    int r = look(key, path, address, &left, error);
    if (r < 0)
        return r;
    if (left)
        unlink(path);
    int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0)
        refuse_descriptors(descriptor);
    /* Before bind, so that the file is never open to others; after it, as the process's umask may
     * have taken the group's right away. */
    if (descriptor < 0 || fchmod(descriptor, MODE) < 0 ||
        bind(descriptor, (const struct sockaddr *)address, sizeof *address) < 0 ||
        chmod(path, MODE) < 0 || listen(descriptor, BACKLOG) < 0 || lstat(path, &about) < 0) {
        r = cannot_make(key, path, -errno, error);
        if (descriptor >= 0)
            close(descriptor);
        return r;
    }
    listener->descriptor = descriptor;
    listener->device = about.st_dev;
    listener->inode = about.st_ino;
    return 0;
}

int crn_listener_open(const char *key, const char *path, crn_listener *ret_listener,
                      crn_error *error)
{
    struct sockaddr_un address;
    crn_listener listener = {.path = path};
    int r = make_address(key, path, &address, error);
    if (r == 0)
        r = lock_path(key, path, &listener.lock, error);
    if (r < 0)
        return r;
    r = bind_path(key, &address, &listener, error);
    if (r < 0)
        crn_path_unlock(path, listener.lock);
    else
        *ret_listener = listener;
    return r;
}

void crn_listener_close(crn_listener *listener)
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
