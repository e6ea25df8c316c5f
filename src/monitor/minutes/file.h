/*
 * The file of minutes in the state folder (src/formats/minutes): a ring of records, each written
 * once. No thread, no lock: whoever calls may have to wait for the disk.
 */
#ifndef CRN_SRC_MONITOR_MINUTES_FILE_H
#define CRN_SRC_MONITOR_MINUTES_FILE_H

#include "src/formats/minutes/reader.h"

CRN_C_BEGIN

typedef struct crn_minutes_file crn_minutes_file;

/*
 * Opens the file of that folder, or makes it with room for so many records, its space reserved.
 * `dir` NULL: there is no file, and names are known by memory alone. A file of another version or
 * size, or a damaged one, is set aside (state_file.h). Returns 0 or a negative errno with
 * *error: the folder cannot be written to, or another process has the file.
 */
int crn_minutes_file_open(const char *dir, uint32_t records, crn_minutes_file **ret_file,
                          crn_error *error);
/* Finds its newest record, and reads its names: before all that follows. 0 or a negative errno with
 * *error. */
int crn_minutes_file_load(crn_minutes_file *file, crn_error *error);

void crn_minutes_file_close(crn_minutes_file **file); /* NULL is allowed */

/* Its records as of the opening, oldest first, each once: as crn_minutes_next(). Those of now again
 * after a rewind, which is false without a file. */
bool crn_minutes_file_rewind(crn_minutes_file *file);
int crn_minutes_file_next(crn_minutes_file *file, crn_minute_record *ret_record);

/*
 * Number of a name, which is written if it is new; 0: there is no room for it, the disk refuses it,
 * or it is "". It may have that of a name that no record has any more. It belongs to the records
 * written next: ask for each minute again.
 */
uint32_t crn_minutes_file_name(crn_minutes_file *file, crn_minutes_name_kind kind,
                               const char *text);

/* Whether there is room for a new name of that kind. */
bool crn_minutes_file_has_room(const crn_minutes_file *file, crn_minutes_name_kind kind);

/* The names by their numbers. */
const crn_minutes_name *crn_minutes_file_names(const crn_minutes_file *file);

/* Writes a record in place of the oldest, with the next sequence number. 0 or a negative errno. */
int crn_minutes_file_write(crn_minutes_file *file, const crn_minute_record *record);

/* What was written is on the disk when it returns 0. */
int crn_minutes_file_sync(crn_minutes_file *file);

CRN_C_END

#endif
