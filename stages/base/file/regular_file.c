#include "stages/base/file/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const char *crn_file_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "a regular file";
    case S_IFDIR:
        return "a folder";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

int crn_regular_open(const char *path, crn_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* open() of a pipe would block */
    struct stat about;
    if (fd < 0 || fstat(fd, &about) < 0) {
        int code = -errno;
        if (fd >= 0)
            close(fd);
        return crn_error_set(error, code, "%s: cannot be read: %s", path, strerror(-code));
    }
    if (S_ISREG(about.st_mode))
        return fd;
    close(fd);
    return crn_error_set(error, S_ISDIR(about.st_mode) ? -EISDIR : -EINVAL,
                         "%s: cannot be read: it is %s, a regular file is needed", path,
                         crn_file_kind(about.st_mode));
}

bool crn_file_is_named(int folder, int fd, const char *name)
{
    struct stat open_file, named;
    return !fstat(fd, &open_file) && !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) &&
           open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}
