#include "src/monitor/conditions/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/base/log.h"

void crn_condition_log_add(crn_condition_log *log, const crn_condition_held *held,
                           crn_condition_event event)
{
    if (log->count < CRN_CONDITIONS_MAX) {
        log->at[log->count].held = *held;
        log->at[log->count++].event = event;
    }
}

/* --- lanes that share a line --- */

#define LANES_BYTES 480

static int compare_lanes(const void *a, const void *b)
{
    int64_t of_a = *(const int64_t *)a, of_b = *(const int64_t *)b;
    return (of_a > of_b) - (of_a < of_b);
}

/* " Likewise lanes 2, 5-7"; cut if it is longer. Nothing without any. */
static void write_lanes(int64_t *lanes, int32_t count, char ret_text[LANES_BYTES])
{
    size_t used = 0;
    ret_text[0] = '\0';
    qsort(lanes, (size_t)count, sizeof *lanes, compare_lanes);
    for (int32_t i = 0, last; i < count && used < LANES_BYTES; i = last + 1) {
        for (last = i; last + 1 < count && lanes[last + 1] == lanes[last] + 1;)
            last++;
        used += (size_t)snprintf(ret_text + used, LANES_BYTES - used, "%s%" PRId64,
                                 i > 0       ? ", "
                                 : count > 1 ? " Likewise lanes "
                                             : " Likewise lane ",
                                 lanes[i]);
        if (last > i && used < LANES_BYTES)
            used += (size_t)snprintf(ret_text + used, LANES_BYTES - used, "-%" PRId64, lanes[last]);
    }
}

/* Takes those of the same row and event as the i-th out of the list, and tells their lanes. */
static void take_likewise(crn_condition_log *log, int32_t i, char ret_text[LANES_BYTES])
{
    int64_t lanes[CRN_CONDITIONS_MAX];
    int32_t count = 0;
    for (int32_t other = i + 1; other < log->count; other++) {
        if (log->at[other].held.row != log->at[i].held.row ||
            log->at[other].event != log->at[i].event)
            continue;
        if (log->at[other].held.values.lane >= 0) /* else it is the line's */
            lanes[count++] = log->at[other].held.values.lane;
        log->at[other].held.row = NULL;
    }
    write_lanes(lanes, count, ret_text);
}

static void write_line(const crn_condition_held *held, crn_condition_event event, const char *lanes)
{
    static const crn_log_level levels[CRN_SEVERITIES] = {CRN_LOG_INFO, CRN_LOG_WARNING,
                                                         CRN_LOG_ERROR};
    const crn_condition *row = held->row;
    char clause[CRN_CONDITION_CLAUSE_BYTES], details[CRN_CONDITION_TEXT_BYTES];
    crn_condition_clause(held, clause);
    if (event == CRN_CONDITION_RAISED)
        crn_log(levels[row->severity], "%s%s [%s: %s]", clause, lanes, row->id,
                crn_condition_text(row->details, &held->values, details));
    else if (event == CRN_CONDITION_HOLDS)
        crn_log(levels[row->severity], "still: %s%s [%s]", clause, lanes, row->id);
    else
        crn_log(CRN_LOG_INFO, "ended: %s%s [%s]", clause, lanes, row->id);
}

void crn_condition_log_write(crn_condition_log *log)
{
    for (int32_t i = 0; i < log->count; i++) {
        char lanes[LANES_BYTES];
        if (!log->at[i].held.row)
            continue;
        take_likewise(log, i, lanes);
        write_line(&log->at[i].held, log->at[i].event, lanes);
    }
    log->count = 0;
}
