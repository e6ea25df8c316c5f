/* What crn_chain_open_with() takes instead of what the file says. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "stages/chain/internal.h"

/* A list of names, as long as it fits. */
typedef struct known_names {
    char text[512];
    size_t length;
} known_names;

static void add_name(known_names *list, const char *name)
{
    size_t room = sizeof list->text - list->length;
    int length = snprintf(list->text + list->length, room, "%s%s", list->length ? ", " : "", name);
    if (length > 0 && (size_t)length < room)
        list->length += (size_t)length;
    else
        list->text[list->length] = '\0';
}

static int use_recipe(const char *name, const char *path, crn_config *config, crn_error *error)
{
    crn_config with;
    int r = crn_config_use_recipe(config, name, &with);
    if (r == -ENOENT) {
        known_names names = {.length = 0};
        for (int32_t i = 0; config->recipes && i < config->recipes->count; i++)
            add_name(&names, config->recipes->item[i].name);
        return crn_error_set(error, -EINVAL, "%s: there is no recipe '%s'; %s%s", path, name,
                             names.length ? "the file has " : "the file has no recipes",
                             names.text);
    }
    if (r < 0)
        return crn_error_set(error, r, "%s: no memory for recipe '%s'", path, name);
    crn_config_done(config);
    *config = with;
    return 0;
}

static int use_level(const char *name, double level, const char *path, crn_classes *classes,
                     crn_error *error)
{
    known_names names = {.length = 0};
    if (!name)
        return crn_error_set(error, -EINVAL, "a name of class_names is NULL");
    for (int32_t i = 0; i < classes->count; i++) {
        add_name(&names, classes->name[i]);
        if (strcmp(classes->name[i], name) != 0)
            continue;
        if (level < 0 || level > 1)
            return crn_error_set(error, -EINVAL,
                                 "the level of '%s' must be from 0 to 1, or NaN: not outlined; not "
                                 "%g",
                                 name, level);
        classes->level[i] = level;
        return 0;
    }
    return crn_error_set(error, -EINVAL, "%s: there is no class '%s'; the file has %s", path, name,
                         names.text);
}

/* The stages' own checks, with the new levels. */
static int check_stages(const char *path, crn_config *config, crn_error *error)
{
    for (int32_t i = 0; i < config->steps; i++) {
        const crn_stage *stage = config->chain[i].stage;
        crn_error fault = {""};
        int r = stage->prepare ? stage->prepare(config->chain[i].settings, &config->classes, &fault)
                               : 0;
        if (r < 0)
            return crn_error_set(error, r, "%s: %s: %s", path, stage->name, fault.text);
    }
    return 0;
}

int crn_chain_use_settings(const crn_chain_settings *settings, const char *path, crn_config *config,
                           crn_error *error)
{
    if (!settings)
        return 0;
    int32_t levels = settings->levels;
    if (levels < 0 || (levels > 0 && (!settings->class_names || !settings->class_levels)))
        return crn_error_set(error, -EINVAL,
                             levels < 0 ? "levels is negative"
                                        : "class_names or class_levels is NULL");
    int r = settings->recipe && *settings->recipe
                ? use_recipe(settings->recipe, path, config, error)
                : 0;
    for (int32_t i = 0; i < levels && r == 0; i++)
        r = use_level(settings->class_names[i], settings->class_levels[i], path, &config->classes,
                      error);
    return r == 0 && levels > 0 ? check_stages(path, config, error) : r;
}
