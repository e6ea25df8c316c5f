/*
 * The recipe in force, kept in the state folder (state.dir), so that a line that restarts judges
 * by it. The file `recipe` names it and the line's file; it is replaced as a whole, and is on the
 * disk when crn_kept_recipe_write() returns.
 */
#ifndef CRN_SRC_CONTROL_KEPT_KEPT_RECIPE_H
#define CRN_SRC_CONTROL_KEPT_KEPT_RECIPE_H

#include "stages/base/error.h"
#include "stages/config/config.h"

/*
 * Keeps `recipe` ("": the file's own settings) of the line's file. Returns 0, or a negative errno
 * with *error: then what was kept before is made unreadable, where the disk allows it, so that the
 * next start does not take it for the one in force.
 */
int crn_kept_recipe_write(const char *dir, const char *line_file, const char *recipe,
                          crn_error *error);

/* Returns 0; -ENOENT if the folder keeps none; another negative errno with *error. */
int crn_kept_recipe_read(const char *dir, const char *line_file,
                         char ret_recipe[CRN_RECIPE_NAME_BYTES], crn_error *error);

/*
 * The start's settings with the recipe that was kept in config->state.dir, as *ret_resumed, which
 * the caller frees (crn_config_done) whatever comes back. Where it cannot be had, or the folder
 * cannot be written to and may hold an old one, ret_resumed->lost_recipe is set. Logs what it did.
 *
 * @param config resolved, with the folders of its unit
 * @param file the same as loaded
 * @return 0, or a negative errno with *error
 */
int crn_kept_recipe_resume(const crn_config *config, const crn_config *file,
                           crn_config *ret_resumed, crn_error *error);

#endif
