#include "stages/base/digits.h"

#include <errno.h>
#include <stdlib.h>

bool crn_digits_read(const char **text, uint64_t max, uint64_t *ret_value)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(*text, &end, 10);
    if (errno || value > max)
        return false;
    *text = end;
    *ret_value = value;
    return true;
}
