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
    uint32_t sequence; /* of the last record */
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

int crn_minutes_file_next(crn_minutes_file *file, crn_minute_record *ret_record)
{
    return file->descriptor < 0 ? 0 : crn_minutes_next(&file->reader, ret_record);
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

uint32_t crn_minutes_file_name(crn_minutes_file *file, crn_minutes_name_kind kind, const char *text)
{
    uint32_t unused = 0;
    for (uint32_t number = CRN_MINUTES_NAMES - 1; text[0] && number > 0; number--) {
        const crn_minutes_name *name = &file->names[number];
        if (name->kind == kind && strcmp(name->text, text) == 0)
            return number;
        if (name->kind == CRN_MINUTES_NO_NAME)
            unused = number;
    }
    if (unused == 0)
        return 0;
    crn_minutes_name *name = &file->names[unused];
    name->kind = kind;
    snprintf(name->text, sizeof name->text, "%s", text);
    if (write_name(file, unused) == 0)
        return unused;
    *name = (crn_minutes_name){.kind = CRN_MINUTES_NO_NAME}; /* it is tried again */
    return 0;
}

const crn_minutes_name *crn_minutes_file_names(const crn_minutes_file *file)
{
    return file->names;
}

int crn_minutes_file_write(crn_minutes_file *file, const crn_minute_record *record)
{
    unsigned char bytes[CRN_MINUTES_RECORD_BYTES];
    crn_minute_record numbered = *record;
    if (file->descriptor < 0)
        return 0;
    numbered.sequence = file->sequence + 1;
    crn_minute_record_pack(&numbered, bytes);
    int r =
        crn_state_file_write(file->descriptor, bytes, sizeof bytes,
                             (off_t)crn_minutes_record_offset(file->records, numbered.sequence));
    if (r == 0)
        file->sequence++;
    return r;
}

int crn_minutes_file_sync(crn_minutes_file *file)
{
    return file->descriptor >= 0 && fdatasync(file->descriptor) < 0 ? -errno : 0;
}
