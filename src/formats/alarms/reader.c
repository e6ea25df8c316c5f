#include "src/formats/alarms/reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/regular_file.h"

#define SLOTS 128 /* read at once */

_Static_assert(CRN_ALARMS_KEPT % SLOTS == 0, "the last piece is a whole one");

/* 0, or -EBADMSG where the file ends before. */
static int read_at(int descriptor, void *to, size_t size, off_t offset)
{
    ssize_t count;
    do
        count = pread(descriptor, to, size, offset);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : (size_t)count == size ? 0 : -EBADMSG;
}

static int check(int descriptor)
{
    unsigned char expected[CRN_ALARM_RECORD_BYTES], head[CRN_ALARM_RECORD_BYTES];
    struct stat about;
    if (fstat(descriptor, &about) < 0)
        return -errno;
    crn_alarm_record_pack_head(expected);
    int r = about.st_size == CRN_ALARMS_FILE_BYTES ? read_at(descriptor, head, sizeof head, 0)
                                                   : -EBADMSG;
    return r < 0 ? r : memcmp(head, expected, sizeof head) == 0 ? 0 : -EBADMSG;
}

static void take_slot(const unsigned char *first, const unsigned char *second, size_t slot,
                      crn_alarm_seen *seen, void *context)
{
    uint64_t written[CRN_ALARM_HALVES] = {crn_alarm_record_written(first),
                                          crn_alarm_record_written(second)};
    bool is_second = written[1] > written[0];
    crn_alarm_record record;
    const unsigned char *newer = is_second ? second : first;
    if (written[is_second] == 0)
        return;
    crn_alarm_record_unpack(newer, &record);
    /* The number alone may be that of another file, which took the place of this one. */
    uint64_t mark = written[is_second] << 32 | crn_alarm_record_checksum(newer);
    if (record.number > 0 && record.number % CRN_ALARMS_KEPT == slot)
        seen(context, &record, mark ? mark : 1);
}

static int take_all(int descriptor, crn_alarm_seen *seen, void *context)
{
    unsigned char records[CRN_ALARM_HALVES][SLOTS * CRN_ALARM_RECORD_BYTES];
    for (size_t first = 0; first < CRN_ALARMS_KEPT; first += SLOTS) {
        for (unsigned half = 0; half < CRN_ALARM_HALVES; half++) {
            int r = read_at(descriptor, records[half], sizeof records[half],
                            crn_alarm_record_offset(first, half));
            if (r < 0)
                return r;
        }
        for (size_t i = 0; i < SLOTS; i++)
            take_slot(records[0] + i * CRN_ALARM_RECORD_BYTES,
                      records[1] + i * CRN_ALARM_RECORD_BYTES, first + i, seen, context);
    }
    return 0;
}

int crn_alarms_read(const char *path, crn_alarm_seen *seen, void *context, crn_error *error)
{
    int fd = crn_regular_open(path, error);
    if (fd < 0)
        return fd;
    int r = check(fd);
    if (r == 0)
        r = take_all(fd, seen, context);
    close(fd);
    if (r == -EBADMSG)
        return crn_error_set(error, r,
                             "%s: is not an alarm list, or of another version: use the programs of "
                             "the daemon that wrote it",
                             path);
    return r < 0 ? crn_error_set(error, r, "%s: cannot be read: %s", path, strerror(-r)) : 0;
}
