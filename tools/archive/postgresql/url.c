#include <string.h>

#include "tools/archive/postgresql/postgresql.h"

bool crn_postgresql_is_url(const char *text)
{
    return strncmp(text, "postgresql://", 13) == 0 || strncmp(text, "postgres://", 11) == 0;
}
