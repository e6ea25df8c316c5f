/* Stitching: open runs are joined across strips, and every contour gets its range in the result. */
#include "stages/openmp/contours/contours.h"

static crn_contours_part *part_of(const crn_contours_job *job, int32_t strip, uint32_t channel)
{
    return &job->strips[strip].parts[channel];
}

/* Finds the successor of an open run in the strip above or below. */
static void find_next(const crn_contours_job *job, int32_t strip, uint32_t channel,
                      crn_open_run *open)
{
    open->next = CRN_NONE;
    if (open->exit == CRN_NONE)
        return;
    bool is_down = open->exit & CRN_LINK_BOTTOM;
    open->next_strip = strip + (is_down ? 1 : -1);
    const crn_contours_strip *other = &job->strips[open->next_strip];
    const uint32_t *entries = is_down ? other->top_entries : other->bottom_entries;
    open->next = entries[open->exit & CRN_LINK_BIT];
    if (open->next != CRN_NONE)
        part_of(job, open->next_strip, channel)->open_runs[open->next].has_predecessor = true;
}

/* A position in the raster order of one channel. */
typedef struct contour_position {
    int32_t strip;
    uint32_t segment, run;
} contour_position;

static bool precedes(const contour_position *a, const contour_position *b)
{
    return a->strip != b->strip ? a->strip < b->strip : a->segment < b->segment;
}

/* Summary of a chain of runs, to its end or once round. */
typedef struct stitch_summary {
    uint32_t total;
    contour_position min_segment, max_segment;
} stitch_summary;

static stitch_summary sum_up(const crn_contours_job *job, int32_t strip, uint32_t channel,
                             uint32_t first)
{
    stitch_summary sum = {.total = 0};
    int32_t at = strip;
    uint32_t i = first;
    do {
        const crn_contours_part *part = part_of(job, at, channel);
        const crn_open_run *open = &part->open_runs[i];
        const crn_contours_run *run = &part->runs[i];
        if (run->count) {
            contour_position min_segment = {at, open->min_segment, i};
            contour_position max_segment = {at, open->max_segment, i};
            if (!sum.total || precedes(&min_segment, &sum.min_segment))
                sum.min_segment = min_segment;
            if (!sum.total || precedes(&sum.max_segment, &max_segment))
                sum.max_segment = max_segment;
            sum.total += run->count;
        }
        at = open->next_strip;
        i = open->next;
    } while (i != CRN_NONE && !(at == strip && i == first));
    return sum;
}

static void join(const crn_contours_job *job, int32_t strip, uint32_t channel, uint32_t first,
                 bool closed)
{
    stitch_summary sum = sum_up(job, strip, channel, first);
    /* A closed contour starts at the end of its last segment in raster order. */
    int32_t head_strip = closed && sum.total ? sum.max_segment.strip : strip;
    uint32_t head = closed && sum.total ? sum.max_segment.run : first, offset = 0, i = head;
    int32_t at = head_strip;
    do {
        crn_contours_part *part = part_of(job, at, channel);
        crn_open_run *open = &part->open_runs[i];
        bool is_head = at == head_strip && i == head;
        open->head_strip = head_strip;
        open->head = head;
        open->offset = offset;
        offset += part->runs[i].count - (is_head && closed ? open->max_index : 0);
        at = open->next_strip;
        i = open->next;
    } while (i != CRN_NONE && !(at == head_strip && i == head));

    crn_open_run *open = &part_of(job, head_strip, channel)->open_runs[head];
    open->closed = closed;
    open->total = sum.total;
    open->base = CRN_NONE;
    if (!sum.total)
        return;
    open->min_strip = sum.min_segment.strip;
    open->min_run = sum.min_segment.run;
    part_of(job, sum.min_segment.strip, channel)->contour_count++;
    part_of(job, sum.min_segment.strip, channel)->point_count += (uint64_t)sum.total + 1;
}

void crn_contours_stitch(const crn_contours_job *job, uint32_t channel)
{
    for (int32_t k = 0; k < job->strip_count; k++)
        for (uint32_t i = 0; i < part_of(job, k, channel)->open_count; i++)
            find_next(job, k, channel, &part_of(job, k, channel)->open_runs[i]);
    /* Chains with a start first; the remaining runs form closed contours. */
    for (int closed = 0; closed < 2; closed++)
        for (int32_t k = 0; k < job->strip_count; k++) {
            const crn_contours_part *part = part_of(job, k, channel);
            for (uint32_t i = 0; i < part->open_count; i++)
                if (part->open_runs[i].head == CRN_NONE &&
                    (closed || !part->open_runs[i].has_predecessor))
                    join(job, k, channel, i, closed);
        }
}

void crn_contours_allocate(const crn_contours_job *job, int32_t strip, uint32_t channel,
                           crn_contours *out)
{
    crn_contours_part *part = part_of(job, strip, channel);
    if (part->left_out)
        return;
    uint64_t contours = part->contour_base, points = part->point_base;
    for (uint32_t k = 0; k < part->order_count; k++) {
        uint32_t i = part->order[k], segments = part->runs[i].count;
        uint32_t *base = &part->runs[i].base;
        bool closed = true;
        if (i < part->open_count) {
            crn_open_run *head = crn_open_run_head(job, channel, &part->open_runs[i]);
            if (part->open_runs[i].head_strip >= 0 &&
                (head->min_strip != strip || head->min_run != i))
                continue;
            segments = head->total;
            closed = head->closed;
            base = &head->base;
        }
        if (contours == out->contour_capacity || points + segments + 1 > out->point_capacity) {
            out->contour_count = (uint32_t)contours;
            out->point_count = (uint32_t)points;
            return;
        }
        *base = (uint32_t)points;
        out->contours[contours++] =
            (crn_contour){job->plane + (int32_t)channel, closed, (uint32_t)points, segments + 1};
        points += (uint64_t)segments + 1;
    }
}
