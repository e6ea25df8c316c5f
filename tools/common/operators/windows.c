#include "tools/common/operators/windows.h"

#include <stdio.h>
#include <string.h>

#define SIDE_MAX (1 << 20) /* wider than any picture */

void crn_windows_parse(const crn_tool *tool, const char *text, crn_windows *ret_windows)
{
    ret_windows->count = 0;
    for (const char *from = text;; from++) {
        size_t length = strcspn(from, ",");
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)length, from);
        crn_size size = crn_option_size(tool, "windows", one, 2, SIDE_MAX);
        if (size.width % 2 || size.height % 2)
            crn_usage_error(tool, "--windows '%s': a window has even sides, for its halves", one);
        if (ret_windows->count == CRN_WINDOWS_MAX)
            crn_usage_error(tool, "--windows: more than %d windows", CRN_WINDOWS_MAX);
        ret_windows->item[ret_windows->count++] = size;
        from += length;
        if (!*from)
            return;
    }
}

/* The largest power of two not above `side`; 0 for 0. */
static int32_t power_below(int32_t side)
{
    int32_t power = side > 0;
    while (power && power <= side / 2)
        power *= 2;
    return power;
}

void crn_windows_pyramid(int32_t width, int32_t height, bool square, crn_windows *ret_windows)
{
    crn_size size = {power_below(width), power_below(height)};
    if (square)
        size.width = size.height = size.width < size.height ? size.width : size.height;
    ret_windows->count = 0;
    for (; size.width >= 2 && size.height >= 2; size.width /= 2, size.height /= 2)
        ret_windows->item[ret_windows->count++] = size;
}
