#include "tools/archive/state/alarms.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/alarms/reader.h"
#include "tools/archive/rows/alarms.h"
#include "tools/archive/state/seen.h"

struct crn_alarm_import {
    crn_archive_alarms rows;
    crn_archive *archive;
    char dir[PATH_MAX], path[PATH_MAX + 16];
    crn_seen seen;
    uint64_t marks[CRN_ALARMS_KEPT]; /* of what is archived, by place; 0: none */
    uint64_t added, coming;          /* committed; of this transaction */
    crn_intake_teller *tell;
    int fault;      /* 0: it could be read */
    crn_error told; /* that one; "" */
};

int crn_alarm_import_open(crn_archive *archive, const char *dir, crn_intake_teller *tell,
                          crn_alarm_import **ret_import, crn_error *error)
{
    crn_alarm_import *import = calloc(1, sizeof *import);
    if (!import)
        return crn_error_set(error, -ENOMEM, "%s: no memory", dir);
    import->archive = archive;
    import->tell = tell;
    snprintf(import->dir, sizeof import->dir, "%s", dir);
    snprintf(import->path, sizeof import->path, "%s/" CRN_ALARMS_FILE, dir);
    int r = crn_archive_alarms_init(&import->rows, archive, error);
    if (r < 0)
        crn_alarm_import_close(&import);
    else
        *ret_import = import;
    return r;
}

void crn_alarm_import_close(crn_alarm_import **import)
{
    free(*import);
    *import = NULL;
}

int crn_alarm_import_get_fault(const crn_alarm_import *import)
{
    return import->fault;
}

uint64_t crn_alarm_import_get_added(const crn_alarm_import *import)
{
    return import->added;
}

typedef struct alarm_reading {
    crn_alarm_import *import;
    bool is_begun; /* the transaction, with the first alarm that has changed */
    int r;         /* of the archive; what follows an error is passed over */
    crn_error *error;
} alarm_reading;

static void take_alarm(void *context, const crn_alarm_record *record, uint64_t mark)
{
    alarm_reading *reading = context;
    crn_alarm_import *import = reading->import;
    size_t place = record->number % CRN_ALARMS_KEPT;
    bool is_new;
    if (reading->r < 0 || import->marks[place] == mark)
        return;
    if (!reading->is_begun)
        reading->r = crn_archive_begin(import->archive, reading->error);
    reading->is_begun = true;
    if (reading->r == 0)
        reading->r =
            crn_archive_alarms_put(&import->rows, import->dir, record, &is_new, reading->error);
    if (reading->r < 0)
        return;
    import->marks[place] = mark;
    import->coming += is_new;
}

/* After an error what was put is not there: all is put again. */
static int end(alarm_reading *reading)
{
    crn_alarm_import *import = reading->import;
    if (reading->r == 0 && reading->is_begun)
        reading->r = crn_archive_commit(import->archive, reading->error);
    else if (reading->is_begun)
        crn_archive_undo(import->archive);
    if (reading->r < 0)
        memset(import->marks, 0, sizeof import->marks);
    else
        import->added += import->coming;
    return reading->r;
}

int crn_alarm_import_step(crn_alarm_import *import, crn_error *error)
{
    if (!crn_seen_has_changed(&import->seen, import->path))
        return 0;
    alarm_reading reading = {.import = import, .error = error};
    import->coming = 0;
    crn_error fault = {""};
    int r = crn_alarms_read(import->path, take_alarm, &reading, &fault);
    import->fault = r == -ENOENT ? 0 : r;
    if (import->fault == 0)
        fault.text[0] = '\0';
    if (fault.text[0] && strcmp(import->told.text, fault.text) != 0)
        import->tell(fault.text);
    import->told = fault;
    return end(&reading);
}
