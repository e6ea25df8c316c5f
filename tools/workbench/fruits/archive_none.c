/* Without SQLite. */
#include <errno.h>

#include "tools/workbench/fruits/builder.h"

int crn_fruit_read_archive(crn_fruit_builder *builder, const char *path, crn_error *error)
{
    (void)builder;
    return crn_error_set(error, -ENOTSUP,
                         "%s: this cernita-workbench was built without SQLite 3.37: name the "
                         "verdict log with --log",
                         path);
}
