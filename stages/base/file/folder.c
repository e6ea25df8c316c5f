#include "stages/base/file/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES   64
#define PASSWD_BYTES 4096

/* The user's name, or number. */
static void name_user(uid_t user, char name[NAME_BYTES])
{
    char buffer[PASSWD_BYTES];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(user, &entry, buffer, sizeof buffer, &found) == 0 && found)
        snprintf(name, NAME_BYTES, "%s", found->pw_name);
    else
        snprintf(name, NAME_BYTES, "%lu", (unsigned long)user);
}

int crn_folder_check(const char *dir, int rights, const char *use, crn_error *error)
{
    struct stat about;
    char user[NAME_BYTES];
    int missing = stat(dir, &about) < 0 ? errno : 0;
    int fault = missing                                            ? missing
                : !S_ISDIR(about.st_mode)                          ? ENOTDIR
                : faccessat(AT_FDCWD, dir, rights, AT_EACCESS) < 0 ? errno
                                                                   : 0;
    if (fault == 0)
        return 0;
    name_user(geteuid(), user);
    if (missing == ENOENT)
        return crn_error_set(error, -ENOENT,
                             "%s: cannot %s there: it does not exist; make it, and let the user "
                             "who runs this program (now %s) own it: install -d -o %s '%s'",
                             dir, use, user, user, dir);
    if (!missing && fault == EACCES)
        return crn_error_set(error, -EACCES,
                             "%s: cannot %s there: %s may not write to it; let the user who runs "
                             "this program own it: chown %s '%s'; chmod u+rwx '%s'",
                             dir, use, user, user, dir, dir);
    return crn_error_set(error, -fault,
                         "%s: cannot %s there: %s; name a folder that can be written", dir, use,
                         strerror(fault));
}

int crn_folder_sync(const char *dir)
{
    int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -errno;
    int r = fsync(folder) < 0 ? -errno : 0;
    close(folder);
    return r;
}
