/* Ranges by the toolkit's header-only NVTX 3, which loads the profiler's library where there is
 * one. */
#include "gpu/range.h"

#ifdef CRN_NVTX

#include <nvtx3/nvToolsExt.h>
#include <stdarg.h>
#include <stdio.h>

void crn_range_push(const char *format, ...)
{
    char name[96];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    nvtxRangePushA(name);
}

void crn_range_pop(void)
{
    nvtxRangePop();
}

#endif
