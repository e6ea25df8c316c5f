/* The scale from a flat disc: its outline is a fruit's. */
#include <errno.h>
#include <math.h>

#include "stages/cernita_surface.h"
#include "tools/common/calibration/calibration.h"

#define SURE     0.7  /* least confidence in a disc */
#define UNEVEN   0.02 /* of the axes: more is told */
#define SMALL_PX 100  /* diameter: of a smaller one a tenth of a pixel is more than 0.1 % */

static int find_disc(const crn_image *plane, crn_surface_pose *ret_pose, crn_error *error)
{
    const crn_surface_settings settings = {.classes = 1, .views = 1, .defects = 1, .points = 1};
    crn_context *context = NULL;
    crn_surface *surface = NULL;
    int r = crn_context_open(NULL, &context);
    if (r < 0)
        return crn_error_set(error, r, "out of memory");
    r = crn_surface_open(context, &settings, &surface);
    if (r == 0)
        r = crn_surface_find_pose(surface, plane, ret_pose);
    if (r < 0)
        crn_error_set(error, r, "%s", crn_context_error(context));
    crn_surface_free(&surface);
    crn_context_free(&context);
    return r;
}

int crn_calibrate_disc(const crn_calibration_input *input, double disc_mm,
                       crn_calibration *calibration, crn_error *error)
{
    crn_surface_pose pose;
    int r = find_disc(&input->plane, &pose, error);
    if (r < 0)
        return r;
    double width_px = 2 * pose.rx, height_px = 2 * pose.ry;
    if (pose.confidence < SURE)
        return crn_error_set(error, -ENOENT,
                             "%s: there is no disc that is sure (confidence %.2f, at least %.2f): "
                             "photograph it whole, evenly lit, on a darker or brighter background",
                             input->name, pose.confidence, SURE);
    if (fabs(width_px / height_px - 1) > UNEVEN)
        crn_calibration_note(calibration,
                             "%s: the disc is %.1f px wide and %.1f px high: it does not face the "
                             "camera, or the pixels are not square",
                             input->name, width_px, height_px);
    if (fmin(width_px, height_px) < SMALL_PX)
        crn_calibration_note(calibration,
                             "%s: the disc is %.0f px wide; a larger one is measured better",
                             input->name, width_px);
    calibration->disc = pose;
    calibration->mm_per_px = 2 * disc_mm / (width_px + height_px);
    crn_calibration_write(calibration,
                          "%s: a disc of %g mm is %.2f px wide and %.2f px high, its middle at x "
                          "%.2f, y %.2f; confidence %.2f",
                          input->name, disc_mm, width_px, height_px, pose.x, pose.y,
                          pose.confidence);
    return 0;
}
