/* In a build without libpq. */
#include <errno.h>
#include <stddef.h>

#include "tools/archive/postgresql/postgresql.h"

int crn_postgresql_open(const char *url, crn_postgresql **ret_archive, crn_error *error)
{
    (void)url;
    (void)ret_archive;
    return crn_error_set(error, -ENOTSUP,
                         "postgresql:// needs libpq, and this program was built without it: "
                         "install libpq-dev and build again");
}

void crn_postgresql_close(crn_postgresql **archive)
{
    (void)archive;
}

crn_destination *crn_postgresql_get_destination(crn_postgresql *archive)
{
    (void)archive;
    return NULL;
}
