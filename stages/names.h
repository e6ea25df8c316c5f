/* What files and command lines call the operators' choices: in the order of their enumerations
 * (ops.h), each list NULL-ended. */
#ifndef CRN_STAGES_NAMES_H
#define CRN_STAGES_NAMES_H

extern const char *const crn_connectivity_names[];
extern const char *const crn_orientation_names[];
extern const char *const crn_border_names[];
extern const char *const crn_morphology_operation_names[];
extern const char *const crn_element_shape_names[]; /* without the picture, which has its file's */
extern const char *const crn_convolve_border_names[];

/* Place of the text among `names`, or -1. */
int crn_name_find(const char *const *names, const char *text);

#endif
