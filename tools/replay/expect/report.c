#include "tools/replay/expect/report.h"

#include <stdlib.h>
#include <string.h>

/* A recorded fruit is sent again in every loop, with a number that is higher by its lane's. */
static bool shows(const crn_replay_schedule *schedule, size_t index, const crn_worst_fruit *fruit,
                  uint64_t view)
{
    const crn_replay_schedule_view *entry = &schedule->views[index];
    const crn_view_header *header = &entry->recorded.header;
    const crn_replay_schedule_lane *lane = &schedule->lanes[entry->lane];
    uint64_t period = lane->fruit_max - lane->fruit_min + 1; /* 0: of 2^64 */
    if (header->lane != fruit->lane || header->epoch != fruit->epoch || header->view != view)
        return false;
    return header->fruit == fruit->fruit ||
           (period && fruit->fruit > header->fruit && (fruit->fruit - header->fruit) % period == 0);
}

/* What cannot be read is drawn without its photograph; the replay told it when it sent it. */
static crn_photo find_photo(void *context, const crn_worst_fruit *fruit, uint64_t view)
{
    crn_replay_schedule *schedule = context;
    crn_recorded_view recorded;
    crn_error ignored;
    size_t index = 0;
    while (index < schedule->count && !shows(schedule, index, fruit, view))
        index++;
    if (index == schedule->count)
        return (crn_photo){0};
    const crn_view_header *header = &schedule->views[index].recorded.header;
    crn_photo photo = {NULL, (int32_t)header->height, (int32_t)header->width};
    size_t bytes = (size_t)header->height * header->width;
    if (crn_replay_schedule_read(schedule, index, &recorded, &ignored) == 0 && recorded.intensity) {
        uint8_t *pixels = malloc(bytes);
        if (pixels)
            photo.pixels = memcpy(pixels, recorded.intensity, bytes);
    }
    return photo;
}

int crn_expect_report_finish(crn_comparison_report *report, crn_replay_schedule *schedule,
                             crn_error *error)
{
    return crn_comparison_report_finish(report, find_photo, schedule, error);
}
