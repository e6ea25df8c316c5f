/* Defaults from the folders that systemd makes for a unit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/config.h"

/* What an AF_UNIX address holds, without its end. */
#define SOCKET_PATH_MAX 107

/* The first folder of RuntimeDirectory= or StateDirectory=: a drop-in may name further ones.
 * Returns its length; 0: there is none. */
static int folder_of(const char *variable, const char **ret_folder)
{
    *ret_folder = getenv(variable);
    return *ret_folder && **ret_folder == '/' ? (int)strcspn(*ret_folder, ":") : 0;
}

void crn_config_use_unit_folders(crn_config *config)
{
    const char *folder;
    int length = folder_of("RUNTIME_DIRECTORY", &folder);
    size_t bytes = sizeof config->control.unit_path;
    if (length == 0 || length + strlen("/control") > SOCKET_PATH_MAX)
        return;
    snprintf(config->control.unit_path, bytes, "%.*s/control", length, folder);
    if (!config->control.path[0])
        memcpy(config->control.path, config->control.unit_path, bytes);
}
