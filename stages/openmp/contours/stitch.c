/* Stitching: open runs are joined across strips, and every contour gets its range in the result. */
#include "stages/openmp/contours/contours.h"

static crn_contours_part *part_of(const crn_contours_job *job, int32_t strip, uint32_t channel)
{
    return &job->strips[strip].parts[channel];
}

/* Finds the successor of an open run in the strip above or below. */
static void find_next(const crn_contours_job *job, int32_t strip, uint32_t channel,
                      crn_open_run *opening)
{
    opening->next = CRN_NONE;
    if (opening->exit == CRN_NONE)
        return;
    bool is_down = opening->exit & CRN_LINK_BOTTOM;
    opening->next_strip = strip + (is_down ? 1 : -1);
    const crn_contours_strip *other = &job->strips[opening->next_strip];
    const uint32_t *entries = is_down ? other->top_entries : other->bottom_entries;
    opening->next = entries[opening->exit & CRN_LINK_BIT];
    if (opening->next != CRN_NONE)
        part_of(job, opening->next_strip, channel)->openings[opening->next].followed = true;
}

/* A position in the raster order of one channel. */
typedef struct contour_position {
    int32_t strip;
    uint32_t segment, run;
} contour_position;

static bool is_before(const contour_position *a, const contour_position *b)
{
    return a->strip != b->strip ? a->strip < b->strip : a->segment < b->segment;
}

/* Summary of a chain of runs, to its end or once round. */
typedef struct stitch_summary {
    uint32_t total;
    contour_position least, greatest;
} stitch_summary;

static stitch_summary sum_up(const crn_contours_job *job, int32_t strip, uint32_t channel,
                             uint32_t first)
{
    stitch_summary sum = {.total = 0};
    int32_t at = strip;
    uint32_t i = first;
    do {
        const crn_contours_part *part = part_of(job, at, channel);
        const crn_open_run *opening = &part->openings[i];
        const crn_contours_run *run = &part->runs[i];
        if (run->count) {
            contour_position least = {at, opening->least, i};
            contour_position greatest = {at, opening->greatest, i};
            if (!sum.total || is_before(&least, &sum.least))
                sum.least = least;
            if (!sum.total || is_before(&sum.greatest, &greatest))
                sum.greatest = greatest;
            sum.total += run->count;
        }
        at = opening->next_strip;
        i = opening->next;
    } while (i != CRN_NONE && !(at == strip && i == first));
    return sum;
}

static void join(const crn_contours_job *job, int32_t strip, uint32_t channel, uint32_t first,
                 bool closed)
{
    stitch_summary sum = sum_up(job, strip, channel, first);
    /* A closed contour starts at the end of its last segment in raster order. */
    int32_t lead_strip = closed && sum.total ? sum.greatest.strip : strip;
    uint32_t lead = closed && sum.total ? sum.greatest.run : first, offset = 0, i = lead;
    int32_t at = lead_strip;
    do {
        crn_contours_part *part = part_of(job, at, channel);
        crn_open_run *opening = &part->openings[i];
        bool is_lead = at == lead_strip && i == lead;
        opening->lead_strip = lead_strip;
        opening->lead = lead;
        opening->offset = offset;
        offset += part->runs[i].count - (is_lead && closed ? opening->greatest_at : 0);
        at = opening->next_strip;
        i = opening->next;
    } while (i != CRN_NONE && !(at == lead_strip && i == lead));

    crn_open_run *opening = &part_of(job, lead_strip, channel)->openings[lead];
    opening->closed = closed;
    opening->total = sum.total;
    opening->base = CRN_NONE;
    if (!sum.total)
        return;
    opening->least_strip = sum.least.strip;
    opening->least_run = sum.least.run;
    part_of(job, sum.least.strip, channel)->contour_count++;
    part_of(job, sum.least.strip, channel)->point_count += (uint64_t)sum.total + 1;
}

void crn_contours_stitch(const crn_contours_job *job, uint32_t channel)
{
    for (int32_t k = 0; k < job->strip_count; k++)
        for (uint32_t i = 0; i < part_of(job, k, channel)->opening_count; i++)
            find_next(job, k, channel, &part_of(job, k, channel)->openings[i]);
    /* Chains with a start first; the remaining runs form closed contours. */
    for (int closed = 0; closed < 2; closed++)
        for (int32_t k = 0; k < job->strip_count; k++) {
            const crn_contours_part *part = part_of(job, k, channel);
            for (uint32_t i = 0; i < part->opening_count; i++)
                if (part->openings[i].lead == CRN_NONE && (closed || !part->openings[i].followed))
                    join(job, k, channel, i, closed);
        }
}

void crn_contours_place(const crn_contours_job *job, int32_t strip, uint32_t channel,
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
        if (i < part->opening_count) {
            crn_open_run *lead = crn_open_run_head(job, channel, &part->openings[i]);
            if (part->openings[i].lead_strip >= 0 &&
                (lead->least_strip != strip || lead->least_run != i))
                continue;
            segments = lead->total;
            closed = lead->closed;
            base = &lead->base;
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
