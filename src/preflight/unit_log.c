/* The verdict log that a unit keeps though its file does not ask for one. */
#include "src/preflight/preflight.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "src/formats/verdict_log/format.h"
#include "src/formats/verdict_log/writer.h"
#include "stages/base/log.h"

#define MODE  0750
#define SHARE 4

/* What the log may take of the disk, its own files included. */
static int find_room(const char *dir, int64_t *ret_mib, crn_error *error)
{
    struct statvfs disk;
    crn_verdict_log_files files;
    if (statvfs(dir, &disk) < 0)
        return crn_error_set(error, -errno, "%s: %s", dir, strerror(errno));
    int r = crn_verdict_log_list(dir, &files, error);
    if (r < 0)
        return r;
    *ret_mib = (int64_t)((((uint64_t)disk.f_bavail * disk.f_frsize + files.bytes) / SHARE) >> 20);
    crn_verdict_log_files_done(&files);
    return 0;
}

void crn_preflight_unit_log(crn_config *config)
{
    crn_error error = {""};
    const char *dir = config->publish.log.dir;
    int64_t mib = 0;
    if (!config->publish.log.of_unit)
        return;
    int r = mkdir(dir, MODE) < 0 && errno != EEXIST
                ? crn_error_set(&error, -errno, "%s: cannot be made: %s", dir, strerror(errno))
                : crn_verdict_writer_check(dir, &error);
    if (r == 0)
        r = find_room(dir, &mib, &error);
    if (r == 0 && mib < config->publish.log.segment_mib)
        r = crn_error_set(&error, -ENOSPC, "%s: the disk has room for %" PRId64 " MiB of it", dir,
                          mib);
    if (r < 0) {
        crn_log(CRN_LOG_WARNING,
                "publish.log: no verdict is logged: %s; mend that, or name another folder in "
                "publish.log.dir, or \"\" for none",
                error.text);
        config->publish.log.dir[0] = '\0';
        return;
    }
    if (config->publish.log.keep_mib == 0 || config->publish.log.keep_mib > mib)
        config->publish.log.keep_mib = mib;
    crn_log(CRN_LOG_INFO,
            "publish.log: verdicts are logged in %s, of the folder that systemd gave: %" PRId64
            " days, at most %" PRId64 " MiB",
            dir, config->publish.log.keep_days, config->publish.log.keep_mib);
}
