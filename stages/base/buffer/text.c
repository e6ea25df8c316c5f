#include "stages/base/buffer/text.h"

#include <stdarg.h>
#include <stdio.h>

void crn_text_add(crn_text *text, const char *format, ...)
{
    size_t room = text->size - text->used;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(text->bytes + text->used, room, format, arguments);
    va_end(arguments);
    if (written > 0)
        text->used = (size_t)written < room ? text->used + (size_t)written : text->size - 1;
}
