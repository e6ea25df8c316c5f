/* What several rows ask of a look. */
#include "src/monitor/conditions/find.h"
#include "stages/base/clock.h"

const crn_lane_snapshot *crn_condition_lane_before(const crn_condition_look *look, int32_t index)
{
    static const crn_lane_snapshot none;
    const crn_lane_snapshot *before = &look->before->lanes[index];
    bool is_same = index < look->before->lane_count &&
                   before->meters.serial == look->now->lanes[index].meters.serial;
    return is_same ? before : &none;
}

crn_condition_losses crn_condition_losses_of(const crn_condition_look *look)
{
    const crn_fruit_stats *now = &look->now->metrics.fruits,
                          *before = &look->before->metrics.fruits;
    return (crn_condition_losses){
        .received = look->now->metrics.lanes.views - look->before->metrics.lanes.views,
        .too_much = now->no_slot + now->discarded + now->unfinished - before->no_slot -
                    before->discarded - before->unfinished,
        .stragglers = now->stragglers - before->stragglers,
        .forced = now->table_full + now->forced - before->table_full - before->forced,
    };
}

uint64_t crn_condition_over_budget(const crn_condition_look *look)
{
    uint64_t over = 0;
    for (int32_t i = 0; i < look->now->lane_count; i++)
        over += look->now->lanes[i].meters.over_budget -
                crn_condition_lane_before(look, i)->meters.over_budget;
    return over;
}

/* Of the views, so many may come past their deadline. */
#define OVER_SHARE 0.1

/* Not if the line read them late. */
bool crn_condition_deadlines_are_over(const crn_condition_look *look)
{
    uint64_t over = look->now->metrics.deadlines_over - look->before->metrics.deadlines_over;
    return (double)over > OVER_SHARE * (double)crn_condition_losses_of(look).received &&
           crn_condition_over_budget(look) == 0;
}

static bool is_recent(const crn_condition_look *look, int64_t ns)
{
    return ns != 0 && look->now_ns - ns <= CRN_CONDITIONS_WINDOW_NS;
}

bool crn_condition_views_are_caused(const crn_condition_look *look)
{
    return is_recent(look, look->memory->views_caused_ns);
}

bool crn_condition_writers_are_delayed(const crn_condition_look *look)
{
    return is_recent(look, look->memory->writers_delayed_ns);
}
