/* Links become runs: the segments in order of travel; and runs become points in their place. */
#include "stages/openmp/contours.h"

static bool is_same(const crn_point *a, const crn_point *b)
{
    return a->x == b->x && a->y == b->y;
}

static bool is_end(uint32_t link)
{
    return link & CRN_LINK_END;
}

/* The run from an opening to where it ends. `check`: leave out segments without a length. */
static inline __attribute__((always_inline)) void trace_open(crn_contours_part *part,
                                                             crn_contours_opening *opening,
                                                             crn_contours_run *run, bool check)
{
    uint32_t *links = part->track.links, *chain = part->chains + run->start;
    uint32_t count = 0, least = CRN_NONE, greatest = 0, greatest_at = 0;
    const crn_point *before = &opening->head;
    uint32_t link = opening->segment;
    do {
        uint32_t s = link;
        link = links[s];
        links[s] = CRN_NONE;
        if (check) {
            const crn_point *point = &part->track.points[s];
            bool has_length = !is_same(point, before);
            before = point;
            if (!has_length)
                continue;
        }
        least = s < least ? s : least;
        greatest_at = s >= greatest ? count : greatest_at;
        greatest = s >= greatest ? s : greatest;
        chain[count++] = s;
    } while (!is_end(link));
    run->count = count;
    opening->exit = link;
    opening->least = least;
    opening->greatest_at = greatest_at;
}

/* The closed run that starts with s, the greatest of its segments. Returns the least. */
static uint32_t trace_closed(crn_contours_part *part, uint32_t s, crn_contours_run *run)
{
    uint32_t *links = part->track.links, *chain = part->chains + run->start;
    uint32_t count = 0, least = s, next = s;
    do {
        chain[count++] = next;
        least = next < least ? next : least;
        uint32_t link = links[next];
        links[next] = CRN_NONE;
        next = link;
    } while (next != s);
    run->count = count;
    return least;
}

/* The same where segments may have no length: CRN_NONE when none is left. */
static uint32_t trace_closed_checked(crn_contours_part *part, uint32_t s, crn_contours_run *run)
{
    uint32_t *links = part->track.links, *chain = part->chains + run->start;
    const crn_point *points = part->track.points;
    uint32_t count = 0, least = CRN_NONE, greatest = CRN_NONE, at = s;
    do {
        uint32_t next = links[at];
        if (!is_same(&points[next], &points[at]) && (greatest == CRN_NONE || next > greatest))
            greatest = next;
        at = next;
    } while (at != s);

    uint32_t start = greatest == CRN_NONE ? s : greatest;
    const crn_point *before = NULL;
    at = start;
    do {
        if (greatest != CRN_NONE && (!before || !is_same(&points[at], before))) {
            chain[count++] = at;
            least = at < least ? at : least;
        }
        before = &points[at];
        uint32_t next = links[at];
        links[at] = CRN_NONE;
        at = next;
    } while (at != start);
    run->count = count;
    return least;
}

void crn_contours_trace(const crn_contours_job *job, crn_contours_part *part)
{
    bool check = part->track.extreme >= job->near_pixel;
    uint32_t chained = 0;
    for (uint32_t i = 0; i < part->opening_count; i++) {
        crn_contours_run *run = &part->runs[i];
        crn_contours_opening *opening = &part->openings[i];
        run->start = chained;
        run->base = CRN_NONE;
        if (check)
            trace_open(part, opening, run, true);
        else
            trace_open(part, opening, run, false);
        chained += run->count;
        opening->followed = false;
        opening->lead = CRN_NONE;
        if (opening->entered || opening->exit != CRN_NONE)
            continue; /* more may belong to it: contours_stitch.c */
        opening->lead = i;
        opening->lead_strip = -1;
        opening->closed = false;
        opening->offset = 0;
        opening->total = run->count;
        opening->base = CRN_NONE;
        if (run->count)
            crn_contours_note(part, opening->least, i, run->count);
    }
    part->run_count = part->opening_count;

    /* What is left is closed. From the last segment to the first, so that each is met where it
     * starts: with its greatest. */
    for (uint32_t s = part->track.count; s-- > 0;) {
        if (is_end(part->track.links[s]))
            continue;
        crn_contours_run *run = &part->runs[part->run_count];
        run->start = chained;
        run->base = CRN_NONE;
        uint32_t least = check ? trace_closed_checked(part, s, run) : trace_closed(part, s, run);
        if (!run->count)
            continue;
        crn_contours_note(part, least, part->run_count, run->count);
        chained += run->count;
        part->run_count++;
    }
}

/* --- points into their places
 * ----------------------------------------------------------------------- */

/* Where a contour of so many segments goes. */
typedef struct destination {
    crn_point *first;
    uint32_t segments;
    bool reversed;
} destination;

static crn_point *point_at(const destination *to, uint32_t place)
{
    return to->first + (to->reversed ? to->segments - place : place);
}

/* The ends of `count` segments of a chain, to that place of the contour and on. */
static void copy_ends(const destination *to, uint32_t place, const crn_point *points,
                      const uint32_t *chain, uint32_t count)
{
    crn_point *out = point_at(to, place);
    if (to->reversed)
        for (uint32_t i = 0; i < count; i++)
            *out-- = points[chain[i]];
    else
        for (uint32_t i = 0; i < count; i++)
            out[i] = points[chain[i]];
}

/* Of a contour that runs through several strips, or is open: this run's points. */
static void copy_opening(const crn_contours_job *job, uint32_t lane, const crn_contours_part *part,
                         uint32_t i, crn_contours *out)
{
    crn_contours_opening *opening = &part->openings[i];
    const crn_contours_run *run = &part->runs[i];
    const crn_contours_opening *lead = crn_contours_lead(job, lane, opening);
    if (lead->base == CRN_NONE)
        return;
    destination to = {out->points + lead->base, lead->total,
                      job->params->orientation == CRN_ORIENT_HIGH};
    const uint32_t *chain = part->chains + run->start;
    const crn_point *points = part->track.points;
    if (!lead->closed) {
        if (opening == lead)
            *point_at(&to, 0) = opening->head;
        copy_ends(&to, opening->offset + 1, points, chain, run->count);
        return;
    }
    /* The lead holds the start, not always as its first segment: what comes before goes to the end
     * of the contour. */
    uint32_t before = opening == lead ? opening->greatest_at : 0;
    if (opening == lead)
        *point_at(&to, to.segments) = points[chain[before]];
    copy_ends(&to, opening->offset, points, chain + before, run->count - before);
    copy_ends(&to, to.segments - before, points, chain, before);
}

void crn_contours_copy(const crn_contours_job *job, int32_t strip, uint32_t lane, crn_contours *out)
{
    const crn_contours_part *part = &job->strips[strip].parts[lane];
    const crn_point *points = part->track.points;
    for (uint32_t i = 0; i < part->opening_count; i++)
        copy_opening(job, lane, part, i, out);
    for (uint32_t i = part->opening_count; i < part->run_count; i++) {
        const crn_contours_run *run = &part->runs[i];
        if (run->base == CRN_NONE)
            continue;
        destination to = {out->points + run->base, run->count,
                          job->params->orientation == CRN_ORIENT_HIGH};
        const uint32_t *chain = part->chains + run->start;
        copy_ends(&to, 0, points, chain, run->count);
        *point_at(&to, run->count) = points[chain[0]];
    }
}
