/* cernita-calibrate: the scale of a camera, from a picture of a disc of known diameter. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>

#include "stages/base/process/standard.h"
#include "stages/cernita_surface.h"
#include "stages/picture/picture.h"
#include "tools/common/options.h"

#define SURE     0.7  /* least confidence in a disc */
#define UNEVEN   0.02 /* of the axes: more is told */
#define SMALL_PX 100  /* diameter: of a smaller one a tenth of a pixel is more than 0.1 % */
#define GREEN    1    /* the sample of a colour picture that is looked at */

typedef struct calibration {
    double disc_mm;
} calibration;

static const crn_option options[] = {
    CRN_OPTION_AT("disc", "MM", calibration, disc_mm, .min = 1, .max = 1e5, .required = true,
                  .missing = ": what is the disc's diameter?", .help = "its diameter in mm"),
    {0},
};

static const crn_tool tool = {
    "cernita-calibrate",
    "PICTURE",
    "Prints mm_per_px, the scale of a camera: from a picture (8 bits per sample) of a flat disc "
    "of\n"
    "known diameter that faces the camera at the height of the roll axis. The disc lies whole in\n"
    "the picture, on a background that is darker, or brighter, than it all around.",
    options,
    1,
    1};

/* One plane of u8: of a colour picture the green one. */
static int take_plane(const crn_picture *picture, const char *path, crn_image *ret_plane,
                      crn_error *error)
{
    crn_image plane = picture->image;
    if (plane.type != CRN_U8)
        return crn_error_set(error, -1, "%s: %s per sample; 8 bits expected: save it as 8 bits",
                             path, crn_type_name(plane.type));
    if (picture->samples > GREEN)
        plane.data = (uint8_t *)plane.data + GREEN * plane.plane_stride;
    plane.planes = 1;
    *ret_plane = plane;
    return 0;
}

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

static int print_scale(const calibration *settings, const char *path, const crn_surface_pose *pose,
                       crn_error *error)
{
    double width_px = 2 * pose->rx, height_px = 2 * pose->ry;
    if (pose->confidence < SURE)
        return crn_error_set(error, -1,
                             "%s: there is no disc that is sure (confidence %.2f, at least %.2f): "
                             "photograph it whole, evenly lit, on a darker or brighter background",
                             path, pose->confidence, SURE);
    if (fabs(width_px / height_px - 1) > UNEVEN)
        crn_tool_note(&tool,
                      "%s: the disc is %.1f px wide and %.1f px high: it does not face the camera, "
                      "or the pixels are not square",
                      path, width_px, height_px);
    if (fmin(width_px, height_px) < SMALL_PX)
        crn_tool_note(&tool, "%s: the disc is %.0f px wide; a larger one is measured better", path,
                      width_px);
    printf("# %s: a disc of %g mm is %.2f px wide and %.2f px high, its middle at x %.2f, y %.2f; "
           "confidence %.2f\n"
           "mm_per_px: %.5g\n",
           path, settings->disc_mm, width_px, height_px, pose->x, pose->y, pose->confidence,
           2 * settings->disc_mm / (width_px + height_px));
    return 0;
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-calibrate");
    calibration settings = {0};
    crn_picture picture = {0};
    crn_image plane;
    crn_surface_pose pose;
    crn_error error;
    crn_options_read(&tool, argc, argv, &settings);
    const char *path = argv[optind];
    int r = crn_picture_read(path, &picture, &error);
    if (r == 0)
        r = take_plane(&picture, path, &plane, &error);
    if (r == 0)
        r = find_disc(&plane, &pose, &error);
    if (r == 0)
        r = print_scale(&settings, path, &pose, &error);
    crn_picture_free(&picture);
    return r < 0 ? crn_tool_fail(&tool, "%s", error.text) : 0;
}
