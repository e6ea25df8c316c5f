#include "tools/replay/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/digits.h"
#include "stages/base/buffer/text.h"

/* Runs of numbers that a message lists. */
#define LISTED_MAX 8

int crn_replay_fruit_compare(const void *left, const void *right)
{
    const crn_replay_fruit *a = left, *b = right;
    if (a->epoch != b->epoch)
        return a->epoch < b->epoch ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (a->fruit > b->fruit) - (a->fruit < b->fruit);
}

/* --- reading --- */

bool crn_replay_filter_read_lanes(crn_replay_filter *filter, const char *text)
{
    uint64_t lane;
    filter->lane_count = 0;
    do {
        if (filter->lane_count == CRN_REPLAY_LANES_MAX ||
            !crn_digits_read(&text, UINT32_MAX, &lane))
            return false;
        filter->lanes[filter->lane_count++] = (uint32_t)lane;
    } while (*text == ',' && text++);
    return !*text;
}

static bool read_range(const char **text, crn_replay_range *ret_range)
{
    crn_replay_range range = {0};
    if (!crn_digits_read(text, UINT64_MAX, &range.min))
        return false;
    if (**text == '/') {
        range.has_lane = true;
        range.lane = range.min;
        (*text)++;
        if (!crn_digits_read(text, UINT64_MAX, &range.min))
            return false;
    }
    if (**text == '/') {
        range.has_epoch = true;
        range.epoch = range.min;
        (*text)++;
        if (!crn_digits_read(text, UINT64_MAX, &range.min))
            return false;
    }
    range.max = range.min;
    if (**text == '-' && ((*text)++, !crn_digits_read(text, UINT64_MAX, &range.max)))
        return false;
    *ret_range = range;
    return range.min <= range.max;
}

bool crn_replay_filter_read_fruits(crn_replay_filter *filter, const char *text)
{
    filter->range_count = 0;
    do {
        if (filter->range_count == CRN_REPLAY_RANGES_MAX ||
            !read_range(&text, &filter->ranges[filter->range_count]))
            return false;
        filter->range_count++;
    } while (*text == ',' && text++);
    return !*text;
}

bool crn_replay_filter_read_verdicts(crn_replay_filter *filter, const char *text)
{
    do {
        size_t size = strcspn(text, ",");
        if (size == 4 && !strncmp(text, "late", size))
            filter->late = true;
        else if (size == 7 && !strncmp(text, "partial", size))
            filter->partial = true;
        else if (size == 11 && !strncmp(text, "over_budget", size))
            filter->over_budget = true;
        else
            return false;
        text += size;
    } while (*text && text++);
    return true;
}

/* --- choosing --- */

bool crn_replay_filter_is_set(const crn_replay_filter *filter)
{
    return filter->lane_count || filter->range_count || filter->from_ns || filter->to_ns ||
           filter->log;
}

static bool takes_lane(const crn_replay_filter *filter, uint32_t lane)
{
    bool takes = filter->lane_count == 0;
    for (uint32_t i = 0; i < filter->lane_count; i++)
        takes |= filter->lanes[i] == lane;
    return takes;
}

static bool is_in(const crn_replay_range *range, const crn_replay_fruit *fruit)
{
    return (!range->has_lane || range->lane == fruit->lane) &&
           (!range->has_epoch || range->epoch == fruit->epoch) && fruit->fruit >= range->min &&
           fruit->fruit <= range->max;
}

bool crn_replay_filter_takes(const crn_replay_filter *filter, const crn_replay_fruit *fruit,
                             uint64_t first_arrived_ns)
{
    bool takes_fruit = filter->range_count == 0;
    for (uint32_t i = 0; i < filter->range_count && !takes_fruit; i++)
        takes_fruit = is_in(&filter->ranges[i], fruit);
    return takes_fruit && takes_lane(filter, fruit->lane) && first_arrived_ns >= filter->from_ns &&
           (!filter->to_ns || first_arrived_ns < filter->to_ns);
}

/* --- numbers that do not exist --- */

static int compare_fruits(const void *left, const void *right)
{
    const crn_replay_fruit *a = left, *b = right;
    if (a->fruit != b->fruit)
        return a->fruit < b->fruit ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (a->epoch > b->epoch) - (a->epoch < b->epoch);
}

static void say_range(crn_text *to, const crn_replay_range *range)
{
    if (range->has_lane)
        crn_text_add(to, "%" PRIu64 "/", range->lane);
    if (range->has_epoch)
        crn_text_add(to, "%" PRIu64 "/", range->epoch);
    crn_text_add(to, "%" PRIu64, range->min);
    if (range->max > range->min)
        crn_text_add(to, "-%" PRIu64, range->max);
}

/* "0 to 11, 20" of the fruits on the filter's lanes, and on the range's if it names one. */
static void say_numbers(crn_text *to, const crn_replay_filter *filter,
                        const crn_replay_range *range, const crn_replay_fruit *fruits, size_t count)
{
    uint64_t first = 0, last = 0;
    uint32_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        const crn_replay_fruit *one = &fruits[i];
        if (!takes_lane(filter, one->lane) || (range->has_lane && range->lane != one->lane))
            continue;
        if (runs && one->fruit - last <= 1) {
            last = one->fruit;
            continue;
        }
        if (runs && last > first)
            crn_text_add(to, " to %" PRIu64, last);
        if (runs == LISTED_MAX) {
            crn_text_add(to, " and more");
            return;
        }
        crn_text_add(to, "%s%" PRIu64, runs++ ? ", " : "", one->fruit);
        first = last = one->fruit;
    }
    if (runs && last > first)
        crn_text_add(to, " to %" PRIu64, last);
    crn_text_add(to, "%s", runs ? "" : "none of these lanes");
}

static void say_epochs(crn_text *to, const crn_replay_fruit *fruits, size_t count)
{
    uint64_t told[LISTED_MAX];
    uint32_t known = 0;
    for (size_t i = 0; i < count && known < LISTED_MAX; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < known; k++)
            is_new &= told[k] != fruits[i].epoch;
        if (!is_new)
            continue;
        crn_text_add(to, "%s%" PRIu64, known ? ", " : "; of epochs ", fruits[i].epoch);
        told[known++] = fruits[i].epoch;
    }
}

int crn_replay_filter_check(const crn_replay_filter *filter, crn_replay_fruit *fruits, size_t count,
                            crn_error *error)
{
    if (count)
        qsort(fruits, count, sizeof *fruits, compare_fruits);
    for (uint32_t i = 0; i < filter->range_count; i++) {
        const crn_replay_range *range = &filter->ranges[i];
        bool found = false;
        for (size_t k = 0; k < count && !found; k++)
            found = is_in(range, &fruits[k]) && takes_lane(filter, fruits[k].lane);
        if (found)
            continue;
        char bytes[600];
        crn_text text = CRN_TEXT_IN(bytes);
        crn_text_add(&text, "no fruit ");
        say_range(&text, range);
        crn_text_add(&text, " is there; the fruits are ");
        say_numbers(&text, filter, range, fruits, count);
        if (range->has_epoch)
            say_epochs(&text, fruits, count);
        return crn_error_set(error, -ENOENT, "%s", bytes);
    }
    return 0;
}
