#include "src/control/changes/settings_texts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/control/kept/kept_text.h"
#include "src/formats/changes/entry.h"
#include "stages/base/file/folder.h"

#define FOLDER_MODE 0750
#define BLOCK_BYTES 4096

static long on_disk(off_t size)
{
    return ((long)size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

/* Makes the folder in `dir`, with its name on the disk; there may be one. */
static int make_folder(const char *dir, const char *path, crn_error *error)
{
    int r = mkdir(path, FOLDER_MODE) < 0 ? -errno : crn_folder_sync(dir);
    return r == 0 || r == -EEXIST
               ? 0
               : crn_error_set(error, r, "%s: cannot be made: %s", path, strerror(-r));
}

/* Opens the folder, which it makes where there is none. Returns the descriptor, or an errno. */
static int open_folder(const char *dir, const char *path, crn_error *error)
{
    int r = make_folder(dir, path, error);
    if (r < 0)
        return r;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0)
        return folder;
    int code = errno;
    return crn_error_set(error, -code, "%s: %s", path,
                         code == ENOTDIR || code == ELOOP ? "is not a folder; remove it"
                                                          : strerror(code));
}

/* Whether it is there, byte for byte. */
static bool is_kept(const char *path, const char *text)
{
    char bytes[BLOCK_BYTES];
    struct stat about;
    size_t size = strlen(text), at = 0;
    ssize_t count = 0;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    bool same = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == (off_t)size;
    while (same && at < size) {
        count = read(file, bytes, sizeof bytes);
        same =
            count > 0 && at + (size_t)count <= size && memcmp(bytes, text + at, (size_t)count) == 0;
        at += same ? (size_t)count : 0;
    }
    close(file);
    return same;
}

/* What its files take; `folder` is closed. */
static long sum_files(int folder)
{
    struct stat about;
    struct dirent *entry;
    long sum = 0;
    DIR *files = fdopendir(folder);
    if (!files) {
        close(folder);
        return 0;
    }
    while ((entry = readdir(files)) != NULL)
        if (fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode))
            sum += on_disk(about.st_size);
    closedir(files);
    return sum;
}

int crn_settings_text_keep(const char *dir, const char *hash, const char *text, crn_error *error)
{
    char folder_path[PATH_MAX], path[PATH_MAX];
    if (snprintf(folder_path, sizeof folder_path, "%s/" CRN_SETTINGS_FOLDER, dir) >= PATH_MAX ||
        snprintf(path, sizeof path, "%s/" CRN_SETTINGS_FOLDER "/%s.yaml", dir, hash) >= PATH_MAX)
        return crn_error_set(error, -ENAMETOOLONG, "%s: is too long a path", dir);
    int folder = open_folder(dir, folder_path, error);
    if (folder < 0)
        return folder;
    if (is_kept(path, text)) {
        close(folder);
        return 0;
    }
    if (sum_files(folder) + on_disk((off_t)strlen(text)) > CRN_SETTINGS_BYTES_MAX)
        return crn_error_set(error, -EFBIG,
                             "%s: is full (%ld MiB); move old files to where they are kept",
                             folder_path, CRN_SETTINGS_BYTES_MAX >> 20);
    return crn_kept_text_write(path, text, error);
}
