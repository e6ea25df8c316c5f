#include "src/monitor/alarms/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/monitor/alarms/record.h"
#include "stages/base/log.h"

#define NAME       "alarms"
#define PART_NAME  "alarms.part"
#define ASIDE_NAME "alarms.damaged"
#define MODE       0640

#define FILE_BYTES crn_alarm_record_offset(0, CRN_ALARM_HALVES)

struct crn_alarm_file {
    int descriptor;
    uint64_t written; /* of the last record */
    /* The alarm's record in that half is older than its other one, or damaged. */
    bool behind[CRN_ALARM_HALVES][CRN_ALARMS_KEPT];
};

static int write_at(int descriptor, const unsigned char bytes[CRN_ALARM_RECORD_BYTES], off_t offset)
{
    ssize_t count;
    do
        count = pwrite(descriptor, bytes, CRN_ALARM_RECORD_BYTES, offset);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count == CRN_ALARM_RECORD_BYTES ? 0 : -EIO;
}

/* Copies what a half lacks from the other one, which is on the disk: what is torn is whole there.
 * On the disk, too, when it returns 0. */
static int catch_up(crn_alarm_file *file, unsigned half)
{
    unsigned char bytes[CRN_ALARM_RECORD_BYTES];
    bool any = false;
    for (size_t slot = 0; slot < CRN_ALARMS_KEPT; slot++) {
        if (!file->behind[half][slot])
            continue;
        if (pread(file->descriptor, bytes, sizeof bytes, crn_alarm_record_offset(slot, 1 - half)) !=
            sizeof bytes)
            return -EIO;
        int r = write_at(file->descriptor, bytes, crn_alarm_record_offset(slot, half));
        if (r < 0)
            return r;
        file->behind[half][slot] = false;
        any = true;
    }
    return any && fdatasync(file->descriptor) < 0 ? -errno : 0;
}

/* --- a new file --- */

/* It gets its name when it is whole. */
static int make(int folder)
{
    unsigned char head[CRN_ALARM_RECORD_BYTES];
    crn_alarm_record_pack_head(head);
    if (unlinkat(folder, PART_NAME, 0) < 0 && errno != ENOENT) /* of one that was killed */
        return -errno;
    int fd = openat(folder, PART_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
    if (fd < 0)
        return -errno;
    int r = -posix_fallocate(fd, 0, FILE_BYTES);
    if (r == 0)
        r = write_at(fd, head, 0);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(folder, PART_NAME, folder, NAME) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(folder, PART_NAME, 0);
    else if (fsync(folder) < 0)
        r = -errno;
    return r;
}

/* --- a file that is there --- */

/* An alarm's records in the two halves. */
typedef struct record_pair {
    const unsigned char *half[CRN_ALARM_HALVES];
} record_pair;

/* The newer of an alarm's two records; NULL if neither was written whole. */
static const unsigned char *choose(crn_alarm_file *file, size_t slot, record_pair records)
{
    uint64_t written[CRN_ALARM_HALVES] = {crn_alarm_record_written(records.half[0]),
                                          crn_alarm_record_written(records.half[1])};
    unsigned newer = written[1] > written[0];
    if (written[newer] == 0)
        return NULL;
    file->behind[1 - newer][slot] = written[1 - newer] < written[newer];
    if (written[newer] > file->written)
        file->written = written[newer];
    return records.half[newer];
}

/* Takes in the alarm of a slot. False: it is lost. */
static bool take_slot(crn_alarm_file *file, size_t slot, record_pair records, crn_alarm_book *book)
{
    crn_alarm alarm;
    const unsigned char *record = choose(file, slot, records);
    if (record && crn_alarm_record_unpack(record, &alarm) && alarm.number % CRN_ALARMS_KEPT == slot)
        crn_alarm_book_restore(book, &alarm);
    return record || (!crn_alarm_record_is_used(records.half[0]) &&
                      !crn_alarm_record_is_used(records.half[1]));
}

/* Returns 0 with how many alarms were lost, -EINVAL if it is not such a file, or another errno. */
static int load(crn_alarm_file *file, crn_alarm_book *book, int *ret_lost)
{
    enum { SLOTS = 128 }; /* read at once */
    unsigned char head[CRN_ALARM_RECORD_BYTES], wanted[CRN_ALARM_RECORD_BYTES],
        records[CRN_ALARM_HALVES][SLOTS * CRN_ALARM_RECORD_BYTES];
    struct stat about;
    _Static_assert(CRN_ALARMS_KEPT % SLOTS == 0, "blocks are whole");
    crn_alarm_record_pack_head(wanted);
    if (fstat(file->descriptor, &about) < 0)
        return -errno;
    if (!S_ISREG(about.st_mode) || about.st_size != FILE_BYTES)
        return -EINVAL;
    if (pread(file->descriptor, head, sizeof head, 0) != sizeof head)
        return -EIO;
    if (memcmp(head, wanted, sizeof head) != 0)
        return -EINVAL;
    for (size_t slot = 0; slot < CRN_ALARMS_KEPT; slot++) {
        size_t at = slot % SLOTS * CRN_ALARM_RECORD_BYTES;
        for (unsigned half = 0; at == 0 && half < CRN_ALARM_HALVES; half++)
            if (pread(file->descriptor, records[half], sizeof records[half],
                      crn_alarm_record_offset(slot, half)) != sizeof records[half])
                return -EIO;
        record_pair pair = {{records[0] + at, records[1] + at}};
        *ret_lost += !take_slot(file, slot, pair, book);
    }
    return 0;
}

/* Opens the file and has it for this process alone. */
static int open_own(int folder)
{
    int fd = openat(folder, NAME, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd < 0 ? -errno : fd;
    int r = -errno;
    close(fd);
    return r;
}

/* The same, and makes one where there is none. */
static int open_or_make(int folder)
{
    int fd = open_own(folder);
    if (fd != -ENOENT)
        return fd;
    int r = make(folder);
    return r < 0 ? r : open_own(folder);
}

/* Opens and reads it; one that cannot be used makes room for a new one. */
static int open_and_load(int folder, const char *dir, crn_alarm_file *file, crn_alarm_book *book)
{
    int lost = 0, r;
    if ((file->descriptor = open_or_make(folder)) < 0)
        return file->descriptor;
    r = load(file, book, &lost);
    if (lost > 0)
        crn_log(CRN_LOG_WARNING, "alarms: %d of the alarms in %s/" NAME " are damaged and left out",
                lost, dir);
    if (r != -EINVAL)
        return r;
    close(file->descriptor);
    file->descriptor = -1;
    if (renameat(folder, NAME, folder, ASIDE_NAME) < 0)
        return -errno;
    crn_log(CRN_LOG_WARNING,
            "alarms: %s/" NAME
            " is damaged, or of another version of cernitad: it is now %s/" ASIDE_NAME
            ", and the list begins anew",
            dir, dir);
    if ((file->descriptor = open_or_make(folder)) < 0)
        return file->descriptor;
    return load(file, book, &lost);
}

int crn_alarm_file_open(const char *dir, crn_alarm_book *book, crn_alarm_file **ret_file,
                        crn_error *error)
{
    crn_alarm_file *file = calloc(1, sizeof *file);
    if (!file)
        return crn_error_set(error, -ENOMEM, "no memory");
    file->descriptor = -1;
    int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = folder < 0 ? -errno : open_and_load(folder, dir, file, book);
    if (folder >= 0)
        close(folder);
    if (r == 0) /* what a crash or a torn block left */
        r = catch_up(file, 0);
    if (r == 0)
        r = crn_alarm_file_sync(file);
    if (r < 0) {
        crn_alarm_file_close(&file);
        return crn_error_set(error, r, "%s/" NAME ": %s", dir,
                             r == -EWOULDBLOCK
                                 ? "another line writes it; give each line a state.dir of its own"
                                 : strerror(-r));
    }
    *ret_file = file;
    return 0;
}

void crn_alarm_file_close(crn_alarm_file **file)
{
    if (!*file)
        return;
    if ((*file)->descriptor >= 0)
        close((*file)->descriptor);
    free(*file);
    *file = NULL;
}

int crn_alarm_file_write(crn_alarm_file *file, const crn_alarm *alarm)
{
    unsigned char bytes[CRN_ALARM_RECORD_BYTES];
    crn_alarm_record_pack(alarm, file->written + 1, bytes);
    int r = write_at(file->descriptor, bytes, crn_alarm_record_offset(alarm->number, 0));
    if (r < 0)
        return r;
    file->written++;
    file->behind[1][alarm->number % CRN_ALARMS_KEPT] = true;
    return 0;
}

int crn_alarm_file_sync(crn_alarm_file *file)
{
    return fdatasync(file->descriptor) < 0 ? -errno : catch_up(file, 1);
}
