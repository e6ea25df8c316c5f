#include "tools/workbench/levels/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/recording/recording.h"
#include "stages/backend.h"
#include "stages/base/clock.h"
#include "stages/chain/chain.h"
#include "tools/common/progress.h"

/* What the sweep works with. */
typedef struct level_sweep {
    crn_config *config;
    double levels[CRN_CLASSES_MAX]; /* of the configuration, to be put back */
    int32_t steps;                  /* of the configuration */
    crn_chain *chain;
    crn_defects defects;
    crn_labels *labels;
    crn_level_counts *found;
} level_sweep;

/* --- one view --------------------------------------------------------------------------------- */

/* Whether a class's defects are in the view: 1, 0, or -1 if nothing says so. */
typedef struct view_labels {
    int8_t has_defect[CRN_CLASSES_MAX];
    crn_picture mask; /* data NULL: there is none */
} view_labels;

/* A row counts more than the view's mask. 1, 0 if nothing is known of the view, or negative errno.
 */
static int find_labels(level_sweep *sweep, const crn_view_header *header, view_labels *ret_known,
                       crn_error *error)
{
    int32_t classes = sweep->config->classes.count;
    bool seen[CRN_MASK_UNKNOWN + 1] = {false};
    *ret_known = (view_labels){0};
    int r = crn_labels_read_mask(sweep->labels, header, classes, &ret_known->mask, error);
    const crn_image *mask = &ret_known->mask.image;
    if (r < 0)
        return r;
    for (int32_t y = 0; r == 1 && y < mask->height; y++)
        for (int32_t x = 0; x < mask->width; x++)
            seen[(int32_t)crn_image_at(mask, 0, y, x)] = true;
    bool known = r == 1;
    for (int32_t i = 0; i < classes; i++) {
        const crn_label *label = crn_labels_find(sweep->labels, header, i);
        ret_known->has_defect[i] = (int8_t)(label ? label->has_defect : r == 1 ? seen[i] : -1);
        known = known || label;
    }
    return known;
}

/* The index of the highest level that a probability reaches. */
static int32_t level_of(double probability)
{
    int32_t index = (int32_t)(probability * (CRN_LEVEL_COUNT - 1));
    while (index + 1 < CRN_LEVEL_COUNT && probability >= crn_level_at(index + 1))
        index++;
    while (index >= 0 && probability < crn_level_at(index))
        index--;
    return index;
}

/* Pixels of the maps as received; those that are not numbers reach no level. */
static void count_pixels(level_sweep *sweep, const crn_image *maps, const crn_image *mask)
{
    double unit = maps->type == CRN_U8 ? 255 : 1;
    for (int32_t plane = 0; plane < maps->planes; plane++) {
        crn_curve *curve = &sweep->found->at[plane].pixels;
        uint64_t reach[CRN_LEVEL_COUNT][2] = {{0}}; /* by the highest level, and has_defect */
        for (int32_t y = 0; sweep->found->at[plane].outlined && y < maps->height; y++)
            for (int32_t x = 0; x < maps->width; x++) {
                int32_t value = (int32_t)crn_image_at(mask, 0, y, x);
                double probability = (double)crn_image_at(maps, plane, y, x) / unit;
                if (value == CRN_MASK_UNKNOWN)
                    continue;
                crn_curve_label(curve, value == plane);
                if (probability >= 0)
                    reach[level_of(fmin(probability, 1))][value == plane]++;
            }
        uint64_t found[2] = {0, 0};
        for (int32_t i = CRN_LEVEL_COUNT - 1; i >= 0; i--) {
            for (int has_defect = 0; has_defect < 2; has_defect++)
                found[has_defect] += reach[i][has_defect];
            curve->hits[i] += found[1];
            curve->alarms[i] += found[0];
        }
    }
}

/* Runs the chain with all classes at one level, and notes which have an outline. */
static int find_outlines(level_sweep *sweep, const crn_chain_input *input, double level,
                         bool ret_has[CRN_CLASSES_MAX])
{
    crn_classes *classes = &sweep->config->classes;
    crn_judgement judgement;
    for (int32_t i = 0; i < classes->count; i++)
        classes->level[i] = sweep->found->at[i].outlined ? level : NAN;
    memset(ret_has, 0, CRN_CLASSES_MAX * sizeof *ret_has);
    int r = crn_chain_run(sweep->chain, input, &sweep->defects, &judgement);
    for (uint32_t i = 0; r == 0 && i < sweep->defects.defect_count; i++)
        if (!sweep->defects.defects[i].hole)
            ret_has[sweep->defects.defects[i].channel] = true;
    sweep->found->truncated += r == 0 && sweep->defects.truncated;
    return r;
}

static int count_views(level_sweep *sweep, const crn_recorded_view *view, const crn_image *maps,
                       const view_labels *known)
{
    crn_chain_input input = {
        .maps = *maps, .received_ns = crn_now_ns(), .deadline_ns = CRN_NEVER_NS};
    int32_t classes = sweep->config->classes.count;
    int r = 0;
    if (view->intensity)
        input.intensity = crn_image_dense((void *)(uintptr_t)view->intensity, CRN_U8, CRN_CHW, 1,
                                          maps->height, maps->width);
    for (int32_t i = 0; i < classes; i++)
        if (sweep->found->at[i].outlined && known->has_defect[i] >= 0)
            crn_curve_label(&sweep->found->at[i].views, known->has_defect[i]);
    for (int32_t at = 0; r == 0 && at < CRN_LEVEL_COUNT; at++) {
        bool has[CRN_CLASSES_MAX];
        r = find_outlines(sweep, &input, crn_level_at(at), has);
        for (int32_t i = 0; r == 0 && i < classes; i++)
            if (has[i] && known->has_defect[i] >= 0)
                crn_curve_find(&sweep->found->at[i].views, at, known->has_defect[i]);
    }
    return r;
}

static int take_view(level_sweep *sweep, const char *path, const crn_recorded_view *view,
                     crn_error *error)
{
    const crn_view_header *header = &view->header;
    int32_t classes = sweep->config->classes.count;
    view_labels known;
    if (header->channels != (uint32_t)classes)
        return crn_error_set(error, -EINVAL, "%s: has views of %u classes, but %d are named", path,
                             header->channels, classes);
    int r = find_labels(sweep, header, &known, error);
    if (r <= 0)
        return r;
    crn_image maps =
        crn_image_dense((void *)(uintptr_t)view->maps, header->type, header->layout,
                        (int32_t)header->channels, (int32_t)header->height, (int32_t)header->width);
    sweep->found->labelled_views++;
    if (known.mask.image.data) {
        sweep->found->masks++;
        count_pixels(sweep, &maps, &known.mask.image);
    }
    r = count_views(sweep, view, &maps, &known);
    if (r < 0)
        crn_error_set(error, r, "%s: the chain cannot run on its views: %s", path, strerror(-r));
    crn_picture_free(&known.mask);
    return r;
}

/* --- all views -------------------------------------------------------------------------------- */

static int read_recording(level_sweep *sweep, const char *path, crn_progress *progress,
                          crn_error *error)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    int r = crn_recording_open(path, &reader, error);
    while (r == 0) {
        int found = crn_recording_next(reader, &view, error);
        if (found <= 0) {
            r = found;
            break;
        }
        r = take_view(sweep, path, &view, error);
        crn_progress_update(progress, ++sweep->found->views, NULL);
    }
    crn_recording_end(&reader);
    return r;
}

/* What comes after the contours is not needed. */
static void leave_out_features(level_sweep *sweep)
{
    crn_config *config = sweep->config;
    sweep->steps = config->steps;
    for (int32_t i = 0; i < config->steps; i++)
        if (config->chain[i].stage->kind == CRN_STAGE_CONTOURS)
            config->steps = i + 1;
}

static int open_sweep(level_sweep *sweep, crn_error *error)
{
    crn_config *config = sweep->config;
    const char *why = NULL;
    const crn_ops *ops = crn_backend_ops((crn_backend)config->run.backend, &why);
    if (!ops)
        return crn_error_set(error, -ENOTSUP, "%s: %s", crn_backend_names[config->run.backend],
                             why);
    memcpy(sweep->levels, config->classes.level, sizeof sweep->levels);
    for (int32_t i = 0; i < config->classes.count; i++)
        sweep->found->at[i].outlined = !isnan(sweep->levels[i]);
    leave_out_features(sweep);
    sweep->defects = (crn_defects){.defect_capacity = (uint32_t)config->limits.defects,
                                   .point_capacity = (uint32_t)config->limits.points};
    sweep->defects.defects =
        malloc(sweep->defects.defect_capacity * sizeof *sweep->defects.defects);
    sweep->defects.xy =
        malloc(2 * (size_t)sweep->defects.point_capacity * sizeof *sweep->defects.xy);
    int r = sweep->defects.defects && sweep->defects.xy ? 0 : -ENOMEM;
    if (r == 0)
        r = crn_chain_create(config, ops, &sweep->chain);
    return r < 0 ? crn_error_set(error, r, "the chain cannot be made: %s", strerror(-r)) : 0;
}

static void close_sweep(level_sweep *sweep)
{
    crn_chain_free(&sweep->chain);
    free(sweep->defects.defects);
    free(sweep->defects.xy);
    memcpy(sweep->config->classes.level, sweep->levels, sizeof sweep->levels);
    sweep->config->steps = sweep->steps;
}

int crn_levels_sweep(crn_config *config, const char *const paths[], int count, crn_labels *labels,
                     crn_level_counts *ret_levels, crn_error *error)
{
    level_sweep sweep = {.config = config, .labels = labels, .found = ret_levels};
    crn_progress progress;
    *ret_levels = (crn_level_counts){0};
    int r = open_sweep(&sweep, error);
    if (r < 0 && !sweep.steps)
        return r; /* nothing was changed */
    crn_progress_begin(&progress, "views", 0);
    for (int i = 0; r == 0 && i < count; i++)
        r = read_recording(&sweep, paths[i], &progress, error);
    crn_progress_end(&progress);
    for (size_t i = 0; i < labels->count; i++)
        ret_levels->unused_labels += !labels->at[i].used;
    close_sweep(&sweep);
    return r;
}
