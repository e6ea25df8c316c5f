/*
 * Errors are values: 0 or a negative errno, and where a person must act, one line of text beside
 * it.
 *
 * A function that can fail for reasons a person mends takes a crn_error and fills it with one line
 * that names the file, the place and the cure. Modules return; the edge (main) prints.
 */
#ifndef CRN_STAGES_BASE_ERROR_H
#define CRN_STAGES_BASE_ERROR_H

#include "stages/base/cplusplus.h"

CRN_C_BEGIN

typedef struct crn_error {
    char text[1024]; /* one line without its end; empty: nothing to say */
} crn_error;

/* Writes the line (error may be NULL) and returns `code`, so that `return crn_error_set(e, -EINVAL,
 * …)` reads well. */
__attribute__((format(printf, 3, 4))) int crn_error_set(crn_error *error, int code,
                                                        const char *format, ...);

CRN_C_END

#endif
