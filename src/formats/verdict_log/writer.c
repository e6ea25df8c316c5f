#include "src/formats/verdict_log/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/formats/verdict_log/archived.h"
#include "src/formats/verdict_log/format.h"
#include "stages/base/clock.h"
#include "stages/base/file/disk_room.h"
#include "stages/base/file/folder.h"
#include "stages/base/log.h"

#define NAMES_TRIED_MAX 1000

struct crn_verdict_writer {
    char *dir;
    int folder; /* descriptor that holds the lock */
    uint64_t segment_bytes, keep_bytes;
    int64_t keep_ns;
    uint64_t removed;   /* segments */
    bool told_archived; /* that `archived` cannot be read */
    int fd;             /* the segment; -1: none */
    uint64_t number;    /* of the last segment */
    uint64_t used;      /* size of the segment */
    char path[PATH_MAX];
};

static int fail(crn_error *error, int code, const char *path)
{
    return crn_error_set(error, code, "%s: cannot be written: %s", path, strerror(-code));
}

/* Writes all of both parts at the segment's end. 0 or a negative errno. */
static int write_parts(const crn_verdict_writer *writer, struct iovec parts[2])
{
    uint64_t at = writer->used;
    int first = 0;
    while (first < 2) {
        ssize_t count = pwritev(writer->fd, parts + first, 2 - first, (off_t)at);
        if (count == 0 || (count < 0 && errno != EINTR))
            return count == 0 ? -EIO : -errno;
        size_t left = count > 0 ? (size_t)count : 0;
        at += left;
        while (first < 2 && left >= parts[first].iov_len)
            left -= parts[first++].iov_len;
        if (first < 2) {
            parts[first].iov_base = (unsigned char *)parts[first].iov_base + left;
            parts[first].iov_len -= left;
        }
    }
    return 0;
}

/* True if the segment still has its name; false also where that cannot be told. */
static bool is_named(const crn_verdict_writer *writer)
{
    struct stat own, named;
    return !fstat(writer->fd, &own) && !lstat(writer->path, &named) && own.st_dev == named.st_dev &&
           own.st_ino == named.st_ino;
}

/* Closes the segment, and removes it if it holds no verdict. */
static void end_segment(crn_verdict_writer *writer)
{
    if (writer->fd < 0)
        return;
    if (writer->used <= CRN_VERDICT_LOG_HEADER_BYTES && is_named(writer))
        unlink(writer->path);
    if (close(writer->fd) < 0) /* some file systems report a full disk only now */
        crn_log(CRN_LOG_WARNING, "log: %s: its last entries may be missing: %s", writer->path,
                strerror(errno));
    writer->fd = -1;
}

/* True if the segment still has its name and the size that it was written with. */
static bool is_intact(const crn_verdict_writer *writer)
{
    struct stat about;
    if (fstat(writer->fd, &about) < 0 || (uint64_t)about.st_size != writer->used)
        return false;
    /* A folder that is closed may open again. */
    return is_named(writer) || (lstat(writer->path, &about) < 0 && errno == EACCES);
}

/* What decides which segments are removed. */
typedef struct retention {
    uint64_t coming_bytes;   /* of the segment in use or to come */
    uint64_t short_bytes;    /* the disk has no room for these; 0: it has */
    uint64_t archived_below; /* for their age alone, only segments below this number */
    int64_t now_ns;
} retention;

/* True while the disk has no room, whatever was removed meanwhile. */
static bool is_short(const crn_verdict_writer *writer, const retention *limits)
{
    crn_error ignored;
    return limits->short_bytes &&
           crn_disk_check_room(writer->dir, limits->short_bytes, CRN_VERDICT_LOG_SPARE_BYTES,
                               &ignored) == -ENOSPC;
}

/* True if a segment that is not in use is to be removed; `bytes`: of all that are left. */
static bool is_to_go(const crn_verdict_writer *writer, const crn_verdict_log_file *file,
                     uint64_t bytes, const retention *limits)
{
    bool is_old = writer->keep_ns && limits->now_ns - file->written_ns > writer->keep_ns;
    return (is_old && (file->number < limits->archived_below || is_short(writer, limits))) ||
           (writer->keep_bytes && bytes + limits->coming_bytes > writer->keep_bytes);
}

/* Tells once, until it can be read again, that it cannot. */
static uint64_t get_archived(crn_verdict_writer *writer)
{
    uint64_t below;
    crn_error error;
    bool is_unknown = crn_verdict_log_get_archived(writer->dir, &below, &error) < 0;
    if (is_unknown && !writer->told_archived)
        crn_log(CRN_LOG_WARNING,
                "log: %s; no file is removed for its age (keep_days) until it can be read, or is "
                "deleted as there is no archive",
                error.text);
    writer->told_archived = is_unknown;
    return below;
}

/* Removes the segments that are too old, and the oldest until `coming_bytes` fit. */
static void make_room(crn_verdict_writer *writer, const crn_verdict_log_files *files,
                      uint64_t coming_bytes, uint64_t short_bytes)
{
    const retention limits = {.coming_bytes = coming_bytes,
                              .short_bytes = short_bytes,
                              .archived_below = get_archived(writer),
                              .now_ns = crn_realtime_ns()};
    uint64_t unarchived = 0;
    uint64_t in_use = writer->fd >= 0 ? writer->number : 0;
    uint64_t bytes = files->bytes - (in_use ? writer->used : 0), removed = 0;
    for (size_t i = 0; i < files->count; i++) {
        const crn_verdict_log_file *file = &files->items[i];
        char path[PATH_MAX];
        if (file->number == in_use || !is_to_go(writer, file, bytes, &limits))
            continue;
        crn_verdict_log_path(path, sizeof path, writer->dir, file->number);
        if (unlink(path) < 0 && errno != ENOENT) {
            crn_log(CRN_LOG_WARNING, "log: %s: cannot be removed: %s", path, strerror(errno));
            continue;
        }
        bytes -= file->bytes < bytes ? file->bytes : bytes;
        removed++;
        unarchived += file->number >= limits.archived_below;
    }
    writer->removed += removed;
    if (removed)
        crn_log(CRN_LOG_INFO,
                "log: %s: removed the oldest %" PRIu64 " files (keep_mib, keep_days); %" PRIu64
                " MiB are left",
                writer->dir, removed, bytes >> 20);
    if (unarchived)
        crn_log(CRN_LOG_WARNING,
                "log: %s: %" PRIu64 " of them were not archived: is cernita-archive running?",
                writer->dir, unarchived);
}

static void retain(crn_verdict_writer *writer, uint64_t short_bytes)
{
    crn_verdict_log_files files;
    crn_error error;
    if ((!writer->keep_bytes && !writer->keep_ns) ||
        crn_verdict_log_list(writer->dir, &files, &error) < 0)
        return;
    make_room(writer, &files, writer->fd >= 0 ? writer->segment_bytes : 0, short_bytes);
    crn_verdict_log_files_done(&files);
}

void crn_verdict_writer_retain(crn_verdict_writer *writer)
{
    retain(writer, 0);
}

uint64_t crn_verdict_writer_removed(const crn_verdict_writer *writer)
{
    return writer->removed;
}

static int check_room(crn_verdict_writer *writer, size_t size, crn_error *error)
{
    int r = crn_disk_check_room(writer->dir, size, CRN_VERDICT_LOG_SPARE_BYTES, error);
    if (r != -ENOSPC)
        return r;
    retain(writer, size);
    return crn_disk_check_room(writer->dir, size, CRN_VERDICT_LOG_SPARE_BYTES, error);
}

/* Creates the next free name, whatever is in the folder already. */
static int create_segment(crn_verdict_writer *writer, uint64_t last_number, crn_error *error)
{
    uint64_t number = last_number > writer->number ? last_number : writer->number;
    for (int tries = 0; tries < NAMES_TRIED_MAX && writer->fd < 0; tries++) {
        if (number >= CRN_VERDICT_LOG_NUMBER_MAX) {
            crn_verdict_log_path(writer->path, sizeof writer->path, writer->dir, number);
            return crn_error_set(error, -EOVERFLOW,
                                 "%s has the last number that a file of the log can have: move it "
                                 "away",
                                 writer->path);
        }
        crn_verdict_log_path(writer->path, sizeof writer->path, writer->dir, ++number);
        writer->fd = open(writer->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (writer->fd < 0 && errno != EEXIST)
            break;
    }
    if (writer->fd < 0)
        return fail(error, -errno, writer->path);
    writer->number = number;
    writer->used = 0;
    return 0;
}

static int begin_segment(crn_verdict_writer *writer, crn_error *error)
{
    crn_verdict_log_files files;
    int r = crn_verdict_log_list(writer->dir, &files, error);
    if (r)
        return r;
    make_room(writer, &files, writer->segment_bytes, 0);
    r = create_segment(writer, files.last_number, error);
    crn_verdict_log_files_done(&files);
    if (r)
        return r;
    unsigned char header[CRN_VERDICT_LOG_HEADER_BYTES];
    crn_verdict_log_pack_header(header, (uint64_t)crn_realtime_ns());
    struct iovec parts[2] = {{header, sizeof header}, {header, 0}};
    r = write_parts(writer, parts);
    if (r) {
        end_segment(writer);
        return fail(error, r, writer->path);
    }
    writer->used = sizeof header;
    return 0;
}

int crn_verdict_writer_append(crn_verdict_writer *writer, uint32_t lane, const void *verdict,
                              size_t size, crn_error *error)
{
    if (size == 0 || size > CRN_VERDICT_LOG_VERDICT_MAX)
        return crn_error_set(error, -EMSGSIZE, "%s: a verdict of %zu bytes cannot be logged",
                             writer->dir, size);
    unsigned char record[CRN_VERDICT_RECORD_BYTES];
    crn_verdict_record_pack(record, lane, verdict, size);
    bool is_full = writer->used + sizeof record + size > writer->segment_bytes;
    if (writer->fd >= 0 && (is_full || !is_intact(writer)))
        end_segment(writer);
    int r = check_room(writer, size, error);
    if (!r && writer->fd < 0)
        r = begin_segment(writer, error);
    if (r)
        return r;
    struct iovec parts[2] = {{record, sizeof record}, {(void *)(uintptr_t)verdict, size}};
    r = write_parts(writer, parts);
    if (r) {
        fail(error, r, writer->path);
        bool is_full_disk = r == -ENOSPC || r == -EDQUOT;
        if (ftruncate(writer->fd, (off_t)writer->used) < 0 || !is_full_disk)
            end_segment(writer);
        return r;
    }
    writer->used += sizeof record + size;
    return 0;
}

/* --- open and close --- */

int crn_verdict_writer_check(const char *dir, crn_error *error)
{
    return crn_folder_check(dir, R_OK | W_OK | X_OK, "log verdicts", error);
}

int crn_verdict_writer_open(const crn_verdict_log_settings *settings,
                            crn_verdict_writer **ret_writer, crn_error *error)
{
    const char *dir = settings->dir;
    int r = crn_verdict_writer_check(dir, error);
    if (r)
        return r;
    crn_verdict_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return crn_error_set(error, -ENOMEM, "%s: no memory for the verdict log", dir);
    writer->segment_bytes = settings->segment_bytes;
    writer->keep_bytes = settings->keep_bytes;
    writer->keep_ns = settings->keep_ns;
    writer->fd = -1;
    writer->dir = strdup(dir);
    writer->folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!writer->dir || writer->folder < 0) {
        r = writer->dir ? -errno : -ENOMEM;
        crn_error_set(error, r, "%s: cannot log verdicts there: %s", dir, strerror(-r));
    } else if (flock(writer->folder, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        /* Other errors: not every file system supports locks. */
        r = crn_error_set(error, -EBUSY, "%s: another program logs there; name another folder",
                          dir);
    }
    if (r) {
        crn_verdict_writer_close(&writer);
        return r;
    }
    *ret_writer = writer;
    return 0;
}

void crn_verdict_writer_close(crn_verdict_writer **writer)
{
    crn_verdict_writer *w = *writer;
    if (!w)
        return;
    end_segment(w);
    if (w->folder >= 0)
        close(w->folder);
    free(w->dir);
    free(w);
    *writer = NULL;
}
