/*
 * The minutes of a line: counted by the line's thread, kept in memory for pages and in a file of
 * the state folder by a thread of its own, which alone waits for the disk.
 */
#ifndef CRN_SRC_MONITOR_MINUTES_THREAD_H
#define CRN_SRC_MONITOR_MINUTES_THREAD_H

#include "src/monitor/minutes/sums.h"
#include "src/monitor/minutes/table.h"
#include "src/monitor/minutes/totals.h"

CRN_C_BEGIN

typedef struct crn_minutes crn_minutes;

/*
 * Opens or makes the file of `dir` (state.dir), with room for so many records, and starts the
 * thread, which reads what it has. "": minutes are in memory alone, as they are where the folder
 * does not do, which the log says. `lanes` is limits.lanes. Returns 0 or a negative errno.
 */
int crn_minutes_start(const char *dir, uint32_t records, int32_t lanes, crn_minutes **ret_minutes);

/* Writes what was counted, also of the minute at hand, joins the thread, frees, and sets *minutes
 * to NULL; NULL is allowed. The line's thread counts no more. */
void crn_minutes_stop(crn_minutes **minutes);

/* What the line's thread counts with. */
crn_minute_counter *crn_minutes_counter(crn_minutes *minutes);

/* Writes the answer to a query, from any thread: takes some milliseconds, which the thread of
 * minutes may have to wait. Returns the version of what it tells. */
uint64_t crn_minutes_put(crn_minutes *minutes, const crn_minutes_query *query,
                         crn_encoder *encoder);

/* Of the last 60 minutes that are over. From any thread. */
void crn_minutes_hour_get(crn_minutes *minutes, crn_minutes_hour *ret_hour);

/* Fruits by class since the start, of the minutes that are over. From any thread. */
void crn_minutes_totals_get(crn_minutes *minutes, crn_minutes_totals *ret_totals);

/* Another one after each change of what queries are answered with. From any thread. */
uint64_t crn_minutes_version(crn_minutes *minutes);

CRN_C_END

#endif
