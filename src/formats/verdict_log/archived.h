/*
 * How far a log is archived: the file `archived` in its folder, which an archive that follows the
 * log renews, and which the log's writer reads before it removes a segment for its age.
 */
#ifndef CRN_SRC_FORMATS_VERDICT_LOG_ARCHIVED_H
#define CRN_SRC_FORMATS_VERDICT_LOG_ARCHIVED_H

#include <stdint.h>

#include "stages/base/error.h"

/* The segments below this number are archived; UINT64_MAX if nothing is said, or nothing that can
 * be read: no segment is kept for an archive. */
uint64_t crn_verdict_log_get_archived(const char *dir);

/* Says so; after a loss of power, too. 0, or a negative errno with one line in *error. */
int crn_verdict_log_set_archived(const char *dir, uint64_t number, crn_error *error);

#endif
