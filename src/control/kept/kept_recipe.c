#include "src/control/kept/kept_recipe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>

#include "src/control/kept/kept_file.h"
#include "stages/base/log.h"

/* The recipe's file, with a value that is read to and written from this text. */
#define RECIPE_FILE(text)                                                                          \
    (&(crn_kept_file){.name = "recipe",                                                            \
                      .values = &(crn_kept_value){"recipe", text, CRN_RECIPE_NAME_BYTES},          \
                      .count = 1})

int crn_kept_recipe_write(const char *dir, const char *line_file, const char *recipe,
                          crn_error *error)
{
    char text[CRN_RECIPE_NAME_BYTES];
    snprintf(text, sizeof text, "%s", recipe);
    return crn_kept_file_write(dir, line_file, RECIPE_FILE(text), error);
}

int crn_kept_recipe_read(const char *dir, const char *line_file,
                         char ret_recipe[CRN_RECIPE_NAME_BYTES], crn_error *error)
{
    ret_recipe[0] = '\0';
    return crn_kept_file_read(dir, line_file, RECIPE_FILE(ret_recipe), error);
}

/* --- the start --- */

static void lose(crn_config *resumed, const char *recipe, const char *why)
{
    snprintf(resumed->lost_recipe, sizeof resumed->lost_recipe, "%s", recipe[0] ? recipe : "?");
    crn_log(CRN_LOG_ERROR,
            "recipe: what was in force before the start is not certain: %s; choose it again "
            "(cernitactl recipe NAME, or --none for the file's own settings)",
            why);
}

/* The hash is that of the settings as loaded: the same as of a switch while the line runs. */
static int use(const crn_config *config, const crn_config *file, const char *recipe,
               crn_config *ret_resumed, crn_error *error)
{
    crn_config loaded;
    uint64_t hash = 0;
    int r = crn_config_use_recipe(file, recipe, &loaded);
    if (r == 0) {
        r = crn_config_hash(&loaded, &hash, error);
        crn_config_done(&loaded);
    } else if (r != -ENOENT) {
        crn_error_set(error, r, "no memory for the settings");
    }
    if (r == 0 && (r = crn_config_use_recipe(config, recipe, ret_resumed)) < 0)
        crn_error_set(error, r, "no memory for the settings");
    if (r == 0)
        ret_resumed->hash = hash;
    return r;
}

/* Says where a later recipe will not be kept. A file that is there can be made unreadable when the
 * disk is full, so one is made where the line has recipes. */
static void look_ahead(const crn_config *config, int kept)
{
    crn_error error;
    const char *dir = config->state.dir;
    if (!config->recipes)
        return;
    if (!dir[0])
        crn_log(CRN_LOG_INFO, "recipe: a restart forgets the one in force, as state.dir is empty "
                              "and systemd gave no folder (StateDirectory=)");
    else if (kept == -ENOENT && crn_kept_recipe_write(dir, config->file, "", &error) < 0)
        crn_log(CRN_LOG_WARNING, "recipe: a restart will forget the one in force: %s", error.text);
}

int crn_kept_recipe_resume(const crn_config *config, const crn_config *file,
                           crn_config *ret_resumed, crn_error *error)
{
    char recipe[CRN_RECIPE_NAME_BYTES] = "";
    const char *dir = config->state.dir;
    crn_error why = {""};
    *ret_resumed = (crn_config){.steps = 0};
    int kept = dir[0] ? crn_kept_recipe_read(dir, config->file, recipe, &why) : -ENOENT;
    int r = use(config, file, kept == 0 ? recipe : "", ret_resumed, error);
    if (r == -ENOENT) {
        kept = crn_error_set(&why, -ESTALE, "the file has no recipe '%s' any more", recipe);
        r = use(config, file, "", ret_resumed, error);
    } else if (kept == 0 && faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) < 0) {
        kept = crn_error_set(&why, -errno,
                             "%s cannot be written to (%s), so the recipe kept there may be an "
                             "old one",
                             dir, strerror(errno));
    }
    if (r < 0)
        return r;
    if (kept == -ENOTDIR && !config->recipes)
        crn_log(CRN_LOG_WARNING,
                "state.dir: %s is not there: what the line keeps over restarts is "
                "lost; make the folder, or name another",
                dir);
    else if (why.text[0])
        lose(ret_resumed, recipe, why.text);
    if (ret_resumed->recipe[0])
        crn_log(CRN_LOG_INFO, "recipe: '%s' is in force, as before the start", recipe);
    look_ahead(config, kept);
    return 0;
}
