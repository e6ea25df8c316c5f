#include "src/monitor/conditions/tracked.h"

#include "stages/base/clock.h"

#define REMINDER_NS (60 * CRN_NS_PER_S)

/* Whether there is room for one more of this row: for one of each row there always is. */
static bool has_room(const crn_tracked_conditions *tracked, const crn_condition *row)
{
    int32_t of_row = 0;
    for (int32_t i = 0; i < tracked->count; i++)
        of_row += tracked->at[i].held.row == row;
    return of_row == 0 || (of_row < CRN_CONDITIONS_MAX / 2 &&
                           tracked->count < CRN_CONDITIONS_MAX - crn_condition_row_count);
}

static crn_tracked_condition *find_tracked(crn_tracked_conditions *tracked,
                                           const crn_condition *row, int64_t lane)
{
    for (int32_t i = 0; i < tracked->count; i++) {
        crn_tracked_condition *one = &tracked->at[i];
        if (one->held.row == row && one->held.values.lane == lane)
            return one;
    }
    return NULL;
}

bool crn_condition_is_raised(const crn_condition_found *found, int64_t lane)
{
    const crn_tracked_condition *one = find_tracked(found->tracked, found->row, lane);
    return one && one->told_ns != 0;
}

void crn_condition_add(crn_condition_found *found, const crn_condition_values *values)
{
    crn_tracked_conditions *tracked = found->tracked;
    crn_tracked_condition *one = find_tracked(tracked, found->row, values->lane);
    if (!one && has_room(tracked, found->row)) {
        one = &tracked->at[tracked->count++];
        *one = (crn_tracked_condition){.held = {.row = found->row, .since_ns = found->now_ns}};
    }
    if (!one)
        return;
    one->held.values = *values;
    one->seen_ns = found->now_ns;
}

void crn_condition_add_count(crn_condition_found *found, int64_t lane, uint64_t now,
                             uint64_t before)
{
    if (now > before)
        crn_condition_add(found,
                          &(crn_condition_values){.lane = lane, .count = (double)(now - before)});
}

void crn_tracked_raise(crn_tracked_conditions *tracked, int64_t now_ns)
{
    for (int32_t i = 0; i < tracked->count; i++) {
        crn_tracked_condition *one = &tracked->at[i];
        bool raised = one->told_ns != 0;
        int64_t passed_ns = now_ns - (raised ? one->told_ns : one->held.since_ns);
        int64_t wait_ns = raised ? REMINDER_NS : one->held.row->raise_s * CRN_NS_PER_S;
        if (one->seen_ns != now_ns || passed_ns < wait_ns)
            continue;
        one->told_ns = now_ns;
        tracked->tell(tracked->context, &one->held,
                      raised ? CRN_CONDITION_HOLDS : CRN_CONDITION_RAISED);
    }
}

void crn_tracked_end(crn_tracked_conditions *tracked, int64_t now_ns)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < tracked->count; i++) {
        crn_tracked_condition *one = &tracked->at[i];
        int64_t absent_ns = now_ns - one->seen_ns;
        bool raised = one->told_ns != 0;
        bool stays =
            absent_ns == 0 || (raised && absent_ns < one->held.row->clear_s * CRN_NS_PER_S);
        if (stays)
            tracked->at[kept++] = *one;
        else if (raised)
            tracked->tell(tracked->context, &one->held, CRN_CONDITION_ENDED);
    }
    tracked->count = kept;
}

static int32_t weight_of(const crn_condition *row)
{
    int32_t at = 0;
    while (crn_condition_rows[at] != row)
        at++;
    return (CRN_SEVERITIES - 1 - (int32_t)row->severity) * crn_condition_row_count + at;
}

static bool is_before(const crn_condition_held *a, const crn_condition_held *b)
{
    int32_t of_a = weight_of(a->row), of_b = weight_of(b->row);
    return of_a != of_b ? of_a < of_b : a->values.lane < b->values.lane;
}

void crn_tracked_list(crn_tracked_conditions *tracked, crn_state state)
{
    crn_condition_list *list = &tracked->list;
    list->state = state;
    list->count = 0;
    for (int32_t i = 0; i < tracked->count; i++) {
        const crn_condition_held *held = &tracked->at[i].held;
        if (tracked->at[i].told_ns == 0)
            continue;
        uint32_t at = list->count++;
        for (; at > 0 && is_before(held, &list->at[at - 1]); at--)
            list->at[at] = list->at[at - 1];
        list->at[at] = *held;
    }
}
