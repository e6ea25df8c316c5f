#include "tools/common/calibration/calibration.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define GREEN 1 /* the sample of a colour picture that is looked at */

void crn_calibration_note(crn_calibration *calibration, const char *format, ...)
{
    va_list arguments;
    if (calibration->note_count == CRN_CALIBRATION_NOTES_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(calibration->notes[calibration->note_count++], CRN_CALIBRATION_TEXT_BYTES, format,
              arguments);
    va_end(arguments);
}

void crn_calibration_write(crn_calibration *calibration, const char *found, ...)
{
    char text[CRN_CALIBRATION_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, found);
    vsnprintf(text, sizeof text, found, arguments);
    va_end(arguments);
    snprintf(calibration->lines, sizeof calibration->lines, "# %s\ngeometry:\n  mm_per_px: %.5g\n",
             text, calibration->mm_per_px);
}

/* One plane of u8: of a colour picture the green one. */
static int take_plane(const crn_picture *picture, const char *name, crn_image *ret_plane,
                      crn_error *error)
{
    crn_image plane = picture->image;
    if (plane.type != CRN_U8)
        return crn_error_set(error, -EINVAL,
                             "%s: %s per sample; 8 bits expected: save it as 8 bits", name,
                             crn_type_name(plane.type));
    if (picture->samples > GREEN)
        plane.data = (uint8_t *)plane.data + GREEN * plane.plane_stride;
    plane.planes = 1;
    *ret_plane = plane;
    return 0;
}

int crn_calibrate(const crn_picture *picture, const char *name,
                  const crn_calibration_target *target, crn_calibration *ret_calibration,
                  crn_error *error)
{
    crn_calibration_input input = {.name = name};
    crn_calibration calibration = {0};
    int r = take_plane(picture, name, &input.plane, error);
    if (r < 0)
        return r;
    r = target->pitch_mm > 0 ? crn_calibrate_board(&input, target->pitch_mm, &calibration, error)
                             : crn_calibrate_disc(&input, target->disc_mm, &calibration, error);
    if (r < 0)
        crn_calibration_done(&calibration);
    else
        *ret_calibration = calibration;
    return r;
}

void crn_calibration_done(crn_calibration *calibration)
{
    crn_corners_free(&calibration->corners);
}
