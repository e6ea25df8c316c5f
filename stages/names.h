/**
 * @file
 * Names of the operators' enumerators in files and on command lines, in the order of the
 * enumerations (cernita.h); each list is NULL-terminated.
 */
#ifndef CRN_STAGES_NAMES_H
#define CRN_STAGES_NAMES_H

#include "stages/base/api.h"

CRN_API extern const char *const crn_connectivity_names[];
CRN_API extern const char *const crn_orientation_names[];
CRN_API extern const char *const crn_border_names[];
CRN_API extern const char *const crn_morphology_operation_names[];
CRN_API extern const char *const crn_element_shape_names[]; /**< without CRN_ELEMENT_PICTURE */
CRN_API extern const char *const crn_convolve_border_names[];

/** Index of the text in `names`, or -1. */
CRN_API int crn_name_find(const char *const *names, const char *text);

#endif
