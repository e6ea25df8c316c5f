/*
 * The alarm list in a file of fixed size, `alarms` in the state folder. Each alarm has two places
 * by its number, in two halves of the file, and the second is written once the first is on the
 * disk: a block that is torn by a crash or a power cut leaves all that it held in the other half.
 * No thread, no lock: whoever calls may have to wait for the disk.
 */
#ifndef CRN_SRC_MONITOR_ALARMS_FILE_H
#define CRN_SRC_MONITOR_ALARMS_FILE_H

#include "src/monitor/alarms/book.h"
#include "stages/base/error.h"

CRN_C_BEGIN

typedef struct crn_alarm_file crn_alarm_file;

/*
 * Opens the file of that folder, with all its alarms into `book`; makes it where there is none, its
 * space reserved. A file that is of another version or damaged is set aside (state_file.h), and
 * one line of the log says so. The caller owns *ret_file. Returns 0 or a negative errno with
 * *error: the folder cannot be written to, or another process has the file.
 */
int crn_alarm_file_open(const char *dir, crn_alarm_book *book, crn_alarm_file **ret_file,
                        crn_error *error);
void crn_alarm_file_close(crn_alarm_file **file); /* NULL is allowed */

/* Writes an alarm as it is now; no second time before crn_alarm_file_sync(). Returns 0 or a
 * negative errno: the file then has it as it was before. */
int crn_alarm_file_write(crn_alarm_file *file, const crn_alarm *alarm);

/* What was written is on the disk, in both places, when it returns 0. */
int crn_alarm_file_sync(crn_alarm_file *file);

CRN_C_END

#endif
