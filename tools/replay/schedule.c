#include "tools/replay/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tools/common/local_time.h"
#include "tools/common/progress.h"
#include "tools/replay/log_choice.h"
#include "stages/base/buffer/array.h"

#define PAUSE_NS_MAX    CRN_NS_PER_S        /* between files */
#define DISORDER_NS_MAX (10 * CRN_NS_PER_S) /* more: the clock was set back */
#define LONE_VIEW_NS    (100 * CRN_NS_PER_MS)

/* --- headers --- */

static int find_epoch(crn_replay_schedule *schedule, uint64_t epoch, uint32_t *ret_index)
{
    uint32_t i = 0;
    while (i < schedule->epoch_count && schedule->epochs[i] != epoch)
        i++;
    if (i == schedule->epoch_count) {
        if (crn_array_grow(&schedule->epochs, schedule->epoch_count, sizeof *schedule->epochs))
            return -ENOMEM;
        schedule->epochs[schedule->epoch_count++] = epoch;
    }
    *ret_index = i;
    return 0;
}

static int find_lane(crn_replay_schedule *schedule, const crn_view_header *header,
                     uint32_t *ret_index)
{
    uint32_t i = 0;
    while (i < schedule->lane_count && schedule->lanes[i].number != header->lane)
        i++;
    if (i == schedule->lane_count) {
        if (crn_array_grow(&schedule->lanes, schedule->lane_count, sizeof *schedule->lanes))
            return -ENOMEM;
        schedule->lanes[schedule->lane_count++] = (crn_replay_schedule_lane){
            header->lane, header->sequence, header->sequence, header->fruit, header->fruit};
    }
    crn_replay_schedule_lane *lane = &schedule->lanes[i];
    if (header->sequence < lane->sequence_min)
        lane->sequence_min = header->sequence;
    if (header->sequence > lane->sequence_max)
        lane->sequence_max = header->sequence;
    if (header->fruit < lane->fruit_min)
        lane->fruit_min = header->fruit;
    if (header->fruit > lane->fruit_max)
        lane->fruit_max = header->fruit;
    *ret_index = i;
    return 0;
}

/* The gap is that to the latest view so far: one that ended late, and so stands behind views that
 * arrived after it, adds no time. */
static uint64_t due_after(crn_replay_schedule *schedule, const crn_replay_schedule_view *view)
{
    const crn_replay_schedule_view *before = &schedule->views[schedule->count - 1];
    uint64_t then = schedule->latest_ns, now = view->recorded.arrived_ns;
    uint64_t gap = now > then ? now - then : 0;
    if (now > then || then - now > DISORDER_NS_MAX)
        schedule->latest_ns = now;
    if (before->file != view->file && gap > PAUSE_NS_MAX)
        gap = PAUSE_NS_MAX;
    return before->due_ns + gap;
}

static int add_view(crn_replay_schedule *schedule, const crn_recorded_view *recorded, uint32_t file,
                    uint64_t position)
{
    crn_replay_schedule_view view = {.recorded = *recorded, .file = file, .position = position};
    if (find_lane(schedule, &recorded->header, &view.lane) ||
        find_epoch(schedule, recorded->header.epoch, &view.epoch) ||
        crn_array_grow(&schedule->views, schedule->count, sizeof *schedule->views))
        return -ENOMEM;
    if (schedule->count)
        view.due_ns = due_after(schedule, &view);
    else
        schedule->latest_ns = recorded->arrived_ns;
    schedule->views[schedule->count++] = view;
    schedule->bytes += recorded->header.payload_bytes + crn_wire_intensity_bytes(&recorded->header);
    return 0;
}

static int scan_file(const crn_tool *tool, crn_replay_schedule *schedule, int file,
                     crn_error *error)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    uint64_t position = 0;
    int r = crn_recording_open(schedule->paths[file], &reader, error);
    while (!r && (r = crn_recording_skip(reader, &view, error)) > 0) {
        if (!schedule->classes.count && crn_recording_classes(reader))
            schedule->classes = *crn_recording_classes(reader);
        r = add_view(schedule, &view, (uint32_t)file, position++)
                ? crn_error_set(error, -ENOMEM, "%s: no memory for its views",
                                schedule->paths[file])
                : 0;
    }
    crn_recording_end(&reader);
    if (!r && *error->text)
        crn_tool_note(tool, "%s", error->text);
    return r;
}

/* A view's sort key, to group the views of a fruit. */
typedef struct replay_position {
    crn_replay_fruit of; /* epoch: index */
    size_t index;
} replay_position;

static int compare_positions(const void *a, const void *b)
{
    const replay_position *p = a, *q = b;
    int order = crn_replay_fruit_compare(&p->of, &q->of);
    return order ? order : p->index < q->index ? -1 : p->index > q->index;
}

/* Numbers the fruits by first appearance. */
static int count_fruits(crn_replay_schedule *schedule)
{
    replay_position *positions = malloc(schedule->count * sizeof *positions);
    size_t *leader = malloc(schedule->count * sizeof *leader);
    if (!positions || !leader) {
        free(positions);
        free(leader);
        return -ENOMEM;
    }
    for (size_t i = 0; i < schedule->count; i++) {
        const crn_replay_schedule_view *view = &schedule->views[i];
        positions[i] = (replay_position){{view->lane, view->epoch, view->recorded.header.fruit}, i};
    }
    qsort(positions, schedule->count, sizeof *positions, compare_positions);
    for (size_t i = 0; i < schedule->count; i++) {
        bool same = i && !crn_replay_fruit_compare(&positions[i].of, &positions[i - 1].of);
        leader[positions[i].index] = same ? leader[positions[i - 1].index] : positions[i].index;
    }
    for (size_t i = 0; i < schedule->count; i++) {
        schedule->views[i].first = leader[i] == i;
        schedule->views[i].fruit =
            leader[i] == i ? schedule->fruits++ : schedule->views[leader[i]].fruit;
    }
    free(positions);
    free(leader);
    return 0;
}

/* Notes where each fruit ends, and how many of them are being sent at a time. */
static int find_ends(crn_replay_schedule *schedule)
{
    uint32_t *left = calloc(schedule->fruits, sizeof *left);
    uint32_t open = 0;
    if (!left)
        return -ENOMEM;
    schedule->views_max = schedule->open_max = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        crn_replay_schedule_view *view = &schedule->views[i];
        view->fruit_views = ++left[view->fruit];
        schedule->views_max =
            view->fruit_views > schedule->views_max ? view->fruit_views : schedule->views_max;
    }
    for (size_t i = schedule->count; i-- > 0;) {
        crn_replay_schedule_view *view = &schedule->views[i];
        view->last = view->fruit_views == left[view->fruit];
        open += view->last;
        schedule->open_max = open > schedule->open_max ? open : schedule->open_max;
        open -= view->first;
    }
    free(left);
    return 0;
}

/* --- the filter --- */

/* "it has lanes 0 to 3, fruits 1 to 99, from 2026-11-23 01:12:03 to 2026-11-23 01:30:00" */
static int fail_empty(const crn_replay_schedule *schedule, crn_error *error)
{
    uint64_t first_ns = UINT64_MAX, last_ns = 0, fruit_min = UINT64_MAX, fruit_max = 0;
    uint32_t lane_min = UINT32_MAX, lane_max = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        uint64_t at_ns = schedule->views[i].recorded.arrived_ns;
        first_ns = at_ns < first_ns ? at_ns : first_ns;
        last_ns = at_ns > last_ns ? at_ns : last_ns;
    }
    for (uint32_t i = 0; i < schedule->lane_count; i++) {
        const crn_replay_schedule_lane *lane = &schedule->lanes[i];
        lane_min = lane->number < lane_min ? lane->number : lane_min;
        lane_max = lane->number > lane_max ? lane->number : lane_max;
        fruit_min = lane->fruit_min < fruit_min ? lane->fruit_min : fruit_min;
        fruit_max = lane->fruit_max > fruit_max ? lane->fruit_max : fruit_max;
    }
    char first[CRN_LOCAL_TIME_BYTES], last[CRN_LOCAL_TIME_BYTES];
    crn_local_time_print(first_ns, first);
    crn_local_time_print(last_ns, last);
    return crn_error_set(error, -ENODATA,
                         "%s: none of %zu views is selected: there are lanes %" PRIu32
                         " to %" PRIu32 ", fruits %" PRIu64 " to %" PRIu64 ", from %s to %s",
                         schedule->paths[0], schedule->count, lane_min, lane_max, fruit_min,
                         fruit_max, first, last);
}

/* Marks the views to send in takes[]. */
static size_t mark_taken(const crn_replay_schedule *schedule, const crn_replay_filter *filter,
                         const crn_log_choice *choice, uint64_t *first_ns, bool *takes)
{
    size_t count = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        const crn_replay_schedule_view *view = &schedule->views[i];
        const crn_view_header *header = &view->recorded.header;
        if (view->first)
            first_ns[view->fruit] = view->recorded.arrived_ns;
        crn_replay_fruit fruit = {header->lane, header->epoch, header->fruit};
        takes[i] =
            crn_replay_filter_takes(filter, &fruit, first_ns[view->fruit]) &&
            (!filter->log || crn_log_choice_has(choice, header->lane, view->epoch, header->fruit));
        count += takes[i];
    }
    return count;
}

/* Leaves out the views that are not marked; the first one left is due at once. Epochs keep their
 * indices, so that a fruit has the same one in every replay of the recordings. */
static int keep_marked(crn_replay_schedule *schedule, const bool *takes)
{
    size_t count = 0;
    uint64_t start_ns = 0;
    schedule->lane_count = 0;
    schedule->bytes = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        crn_replay_schedule_view view = schedule->views[i];
        const crn_view_header *header = &view.recorded.header;
        if (!takes[i])
            continue;
        if (find_lane(schedule, header, &view.lane))
            return -ENOMEM;
        start_ns = count ? start_ns : view.due_ns;
        view.due_ns -= start_ns;
        schedule->bytes += header->payload_bytes + crn_wire_intensity_bytes(header);
        schedule->views[count++] = view;
    }
    schedule->count = count;
    schedule->fruits = 0;
    return count_fruits(schedule);
}

/* Every number that the filter names must be there. */
static int check_numbers(const crn_replay_schedule *schedule, const crn_replay_filter *filter,
                         crn_error *error)
{
    crn_replay_fruit *fruits = malloc(schedule->fruits * sizeof *fruits);
    size_t count = 0;
    crn_error unknown;
    if (!fruits)
        return crn_error_set(error, -ENOMEM, "no memory for %zu views", schedule->count);
    for (size_t i = 0; i < schedule->count; i++) {
        const crn_view_header *header = &schedule->views[i].recorded.header;
        if (schedule->views[i].first)
            fruits[count++] = (crn_replay_fruit){header->lane, header->epoch, header->fruit};
    }
    int r = crn_replay_filter_check(filter, fruits, count, &unknown);
    free(fruits);
    return r ? crn_error_set(error, r, "%s: %s", schedule->paths[0], unknown.text) : 0;
}

static int apply_filter(crn_replay_schedule *schedule, const crn_replay_filter *filter,
                        crn_error *error)
{
    crn_log_choice choice = {0};
    schedule->recorded_views = schedule->count;
    schedule->recorded_fruits = schedule->fruits;
    if (!crn_replay_filter_is_set(filter))
        return 0;
    int r = check_numbers(schedule, filter, error);
    if (!r && filter->log)
        r = crn_log_choice_read(filter, schedule->epochs, schedule->epoch_count, &choice, error);
    if (r)
        return r;
    uint64_t *first_ns = malloc(schedule->fruits * sizeof *first_ns);
    bool *takes = malloc(schedule->count * sizeof *takes);
    r = first_ns && takes ? 0 : -ENOMEM;
    if (!r && !mark_taken(schedule, filter, &choice, first_ns, takes))
        r = filter->log ? crn_error_set(error, -ENODATA,
                                        "%s: none of the %zu fruits that %s has for --only is in "
                                        "the recordings and selected",
                                        schedule->paths[0], choice.count, filter->log)
                        : fail_empty(schedule, error);
    else if (r || (r = keep_marked(schedule, takes)))
        crn_error_set(error, r, "no memory for %zu views", schedule->count);
    free(first_ns);
    free(takes);
    crn_log_choice_done(&choice);
    return r;
}

/* --- pixels --- */

static int preload(crn_replay_schedule *schedule, crn_error *error)
{
    schedule->memory = malloc(schedule->bytes);
    if (!schedule->memory)
        return crn_error_set(error, -ENOMEM, "no memory for %zu views: lower --preload",
                             schedule->count);
    unsigned char *to = schedule->memory;
    crn_progress progress;
    crn_progress_begin(&progress, "views loaded", schedule->count);
    for (size_t i = 0; i < schedule->count; i++) {
        crn_recorded_view view;
        int r = crn_replay_schedule_read(schedule, i, &view, error);
        if (r)
            return r;
        size_t maps = (size_t)view.header.payload_bytes;
        size_t intensity = crn_wire_intensity_bytes(&view.header);
        schedule->views[i].recorded.maps = memcpy(to, view.maps, maps);
        to += maps;
        if (intensity)
            schedule->views[i].recorded.intensity = memcpy(to, view.intensity, intensity);
        to += intensity;
        crn_progress_update(&progress, i + 1, NULL);
    }
    crn_progress_end(&progress);
    crn_recording_end(&schedule->reader);
    schedule->in_memory = true;
    return 0;
}

/* Positions the reader before view `index`. */
static int wind_to(crn_replay_schedule *schedule, size_t index, crn_error *error)
{
    int file = (int)schedule->views[index].file;
    uint64_t position = schedule->views[index].position;
    if (!schedule->reader || schedule->reader_file != file || schedule->reader_view > position) {
        crn_recording_end(&schedule->reader);
        int r = crn_recording_open(schedule->paths[file], &schedule->reader, error);
        if (r)
            return r;
        schedule->reader_file = file;
        schedule->reader_view = 0;
    }
    for (; schedule->reader_view < position; schedule->reader_view++) {
        crn_recorded_view view;
        int r = crn_recording_skip(schedule->reader, &view, error);
        if (r <= 0)
            return r ? r : -ENODATA;
    }
    return 0;
}

int crn_replay_schedule_read(crn_replay_schedule *schedule, size_t index,
                             crn_recorded_view *ret_view, crn_error *error)
{
    if (schedule->in_memory) {
        *ret_view = schedule->views[index].recorded;
        return 0;
    }
    crn_recorded_view view;
    int r = wind_to(schedule, index, error);
    if (!r) {
        r = crn_recording_next(schedule->reader, &view, error);
        schedule->reader_view++;
        r = r > 0 ? 0 : r ? r : -ENODATA;
    }
    /* Sizes were recorded when the headers were read. */
    if (!r && (view.header.payload_bytes != schedule->views[index].recorded.header.payload_bytes ||
               view.header.flags != schedule->views[index].recorded.header.flags))
        r = -ENODATA;
    if (r == -ENODATA)
        crn_error_set(error, r, "%s: it changed while it was read",
                      schedule->paths[schedule->views[index].file]);
    if (!r)
        *ret_view = view;
    return r;
}

/* --- public functions --- */

int crn_replay_schedule_open(const crn_tool *tool, char **paths, int files,
                             const crn_replay_filter *filter, uint64_t preload_bytes,
                             crn_replay_schedule *ret_schedule, crn_error *error)
{
    crn_replay_schedule schedule = {.paths = paths};
    int r = 0;
    for (int i = 0; i < files && !r; i++)
        r = scan_file(tool, &schedule, i, error);
    if (!r && !schedule.count)
        r = crn_error_set(error, -ENODATA, "%s: no view to replay", paths[0]);
    if (!r && count_fruits(&schedule))
        r = crn_error_set(error, -ENOMEM, "no memory for %zu views", schedule.count);
    if (!r)
        r = apply_filter(&schedule, filter, error);
    if (!r && find_ends(&schedule))
        r = crn_error_set(error, -ENOMEM, "no memory for %" PRIu64 " fruits", schedule.fruits);
    if (!r && schedule.bytes <= preload_bytes)
        r = preload(&schedule, error);
    if (r) {
        crn_replay_schedule_close(&schedule);
        return r;
    }
    uint64_t length_ns = schedule.views[schedule.count - 1].due_ns;
    schedule.period_ns =
        schedule.count > 1 ? length_ns + length_ns / (schedule.count - 1) : (uint64_t)LONE_VIEW_NS;
    *ret_schedule = schedule;
    return 0;
}

void crn_replay_schedule_close(crn_replay_schedule *schedule)
{
    crn_recording_end(&schedule->reader);
    free(schedule->views);
    free(schedule->lanes);
    free(schedule->epochs);
    free(schedule->memory);
    *schedule = (crn_replay_schedule){0};
}

crn_view_header crn_replay_schedule_header(const crn_replay_schedule *schedule, size_t index,
                                           uint64_t loop, uint64_t run_epoch, uint64_t now_ns)
{
    const crn_replay_schedule_view *view = &schedule->views[index];
    const crn_replay_schedule_lane *lane = &schedule->lanes[view->lane];
    crn_view_header header = view->recorded.header;
    header.sequence += loop * (lane->sequence_max - lane->sequence_min + 1);
    header.fruit += loop * (lane->fruit_max - lane->fruit_min + 1);
    header.epoch = run_epoch;
    if (schedule->epoch_count > 1)
        header.epoch += loop * schedule->epoch_count + view->epoch;
    header.captured_ns = now_ns;
    if (header.deadline_ns)
        header.deadline_ns += now_ns - view->recorded.arrived_ns;
    return header;
}
