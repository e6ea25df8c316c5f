/**
 * @file
 * Text that is built up piece by piece in memory of a fixed size.
 */
#ifndef CRN_STAGES_BASE_BUFFER_TEXT_H
#define CRN_STAGES_BASE_BUFFER_TEXT_H

#include <stddef.h>

#include "stages/base/api.h"

/** A text under construction. */
typedef struct crn_text {
    char *bytes;
    size_t size, used;
} crn_text;

/** An empty text in an array of char. */
#define CRN_TEXT_IN(array) crn_text_in((array), sizeof(array))

/** An empty text in that memory, which it ends with a 0. */
static inline crn_text crn_text_in(char *bytes, size_t size)
{
    bytes[0] = '\0';
    return (crn_text){bytes, size, 0};
}

/** Appends; what does not fit is left out. */
CRN_API __attribute__((format(printf, 2, 3))) void crn_text_add(crn_text *text, const char *format,
                                                                ...);

#endif
