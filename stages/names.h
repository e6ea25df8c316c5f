/* Names of the operators' enumerators in files and on command lines, in the order of the
 * enumerations (ops.h); each list is NULL-terminated. */
#ifndef CRN_STAGES_NAMES_H
#define CRN_STAGES_NAMES_H

extern const char *const crn_connectivity_names[];
extern const char *const crn_orientation_names[];
extern const char *const crn_border_names[];
extern const char *const crn_morphology_operation_names[];
extern const char *const crn_element_shape_names[]; /* without CRN_ELEMENT_PICTURE */
extern const char *const crn_convolve_border_names[];

/* Index of the text in `names`, or -1. */
int crn_name_find(const char *const *names, const char *text);

#endif
