/*
 * The alarm list of a line: fed by the conditions' thread, read and acknowledged by others, and
 * written to the state folder by a thread of its own, which alone waits for the disk. Every
 * function may be called from any thread, and none but open and close takes longer than a look
 * through the list in memory.
 */
#ifndef CRN_SRC_MONITOR_ALARMS_THREAD_H
#define CRN_SRC_MONITOR_ALARMS_THREAD_H

#include "src/monitor/alarms/book.h"

CRN_C_BEGIN

typedef struct crn_alarms crn_alarms;

/*
 * Reads the list that the folder keeps, where alarms that were active are cleared as of now, and
 * starts the thread. `dir` is state.dir; "": the list is in memory alone, as it is where the folder
 * does not do, which the log says. Returns 0 or a negative errno.
 */
int crn_alarms_open(const char *dir, crn_alarms **ret_alarms);

/* Clears what is active, writes it, joins the thread, frees, and sets *alarms to NULL; NULL is
 * allowed. */
void crn_alarms_close(crn_alarms **alarms);

/* A crn_condition_told: what became of a condition. `alarms` is the crn_alarms. */
void crn_alarms_tell(void *alarms, const crn_condition_held *held, crn_condition_event event);

/* As of now. */
crn_alarm_summary crn_alarms_summary(crn_alarms *alarms);

/* A copy of the alarm of that number. False: it is not kept or not told. */
bool crn_alarms_get(crn_alarms *alarms, uint64_t number, crn_alarm *ret_alarm);

/* Numbers of the alarms that may be kept. */
typedef struct crn_alarm_range {
    uint64_t oldest, newest; /* newest < oldest: there are none */
} crn_alarm_range;

crn_alarm_range crn_alarms_kept(crn_alarms *alarms);

/* Acknowledges that alarm, or all up to it; the log says by whom. Returns how many became
 * acknowledged, or -ENOENT if no alarm of that number is told. */
int crn_alarms_acknowledge(crn_alarms *alarms, uint64_t number, const char *by);
int crn_alarms_acknowledge_to(crn_alarms *alarms, uint64_t number, const char *by);

/* Shelves the alarm's row and lane for 1 to CRN_ALARM_SHELVE_MINUTES, or with 0 ends that. Returns
 * how many alarms changed, or -ENOENT. */
int crn_alarms_shelve(crn_alarms *alarms, uint64_t number, int64_t minutes, const char *by);

CRN_C_END

#endif
