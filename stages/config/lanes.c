/* Lists of lanes: numbers, and ranges of them. */
#include <errno.h>

#include "stages/base/digits.h"
#include "stages/config/config.h"

static int read_number(const char **text, uint32_t *ret_number)
{
    uint64_t number;
    if (!crn_digits_read(text, UINT32_MAX, &number))
        return -EINVAL;
    *ret_number = (uint32_t)number;
    return 0;
}

static void skip_blanks(const char **text)
{
    while (**text == ' ')
        ++*text;
}

/* Adds the numbers and ranges of one text, separated by commas. */
static int add(const char *text, crn_lane_ranges *ranges)
{
    while (true) {
        crn_lane_range range;
        skip_blanks(&text);
        if (read_number(&text, &range.first) < 0)
            return -EINVAL;
        range.last = range.first;
        if (*text == '-' && (++text, read_number(&text, &range.last) < 0))
            return -EINVAL;
        if (range.last < range.first || ranges->count == CRN_LANE_RANGES_MAX)
            return -EINVAL;
        ranges->at[ranges->count++] = range;
        skip_blanks(&text);
        if (!*text)
            return 0;
        if (*text++ != ',')
            return -EINVAL;
    }
}

int crn_lane_ranges_parse(const crn_texts *texts, crn_lane_ranges *ret_ranges)
{
    ret_ranges->count = 0;
    int r = 0;
    for (int32_t i = 0; i < texts->count && r == 0; i++)
        r = add(texts->item[i], ret_ranges);
    return r;
}

bool crn_lane_ranges_have(const crn_lane_ranges *ranges, uint32_t lane)
{
    for (int32_t i = 0; i < ranges->count; i++)
        if (lane >= ranges->at[i].first && lane <= ranges->at[i].last)
            return true;
    return ranges->count == 0;
}
