#include "tests/simulation/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/formats/verdict/decode.h"
#include "src/formats/verdict_log/reader.h"
#include "src/recorder/verdict_log.h"
#include "stages/base/clock.h"
#include "tests/simulation/machine/schedule.h"
#include "tests/simulation/world.h"
#include "tests/simulation/machine/wrap.h"

/* So few verdicts fit that a slow disk costs some. */
#define QUEUE_BYTES 32768

static struct {
    sim_disk_state state;
    sim_logged logged;
} disk;

void sim_disk_set(sim_disk_state state)
{
    disk.state = state;
}

sim_logged sim_disk_logged(void)
{
    return disk.logged;
}

void sim_disk_clear(const char *folder)
{
    disk.state = CRN_SIM_DISK_SOUND;
    disk.logged = (sim_logged){0};
    if (mkdir(folder, 0700) == 0)
        return;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
}

/* --- the calls of the log's writer ------------------------------------------------------------ */

/* True, with errno, if this call fails. */
static bool fails(void)
{
    if (!sim_is_active())
        return false;
    if (disk.state == CRN_SIM_DISK_FULL)
        errno = ENOSPC;
    else if (disk.state == CRN_SIM_DISK_FAILING && crn_random_once_in(sim_random(), 2))
        errno = EIO;
    else
        return false;
    return true;
}

/* Writes a part alone, as a disk does that runs full, or a call that is interrupted. */
static ssize_t write_less(int descriptor, const struct iovec *parts, off_t at)
{
    struct iovec less = {parts->iov_base, parts->iov_len / 2 + 1};
    return pwrite(descriptor, less.iov_base,
                  less.iov_len < parts->iov_len ? less.iov_len : parts->iov_len, at);
}

CRN_SIM_WRAP(ssize_t, pwritev, int descriptor, const struct iovec *parts, int count, off_t at)
{
    if (!sim_is_active())
        return __real_pwritev(descriptor, parts, count, at);
    if (disk.state == CRN_SIM_DISK_SLOW)
        sim_sleep_until(sim_now_ns() + crn_random_below(sim_random(), 500000) * CRN_NS_PER_US);
    bool is_odd = disk.state != CRN_SIM_DISK_SOUND;
    if (is_odd && parts->iov_len > 0 && crn_random_once_in(sim_random(), 4))
        return write_less(descriptor, parts, at);
    if (is_odd && crn_random_once_in(sim_random(), 8)) {
        errno = EINTR;
        return -1;
    }
    return fails() ? -1 : __real_pwritev(descriptor, parts, count, at);
}

CRN_SIM_WRAP(int, ftruncate, int descriptor, off_t size)
{
    return disk.state == CRN_SIM_DISK_FAILING && fails() ? -1 : __real_ftruncate(descriptor, size);
}

CRN_SIM_WRAP(int, statvfs, const char *path, struct statvfs *answer)
{
    int r = __real_statvfs(path, answer);
    if (sim_is_active() && r == 0 && disk.state == CRN_SIM_DISK_FULL &&
        crn_random_once_in(sim_random(), 2))
        answer->f_bavail = 0;
    return r;
}

int __real_crn_verdict_writer_append(crn_verdict_writer *writer, uint32_t lane, const void *verdict,
                                     size_t size, crn_error *error);
int __wrap_crn_verdict_writer_append(crn_verdict_writer *writer, uint32_t lane, const void *verdict,
                                     size_t size, crn_error *error);
int __wrap_crn_verdict_writer_append(crn_verdict_writer *writer, uint32_t lane, const void *verdict,
                                     size_t size, crn_error *error)
{
    int r = __real_crn_verdict_writer_append(writer, lane, verdict, size, error);
    disk.logged.written += r == 0;
    disk.logged.failed += r < 0;
    return r;
}

CRN_SIM_WRAP(int, crn_verdict_log_open, const crn_verdict_log_settings *settings,
             uint64_t queue_bytes, crn_verdict_log **ret_log, crn_error *error)
{
    return __real_crn_verdict_log_open(settings, sim_is_active() ? QUEUE_BYTES : queue_bytes,
                                       ret_log, error);
}

/* --- what is in the log ----------------------------------------------------------------------- */

static void check_logged(const crn_logged_verdict *logged)
{
    crn_error error;
    crn_messagepack_json packed;
    crn_decoded *verdict = NULL;
    if (crn_messagepack_json_init(&packed, logged->bytes, logged->size, &error) < 0 ||
        crn_decode_head(&packed, &verdict, &error) < 0)
        sim_fail("a verdict in the log cannot be decoded: %s", error.text);
    sim_note_logged(verdict);
    crn_decoded_free(&verdict);
    crn_messagepack_json_done(&packed);
}

void sim_check_log(const char *folder)
{
    crn_error error;
    crn_verdict_reader *reader;
    crn_logged_verdict logged;
    uint64_t count = 0;
    int r = crn_verdict_reader_open(folder, &reader, &error);
    if (r == -ENOENT && disk.logged.written == 0)
        return;
    if (r < 0)
        sim_fail("the log cannot be read: %s", error.text);
    while ((r = crn_verdict_reader_next(reader, &logged, &error)) != 0) {
        if (r < 0 && r != -EBADMSG) /* the half of a record, where the disk failed */
            sim_fail("the log cannot be read: %s", error.text);
        if (r > 0)
            check_logged(&logged);
        count += r > 0;
    }
    crn_verdict_reader_close(&reader);
    if (count != disk.logged.written)
        sim_fail("%" PRIu64 " verdicts are in the log, %" PRIu64 " were written", count,
                 disk.logged.written);
}
