/*
 * The scale of a camera, from a picture of a target that faces it at the height of the roll axis: a
 * disc of known diameter, or a chequerboard of known pitch. For cernita-calibrate and the
 * workbench.
 */
#ifndef CRN_TOOLS_COMMON_CALIBRATION_CALIBRATION_H
#define CRN_TOOLS_COMMON_CALIBRATION_CALIBRATION_H

#include "stages/base/error.h"
#include "stages/cernita_surface.h"
#include "stages/picture/picture.h"
#include "tools/common/calibration/corners.h"

#define CRN_CALIBRATION_TARGET_MIN_MM 0.1 /* a disc's diameter, a square's side */
#define CRN_CALIBRATION_TARGET_MAX_MM 1e5
#define CRN_CALIBRATION_NOTES_MAX     4
#define CRN_CALIBRATION_TEXT_BYTES    512

/* What lies in the picture: one of both. */
typedef struct crn_calibration_target {
    double disc_mm;  /* diameter; 0: no disc */
    double pitch_mm; /* from corner to corner of a chequerboard; 0: none */
} crn_calibration_target;

typedef struct crn_calibration {
    double mm_per_px;
    crn_surface_pose disc; /* of a disc */
    crn_corners corners;   /* of a chequerboard, by rows and columns; owned */
    int32_t columns, rows; /* of corners */
    int32_t note_count;
    char notes[CRN_CALIBRATION_NOTES_MAX][CRN_CALIBRATION_TEXT_BYTES]; /* what could be better */
    char lines[CRN_CALIBRATION_TEXT_BYTES * 2]; /* for a line's file, each ended by \n */
} crn_calibration;

/*
 * Finds the target in a picture of 8 bits per sample, of which a colour one's green is looked at.
 * `name` is what the picture is called in texts. 0, or negative errno with one line in *error that
 * says what is wrong with the picture. crn_calibration_done() frees what it owns.
 */
int crn_calibrate(const crn_picture *picture, const char *name,
                  const crn_calibration_target *target, crn_calibration *ret_calibration,
                  crn_error *error);
void crn_calibration_done(crn_calibration *calibration);

/* --- between calibration.c and its neighbours --------------------------------------------------
 */

/* One plane of u8, and what it is called. */
typedef struct crn_calibration_input {
    crn_image plane;
    const char *name;
} crn_calibration_input;

int crn_calibrate_disc(const crn_calibration_input *input, double disc_mm,
                       crn_calibration *calibration, crn_error *error);
int crn_calibrate_board(const crn_calibration_input *input, double pitch_mm,
                        crn_calibration *calibration, crn_error *error);

__attribute__((format(printf, 2, 3))) void crn_calibration_note(crn_calibration *calibration,
                                                                const char *format, ...);

/* Writes the lines: a comment that says what was found, and the section. */
__attribute__((format(printf, 2, 3))) void crn_calibration_write(crn_calibration *calibration,
                                                                 const char *found, ...);

#endif
