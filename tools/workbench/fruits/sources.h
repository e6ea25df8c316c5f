/* Which files the command line's names stand for at the moment. */
#ifndef CRN_TOOLS_WORKBENCH_FRUITS_SOURCES_H
#define CRN_TOOLS_WORKBENCH_FRUITS_SOURCES_H

#include "tools/common/recordings.h"
#include "tools/workbench/fruits/index.h"

/* The whole path of a folder's file, to be freed. 0; -EXDEV for a link that leads out of the
 * folder; -ENOMEM; another negative errno for one that leads nowhere. */
int crn_fruit_source_in(const char *folder, const char *path, char **ret_whole);

/* All recordings of the sources, by their whole paths; those of crn_fruit_source_in() that it
 * refuses are passed over, and so are folders without recordings. 0, or negative errno with one
 * line. */
int crn_fruit_sources_list(const crn_fruit_sources *sources, crn_recordings *ret_recordings,
                           crn_error *error);

/* A number that changes with the archive or the log; 0 without one, or if it cannot be read. */
uint64_t crn_fruit_sources_stamp(const crn_fruit_sources *sources);

#endif
