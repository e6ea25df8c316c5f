#include "stages/base/file/disk_room.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

int crn_disk_check_room(const char *dir, uint64_t need_bytes, uint64_t reserve_bytes,
                        crn_error *error)
{
    struct statvfs disk;
    if (statvfs(dir, &disk) < 0)
        return crn_error_set(error, -errno, "%s: %s", dir, strerror(errno));
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (free_bytes < need_bytes + reserve_bytes)
        return crn_error_set(error, -ENOSPC,
                             "%s: only %" PRIu64 " MiB are left on the disk, and %" PRIu64
                             " MiB must stay free: make room",
                             dir, free_bytes >> 20, reserve_bytes >> 20);
    return 0;
}
