/* The stage `contours`: traces the contours of every class that has a level and turns them
 * into defects. */
#include <errno.h>
#include <math.h>

#include "stages/context.h"
#include "stages/names.h"
#include "stages/stage/geometry.h"
#include "stages/stage/stage.h"

typedef struct contours_settings {
    int32_t connectivity; /* crn_connectivity */
    int32_t orientation;  /* crn_orientation */
    int32_t border;       /* crn_border */
    double min_area_px;
} contours_settings;

static const crn_param params[] = {
    CRN_PARAM(contours_settings, connectivity, .fallback = "low", .choices = crn_connectivity_names,
              .help = "which values stay connected at a saddle, where two contours meet"),
    CRN_PARAM(contours_settings, orientation, .fallback = "low", .choices = crn_orientation_names,
              .help = "which values lie left of a contour's direction of travel"),
    CRN_PARAM(contours_settings, border, .fallback = "closed", .choices = crn_border_names,
              .help = "whether contours end at the picture's border or close around it"),
    CRN_PARAM(contours_settings, min_area_px, .fallback = "0", .min = 0, .max = 1e9,
              .help = "contours of a smaller area are left out, holes too; square pixels"),
    {.key = NULL},
};

static int contours_prepare(void *settings, const crn_classes *classes, crn_error *error)
{
    (void)settings;
    for (int32_t i = 0; i < classes->count; i++)
        if (!isnan(classes->level[i]))
            return 0;
    return crn_error_set(error, -EINVAL,
                         "no class has a level, so there would be no contours; give one a level");
}

static int contours_enqueue(const void *settings, crn_job *job)
{
    const contours_settings *set = settings;
    if (job->maps.planes != job->classes->count || job->maps.planes > CRN_CLASSES_MAX)
        return -EINVAL;
    /* The operator compares raw map values; u8 maps hold 255 times the probability. */
    double unit = job->maps.type == CRN_U8 ? 255 : 1;
    double levels[CRN_CLASSES_MAX];
    for (int32_t i = 0; i < job->maps.planes; i++)
        levels[i] = job->classes->level[i] * unit;
    crn_contours_params request = {.levels = levels,
                                   .connectivity = (crn_connectivity)set->connectivity,
                                   .orientation = (crn_orientation)set->orientation,
                                   .border = (crn_border)set->border};
    return job->ops->contours(job->context, &request, &job->maps, &job->contours);
}

#define LEFT_OUT (-1)

/* Working arrays of finish, one entry per contour each, and runs, of which a contour has fewer than
 * points. */
typedef struct workspace {
    crn_outline *outlines;
    crn_nest *nests;
    int32_t *defect; /* index among the defects, or LEFT_OUT */
    void *sweep;
    crn_nest_runs runs;
    crn_run_sum *sums; /* of the runs */
} workspace;

/* Sized by the capacities and the picture's size, so that it is allocated once. */
static int workspace_take(crn_job *job, workspace *ret_workspace)
{
    size_t contours = job->contours.contour_capacity, points = job->contours.point_capacity;
    size_t sweep_bytes = crn_nest_scratch_bytes(job->contours.point_capacity, job->received.height,
                                                job->received.width);
    size_t each = sizeof(crn_outline) + sizeof(crn_nest) + sizeof(int32_t);
    size_t bytes = contours * each + sweep_bytes + points * sizeof(uint32_t);
    char *memory = crn_context_scratch(job->context, CRN_SLOT_FINISH, bytes);
    crn_run_sum *sums =
        crn_job_shared(job, CRN_SLOT_RUNS, points * (sizeof(crn_run_sum) + sizeof(crn_run)));
    if (!memory || !sums)
        return -ENOMEM;
    /* Arrays with 8-byte alignment come first. */
    ret_workspace->outlines = (crn_outline *)memory;
    ret_workspace->nests = (crn_nest *)(ret_workspace->outlines + contours);
    ret_workspace->sweep = ret_workspace->nests + contours;
    ret_workspace->defect = (int32_t *)((char *)ret_workspace->sweep + sweep_bytes);
    ret_workspace->sums = sums;
    ret_workspace->runs = (crn_nest_runs){.all = (crn_run *)(sums + points),
                                          .contour = (uint32_t *)ret_workspace->defect + contours};
    return 0;
}

/* Measures all contours and selects those that become defects: their number, and each
 * one's index. */
static void choose(const contours_settings *set, const crn_job *job, workspace *work,
                   crn_defects *defects, crn_pace *pace)
{
    const crn_contours *contours = &job->contours;
    bool full = false;
    for (uint32_t i = 0; i < contours->contour_count; i++) {
        const crn_contour *c = &contours->contours[i];
        crn_outline *outline = &work->outlines[i];
        if (crn_pace_over(pace, c->count * 4))
            return;
        crn_outline_measure(contours->points + c->first, c->count, c->closed, outline);
        bool possible = crn_outline_is_possible(outline, job->received.height, job->received.width);
        bool keep = possible && fabs(outline->area_px) >= set->min_area_px;
        if (keep && !full) {
            full = defects->defect_count == defects->defect_capacity ||
                   c->count > defects->point_capacity - defects->point_count;
            defects->truncated |= full;
        }
        keep = keep && !full;
        work->nests[i].wanted = keep;
        work->nests[i].ignored = !possible;
        work->defect[i] = LEFT_OUT;
        if (keep) {
            work->defect[i] = (int32_t)defects->defect_count++;
            defects->point_count += c->count;
        }
    }
}

/* Finds parents and the pixels inside, plane by plane. */
static void nest(const contours_settings *set, const crn_job *job, workspace *work, crn_pace *pace)
{
    const crn_contours *contours = &job->contours;
    uint32_t end;
    for (uint32_t first = 0; first < contours->contour_count && !pace->over; first = end) {
        int32_t plane = contours->contours[first].plane;
        for (end = first + 1; end < contours->contour_count; end++)
            if (contours->contours[end].plane != plane)
                break;
        const crn_plane_contours of_plane = {.plane = plane,
                                             .height = job->received.height,
                                             .width = job->received.width,
                                             .orientation = (crn_orientation)set->orientation,
                                             .points = contours->points,
                                             .contours = contours->contours + first,
                                             .count = end - first,
                                             .first = first};
        crn_nest_sweep(&of_plane, work->nests + first, &work->runs, work->sweep, pace);
        for (uint32_t i = first; i < end; i++)
            if (work->nests[i].parent >= 0)
                work->nests[i].parent += (int32_t)first;
    }
}

/* The nearest enclosing contour that became a defect; others are skipped. */
static int32_t parent_of(const workspace *work, uint32_t contour)
{
    int32_t parent = work->nests[contour].parent;
    while (parent >= 0 && work->defect[parent] == LEFT_OUT)
        parent = work->nests[parent].parent;
    return parent >= 0 ? work->defect[parent] : -1;
}

/* The mean of the pixels inside. If there are none (a sliver between pixel centres, or only NaN),
 * the level of the class, which is the map's value along the contour. */
static double mean_probability(const crn_job *job, int32_t channel, const crn_nest *nest)
{
    if (nest->pixels == 0)
        return job->classes->level[channel];
    return nest->sum / nest->pixels / (job->received.type == CRN_U8 ? 255 : 1);
}

/* Defects of the contours that are kept, and their points; all but the pixels' mean. */
static void describe(const contours_settings *set, const crn_contours *contours,
                     const workspace *work, crn_defects *defects)
{
    /* A clockwise contour has high values inside if low ones lie left of the direction
     * of travel. */
    double high_sign = set->orientation == CRN_ORIENT_LOW ? 1 : -1;
    uint32_t first_point = 0;
    for (uint32_t i = 0; i < contours->contour_count; i++) {
        if (work->defect[i] == LEFT_OUT)
            continue;
        const crn_contour *c = &contours->contours[i];
        const crn_outline *o = &work->outlines[i];
        defects->defects[work->defect[i]] =
            (crn_defect){.channel = c->plane,
                         .parent = parent_of(work, i),
                         .closed = c->closed,
                         .hole = c->closed && o->area_px * high_sign < 0,
                         .first_point = first_point,
                         .point_count = c->count,
                         .area_px = fabs(o->area_px),
                         .perimeter_px = o->perimeter_px,
                         .x0 = o->x0,
                         .y0 = o->y0,
                         .x1 = o->x1,
                         .y1 = o->y1,
                         .centroid_x = o->centroid_x,
                         .centroid_y = o->centroid_y};
        float *xy = defects->xy + 2 * (size_t)first_point;
        for (uint32_t p = 0; p < c->count; p++) {
            xy[2 * p] = (float)contours->points[c->first + p].x;
            xy[2 * p + 1] = (float)contours->points[c->first + p].y;
        }
        first_point += c->count;
    }
}

static int contours_finish(const void *settings, crn_job *job)
{
    const contours_settings *set = settings;
    const crn_contours *contours = &job->contours;
    workspace work;
    int r = workspace_take(job, &work);
    if (r < 0)
        return r;
    crn_defects *defects = job->defects;
    defects->defect_count = 0;
    defects->point_count = 0;
    defects->texture_count = 0;
    defects->truncated = contours->truncated;
    crn_pace pace = crn_pace_start(job->context);
    choose(set, job, &work, defects, &pace);
    nest(set, job, &work, &pace);
    if (pace.over)
        return crn_context_status(job->context);

    r = crn_job_map_ops(job)->sum_runs(crn_job_map_context(job), &job->received, work.runs.all,
                                       work.runs.count, work.sums);
    if (r < 0)
        return r;
    describe(set, contours, &work, defects); /* while a device sums */
    r = crn_job_wait(job);
    if (r < 0)
        return r;
    crn_nest_add(&work.runs, work.sums, work.nests);
    for (uint32_t i = 0; i < contours->contour_count; i++)
        if (work.defect[i] != LEFT_OUT)
            defects->defects[work.defect[i]].mean_probability =
                mean_probability(job, contours->contours[i].plane, &work.nests[i]);
    return 0;
}

const crn_stage crn_stage_contours = {
    .name = "contours",
    .help = "contours of every class that has a level",
    .kind = CRN_STAGE_CONTOURS,
    .params = params,
    .settings_bytes = sizeof(contours_settings),
    .prepare = contours_prepare,
    .enqueue = contours_enqueue,
    .finish = contours_finish,
};
