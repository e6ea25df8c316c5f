/*
 * What a person chose while the line ran, kept in the state folder (state.dir), so that a line that
 * restarts goes on with it. A file there holds the texts and names the line's file; it is replaced
 * as a whole, and is on the disk when crn_kept_file_write() returns.
 */
#ifndef CRN_SRC_CONTROL_KEPT_KEPT_FILE_H
#define CRN_SRC_CONTROL_KEPT_KEPT_FILE_H

#include <stddef.h>

#include "stages/base/clock.h"
#include "stages/base/error.h"

/* How often to try again what could not be written. */
#define CRN_KEEP_AGAIN_NS CRN_NS_PER_S

typedef struct crn_kept_value {
    const char *name;
    char *text;   /* UTF-8 that prints, without line ends */
    size_t bytes; /* of `text`, with its final 0 */
} crn_kept_value;

/* A file of the folder and its values, whose texts together are far shorter than a path may be. */
typedef struct crn_kept_file {
    const char *name;
    const crn_kept_value *values;
    size_t count;
} crn_kept_file;

/*
 * Keeps the values for the line's file. Returns 0, or a negative errno with *error: then what was
 * kept before is made unreadable, where the disk allows it, so that the next start does not take it
 * for what is in force.
 */
int crn_kept_file_write(const char *dir, const char *line_file, const crn_kept_file *file,
                        crn_error *error);

/*
 * Returns 0 with the values' texts; -ENOENT if the folder keeps none; another negative errno with
 * *error. Where that is -EINVAL because the file is of another line the texts are set, too.
 */
int crn_kept_file_read(const char *dir, const char *line_file, const crn_kept_file *file,
                       crn_error *error);

#endif
