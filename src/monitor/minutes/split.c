#include "src/monitor/minutes/split.h"

static bool is_seen(const crn_minute_lane *lane)
{
    return lane->verdicts[CRN_VERDICT_COMPLETE] + lane->verdicts[CRN_VERDICT_PARTIAL] +
               lane->verdicts[CRN_VERDICT_LATE] >
           0;
}

/* False: the record is full. */
static bool add_lanes(crn_minute_split *split, crn_minute_record *record)
{
    const crn_minute_sums *sums = split->sums;
    for (; split->lane < sums->lane_count; split->lane++)
        if (is_seen(&sums->lanes[split->lane]) &&
            !crn_minute_record_add_lane(record, &sums->lanes[split->lane]))
            return false;
    return true;
}

static void add_classes(crn_minute_split *split, crn_minute_record *record)
{
    const crn_minute_sums *sums = split->sums;
    record->fruits = sums->looked_for;
    record->measured = sums->measured;
    for (; split->class < sums->class_count; split->class ++) {
        const crn_minute_class_sums *class = &sums->classes[split->class];
        const crn_minute_class entry = {split->classes[split->class], class->fruits, class->area_px,
                                        class->area_mm2};
        if (crn_minute_split_has(sums, class) && !crn_minute_record_add_class(record, &entry))
            return;
    }
}

bool crn_minute_split_next(crn_minute_split *split, crn_minute_record *ret_record)
{
    *ret_record = (crn_minute_record){
        .minute = (uint32_t)split->sums->minute, .recipe = split->recipe, .lot = split->lot};
    if (add_lanes(split, ret_record))
        add_classes(split, ret_record);
    return ret_record->lane_count + ret_record->class_count > 0;
}
