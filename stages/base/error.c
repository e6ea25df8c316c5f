#include "stages/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "stages/base/utf8.h"

int crn_error_set(crn_error *error, int code, const char *format, ...)
{
    if (error) {
        char text[sizeof error->text];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        crn_utf8_show(text, strlen(text), error->text, sizeof error->text);
    }
    return code;
}
