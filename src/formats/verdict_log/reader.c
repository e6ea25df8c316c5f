#include "src/formats/verdict_log/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/verdict_log/format.h"
#include "stages/base/file/regular_file.h"

struct crn_verdict_reader {
    char *dir;
    crn_verdict_log_files files;
    size_t next; /* index of the next segment */
    FILE *segment;
    char path[PATH_MAX]; /* the segment's */
    uint64_t at, size;   /* position in it; its size when it was opened */
    uint64_t created_ns;
    bool damaged; /* the record before was */
    crn_verdict_position began, position;
    unsigned char *buffer;
    size_t capacity;
};

static void end_segment(crn_verdict_reader *reader)
{
    if (reader->segment)
        fclose(reader->segment);
    reader->segment = NULL;
}

/* Reads exactly `size` bytes: 0, -EBADMSG if the file has less, or why it cannot be read. */
static int read_bytes(crn_verdict_reader *reader, void *bytes, size_t size)
{
    errno = 0;
    if (fread(bytes, 1, size, reader->segment) == size)
        return 0;
    if (!ferror(reader->segment))
        return -EBADMSG;
    return errno > 0 && errno != EBADMSG ? -errno : -EIO;
}

/* Skips the rest of the segment: `r` as of read_bytes(). */
static int give_up(crn_verdict_reader *reader, int r, crn_error *error)
{
    end_segment(reader);
    if (r != -EBADMSG)
        return crn_error_set(error, r, "%s: cannot be read: %s", reader->path, strerror(-r));
    return crn_error_set(error, r,
                         "%s: no whole verdict in its last %" PRIu64 " bytes: the daemon was "
                         "killed while it wrote, or they are damaged",
                         reader->path, reader->size - reader->at);
}

/* Opens the next segment. One that has been removed, or has not even a whole header, is passed
 * over: reader->segment is then NULL. */
static int open_segment(crn_verdict_reader *reader, crn_error *error)
{
    const crn_verdict_log_file *file = &reader->files.items[reader->next++];
    crn_verdict_log_path(reader->path, sizeof reader->path, reader->dir, file->number);
    reader->began = (crn_verdict_position){.number = file->number};
    int fd = crn_regular_open(reader->path, error);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    reader->segment = fdopen(fd, "r");
    if (!reader->segment) {
        close(fd);
        return crn_error_set(error, -ENOMEM, "%s: no memory to read it", reader->path);
    }
    struct stat about;
    unsigned char header[CRN_VERDICT_LOG_HEADER_BYTES];
    int r = fstat(fd, &about) < 0 ? -errno : read_bytes(reader, header, sizeof header);
    if (r == -EBADMSG || (r == 0 && about.st_size < (off_t)sizeof header)) {
        end_segment(reader);
        return 0;
    }
    if (r < 0)
        return give_up(reader, r, error);
    reader->size = (uint64_t)about.st_size;
    reader->damaged = false;
    int header_bytes = crn_verdict_log_parse_header(header);
    if (header_bytes < 0 || header_bytes > about.st_size) {
        end_segment(reader);
        return crn_error_set(error, -EBADMSG, "%s: is not a segment of a verdict log, version 1",
                             reader->path);
    }
    if (fseek(reader->segment, header_bytes, SEEK_SET) < 0)
        return give_up(reader, -errno, error);
    reader->at = (uint64_t)header_bytes;
    reader->created_ns = crn_verdict_log_created_ns(header);
    return 0;
}

static int make_room(crn_verdict_reader *reader, size_t size, crn_error *error)
{
    if (size <= reader->capacity)
        return 0;
    unsigned char *larger = realloc(reader->buffer, size);
    if (!larger) {
        end_segment(reader);
        return crn_error_set(error, -ENOMEM, "%s: no memory for a verdict of %zu bytes",
                             reader->path, size);
    }
    reader->buffer = larger;
    reader->capacity = size;
    return 0;
}

/* Reads the record at the position. 1; 0 at the segment's end; negative errno: it was skipped. */
static int read_record(crn_verdict_reader *reader, crn_logged_verdict *ret_verdict,
                       crn_error *error)
{
    if (reader->at >= reader->size)
        return 0;
    reader->began = (crn_verdict_position){.number = reader->files.items[reader->next - 1].number,
                                           .created_ns = reader->created_ns,
                                           .offset = reader->at};
    uint64_t left = reader->size - reader->at;
    unsigned char record[CRN_VERDICT_RECORD_BYTES];
    int r = left < sizeof record ? -EBADMSG : read_bytes(reader, record, sizeof record);
    if (r < 0)
        return give_up(reader, r, error);
    crn_logged_verdict verdict = {0};
    crn_verdict_record_parse(record, &verdict.lane, &verdict.size);
    if (verdict.size == 0 || verdict.size > CRN_VERDICT_LOG_VERDICT_MAX ||
        verdict.size > left - sizeof record)
        return give_up(reader, -EBADMSG, error);
    r = make_room(reader, verdict.size, error);
    if (r < 0)
        return r;
    r = read_bytes(reader, reader->buffer, verdict.size);
    if (r < 0)
        return give_up(reader, r, error);
    bool is_whole = crn_verdict_record_is_whole(record, reader->buffer, verdict.size);
    if (!is_whole && reader->damaged)
        return give_up(reader, -EBADMSG, error);
    reader->at += sizeof record + verdict.size;
    reader->damaged = !is_whole;
    if (!is_whole)
        return crn_error_set(error, -EBADMSG,
                             "%s: the verdict at byte %" PRIu64 " is damaged and was skipped",
                             reader->path, reader->began.offset);
    reader->position = reader->began;
    reader->position.offset = reader->at;
    verdict.bytes = reader->buffer;
    *ret_verdict = verdict;
    return 1;
}

int crn_verdict_reader_next(crn_verdict_reader *reader, crn_logged_verdict *ret_verdict,
                            crn_error *error)
{
    for (;;) {
        int r = reader->segment ? read_record(reader, ret_verdict, error) : 0;
        if (r)
            return r;
        end_segment(reader);
        if (reader->next == reader->files.count)
            return 0;
        r = open_segment(reader, error);
        if (r)
            return r;
    }
}

int crn_verdict_reader_open(const char *dir, crn_verdict_reader **ret_reader, crn_error *error)
{
    crn_verdict_reader *reader = calloc(1, sizeof *reader);
    int r = reader && (reader->dir = strdup(dir)) ? 0 : -ENOMEM;
    if (r)
        crn_error_set(error, r, "%s: no memory", dir);
    else
        r = crn_verdict_log_list(dir, &reader->files, error);
    if (!r && reader->files.count == 0)
        r = crn_error_set(error, -ENOENT,
                          "%s: there is no verdict log (cernita-*.verdicts) in this folder", dir);
    if (r) {
        crn_verdict_reader_close(&reader);
        return r;
    }
    *ret_reader = reader;
    return 0;
}

void crn_verdict_reader_start_at(crn_verdict_reader *reader, uint64_t number)
{
    while (reader->next < reader->files.count && reader->files.items[reader->next].number < number)
        reader->next++;
}

/* Opens the segment at the position; false if it is not there any more. One that cannot be read
 * now is left to crn_verdict_reader_next(). */
static bool open_at(crn_verdict_reader *reader, const crn_verdict_position *position)
{
    crn_verdict_reader_start_at(reader, position->number);
    if (reader->next == reader->files.count ||
        reader->files.items[reader->next].number != position->number)
        return false;
    crn_error ignored;
    int r = open_segment(reader, &ignored);
    if (r < 0 && r != -EBADMSG) {
        reader->next--;
        return true;
    }
    if (!reader->segment)
        return false;
    bool is_same = reader->created_ns == position->created_ns && position->offset >= reader->at;
    if (is_same && fseeko(reader->segment, (off_t)position->offset, SEEK_SET) == 0) {
        reader->at = position->offset;
        return true;
    }
    end_segment(reader);
    return false;
}

void crn_verdict_reader_resume(crn_verdict_reader *reader, const crn_verdict_position *position)
{
    if (open_at(reader, position))
        reader->position = *position;
    else
        reader->next = 0;
}

crn_verdict_position crn_verdict_reader_position(const crn_verdict_reader *reader)
{
    return reader->position;
}

crn_verdict_position crn_verdict_reader_began(const crn_verdict_reader *reader)
{
    return reader->began;
}

bool crn_verdict_reader_is_in_last(const crn_verdict_reader *reader)
{
    return reader->next == reader->files.count;
}

void crn_verdict_reader_close(crn_verdict_reader **reader)
{
    crn_verdict_reader *r = *reader;
    if (!r)
        return;
    end_segment(r);
    crn_verdict_log_files_done(&r->files);
    free(r->buffer);
    free(r->dir);
    free(r);
    *reader = NULL;
}
