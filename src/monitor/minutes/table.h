/*
 * What pages show of the minutes: the last day in steps of a minute, the last two months in steps
 * of an hour, over all lanes and recipes. In memory that is reserved at the start. No thread, no
 * lock.
 */
#ifndef CRN_SRC_MONITOR_MINUTES_TABLE_H
#define CRN_SRC_MONITOR_MINUTES_TABLE_H

#include "src/formats/encoding/encoder.h"
#include "src/formats/minutes/format.h"
#include "src/monitor/minutes/totals.h"
#include "stages/stage/classes.h"

CRN_C_BEGIN

/* Of each kind of step: 25 hours of minutes, 10 days of ten minutes, 62 days of hours. */
#define CRN_MINUTES_ROWS 1500

/* Classes of different names in all rows; in one of them there are at most CRN_CLASSES_MAX, as many
 * as settings may have. Further ones are left out of pages. */
#define CRN_MINUTES_COLUMNS 1024

typedef enum crn_minutes_step {
    CRN_MINUTES_STEP_MINUTE,
    CRN_MINUTES_STEP_TEN_MINUTES,
    CRN_MINUTES_STEP_HOUR,
    CRN_MINUTES_STEPS,
} crn_minutes_step;

extern const int64_t crn_minutes_step_s[CRN_MINUTES_STEPS]; /* 60, 600, 3600 */

typedef struct crn_minutes_table crn_minutes_table;

/* Returns 0 or -ENOMEM. */
int crn_minutes_table_create(crn_minutes_table **ret_table);
void crn_minutes_table_free(crn_minutes_table **table); /* NULL is allowed */

/*
 * Adds a record to the row of each step that it belongs to, unless that is out of the rows up to
 * `now_minute` (since 1970). A row takes the place of an older one, and of one that lies in the
 * future, which a wrong clock made, but none of the future the place of one up to now: the order of
 * records does not matter. `names` by their numbers. Returns false if pages lack a class of it:
 * there are too many others.
 */
bool crn_minutes_table_add(crn_minutes_table *table, const crn_minute_record *record,
                           const crn_minutes_name *names, int64_t now_minute);

/* The 60 minutes before that one, in minutes since 1970. */
void crn_minutes_table_hour(const crn_minutes_table *table, int64_t now_minute,
                            crn_minutes_hour *ret_hour);

/* What to write: times in ms since 1970. */
typedef struct crn_minutes_query {
    crn_minutes_step step;
    int64_t from_ms, to_ms; /* rows that begin in [from_ms, to_ms) */
    int64_t now_ms;
} crn_minutes_query;

/* Moves both ends of the range to begins of steps, with the same rows in it. */
void crn_minutes_query_round(crn_minutes_query *query);

/* Writes a message, CRN_MINUTES_ROWS rows at most: src/monitor/http/README.md describes it. */
void crn_minutes_table_put(const crn_minutes_table *table, const crn_minutes_query *query,
                           crn_encoder *encoder);

CRN_C_END

#endif
