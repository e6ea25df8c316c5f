/* Shared by fruit.c and arrival.c only: all open fruits, and the times of one. */
#ifndef CRN_SRC_FRUIT_INTERNAL_H
#define CRN_SRC_FRUIT_INTERNAL_H

#include "src/fruit/fruit.h"
#include "src/fruit/judged.h"
#include "src/fruit/schedule.h"
#include "src/fruit/table.h"
#include "stages/base/clock.h"

struct crn_fruits {
    crn_fruit_rules rules;
    char lot[CRN_LOT_ID_BYTES]; /* of fruits that open from now on */
    crn_lanes *lanes;
    crn_fruit_table
        *table; /* open_fruits and one more: a forced fruit waits there for its judging */
    crn_schedule *schedule;
    crn_judged *judged;
    crn_refused_views refused; /* of fruits that were not open */
    crn_fruit_stats stats;
    uint32_t held_slots;              /* views that hold a slot which another can take */
    int32_t open_of[CRN_GENERATIONS]; /* open fruits, by their settings */
    bool ended;
    int64_t latest_ns;         /* upper bound of all deadlines */
    int64_t now_ns;            /* when last told */
    int64_t returned_after_ns; /* how long after its verdict a number last came for another fruit */
};

static inline int64_t crn_fruit_min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline bool crn_fruit_is_closed(const crn_fruit_entry *entry)
{
    return entry->fruit.closed_ns != CRN_NEVER_NS;
}

/* Upper bound of the fruit's deadline besides the rules: its headers, and the end of the line. */
static inline int64_t crn_fruit_cap_ns(const crn_fruits *fruits, const crn_fruit_entry *entry)
{
    return crn_fruit_min_ns(entry->header_deadline_ns, fruits->latest_ns);
}

static inline void crn_fruit_close_at(crn_fruit_entry *entry, int64_t at_ns, crn_fruit_close by)
{
    entry->fruit.closed_ns = at_ns;
    entry->fruit.closed_by = by;
}

/* Updates deadline and next event; call it after any change of what they depend on. */
void crn_fruit_update_deadline(crn_fruits *fruits, crn_fruit_entry *entry);

/* Closes the fruit if its closing time has come; the recorded time is that one, not now. */
void crn_fruit_close_by_time(const crn_fruits *fruits, crn_fruit_entry *entry, int64_t now_ns);

/* The time after a verdict within which a view with the fruit's number is a straggler. */
int64_t crn_fruits_straggler_ns(const crn_fruits *fruits, const crn_lane *lane);

#endif
