/*
 * How far a log is archived: the file `archived` in its folder, which an archive that follows the
 * log renews, and which the log's writer reads before it removes a segment for its age.
 */
#ifndef CRN_SRC_FORMATS_VERDICT_LOG_ARCHIVED_H
#define CRN_SRC_FORMATS_VERDICT_LOG_ARCHIVED_H

#include <stdint.h>

#include "stages/base/error.h"

/*
 * The segments below *ret_below are archived: UINT64_MAX without the file, as no archive follows
 * the log. A negative errno with one line in *error if the file does not tell; *ret_below is then
 * 0.
 */
int crn_verdict_log_get_archived(const char *dir, uint64_t *ret_below, crn_error *error);

/* Says so, to any user; after a loss of power, too. 0, or a negative errno with one line in *error.
 */
int crn_verdict_log_set_archived(const char *dir, uint64_t number, crn_error *error);

/*
 * The right to say so, by the file `archived.lock`, until it is released or the process ends: two
 * archives would each take back what the other says. -EBUSY with one line in *error if another
 * program has it. 0 with *ret_lock -1 where there can be no such file: then there is no `archived`
 * either.
 */
int crn_verdict_log_lock_archived(const char *dir, int *ret_lock, crn_error *error);
void crn_verdict_log_unlock_archived(const char *dir, int lock);

#endif
