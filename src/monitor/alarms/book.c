#include "src/monitor/alarms/book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MS_PER_MINUTE 60000

struct crn_alarm_book {
    crn_alarm at[CRN_ALARMS_KEPT]; /* by number */
    bool changed[CRN_ALARMS_KEPT];
    uint64_t newest; /* number; 0: none yet */
    crn_alarm_summary summary;
    bool summary_is_old;
    int64_t summary_from_ms, summary_until_ms; /* when it holds, unless something changes */
};

bool crn_alarm_is_told(const crn_alarm *alarm, int64_t now_ms)
{
    return alarm->cleared_ms == 0 || now_ms - alarm->cleared_ms < CRN_ALARMS_TOLD_MS;
}

/* A clock that is set back must not shelve for days. */
bool crn_alarm_is_shelved(const crn_alarm *alarm, int64_t now_ms)
{
    int64_t left_ms = alarm->shelved_until_ms - now_ms;
    return left_ms > 0 && left_ms <= (int64_t)CRN_ALARM_SHELVE_MINUTES * MS_PER_MINUTE;
}

bool crn_alarm_is_open(const crn_alarm *alarm, int64_t now_ms)
{
    return crn_alarm_is_told(alarm, now_ms) && !crn_alarm_is_shelved(alarm, now_ms) &&
           (alarm->cleared_ms == 0 || alarm->acknowledged_ms == 0);
}

const char *crn_alarm_loudest(const crn_alarm_summary *summary)
{
    return summary->unacknowledged > 0 ? crn_severity_names[summary->loudest] : "none";
}

int crn_alarm_book_create(int64_t now_ms, crn_alarm_book **ret_book)
{
    crn_alarm_book *book = calloc(1, sizeof *book);
    if (!book)
        return -ENOMEM;
    /* A page that was open over a restart has to see another one. */
    book->summary.change = now_ms > 0 ? (uint64_t)now_ms : 0;
    book->summary_is_old = true;
    *ret_book = book;
    return 0;
}

void crn_alarm_book_free(crn_alarm_book **book)
{
    if (!book)
        return;
    free(*book);
    *book = NULL;
}

static crn_alarm *slot_of(crn_alarm_book *book, uint64_t number)
{
    return &book->at[number % CRN_ALARMS_KEPT];
}

/* Something that is told has changed. */
static void note(crn_alarm_book *book, const crn_alarm *alarm)
{
    book->changed[alarm->number % CRN_ALARMS_KEPT] = true;
    book->summary_is_old = true;
}

uint64_t crn_alarm_book_oldest(const crn_alarm_book *book)
{
    return book->newest > CRN_ALARMS_KEPT ? book->newest - CRN_ALARMS_KEPT + 1 : 1;
}

uint64_t crn_alarm_book_newest(const crn_alarm_book *book)
{
    return book->newest;
}

const crn_alarm *crn_alarm_book_find(const crn_alarm_book *book, uint64_t number)
{
    const crn_alarm *alarm = &book->at[number % CRN_ALARMS_KEPT];
    return number > 0 && alarm->number == number ? alarm : NULL;
}

static crn_alarm *find(crn_alarm_book *book, uint64_t number)
{
    return crn_alarm_book_find(book, number) ? slot_of(book, number) : NULL;
}

static bool is_of(const crn_alarm *alarm, const crn_condition *row, int64_t lane)
{
    return alarm->number > 0 && alarm->row == row && alarm->values.lane == lane;
}

/* The newest of that row and lane, or NULL. */
static crn_alarm *find_last(crn_alarm_book *book, const crn_condition *row, int64_t lane)
{
    for (uint64_t number = book->newest; number >= crn_alarm_book_oldest(book); number--)
        if (is_of(slot_of(book, number), row, lane))
            return slot_of(book, number);
    return NULL;
}

void crn_alarm_book_restore(crn_alarm_book *book, const crn_alarm *alarm)
{
    crn_alarm *slot = slot_of(book, alarm->number);
    if (alarm->number < slot->number)
        return;
    *slot = *alarm;
    if (alarm->number > book->newest)
        book->newest = alarm->number;
    book->summary_is_old = true;
}

const crn_alarm *crn_alarm_book_raise(crn_alarm_book *book, const crn_condition *row,
                                      const crn_condition_values *values, int64_t now_ms)
{
    const crn_alarm *last = find_last(book, row, values->lane);
    if (last && last->cleared_ms == 0)
        return last;
    int64_t shelved_until_ms =
        last && crn_alarm_is_shelved(last, now_ms) ? last->shelved_until_ms : 0;
    crn_alarm *alarm = slot_of(book, ++book->newest);
    *alarm = (crn_alarm){.number = book->newest,
                         .row = row,
                         .values = *values,
                         .raised_ms = now_ms,
                         .shelved_until_ms = shelved_until_ms};
    note(book, alarm);
    return alarm;
}

void crn_alarm_book_clear(crn_alarm_book *book, const crn_condition *row, int64_t lane,
                          int64_t now_ms)
{
    crn_alarm *alarm = find_last(book, row, lane);
    if (!alarm || alarm->cleared_ms != 0)
        return;
    alarm->cleared_ms = now_ms;
    note(book, alarm);
}

void crn_alarm_book_clear_all(crn_alarm_book *book, int64_t now_ms)
{
    for (crn_alarm *alarm = book->at; alarm < book->at + CRN_ALARMS_KEPT; alarm++) {
        if (alarm->number == 0 || alarm->cleared_ms != 0)
            continue;
        alarm->cleared_ms = now_ms;
        note(book, alarm);
    }
}

static bool acknowledge(crn_alarm_book *book, crn_alarm *alarm, const char *by, int64_t now_ms)
{
    if (alarm->acknowledged_ms != 0)
        return false;
    alarm->acknowledged_ms = now_ms;
    snprintf(alarm->acknowledged_by, sizeof alarm->acknowledged_by, "%s", by);
    note(book, alarm);
    return true;
}

int crn_alarm_book_acknowledge(crn_alarm_book *book, uint64_t number, const char *by,
                               int64_t now_ms)
{
    crn_alarm *alarm = find(book, number);
    if (!alarm || !crn_alarm_is_told(alarm, now_ms))
        return -ENOENT;
    return acknowledge(book, alarm, by, now_ms);
}

int crn_alarm_book_acknowledge_to(crn_alarm_book *book, uint64_t number, const char *by,
                                  int64_t now_ms)
{
    int count = 0;
    for (crn_alarm *alarm = book->at; alarm < book->at + CRN_ALARMS_KEPT; alarm++)
        if (alarm->number > 0 && alarm->number <= number && crn_alarm_is_told(alarm, now_ms))
            count += acknowledge(book, alarm, by, now_ms);
    return count;
}

int crn_alarm_book_shelve(crn_alarm_book *book, uint64_t number, int64_t minutes, int64_t now_ms)
{
    const crn_alarm *meant = find(book, number);
    int count = 0;
    if (!meant || !crn_alarm_is_told(meant, now_ms))
        return -ENOENT;
    const crn_alarm *last = find_last(book, meant->row, meant->values.lane);
    for (crn_alarm *alarm = book->at; alarm < book->at + CRN_ALARMS_KEPT; alarm++) {
        bool shelved = crn_alarm_is_shelved(alarm, now_ms);
        if (!is_of(alarm, meant->row, meant->values.lane) ||
            !(shelved || (minutes > 0 && (alarm == last || crn_alarm_is_open(alarm, now_ms)))))
            continue;
        alarm->shelved_until_ms = minutes > 0 ? now_ms + minutes * MS_PER_MINUTE : 0;
        note(book, alarm);
        count++;
    }
    return count;
}

/* --- the summary --- */

static void sooner(int64_t *at_ms, int64_t ms)
{
    if (ms < *at_ms)
        *at_ms = ms;
}

static void add(crn_alarm_book *book, const crn_alarm *alarm, int64_t now_ms)
{
    crn_alarm_summary *summary = &book->summary;
    if (crn_alarm_is_shelved(alarm, now_ms))
        sooner(&book->summary_until_ms, alarm->shelved_until_ms);
    if (alarm->cleared_ms != 0 && alarm->acknowledged_ms == 0 && crn_alarm_is_told(alarm, now_ms))
        sooner(&book->summary_until_ms, alarm->cleared_ms + CRN_ALARMS_TOLD_MS);
    if (!crn_alarm_is_open(alarm, now_ms))
        return;
    summary->open++;
    if (alarm->acknowledged_ms != 0)
        return;
    if (summary->unacknowledged++ == 0 || alarm->row->severity > summary->loudest)
        summary->loudest = alarm->row->severity;
}

crn_alarm_summary crn_alarm_book_summary(crn_alarm_book *book, int64_t now_ms)
{
    crn_alarm_summary *summary = &book->summary;
    if (!book->summary_is_old && now_ms >= book->summary_from_ms && now_ms < book->summary_until_ms)
        return *summary;
    *summary = (crn_alarm_summary){.newest = book->newest, .change = summary->change + 1};
    book->summary_is_old = false;
    book->summary_from_ms = now_ms;
    book->summary_until_ms = INT64_MAX;
    for (const crn_alarm *alarm = book->at; alarm < book->at + CRN_ALARMS_KEPT; alarm++)
        if (alarm->number > 0)
            add(book, alarm, now_ms);
    return *summary;
}

bool crn_alarm_book_take_changed(crn_alarm_book *book, uint32_t *at, crn_alarm *ret_alarm)
{
    while (*at < CRN_ALARMS_KEPT && !book->changed[*at])
        ++*at;
    if (*at == CRN_ALARMS_KEPT)
        return false;
    book->changed[*at] = false;
    *ret_alarm = book->at[(*at)++];
    return true;
}
