#include "tests/support/small_disk.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static bool enter_user_namespace(void)
{
    char map[64];
    snprintf(map, sizeof map, "0 %d 1", (int)getuid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    int fd = open("/proc/self/uid_map", O_WRONLY);
    bool is_mapped = fd >= 0 && write(fd, map, strlen(map)) > 0;
    close(fd);
    return is_mapped;
}

bool crn_small_disk_mount(const char *folder, const char *size)
{
    char option[32];
    snprintf(option, sizeof option, "size=%s", size);
    if (unshare(CLONE_NEWNS) < 0 && !enter_user_namespace())
        return false;
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", folder, "tmpfs", 0, option) == 0;
}
