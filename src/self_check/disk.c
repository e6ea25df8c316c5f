/* Room and speed of the folders that the line writes to. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "src/formats/verdict_log/writer.h"
#include "src/recorder/recorder.h"
#include "src/self_check/internal.h"
#include "stages/base/clock.h"

#define CHUNK_BYTES (1 << 20)

/* 40 views/s of 2.3 MB, and a verdict log of 40 verdicts/s with some defects each. */
#define RECORD_MIB_PER_S 100
#define LOG_MIB_PER_S    5

#define COST_RECORD                                                                                \
    "views past the disk's speed are not recorded (recording_dropped); sorting goes on"
#define COST_LOG  "verdicts past the disk's speed are not logged (log_dropped); sorting goes on"
#define COST_FULL "the folder's disk is full soon, and then nothing is written; sorting goes on"

/* A file without a name, or one that is unlinked at once. */
static int open_unnamed(const char *dir)
{
    char path[CRN_TEXT_BYTES + 32];
    int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "%s/.cernita-self-check-XXXXXX", dir);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* Writes the bytes, random ones so that no disk compresses them, and syncs. 0 or an errno. */
static int write_bytes(int fd, int64_t bytes)
{
    unsigned char *chunk = malloc(CHUNK_BYTES);
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    int fault = chunk ? 0 : ENOMEM;
    for (size_t i = 0; chunk && i < CHUNK_BYTES; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunk[i] = (unsigned char)state;
    }
    while (fault == 0 && bytes > 0) {
        ssize_t done = write(fd, chunk, bytes < CHUNK_BYTES ? (size_t)bytes : (size_t)CHUNK_BYTES);
        if (done < 0 && errno != EINTR)
            fault = errno;
        else if (done > 0)
            bytes -= done;
    }
    free(chunk);
    return fault ? fault : fsync(fd) < 0 ? errno : 0;
}

/* MiB/s, 0 on failure with *ret_fault set. */
static double measure(const char *dir, int64_t bytes, int *ret_fault)
{
    int64_t start_ns = crn_now_ns();
    int fd = open_unnamed(dir);
    *ret_fault = fd < 0 ? errno : write_bytes(fd, bytes);
    double seconds = (double)(crn_now_ns() - start_ns) / (double)CRN_NS_PER_S;
    if (fd >= 0)
        close(fd);
    return *ret_fault ? 0 : (double)bytes / (1 << 20) / seconds;
}

static void check_folder(crn_self_check *check, const char *key, const char *dir, double mib_per_s,
                         uint64_t wanted)
{
    struct statvfs disk;
    int fault = 0;
    if (!dir[0])
        return;
    double speed = measure(dir, check->disk_bytes, &fault);
    if (fault == 0 && statvfs(dir, &disk) < 0)
        fault = errno;
    if (fault) {
        crn_self_check_add(check, key, CRN_FINDING_BAD,
                           "the line does not start, or writes nothing",
                           "name a folder that this user can write, on a disk with room",
                           "%.100s: %s", dir, strerror(fault));
        return;
    }
    uint64_t left = (uint64_t)disk.f_bavail * disk.f_frsize;
    bool full = left < wanted, slow = speed < mib_per_s;
    crn_self_check_add(check, key, full || slow ? CRN_FINDING_NOTE : CRN_FINDING_OK,
                       full            ? COST_FULL
                       : key[0] == 'r' ? COST_RECORD
                                       : COST_LOG,
                       full ? "free some room, or name a folder of another disk"
                            : "name a folder of a faster disk",
                       "%.100s: %" PRIu64 " MiB free, %.0f MiB/s written and synced", dir,
                       left >> 20, speed);
}

void crn_self_check_disk(crn_self_check *check)
{
    const crn_config *config = check->config;
    if (!config)
        return;
    check_folder(check, "record.dir", config->record.dir, RECORD_MIB_PER_S,
                 CRN_RECORDER_SPARE_BYTES + ((uint64_t)config->record.segment_mib << 20));
    check_folder(check, "publish.log.dir", config->publish.log.dir, LOG_MIB_PER_S,
                 CRN_VERDICT_LOG_SPARE_BYTES + ((uint64_t)config->publish.log.segment_mib << 20));
}
