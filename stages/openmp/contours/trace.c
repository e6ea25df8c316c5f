/* Tracing: links become runs, with points in order of travel; runs are copied into the result. */
#include "stages/openmp/contours/contours.h"

#include <string.h>

/* Cost of a segment, in the units of a pace. */
#define SEGMENT_WORK 16

static bool is_same(const crn_point *a, const crn_point *b)
{
    return a->x == b->x && a->y == b->y;
}

static bool is_end(uint32_t link)
{
    return link & CRN_LINK_END;
}

/* Tracing consumes the links. A visited segment's link becomes CRN_NONE, or at the minimum segment
 * of a run the number of that run; both have the end bit set, so that unvisited segments
 * remain recognisable. */
static void note_min_segment(crn_contours_part *part, uint32_t min_segment, uint32_t run)
{
    part->track.links[min_segment] = CRN_LINK_END | run;
}

/* Traces an open run from its first segment. `check`: skip segments without a length. */
static inline __attribute__((always_inline)) void
trace_open(crn_contours_part *part, crn_open_run *open, crn_contours_run *run, bool check)
{
    uint32_t *links = part->track.links;
    const crn_point *points = part->track.points, *before = &open->first_point;
    crn_point *path = part->path + run->start;
    uint32_t count = 0, min_segment = CRN_NONE, max_segment = 0, max_index = 0;
    uint32_t link = open->segment;
    do {
        uint32_t s = link;
        link = links[s];
        links[s] = CRN_NONE;
        if (check && is_same(&points[s], before))
            continue;
        before = &points[s];
        min_segment = s < min_segment ? s : min_segment;
        max_index = s >= max_segment ? count : max_index;
        max_segment = s >= max_segment ? s : max_segment;
        path[count++] = points[s];
    } while (!is_end(link));
    run->count = count;
    open->exit = link;
    open->min_segment = min_segment;
    open->max_segment = max_segment;
    open->max_index = max_index;
}

/* Traces the closed run whose maximum segment is s. Returns its minimum segment. */
static uint32_t trace_closed(crn_contours_part *part, uint32_t s, crn_contours_run *run)
{
    uint32_t *links = part->track.links;
    const crn_point *points = part->track.points;
    crn_point *path = part->path + run->start;
    uint32_t count = 0, min_segment = s, next = s;
    do {
        uint32_t link = links[next];
        links[next] = CRN_NONE;
        path[count++] = points[next];
        min_segment = next < min_segment ? next : min_segment;
        next = link;
    } while (next != s);
    run->count = count;
    return min_segment;
}

/* The maximum segment with a length in a closed run, or CRN_NONE. */
static uint32_t find_start(const crn_contours_track *track, uint32_t s)
{
    uint32_t max_segment = CRN_NONE, at = s;
    do {
        uint32_t next = track->links[at];
        if (!is_same(&track->points[next], &track->points[at]) &&
            (max_segment == CRN_NONE || next > max_segment))
            max_segment = next;
        at = next;
    } while (at != s);
    return max_segment;
}

/* As trace_closed, but skips segments without a length; none may be left. */
static uint32_t trace_closed_checked(crn_contours_part *part, uint32_t s, crn_contours_run *run)
{
    uint32_t *links = part->track.links;
    const crn_point *points = part->track.points, *before = NULL;
    crn_point *path = part->path + run->start;
    uint32_t start = find_start(&part->track, s), count = 0, min_segment = CRN_NONE;
    bool is_empty = start == CRN_NONE;
    start = is_empty ? s : start;
    uint32_t at = start;
    do {
        if (!is_empty && (!before || !is_same(&points[at], before))) {
            path[count++] = points[at];
            min_segment = at < min_segment ? at : min_segment;
        }
        before = &points[at];
        uint32_t next = links[at];
        links[at] = CRN_NONE;
        at = next;
    } while (at != start);
    run->count = count;
    return min_segment;
}

/* Traces all open runs. Returns their number of points. */
static uint32_t trace_open_runs(crn_contours_part *part, bool check, crn_pace *pace)
{
    uint32_t points = 0;
    for (uint32_t i = 0; i < part->open_count; i++) {
        crn_contours_run *run = &part->runs[i];
        crn_open_run *open = &part->open_runs[i];
        run->start = points;
        if (pace->over)
            return points;
        if (check)
            trace_open(part, open, run, true);
        else
            trace_open(part, open, run, false);
        points += run->count;
        (void)crn_pace_over(pace, SEGMENT_WORK * (int64_t)run->count);
        if (run->count)
            note_min_segment(part, open->min_segment, i);
        open->has_predecessor = false;
        open->head = CRN_NONE;
        if (open->enters_from_strip || open->exit != CRN_NONE)
            continue; /* may continue in another strip: stitch.c */
        open->head = i;
        open->head_strip = -1;
        open->offset = 0;
        open->closed = false;
        open->total = run->count;
        open->base = CRN_NONE;
        part->contour_count += run->count > 0;
        part->point_count += run->count > 0 ? (uint64_t)run->count + 1 : 0;
    }
    return points;
}

/* All remaining segments belong to closed runs. Visited from last to first, each is met at its
 * maximum segment, where its contour starts. */
static void trace_rest(crn_contours_part *part, uint32_t points, bool check, crn_pace *pace)
{
    uint32_t count = part->open_count;
    for (uint32_t s = part->track.count; s-- > 0;) {
        if (is_end(part->track.links[s]))
            continue;
        crn_contours_run *run = &part->runs[count];
        run->start = points;
        run->base = CRN_NONE;
        uint32_t min_segment =
            check ? trace_closed_checked(part, s, run) : trace_closed(part, s, run);
        if (!run->count)
            continue;
        note_min_segment(part, min_segment, count);
        points += run->count;
        count++;
        if (crn_pace_over(pace, SEGMENT_WORK * (int64_t)run->count))
            return;
    }
    uint32_t closed = count - part->open_count;
    part->run_count = count;
    part->contour_count += closed;
    for (uint32_t i = part->open_count; i < count; i++)
        part->point_count += (uint64_t)part->runs[i].count + 1;
}

void crn_contours_trace(const crn_contours_job *job, crn_contours_part *part, crn_pace *pace)
{
    bool check = part->track.extreme >= job->near_pixel;
    uint32_t points = trace_open_runs(part, check, pace);
    if (pace->over)
        return;
    trace_rest(part, points, check, pace);
    if (pace->over)
        return;
    uint32_t count = 0;
    for (uint32_t s = 0; s < part->track.count; s++) {
        uint32_t note = part->track.links[s];
        part->order[count] = note & ~CRN_LINK_END;
        count += note != CRN_NONE;
    }
    part->order_count = count;
}

/* --- copying points into the result --- */

/* Destination of a contour of `segments` segments. */
typedef struct destination {
    crn_point *first;
    uint32_t segments;
    bool reversed;
} destination;

static crn_point *point_at(const destination *to, uint32_t index)
{
    return to->first + (to->reversed ? to->segments - index : index);
}

/* Copies points of a run to index `index` of the contour and onwards. */
static void copy_points(const destination *to, uint32_t index, const crn_point *points,
                        uint32_t count)
{
    crn_point *out = point_at(to, index);
    if (to->reversed)
        for (uint32_t i = 0; i < count; i++)
            *out-- = points[i];
    else if (count)
        memcpy(out, points, count * sizeof *out);
}

/* Copies the points of an open run, which may be one of several of its contour. */
static void copy_open_run(const crn_contours_job *job, uint32_t channel,
                          const crn_contours_part *part, uint32_t i, crn_contours *out)
{
    crn_open_run *open = &part->open_runs[i];
    const crn_contours_run *run = &part->runs[i];
    const crn_open_run *head = crn_open_run_head(job, channel, open);
    if (head->base == CRN_NONE)
        return;
    destination to = {out->points + head->base, head->total,
                      job->params->orientation == CRN_ORIENT_HIGH};
    const crn_point *points = part->path + run->start;
    if (!head->closed) {
        if (open == head)
            *point_at(&to, 0) = open->first_point;
        copy_points(&to, open->offset + 1, points, run->count);
        return;
    }
    /* A closed contour starts within its head run; the points before the start go to the
     * contour's end. */
    uint32_t before = open == head ? open->max_index : 0;
    if (open == head)
        *point_at(&to, to.segments) = points[before];
    copy_points(&to, open->offset, points + before, run->count - before);
    copy_points(&to, to.segments - before, points, before);
}

void crn_contours_copy(const crn_contours_job *job, int32_t strip, uint32_t channel,
                       crn_contours *out)
{
    const crn_contours_part *part = &job->strips[strip].parts[channel];
    for (uint32_t i = 0; i < part->open_count; i++)
        copy_open_run(job, channel, part, i, out);
    for (uint32_t i = part->open_count; i < part->run_count; i++) {
        const crn_contours_run *run = &part->runs[i];
        if (run->base == CRN_NONE)
            continue;
        destination to = {out->points + run->base, run->count,
                          job->params->orientation == CRN_ORIENT_HIGH};
        const crn_point *points = part->path + run->start;
        copy_points(&to, 0, points, run->count);
        *point_at(&to, run->count) = points[0];
    }
}
