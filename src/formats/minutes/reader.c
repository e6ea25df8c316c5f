#include "src/formats/minutes/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Records read at once. */
#define PIECE_RECORDS 8192

static int read_at(int descriptor, void *to, size_t size, uint64_t offset)
{
    ssize_t count;
    do
        count = pread(descriptor, to, size, (off_t)offset);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : (size_t)count == size ? 0 : -EBADMSG;
}

static int read_names(crn_minutes_reader *reader)
{
    size_t bytes = CRN_MINUTES_NAMES * CRN_MINUTES_NAME_BYTES;
    unsigned char *entries = malloc(bytes);
    reader->names = calloc(CRN_MINUTES_NAMES, sizeof *reader->names);
    int r = entries && reader->names ? 0 : -ENOMEM;
    if (r == 0)
        r = read_at(reader->descriptor, entries, bytes, crn_minutes_name_offset(0));
    for (size_t name = 1; r == 0 && name < CRN_MINUTES_NAMES; name++)
        crn_minutes_name_parse(entries + name * CRN_MINUTES_NAME_BYTES, &reader->names[name]);
    free(entries);
    return r;
}

/* The bytes of the record in a place of the ring. Returns 0 or a negative errno. */
static int get_place(crn_minutes_reader *reader, uint32_t place, const unsigned char **ret_bytes)
{
    if (place < reader->piece_first || place - reader->piece_first >= reader->piece_count) {
        uint32_t count = reader->records - place;
        count = count < PIECE_RECORDS ? count : PIECE_RECORDS;
        reader->piece_count = 0;
        int r = read_at(reader->descriptor, reader->piece, count * CRN_MINUTES_RECORD_BYTES,
                        crn_minutes_record_offset(reader->records, place));
        if (r < 0)
            return r;
        reader->piece_first = place;
        reader->piece_count = count;
    }
    *ret_bytes = reader->piece + (size_t)(place - reader->piece_first) * CRN_MINUTES_RECORD_BYTES;
    return 0;
}

void crn_minutes_rewind(crn_minutes_reader *reader, uint32_t sequence)
{
    reader->sequence = sequence;
    reader->next = (sequence + 1) % reader->records;
    reader->left = sequence > 0 ? reader->records : 0;
    reader->damaged = 0;
    reader->piece_count = 0;
}

static int find_newest(crn_minutes_reader *reader)
{
    for (uint32_t place = 0; place < reader->records; place++) {
        const unsigned char *bytes;
        int r = get_place(reader, place, &bytes);
        if (r < 0)
            return r;
        uint32_t sequence = crn_minute_record_sequence(bytes);
        if (sequence > reader->sequence && sequence % reader->records == place)
            reader->sequence = sequence;
    }
    crn_minutes_rewind(reader, reader->sequence);
    return 0;
}

static int open_parts(crn_minutes_reader *reader)
{
    unsigned char head[CRN_MINUTES_HEAD_BYTES];
    int r = read_at(reader->descriptor, head, sizeof head, 0);
    if (r == 0)
        r = crn_minutes_parse_head(head, &reader->records);
    reader->piece = malloc((size_t)PIECE_RECORDS * CRN_MINUTES_RECORD_BYTES);
    if (r == 0)
        r = reader->piece ? find_newest(reader) : -ENOMEM;
    /* Behind the newest record and before all: a name's number is that of another one only when no
     * record has it any more. */
    return r < 0 ? r : read_names(reader);
}

int crn_minutes_open_file(int descriptor, const char *name, crn_minutes_reader *reader,
                          crn_error *error)
{
    *reader = (crn_minutes_reader){.descriptor = descriptor};
    int r = open_parts(reader);
    if (r == -EBADMSG)
        return crn_error_set(error, r,
                             "%s: not a file of minutes, or of another version of cernitad", name);
    return r < 0 ? crn_error_set(error, r, "%s: %s", name, strerror(-r)) : 0;
}

int crn_minutes_open(const char *path, crn_minutes_reader *reader, crn_error *error)
{
    *reader = (crn_minutes_reader){.descriptor = -1};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    int r = crn_minutes_open_file(fd, path, reader, error);
    reader->owned = true;
    return r;
}

void crn_minutes_close(crn_minutes_reader *reader)
{
    if (reader->owned)
        close(reader->descriptor);
    free(reader->names);
    free(reader->piece);
    *reader = (crn_minutes_reader){.descriptor = -1};
}

static bool is_empty(const unsigned char *bytes)
{
    static const unsigned char none[CRN_MINUTES_RECORD_BYTES];
    return memcmp(bytes, none, sizeof none) == 0;
}

int crn_minutes_next(crn_minutes_reader *reader, crn_minute_record *ret_record)
{
    for (; reader->left > 0; reader->left--) {
        const unsigned char *bytes;
        uint32_t place = reader->next;
        int r = get_place(reader, place, &bytes);
        if (r < 0)
            return r;
        reader->next = (place + 1) % reader->records;
        if (!crn_minute_record_parse(bytes, ret_record) ||
            ret_record->sequence % reader->records != place) {
            reader->damaged += !is_empty(bytes);
            continue;
        }
        /* Written since the opening, or, where the disk refused a later one, a lap ago. */
        if (ret_record->sequence > reader->sequence ||
            reader->sequence - ret_record->sequence >= reader->records)
            continue;
        reader->left--;
        return 1;
    }
    return 0;
}

const char *crn_minutes_text(const crn_minutes_reader *reader, uint32_t name)
{
    return name < CRN_MINUTES_NAMES ? reader->names[name].text : "";
}
