#include "tools/common/recordings.h"
#include "stages/base/buffer/array.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_recording(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && end && !strcmp(end, ".tif");
}

/* Takes ownership of the path; NULL: out of memory. */
static int add(crn_recordings *recordings, char *path)
{
    if (!path || crn_array_grow(&recordings->paths, (size_t)recordings->count, sizeof path) < 0) {
        free(path);
        return -ENOMEM;
    }
    recordings->paths[recordings->count++] = path;
    return 0;
}

/* Adds the folder's file of that name, unless it is a folder itself. */
static int add_entry(crn_recordings *recordings, const char *folder, const char *name)
{
    struct stat about;
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name) < 0)
        return -ENOMEM;
    if (!stat(path, &about) && S_ISDIR(about.st_mode)) {
        free(path);
        return 0;
    }
    return add(recordings, path);
}

static int add_folder(crn_recordings *recordings, const char *folder, crn_error *error)
{
    struct dirent **entries;
    int before = recordings->count, r = 0;
    int count = scandir(folder, &entries, is_recording, versionsort);
    if (count < 0)
        return crn_error_set(error, -errno, "%s: cannot be read: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (!r)
            r = add_entry(recordings, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (r)
        return crn_error_set(error, r, "%s: no memory for its recordings", folder);
    if (recordings->count == before)
        return crn_error_set(error, -ENOENT,
                             "%s: no recording (*.tif) in this folder; one that ends in "
                             ".part must be named itself",
                             folder);
    return 0;
}

int crn_recordings_list(const char *const given[], int count, crn_recordings *ret_recordings,
                        crn_error *error)
{
    crn_recordings recordings = {0};
    int r = 0;
    for (int i = 0; i < count && !r; i++) {
        struct stat about;
        if (!stat(given[i], &about) && S_ISDIR(about.st_mode))
            r = add_folder(&recordings, given[i], error);
        else if (add(&recordings, strdup(given[i])))
            r = crn_error_set(error, -ENOMEM, "%s: no memory for its name", given[i]);
    }
    if (r)
        crn_recordings_free(&recordings);
    else
        *ret_recordings = recordings;
    return r;
}

void crn_recordings_free(crn_recordings *recordings)
{
    for (int i = 0; i < recordings->count; i++)
        free(recordings->paths[i]);
    free(recordings->paths);
    *recordings = (crn_recordings){0};
}
