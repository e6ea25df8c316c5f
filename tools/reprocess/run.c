#include "tools/reprocess/run.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/folder.h"
#include "stages/base/file/new_file.h"
#include "stages/base/file/regular_file.h"

#define SETTINGS_LINE "settings %016" PRIx64 "\n"

static int make_folder(const char *dir, crn_error *error)
{
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return crn_error_set(error, -errno, "%s: cannot be made: %s; name a folder that can be",
                             dir, strerror(errno));
    return crn_folder_check(dir, R_OK | W_OK | X_OK, "write results", error);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The list's text, owned by the caller; NULL: no memory. */
static char *describe(uint64_t settings, const crn_reprocess_segments *segments)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    fprintf(stream, SETTINGS_LINE, settings);
    for (int32_t i = 0; i < segments->count; i++)
        fprintf(stream, "%" PRId32 " %s\n", i + 1, name_of(segments->items[i].path));
    if (fclose(stream) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* What the folder has, owned by the caller; *ret_text NULL: it has none. */
static int read_list(const char *path, char **ret_text, crn_error *error)
{
    struct stat about;
    size_t size = 0;
    *ret_text = NULL;
    if (lstat(path, &about) < 0 && errno == ENOENT)
        return 0;
    int fd = crn_regular_open(path, error);
    if (fd < 0)
        return fd;
    FILE *stream = fdopen(fd, "r");
    if (!stream)
        close(fd);
    ssize_t length = stream ? getdelim(ret_text, &size, '\0', stream) : -1;
    if (stream)
        fclose(stream);
    if (length >= 0)
        return 0;
    free(*ret_text);
    *ret_text = NULL;
    return crn_error_set(error, -EIO, "%s: cannot be read; remove it and the results beside it",
                         path);
}

static int write_list(const char *path, const char *text, crn_error *error)
{
    crn_new_file file;
    int r = crn_new_file_open_stream(path, &file, error);
    if (r < 0)
        return r;
    fputs(text, file.stream);
    return crn_new_file_finish_synced(&file, error);
}

/* Why the folder's list is another run's. */
static int tell_other(const char *dir, const char *text, const char *before, crn_error *error)
{
    size_t settings = strcspn(text, "\n");
    bool same_settings = strncmp(text, before, settings) == 0;
    return crn_error_set(error, -EEXIST,
                         "%s: holds results of other %s (its " CRN_REPROCESS_LIST
                         " says which); name another folder, or empty it",
                         dir, same_settings ? "recordings, or in another order" : "settings");
}

int crn_reprocess_run_begin(const char *dir, uint64_t settings,
                            const crn_reprocess_segments *segments, crn_error *error)
{
    char path[PATH_MAX], *before = NULL;
    int r = make_folder(dir, error);
    if (r < 0)
        return r;
    snprintf(path, sizeof path, "%s/" CRN_REPROCESS_LIST, dir);
    char *text = describe(settings, segments);
    r = text ? read_list(path, &before, error)
             : crn_error_set(error, -ENOMEM, "%s: no memory", dir);
    if (r == 0 && before && strncmp(text, before, strlen(before)) != 0)
        r = tell_other(dir, text, before, error);
    else if (r == 0 && (!before || strcmp(text, before) != 0))
        r = write_list(path, text, error);
    free(text);
    free(before);
    return r;
}
