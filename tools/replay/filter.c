#include "tools/replay/filter.h"

#include <errno.h>
#include <stdlib.h>

/* Reads a whole number and advances behind it. */
static bool read_number(const char **text, uint64_t max, uint64_t *ret_value)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(*text, &end, 10);
    if (errno || value > max)
        return false;
    *text = end;
    *ret_value = value;
    return true;
}

bool crn_replay_filter_read_lanes(crn_replay_filter *filter, const char *text)
{
    uint64_t lane;
    filter->lane_count = 0;
    do {
        if (filter->lane_count == CRN_REPLAY_LANES_MAX || !read_number(&text, UINT32_MAX, &lane))
            return false;
        filter->lanes[filter->lane_count++] = (uint32_t)lane;
    } while (*text == ',' && text++);
    return !*text;
}

bool crn_replay_filter_read_fruits(crn_replay_filter *filter, const char *text)
{
    uint64_t from, to;
    if (!read_number(&text, UINT64_MAX, &from))
        return false;
    to = from;
    if (*text == '-' && (text++, !read_number(&text, UINT64_MAX, &to)))
        return false;
    filter->by_fruit = true;
    filter->fruit_min = from;
    filter->fruit_max = to;
    return !*text && from <= to;
}

bool crn_replay_filter_is_set(const crn_replay_filter *filter)
{
    return filter->lane_count || filter->by_fruit || filter->from_ns || filter->to_ns;
}

bool crn_replay_filter_takes(const crn_replay_filter *filter, uint32_t lane, uint64_t fruit,
                             uint64_t first_arrived_ns)
{
    bool takes_lane = filter->lane_count == 0;
    for (uint32_t i = 0; i < filter->lane_count; i++)
        takes_lane |= filter->lanes[i] == lane;
    return takes_lane &&
           (!filter->by_fruit || (fruit >= filter->fruit_min && fruit <= filter->fruit_max)) &&
           first_arrived_ns >= filter->from_ns &&
           (!filter->to_ns || first_arrived_ns < filter->to_ns);
}
