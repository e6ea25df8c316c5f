/* Without SQLite. */
#include <errno.h>

#include "tools/workbench/fruits/builder.h"
#include "tools/workbench/fruits/verdict.h"

static int refuse(const char *path, crn_error *error)
{
    return crn_error_set(error, -ENOTSUP,
                         "%s: this cernita-workbench was built without SQLite 3.37: name the "
                         "verdict log with --log",
                         path);
}

int crn_fruit_read_archive(crn_fruit_builder *builder, const char *path, crn_error *error)
{
    (void)builder;
    return refuse(path, error);
}

int crn_fruit_print_archived(const char *path, const crn_recorded_fruit *fruit, FILE *out,
                             crn_error *error)
{
    (void)fruit;
    (void)out;
    return refuse(path, error);
}
