/* Shared by the operators that turn a picture into a picture of the same size. */
#ifndef CRN_TOOLS_COMMON_OPERATORS_FILTER_H
#define CRN_TOOLS_COMMON_OPERATORS_FILTER_H

#include "tools/common/operators/apply.h"

typedef struct crn_filter {
    const void *settings;
    /* Runs the operator on some of the planes. */
    int (*run)(const crn_apply *apply, const void *settings, const crn_image *in, crn_image *out);
    /* Returns why the settings do not suit pictures
     * of that type, or NULL. The member may be NULL. */
    int (*check)(const void *settings, const char *path, crn_type type, crn_error *error);
} crn_filter;

/* Processes the planes in groups of several small ones per
 * call, with a progress bar if there are several calls. */
int crn_filter_planes(crn_apply *apply, const crn_filter *filter, const char *path,
                      const crn_image *in, const crn_image *out, crn_error *error);

/* For operators of u8 and f32: refuses a picture, or too little memory for it and the result. */
int crn_filter_check(const crn_apply *apply, const crn_filter *filter, const char *in,
                     const char *out, const crn_picture *probed, crn_error *error);

/*
 * From a picture to a file, for operators of u8 and f32: u16 is processed as f32 and rounded back
 * to u16, f16 is processed as f32. Alpha is copied unchanged. 0 or negative errno.
 */
int crn_filter_apply(crn_apply *apply, const crn_filter *filter, const char *in, const char *out,
                     crn_picture *picture, crn_error *error);

#endif
