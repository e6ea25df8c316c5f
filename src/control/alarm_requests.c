#include "src/control/alarm_requests.h"

#include <inttypes.h>
#include <string.h>

#include "src/http/uri.h"
#include "src/monitor/alarms/text.h"
#include "stages/base/clock.h"

/* Of the alarms that are neither open nor shelved so many are listed. */
#define OTHERS_MAX 20

/* "2026-11-27T07:44:52.123Z  812  active, unacknowledged, shelved  critical  Lane 2: …" */
static void put_alarm(const crn_alarm *alarm, int64_t now_ms, FILE *out)
{
    crn_condition_held held = {.row = alarm->row, .values = alarm->values};
    char raised[CRN_ALARM_TIME_BYTES], clause[CRN_CONDITION_CLAUSE_BYTES];
    crn_alarm_time(alarm->raised_ms, raised);
    fprintf(out, "%s  %" PRIu64 "  %s, %s%s%s  %s  %s\n", raised, alarm->number,
            alarm->cleared_ms == 0 ? "active" : "cleared",
            alarm->acknowledged_ms == 0 ? "unacknowledged" : "acknowledged by ",
            alarm->acknowledged_by, crn_alarm_is_shelved(alarm, now_ms) ? ", shelved" : "",
            crn_severity_names[alarm->row->severity], crn_condition_clause(&held, clause));
}

static void answer_list(crn_alarms *alarms, FILE *out)
{
    crn_alarm_range kept = crn_alarms_kept(alarms);
    int64_t now_ms = crn_realtime_ns() / CRN_NS_PER_MS;
    crn_alarm alarm;
    int others = 0;
    fputs("ok\n", out);
    if (kept.newest > 0)
        fprintf(out,
                "the newest is %" PRIu64 "; --acknowledge all --newest %" PRIu64
                " acknowledges what is listed here, and nothing that comes later\n",
                kept.newest, kept.newest);
    for (uint64_t number = kept.newest; number >= kept.oldest; number--) {
        if (!crn_alarms_get(alarms, number, &alarm))
            continue;
        bool matters = crn_alarm_is_open(&alarm, now_ms) || crn_alarm_is_shelved(&alarm, now_ms);
        if (matters || others++ < OTHERS_MAX)
            put_alarm(&alarm, now_ms, out);
    }
}

static void answer_count(int count, const char *what, FILE *out)
{
    if (count < 0)
        fputs("refused\nthere is no such alarm (any more)\n", out);
    else
        fprintf(out, "ok\n%d %s\n", count, what);
}

/* `which`: "N", "all", or "all N": those up to that number. */
static void answer_acknowledge(crn_alarms *alarms, const char *which, const char *by, FILE *out)
{
    static const char up_to[] = "all ";
    bool is_up_to = strncmp(which, up_to, strlen(up_to)) == 0;
    int64_t number = crn_http_number(is_up_to ? which + strlen(up_to) : which);
    if (strcmp(which, "all") == 0)
        answer_count(crn_alarms_acknowledge_to(alarms, UINT64_MAX, by), "acknowledged", out);
    else if (number < 0)
        fputs("refused\nexpected the number of an alarm, all, or all and the newest's number\n",
              out);
    else if (is_up_to)
        answer_count(crn_alarms_acknowledge_to(alarms, (uint64_t)number, by), "acknowledged", out);
    else
        answer_count(crn_alarms_acknowledge(alarms, (uint64_t)number, by), "acknowledged", out);
}

/* `which`: "N MINUTES". */
static void answer_shelve(crn_alarms *alarms, const char *which, const char *by, FILE *out)
{
    char text[24];
    const char *space = strchrnul(which, ' ');
    snprintf(text, sizeof text, "%.*s", (int)(space - which), which);
    int64_t number = crn_http_number(text), minutes = *space ? crn_http_number(space + 1) : -1;
    if (number < 0 || minutes < 0 || minutes > CRN_ALARM_SHELVE_MINUTES)
        fprintf(out,
                "refused\nexpected the number of an alarm and 1 to %d minutes, or 0 to end it\n",
                CRN_ALARM_SHELVE_MINUTES);
    else
        answer_count(crn_alarms_shelve(alarms, (uint64_t)number, minutes, by),
                     minutes > 0 ? "shelved" : "no longer shelved", out);
}

bool crn_alarm_request_answer(crn_alarms *alarms, const char *request, const char *by, FILE *out)
{
    static const char acknowledge[] = "alarms acknowledge ", shelve[] = "alarms shelve ";
    if (strcmp(request, "alarms") == 0)
        answer_list(alarms, out);
    else if (strncmp(request, acknowledge, strlen(acknowledge)) == 0)
        answer_acknowledge(alarms, request + strlen(acknowledge), by, out);
    else if (strncmp(request, shelve, strlen(shelve)) == 0)
        answer_shelve(alarms, request + strlen(shelve), by, out);
    else
        return false;
    return true;
}
