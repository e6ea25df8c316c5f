#include "src/monitor/alarms/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/alarms/record.h"
#include "src/monitor/state_file.h"
#include "stages/base/log.h"

_Static_assert(CRN_CONDITION_NAME_BYTES == CRN_ALARM_NAME_BYTES, "a record holds all names");

struct crn_alarm_file {
    int descriptor;
    uint64_t written; /* of the last record */
    /* The alarm's record in that half is older than its other one, or damaged. */
    bool behind[CRN_ALARM_HALVES][CRN_ALARMS_KEPT];
};

static int write_at(int descriptor, const unsigned char bytes[CRN_ALARM_RECORD_BYTES], off_t offset)
{
    return crn_state_file_write(descriptor, bytes, CRN_ALARM_RECORD_BYTES, offset);
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

/* --- an alarm and its record --- */

static void pack(const crn_alarm *alarm, uint64_t written,
                 unsigned char ret_bytes[CRN_ALARM_RECORD_BYTES])
{
    const crn_condition_values *values = &alarm->values;
    crn_alarm_record record = {.number = alarm->number,
                               .lane = values->lane,
                               .count = values->count,
                               .percent = values->percent,
                               .seconds = values->seconds,
                               .hours = values->hours,
                               .raised_ms = alarm->raised_ms,
                               .cleared_ms = alarm->cleared_ms,
                               .acknowledged_ms = alarm->acknowledged_ms,
                               .shelved_until_ms = alarm->shelved_until_ms};
    snprintf(record.condition, sizeof record.condition, "%s", alarm->row->id);
    memcpy(record.name, values->name, sizeof record.name);
    memcpy(record.acknowledged_by, alarm->acknowledged_by, sizeof record.acknowledged_by);
    crn_alarm_record_pack(&record, written, ret_bytes);
}

/* False if this version knows no such condition. */
static bool unpack(const unsigned char bytes[CRN_ALARM_RECORD_BYTES], crn_alarm *ret_alarm)
{
    crn_alarm_record record;
    crn_alarm_record_unpack(bytes, &record);
    const crn_condition *row = crn_condition_named(record.condition);
    if (!row)
        return false;
    *ret_alarm = (crn_alarm){.number = record.number,
                             .row = row,
                             .values = {.lane = record.lane,
                                        .count = record.count,
                                        .percent = record.percent,
                                        .seconds = record.seconds,
                                        .hours = record.hours},
                             .raised_ms = record.raised_ms,
                             .cleared_ms = record.cleared_ms,
                             .acknowledged_ms = record.acknowledged_ms,
                             .shelved_until_ms = record.shelved_until_ms};
    memcpy(ret_alarm->values.name, record.name, sizeof record.name);
    memcpy(ret_alarm->acknowledged_by, record.acknowledged_by, sizeof record.acknowledged_by);
    return record.number > 0;
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
    if (record && unpack(record, &alarm) && alarm.number % CRN_ALARMS_KEPT == slot)
        crn_alarm_book_restore(book, &alarm);
    return record || (!crn_alarm_record_is_used(records.half[0]) &&
                      !crn_alarm_record_is_used(records.half[1]));
}

/* Returns 0 with how many alarms were lost, or a negative errno. */
static int load(crn_alarm_file *file, crn_alarm_book *book, int *ret_lost)
{
    enum { SLOTS = 128 }; /* read at once */
    unsigned char records[CRN_ALARM_HALVES][SLOTS * CRN_ALARM_RECORD_BYTES];
    _Static_assert(CRN_ALARMS_KEPT % SLOTS == 0, "blocks are whole");
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

static int open_file(crn_alarm_file *file, const char *dir, crn_error *error)
{
    unsigned char head[CRN_ALARM_RECORD_BYTES];
    crn_alarm_record_pack_head(head);
    const crn_state_file kind = {CRN_ALARMS_FILE, CRN_ALARMS_FILE_BYTES, head, sizeof head};
    return file->descriptor = crn_state_file_open(dir, &kind, error);
}

/* With what a crash or a torn block left. */
static int load_and_mend(crn_alarm_file *file, const char *dir, crn_alarm_book *book)
{
    int lost = 0;
    int r = load(file, book, &lost);
    if (lost > 0)
        crn_log(CRN_LOG_WARNING,
                "alarms: %d of the alarms in %s/" CRN_ALARMS_FILE " are damaged and left out", lost,
                dir);
    if (r == 0)
        r = catch_up(file, 0);
    return r < 0 ? r : crn_alarm_file_sync(file);
}

int crn_alarm_file_open(const char *dir, crn_alarm_book *book, crn_alarm_file **ret_file,
                        crn_error *error)
{
    crn_alarm_file *file = calloc(1, sizeof *file);
    if (!file)
        return crn_error_set(error, -ENOMEM, "no memory");
    int r = open_file(file, dir, error);
    if (r >= 0 && (r = load_and_mend(file, dir, book)) < 0)
        crn_error_set(error, r, "%s/" CRN_ALARMS_FILE ": %s", dir, strerror(-r));
    if (r < 0) {
        crn_alarm_file_close(&file);
        return r;
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
    pack(alarm, file->written + 1, bytes);
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
