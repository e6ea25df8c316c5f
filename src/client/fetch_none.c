#include "src/client/fetch.h"

#include <errno.h>

int crn_fetch(const char *endpoint, const crn_page *page, FILE *out, crn_error *error)
{
    (void)page;
    (void)out;
    return crn_error_set(error, -ENOTSUP,
                         "%s: this build cannot ask a daemon: install libcurl4-openssl-dev and "
                         "build again, or name the folder of publish.log.dir",
                         endpoint);
}
