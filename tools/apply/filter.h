/* What operators have in common that turn a picture into a picture of its size. */
#ifndef CRN_TOOLS_APPLY_FILTER_H
#define CRN_TOOLS_APPLY_FILTER_H

#include "tools/apply/apply.h"

typedef struct crn_filter {
    const void *settings;
    /* Calls the operator on some of the planes. */
    int (*run)(const crn_apply *apply, const void *settings, const crn_image *in, crn_image *out);
    /* Says what of the settings does not go with pictures of that type; NULL: nothing can. */
    int (*check)(const void *settings, const char *path, crn_type type, crn_error *error);
} crn_filter;

/* Planes a call, many where they are small, with a bar where there are several calls. */
int crn_filter_planes(crn_apply *apply, const crn_filter *filter, const char *path,
                      const crn_image *in, const crn_image *out, crn_error *error);

/*
 * From file to file, for operators of u8 and f32: u16 is worked on as f32 and written as u16 again,
 * f16 as f32. Alpha goes through untouched. 0 or negative errno.
 */
int crn_filter_apply(crn_apply *apply, const crn_filter *filter, const char *in, const char *out,
                     crn_error *error);

#endif
