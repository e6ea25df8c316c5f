/* Defaults from the folders that systemd makes for a unit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/config.h"

/* What an AF_UNIX address holds, without its end. */
#define SOCKET_PATH_MAX 107

#define LOG_KEEP_DAYS 7

static const char file_folder[] = "/etc/cernita/", file_suffix[] = ".yaml";

/* The NAME of /etc/cernita/NAME.yaml, which cernitad@NAME takes. Returns its length, 0: none. */
static int unit_name(const char *file, const char **ret_name)
{
    size_t folder = strlen(file_folder), suffix = strlen(file_suffix), length = strlen(file);
    *ret_name = file + folder;
    if (length <= folder + suffix || strncmp(file, file_folder, folder) != 0 ||
        strcmp(file + length - suffix, file_suffix) != 0 || strchr(*ret_name, '/'))
        return 0;
    return (int)(length - folder - suffix);
}

/* Writes the path of `below` ("/log"; "": its own) in the first folder of the variable, as a
 * drop-in may name further ones; without the variable, in the folder of the file's unit below
 * `root` (NULL: nowhere). False: there is none. */
static bool find_place(const char *variable, const char *root, const char *file, const char *below,
                       char ret_path[CRN_TEXT_BYTES])
{
    const char *folder = getenv(variable), *name;
    int length = root ? unit_name(file, &name) : 0, written = -1;
    if (folder && *folder == '/')
        written =
            snprintf(ret_path, CRN_TEXT_BYTES, "%.*s%s", (int)strcspn(folder, ":"), folder, below);
    else if (length > 0)
        written = snprintf(ret_path, CRN_TEXT_BYTES, "%s/%.*s%s", root, length, name, below);
    bool found = written > 0 && written < CRN_TEXT_BYTES;
    if (!found)
        ret_path[0] = '\0';
    return found;
}

void crn_config_use_unit_folders(crn_config *config, bool will_be_unit)
{
    char path[CRN_TEXT_BYTES];
    if (find_place("RUNTIME_DIRECTORY", will_be_unit ? "/run/cernita" : NULL, config->file,
                   "/control", path) &&
        strlen(path) <= SOCKET_PATH_MAX) {
        memcpy(config->control.unit_path, path, sizeof path);
        if (!config->control.path[0])
            memcpy(config->control.path, path, sizeof path);
    }
    if (!config->state.dir[0] &&
        find_place("STATE_DIRECTORY", will_be_unit ? "/var/lib/cernita" : NULL, config->file, "",
                   path)) {
        memcpy(config->state.dir, path, sizeof path);
        config->state.of_unit = true;
    }
    if (!config->publish.log.dir_named &&
        find_place("STATE_DIRECTORY", will_be_unit ? "/var/lib/cernita" : NULL, config->file,
                   "/log", path)) {
        memcpy(config->publish.log.dir, path, sizeof path);
        config->publish.log.of_unit = true;
        if (config->publish.log.keep_days == 0)
            config->publish.log.keep_days = LOG_KEEP_DAYS;
    }
}
