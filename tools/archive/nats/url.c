#include <string.h>

#include "tools/archive/nats/settings.h"

bool crn_nats_is_url(const char *text)
{
    return strncmp(text, "nats://", 7) == 0 || strncmp(text, "tls://", 6) == 0;
}
