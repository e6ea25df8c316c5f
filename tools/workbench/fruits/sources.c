#include "tools/workbench/fruits/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/formats/verdict_log/format.h"
#include "stages/base/buffer/array.h"

static bool lies_in(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || length == 1);
}

int crn_fruit_source_in(const char *folder, const char *path, char **ret_whole)
{
    char *whole = realpath(path, NULL);
    if (!whole)
        return -errno;
    if (!lies_in(whole, folder)) {
        free(whole);
        return -EXDEV;
    }
    *ret_whole = whole;
    return 0;
}

/* Takes the paths of one folder, or the file itself. */
static int add_all(crn_recordings *to, const char *named, const crn_recordings *list)
{
    struct stat status;
    bool is_folder = stat(named, &status) == 0 && S_ISDIR(status.st_mode);
    for (int i = 0; i < list->count; i++) {
        char *whole = NULL;
        int r = is_folder ? crn_fruit_source_in(named, list->paths[i], &whole) : 0;
        if (!is_folder)
            whole = strdup(list->paths[i]);
        if (r < 0 && r != -ENOMEM)
            continue;
        if (!whole || crn_array_grow(&to->paths, (size_t)to->count, sizeof *to->paths) < 0) {
            free(whole);
            return -ENOMEM;
        }
        to->paths[to->count++] = whole;
    }
    return 0;
}

int crn_fruit_sources_list(const crn_fruit_sources *sources, crn_recordings *ret_recordings,
                           crn_error *error)
{
    int r = 0;
    *ret_recordings = (crn_recordings){0};
    for (int32_t i = 0; r == 0 && i < sources->named_count; i++) {
        const char *named = sources->named[i];
        crn_recordings list = {0};
        r = crn_recordings_list(&named, 1, &list, error);
        if (r == -ENOENT)
            r = 0;
        else if (r == 0 && add_all(ret_recordings, named, &list) < 0)
            r = crn_error_set(error, -ENOMEM, "%s: no memory for the names of its recordings",
                              named);
        crn_recordings_free(&list);
    }
    if (r < 0)
        crn_recordings_free(ret_recordings);
    else
        error->text[0] = '\0';
    return r;
}

/* --- verdicts --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t stamp, uint64_t value)
{
    return (stamp ^ value) * UINT64_C(0x100000001b3); /* FNV-1a */
}

static uint64_t stamp_of_file(uint64_t stamp, const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return mix(stamp, 0);
    stamp = mix(stamp, (uint64_t)status.st_size);
    stamp = mix(stamp, (uint64_t)status.st_mtim.tv_sec);
    return mix(stamp, (uint64_t)status.st_mtim.tv_nsec);
}

/* What is not merged into an archive yet lies in a file beside it. */
static uint64_t stamp_of_archive(uint64_t stamp, const char *path)
{
    char beside[4096 + 8];
    snprintf(beside, sizeof beside, "%s-wal", path);
    return stamp_of_file(stamp_of_file(stamp, path), beside);
}

uint64_t crn_fruit_sources_stamp(const crn_fruit_sources *sources)
{
    uint64_t stamp = UINT64_C(0xcbf29ce484222325);
    crn_verdict_log_files files = {0};
    crn_error ignored;
    if (sources->archive)
        return stamp_of_archive(stamp, sources->archive);
    if (!sources->log || crn_verdict_log_list(sources->log, &files, &ignored) < 0)
        return 0;
    stamp = mix(mix(mix(stamp, files.last_number), files.count), files.bytes);
    crn_verdict_log_files_done(&files);
    return stamp;
}
