/* Text that is built up piece by piece in memory of a fixed size. */
#ifndef CRN_TOOLS_COMMON_APPEND_TEXT_H
#define CRN_TOOLS_COMMON_APPEND_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* Appends at text[*used] and moves *used on; text that does not fit in `size` bytes is truncated.
 */
__attribute__((format(printf, 4, 0))) void crn_append_text(char *text, size_t size, size_t *used,
                                                           const char *format, va_list arguments);

#endif
