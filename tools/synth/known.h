/* Fruits whose surface is known instead of those that look like a line's, and the file that says
 * what is true of them: one line of JSON a fruit. */
#ifndef CRN_TOOLS_SYNTH_KNOWN_H
#define CRN_TOOLS_SYNTH_KNOWN_H

#include "src/formats/view/wire.h"
#include "tools/common/known/known.h"

/* The options; all but `truth` are of use with it alone. */
typedef struct crn_synth_given {
    const char *truth, *skin; /* files; truth NULL: no such fruits */
    double mm_per_px, ratio, slip_percent, wobble_deg, distance_radii, dent_percent;
    double light, highlight, rollers_percent, dirt_percent;
    bool neighbour, poses;
} crn_synth_given;

/* What they are without the option. */
extern const crn_synth_given crn_synth_usual;

/* Whether all but `truth` is so. */
bool crn_synth_is_usual(const crn_synth_given *given);

typedef struct crn_synth_known crn_synth_known;

/*
 * Creates the truth file.
 *
 * @param kind size, views and classes (with channel 0, background) of the recording
 * @return 0, or negative errno and a text
 */
int crn_synth_known_open(const crn_synth_given *given, const crn_known_kind *kind, uint64_t seed,
                         crn_synth_known **ret_known, crn_error *error);

/* Renders a view: probabilities as height x width x classes, and the photograph. Returns its pose,
 * rolled since the fruit's first view. */
crn_wire_pose crn_synth_known_render(crn_synth_known *known, uint64_t fruit, int32_t view,
                                     float *ret_maps, unsigned char *ret_photograph);

/* Writes a fruit's line. 0, or negative errno and a text. */
int crn_synth_known_tell(crn_synth_known *known, uint64_t fruit, uint64_t lane, crn_error *error);

/* Completes the file: 0, or negative errno and a text. */
int crn_synth_known_close(crn_synth_known **known, crn_error *error);

/* Frees it, and removes a file that was not completed. NULL is allowed. */
void crn_synth_known_discard(crn_synth_known **known);

#endif
