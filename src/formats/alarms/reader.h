/* Reads the file of an alarm list, also while a daemon writes it: what it writes meanwhile may or
 * may not be seen. */
#ifndef CRN_SRC_FORMATS_ALARMS_READER_H
#define CRN_SRC_FORMATS_ALARMS_READER_H

#include "src/formats/alarms/record.h"
#include "stages/base/error.h"

CRN_C_BEGIN

/* `mark` is another one once the alarm has changed, or another has its place; never 0. */
typedef void crn_alarm_seen(void *context, const crn_alarm_record *record, uint64_t mark);

/* Calls `seen` for each alarm, in any order; those that are torn in both halves are left out.
 * Returns 0, or a negative errno with *error: -ENOENT, there is no file; -EBADMSG, it is not such a
 * file, or of another version. */
int crn_alarms_read(const char *path, crn_alarm_seen *seen, void *context, crn_error *error);

CRN_C_END

#endif
