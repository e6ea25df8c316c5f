/*
 * The alarm list in memory. An alarm is one occurrence of a condition, from when it was raised to
 * when it ended; it has the states of ISA-18.2 and IEC 62682: active or cleared, acknowledged or
 * not, and shelved. The last CRN_ALARMS_KEPT are kept, and those of the last 30 days are told.
 *
 * No thread, no lock, no clock, no file: callers give the time in ms since 1970. Nothing allocates
 * after creation.
 */
#ifndef CRN_SRC_MONITOR_ALARMS_BOOK_H
#define CRN_SRC_MONITOR_ALARMS_BOOK_H

#include "src/formats/alarms/record.h"
#include "src/monitor/conditions/conditions.h"

CRN_C_BEGIN

/* A cleared alarm is told for so long. */
#define CRN_ALARMS_TOLD_MS (INT64_C(30) * 86400 * 1000)

/* Longest shelving. */
#define CRN_ALARM_SHELVE_MINUTES 480

typedef struct crn_alarm {
    uint64_t number; /* from 1, ever increasing; 0: there is no alarm */
    const crn_condition *row;
    crn_condition_values values;              /* when it was raised */
    int64_t raised_ms;                        /* since 1970, as all times here */
    int64_t cleared_ms;                       /* 0: it is active */
    int64_t acknowledged_ms;                  /* 0: it is not acknowledged */
    char acknowledged_by[CRN_ALARM_BY_BYTES]; /* address of a client or user; "" until then */
    int64_t shelved_until_ms; /* the end of its last shelving; 0: it was never shelved */
} crn_alarm;

/* True if the alarm is told: it is active, or was cleared within the last 30 days. */
bool crn_alarm_is_told(const crn_alarm *alarm, int64_t now_ms);

/* True while its condition is shelved for its lane. */
bool crn_alarm_is_shelved(const crn_alarm *alarm, int64_t now_ms);

/* True if somebody has to look at it: told, active or not acknowledged, and not shelved. */
bool crn_alarm_is_open(const crn_alarm *alarm, int64_t now_ms);

typedef struct crn_alarm_summary {
    uint64_t open;           /* alarms of crn_alarm_is_open() */
    uint64_t unacknowledged; /* of these, not acknowledged */
    crn_severity loudest;    /* worst of the unacknowledged, if there are any */
    uint64_t newest;         /* number of the newest alarm; 0: there is none */
    uint64_t change;         /* another one whenever a page would show something else */
} crn_alarm_summary;

/* "critical", "warning", "notice"; "none" without an unacknowledged alarm. */
const char *crn_alarm_loudest(const crn_alarm_summary *summary);

typedef struct crn_alarm_book crn_alarm_book;

/* Returns 0 or -ENOMEM. */
int crn_alarm_book_create(int64_t now_ms, crn_alarm_book **ret_book);
void crn_alarm_book_free(crn_alarm_book **book); /* NULL is allowed */

/* Takes in an alarm of an earlier start, under its own number. */
void crn_alarm_book_restore(crn_alarm_book *book, const crn_alarm *alarm);

/* The condition is raised. Returns its alarm: a new one, unless one of that row and lane is
 * active. While that row and lane are shelved, the new one is, too. */
const crn_alarm *crn_alarm_book_raise(crn_alarm_book *book, const crn_condition *row,
                                      const crn_condition_values *values, int64_t now_ms);

/* The condition has ended. */
void crn_alarm_book_clear(crn_alarm_book *book, const crn_condition *row, int64_t lane,
                          int64_t now_ms);

/* The line starts or stops: nothing holds any more. */
void crn_alarm_book_clear_all(crn_alarm_book *book, int64_t now_ms);

/* Acknowledges that alarm, once. Returns how many became acknowledged, or -ENOENT if no alarm of
 * that number is told. */
int crn_alarm_book_acknowledge(crn_alarm_book *book, uint64_t number, const char *by,
                               int64_t now_ms);

/* The same of all alarms up to that number. */
int crn_alarm_book_acknowledge_to(crn_alarm_book *book, uint64_t number, const char *by,
                                  int64_t now_ms);

/* Shelves the row and lane of that alarm for so many minutes, at most CRN_ALARM_SHELVE_MINUTES; 0
 * ends the shelving. Returns how many alarms changed, or -ENOENT as above. */
int crn_alarm_book_shelve(crn_alarm_book *book, uint64_t number, int64_t minutes, int64_t now_ms);

/* The alarm of that number, until the book changes; NULL if it is not kept. */
const crn_alarm *crn_alarm_book_find(const crn_alarm_book *book, uint64_t number);

/* Number of the oldest alarm that may be kept, 1 without any; of the newest, 0 without any. */
uint64_t crn_alarm_book_oldest(const crn_alarm_book *book);
uint64_t crn_alarm_book_newest(const crn_alarm_book *book);

crn_alarm_summary crn_alarm_book_summary(crn_alarm_book *book, int64_t now_ms);

/* What changed since it was last taken: each alarm once in a round that begins with *at 0. Returns
 * false at the round's end. */
bool crn_alarm_book_take_changed(crn_alarm_book *book, uint32_t *at, crn_alarm *ret_alarm);

CRN_C_END

#endif
