#include "stages/base/error.h"

#include <stdarg.h>
#include <stdio.h>

int crn_error_set(crn_error *error, int code, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return code;
}
