/*
 * The alarm list of a line's state folder into an archive: each alarm, and later what became of it.
 *
 * One thread at a time.
 */
#ifndef CRN_TOOLS_ARCHIVE_STATE_ALARMS_H
#define CRN_TOOLS_ARCHIVE_STATE_ALARMS_H

#include <stdint.h>

#include "stages/base/error.h"
#include "tools/archive/database.h"
#include "tools/archive/intake.h"

typedef struct crn_alarm_import crn_alarm_import;

/* The archive must outlive it. 0, or a negative errno with *error. */
int crn_alarm_import_open(crn_archive *archive, const char *dir, crn_intake_teller *tell,
                          crn_alarm_import **ret_import, crn_error *error);
void crn_alarm_import_close(crn_alarm_import **import); /* NULL is allowed */

/* Archives what has changed, in a transaction; little work where nothing has. A daemon that keeps
 * no list is no fault; others are told once, and tried again. 0, or a negative errno of the archive
 * with *error. */
int crn_alarm_import_step(crn_alarm_import *import, crn_error *error);

/* Why the list could not be read when it was tried last, a negative errno; 0: it was read. */
int crn_alarm_import_get_fault(const crn_alarm_import *import);

/* Alarms that were added, of what is committed. */
uint64_t crn_alarm_import_get_added(const crn_alarm_import *import);

#endif
