#include "tools/common/append_text.h"

#include <stdio.h>

void crn_append_text(char *text, size_t size, size_t *used, const char *format, va_list arguments)
{
    int written = vsnprintf(text + *used, size - *used, format, arguments);
    if (written > 0)
        *used = (size_t)written < size - *used ? *used + (size_t)written : size - 1;
}
