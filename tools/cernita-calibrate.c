/* cernita-calibrate: the scale of a camera, from a picture of a target of known size. */
#include <getopt.h>
#include <stdio.h>

#include "stages/base/process/standard.h"
#include "tools/common/calibration/calibration.h"
#include "tools/common/options.h"

static const crn_option options[] = {
    CRN_OPTION_AT("disc", "MM", crn_calibration_target, disc_mm,
                  .min = CRN_CALIBRATION_TARGET_MIN_MM, .max = CRN_CALIBRATION_TARGET_MAX_MM,
                  .help = "the picture shows a disc of this diameter"),
    CRN_OPTION_AT("chequerboard", "PITCH_MM", crn_calibration_target, pitch_mm,
                  .min = CRN_CALIBRATION_TARGET_MIN_MM, .max = CRN_CALIBRATION_TARGET_MAX_MM,
                  .help = "the picture shows a chequerboard whose squares have this side"),
    {0},
};

static const crn_tool tool = {
    "cernita-calibrate",
    "PICTURE",
    "Prints the section geometry with mm_per_px, the scale of a camera: from a picture (8 bits "
    "per\n"
    "sample) of a flat target that faces the camera at the height of the roll axis. That is a "
    "disc\n"
    "of known diameter, whole in the picture, on a background that is darker, or brighter, than "
    "it\n"
    "all around; or a chequerboard of at least 4 x 4 squares of known side, each 10 px or more.",
    options,
    1,
    1};

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-calibrate");
    crn_calibration_target target = {0};
    crn_picture picture = {0};
    crn_calibration calibration;
    crn_error error;
    crn_options_read(&tool, argc, argv, &target);
    if ((target.disc_mm > 0) == (target.pitch_mm > 0))
        crn_usage_error(&tool, "what does the picture show? Either --disc or --chequerboard");
    const char *path = argv[optind];
    int r = crn_picture_read(path, &picture, &error);
    if (r == 0)
        r = crn_calibrate(&picture, path, &target, &calibration, &error);
    crn_picture_free(&picture);
    if (r < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    for (int32_t i = 0; i < calibration.note_count; i++)
        crn_tool_note(&tool, "%s", calibration.notes[i]);
    printf("%s", calibration.lines);
    crn_calibration_done(&calibration);
    return 0;
}
