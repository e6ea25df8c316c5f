#include "stages/base/file/path_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "stages/base/file/regular_file.h"

#define MODE  0660 /* as of the sockets: the group may run a line as another user next time */
#define TRIES 1000 /* each lost to a program that let go of the path in between */

static long read_holder(int lock)
{
    char text[32] = "";
    ssize_t size = pread(lock, text, sizeof text - 1, 0);
    return size > 0 ? strtol(text, NULL, 10) : 0;
}

/* False if the file was removed between open and lock: then others lock a new one. */
static bool is_named(int lock, const char *name)
{
    return crn_file_is_named(AT_FDCWD, lock, name);
}

/* The number is only for messages; the lock works without it. */
static void write_holder(int lock)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(lock, 0) == 0 && pwrite(lock, text, (size_t)size, 0) != size)
        errno = 0;
}

int crn_path_lock(const char *path, int *ret_lock, long *ret_holder)
{
    char name[PATH_MAX];
    *ret_holder = 0;
    if (snprintf(name, sizeof name, "%s.lock", path) >= (int)sizeof name)
        return -ENAMETOOLONG;
    for (int tries = 0; tries < TRIES; tries++) {
        int lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, MODE);
        if (lock < 0)
            return -errno;
        if (flock(lock, LOCK_EX | LOCK_NB) < 0) {
            int r = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
            *ret_holder = read_holder(lock);
            close(lock);
            return r;
        }
        if (is_named(lock, name)) {
            write_holder(lock);
            *ret_lock = lock;
            return 0;
        }
        close(lock);
    }
    return -EADDRINUSE;
}

void crn_path_unlock(const char *path, int lock)
{
    char name[PATH_MAX];
    if (lock < 0)
        return;
    if (snprintf(name, sizeof name, "%s.lock", path) < (int)sizeof name && is_named(lock, name))
        unlink(name);
    close(lock);
}
