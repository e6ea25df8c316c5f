#include "src/monitor/minutes/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/monitor/state_file.h"

struct crn_minutes_file {
    int descriptor; /* -1: there is none */
    uint32_t records;
    uint32_t sequence;                /* of the last record */
    uint32_t used[CRN_MINUTES_NAMES]; /* by the record of that number, the newest one; 0: by none */
    bool is_read;                     /* `used` is known: no number becomes free without that */
    crn_minutes_reader reader;
    crn_minutes_name *names; /* the reader's, or without a file its own */
};

static int open_file(crn_minutes_file *file, const char *dir, crn_error *error)
{
    unsigned char head[CRN_MINUTES_HEAD_BYTES];
    crn_minutes_pack_head(file->records, head);
    const crn_state_file kind = {CRN_MINUTES_FILE, (off_t)crn_minutes_file_bytes(file->records),
                                 head, sizeof head};
    file->descriptor = crn_state_file_open(dir, &kind, error);
    return file->descriptor < 0 ? file->descriptor : 0;
}

int crn_minutes_file_open(const char *dir, uint32_t records, crn_minutes_file **ret_file,
                          crn_error *error)
{
    crn_minutes_file *file = calloc(1, sizeof *file);
    if (!file)
        return crn_error_set(error, -ENOMEM, "no memory");
    file->descriptor = -1;
    file->records = records;
    int r = dir ? open_file(file, dir, error) : 0;
    if (r < 0)
        crn_minutes_file_close(&file);
    *ret_file = file;
    return r;
}

void crn_minutes_file_close(crn_minutes_file **file)
{
    if (!*file)
        return;
    if ((*file)->names != (*file)->reader.names)
        free((*file)->names);
    crn_minutes_close(&(*file)->reader);
    if ((*file)->descriptor >= 0)
        close((*file)->descriptor);
    free(*file);
    *file = NULL;
}

int crn_minutes_file_load(crn_minutes_file *file, crn_error *error)
{
    int r = 0;
    if (file->descriptor >= 0) {
        r = crn_minutes_open_file(file->descriptor, CRN_MINUTES_FILE, &file->reader, error);
        file->sequence = file->reader.sequence;
        file->names = file->reader.names;
    } else if (!(file->names = calloc(CRN_MINUTES_NAMES, sizeof *file->names))) {
        r = crn_error_set(error, -ENOMEM, "no memory");
    }
    return r;
}

bool crn_minutes_file_rewind(crn_minutes_file *file)
{
    if (file->descriptor >= 0)
        crn_minutes_rewind(&file->reader, file->sequence);
    return file->descriptor >= 0;
}

static void note_used(crn_minutes_file *file, uint32_t name, uint32_t sequence)
{
    if (name < CRN_MINUTES_NAMES && file->used[name] < sequence)
        file->used[name] = sequence;
}

static void note_names(crn_minutes_file *file, const crn_minute_record *record)
{
    note_used(file, record->recipe, record->sequence);
    note_used(file, record->lot, record->sequence);
    for (uint32_t i = 0; i < record->class_count; i++)
        note_used(file, record->classes[i].name, record->sequence);
}

int crn_minutes_file_next(crn_minutes_file *file, crn_minute_record *ret_record)
{
    int r = file->descriptor < 0 ? 0 : crn_minutes_next(&file->reader, ret_record);
    file->is_read |= r == 0;
    if (r > 0)
        note_names(file, ret_record);
    return r;
}

/* On the disk before a record that has its number. */
static int write_name(crn_minutes_file *file, uint32_t number)
{
    unsigned char bytes[CRN_MINUTES_NAME_BYTES];
    if (file->descriptor < 0)
        return 0;
    crn_minutes_name_pack(&file->names[number], bytes);
    int r = crn_state_file_write(file->descriptor, bytes, sizeof bytes,
                                 (off_t)crn_minutes_name_offset(number));
    return r < 0 ? r : crn_minutes_file_sync(file);
}

/* 0: it is new. */
static uint32_t find_name(const crn_minutes_file *file, crn_minutes_name_kind kind,
                          const char *text)
{
    for (uint32_t number = 1; number < CRN_MINUTES_NAMES; number++)
        if (file->names[number].kind == kind && strcmp(file->names[number].text, text) == 0)
            return number;
    return 0;
}

/* Whether a name's number may be that of another name: no record has it any more. */
static bool is_unused(const crn_minutes_file *file, uint32_t number)
{
    return file->names[number].kind == CRN_MINUTES_NO_NAME ||
           (file->is_read && (file->used[number] == 0 ||
                              (int64_t)file->sequence - file->used[number] >= file->records));
}

/* 0: there is none. Lots leave some to the others. */
static uint32_t unused_number(const crn_minutes_file *file, crn_minutes_name_kind kind)
{
    uint32_t count = 0, first = 0;
    for (uint32_t number = CRN_MINUTES_NAMES - 1; number > 0; number--)
        if (is_unused(file, number)) {
            first = number;
            count++;
        }
    return kind == CRN_MINUTES_LOT && count <= CRN_MINUTES_NAMES_NO_LOTS ? 0 : first;
}

bool crn_minutes_file_has_room(const crn_minutes_file *file, crn_minutes_name_kind kind)
{
    return unused_number(file, kind) > 0;
}

/* 0: there is no room, or the disk refuses it. */
static uint32_t add_name(crn_minutes_file *file, crn_minutes_name_kind kind, const char *text)
{
    uint32_t number = unused_number(file, kind);
    if (number == 0)
        return 0;
    crn_minutes_name *name = &file->names[number];
    *name = (crn_minutes_name){.kind = kind};
    snprintf(name->text, sizeof name->text, "%s", text);
    if (write_name(file, number) == 0)
        return number;
    *name = (crn_minutes_name){.kind = CRN_MINUTES_NO_NAME}; /* it is tried again */
    return 0;
}

uint32_t crn_minutes_file_name(crn_minutes_file *file, crn_minutes_name_kind kind, const char *text)
{
    uint32_t number = text[0] ? find_name(file, kind, text) : 0;
    if (number == 0 && text[0])
        number = add_name(file, kind, text);
    note_used(file, number, file->sequence + 1); /* until that record is written */
    return number;
}

const crn_minutes_name *crn_minutes_file_names(const crn_minutes_file *file)
{
    return file->names;
}

int crn_minutes_file_write(crn_minutes_file *file, const crn_minute_record *record)
{
    unsigned char bytes[CRN_MINUTES_RECORD_BYTES];
    crn_minute_record numbered = *record;
    if (file->descriptor < 0) {
        file->sequence++;
        return 0;
    }
    numbered.sequence = file->sequence + 1;
    crn_minute_record_pack(&numbered, bytes);
    int r =
        crn_state_file_write(file->descriptor, bytes, sizeof bytes,
                             (off_t)crn_minutes_record_offset(file->records, numbered.sequence));
    if (r < 0)
        return r;
    file->sequence++;
    note_names(file, &numbered);
    return 0;
}

int crn_minutes_file_sync(crn_minutes_file *file)
{
    return file->descriptor >= 0 && fdatasync(file->descriptor) < 0 ? -errno : 0;
}
