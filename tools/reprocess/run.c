#include "tools/reprocess/run.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/buffer/array.h"
#include "stages/base/file/folder.h"
#include "stages/base/file/new_file.h"
#include "stages/base/file/regular_file.h"

#define SETTINGS "settings "

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

/* The beginning of each recording as the folder's list has it, 0 for one that could not be read. */
typedef struct known_list {
    uint64_t settings;
    uint64_t *identities; /* `count`, owned */
    int32_t count;        /* -1: there is no list */
} known_list;

static bool read_identity(FILE *stream, uint64_t *ret_identity)
{
    int32_t number;
    return fscanf(stream, "%" SCNd32 " %" SCNx64 " %*[^\n]", &number, ret_identity) == 2;
}

static int read_list(const char *path, known_list *ret_list, crn_error *error)
{
    struct stat about;
    uint64_t identity;
    *ret_list = (known_list){.count = -1};
    if (lstat(path, &about) < 0 && errno == ENOENT)
        return 0;
    int fd = crn_regular_open(path, error);
    if (fd < 0)
        return fd;
    FILE *stream = fdopen(fd, "r");
    if (!stream)
        close(fd);
    int r = stream && fscanf(stream, SETTINGS "%" SCNx64, &ret_list->settings) == 1 ? 0 : -EBADMSG;
    ret_list->count = 0;
    while (r == 0 && read_identity(stream, &identity)) {
        r = crn_array_grow(&ret_list->identities, (size_t)ret_list->count, sizeof identity);
        if (r == 0)
            ret_list->identities[ret_list->count++] = identity;
    }
    if (stream)
        fclose(stream);
    return r < 0 ? crn_error_set(error, r,
                                 "%s: cannot be read; remove it and the results beside it", path)
                 : 0;
}

/* What begins the recording, now or as the list knows it: it may be unreadable now. */
static uint64_t identity_of(const known_list *list, const crn_reprocess_segments *segments,
                            int32_t index)
{
    uint64_t identity = segments->items[index].identity;
    return identity || index >= list->count ? identity : list->identities[index];
}

static int write_list(const char *path, uint64_t settings, const known_list *list,
                      const crn_reprocess_segments *segments, crn_error *error)
{
    crn_new_file file;
    int r = crn_new_file_open_stream(path, &file, error);
    if (r < 0)
        return r;
    fprintf(file.stream, SETTINGS "%016" PRIx64 "\n", settings);
    for (int32_t i = 0; i < segments->count; i++)
        fprintf(file.stream, "%" PRId32 " %016" PRIx64 " %s\n", i + 1,
                identity_of(list, segments, i), name_of(segments->items[i].path));
    return crn_new_file_finish_synced(&file, error);
}

/* True if the list is of these recordings, or of the first of them. */
static bool fits(const known_list *list, const crn_reprocess_segments *segments)
{
    bool fits = list->count <= segments->count;
    for (int32_t i = 0; i < list->count && fits; i++)
        fits = !list->identities[i] || list->identities[i] == identity_of(list, segments, i);
    return fits;
}

/* True if the list lacks what is known now. */
static bool is_new(const known_list *list, const crn_reprocess_segments *segments)
{
    bool is_new = list->count < segments->count;
    for (int32_t i = 0; i < list->count && !is_new; i++)
        is_new = list->identities[i] != identity_of(list, segments, i);
    return is_new;
}

static int check_list(const char *dir, const char *path, uint64_t settings, const known_list *list,
                      const crn_reprocess_segments *segments, crn_error *error)
{
    bool is_there = list->count >= 0, is_other = is_there && list->settings != settings;
    if (is_other || !fits(list, segments))
        return crn_error_set(error, -EEXIST,
                             "%s: holds results of other %s (its " CRN_REPROCESS_LIST
                             " says which); name another folder, or empty it",
                             dir, is_other ? "settings" : "recordings, or in another order");
    return is_new(list, segments) ? write_list(path, settings, list, segments, error) : 0;
}

int crn_reprocess_run_begin(const char *dir, uint64_t settings,
                            const crn_reprocess_segments *segments, crn_error *error)
{
    char path[PATH_MAX];
    known_list list = {0};
    int r = make_folder(dir, error);
    if (r < 0)
        return r;
    snprintf(path, sizeof path, "%s/" CRN_REPROCESS_LIST, dir);
    r = read_list(path, &list, error);
    if (r == 0)
        r = check_list(dir, path, settings, &list, segments, error);
    free(list.identities);
    return r;
}
