#include "stages/picture/tiff_faults.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 4, 0))) static int
keep_first(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments)
{
    (void)tiff;
    (void)module;
    crn_error *error = user;
    if (!*error->text)
        vsnprintf(error->text, sizeof error->text, format, arguments);
    return 1; /* handled: libtiff prints nothing */
}

__attribute__((format(printf, 4, 0))) static int
keep_last(TIFF *tiff, void *user, const char *module, const char *format, va_list arguments)
{
    (void)tiff;
    (void)module;
    crn_error *warning = user;
    if (warning)
        vsnprintf(warning->text, sizeof warning->text, format, arguments);
    return 1;
}

void crn_tiff_keep_faults(TIFFOpenOptions *options, crn_error *first_error, crn_error *last_warning)
{
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_first, first_error);
    TIFFOpenOptionsSetWarningHandlerExtR(options, keep_last, last_warning);
}
