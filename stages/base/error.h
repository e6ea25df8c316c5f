/**
 * @file
 * Errors are values: 0 or a negative errno, and where a person must act, one line of text as well.
 *
 * A function that can fail for reasons a person can fix takes a crn_error and sets it to one line
 * that names the file, the position and the cure. Modules return errors; main prints them.
 */
#ifndef CRN_STAGES_BASE_ERROR_H
#define CRN_STAGES_BASE_ERROR_H

#include "stages/base/api.h"

CRN_C_BEGIN

/** One line of text for a person; the caller of a function that can fail owns it. */
typedef struct crn_error {
    char text[1024]; /**< one line without a newline; empty: no message */
} crn_error;

/**
 * Formats the line, with what does not print as \xNN, and returns `code`, to allow `return
 * crn_error_set(e, -EINVAL, …)`.
 *
 * @param error NULL is allowed: no line
 */
CRN_API __attribute__((format(printf, 3, 4))) int crn_error_set(crn_error *error, int code,
                                                                const char *format, ...);

CRN_C_END

#endif
