#include "src/control/changes/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/control/kept/kept_text.h"
#include "src/formats/changes/chain.h"
#include "stages/base/file/folder.h"
#include "stages/base/file/regular_file.h"
#include "stages/base/log.h"

struct crn_change_file {
    int descriptor;
    char path[PATH_MAX];
    crn_change_links last;
    char cut[CRN_SHA256_TEXT_BYTES]; /* before the next entry; "": nothing */
    bool lacks_line_end;
    bool is_empty; /* when it was opened */
};

void crn_change_file_close(crn_change_file **file)
{
    if (!*file)
        return;
    if ((*file)->descriptor >= 0)
        close((*file)->descriptor);
    free(*file);
    *file = NULL;
}

const crn_change_links *crn_change_file_last(const crn_change_file *file)
{
    return &file->last;
}

bool crn_change_file_is_named(const crn_change_file *file)
{
    return crn_file_is_named(AT_FDCWD, file->descriptor, file->path);
}

/* --- opening --- */

static int open_descriptor(crn_change_file *file, crn_error *error)
{
    struct stat about;
    file->descriptor =
        open(file->path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
             CRN_KEPT_MODE);
    int code = file->descriptor < 0 ? errno : 0;
    if (code == ELOOP)
        return crn_error_set(error, -code, "%s: is a symbolic link; remove it", file->path);
    if (code == EACCES && lstat(file->path, &about) == 0)
        return crn_error_set(error, -code, "%s: belongs to user %u; give it to user %u (chown)",
                             file->path, (unsigned)about.st_uid, (unsigned)geteuid());
    if (code != 0)
        return crn_error_set(error, -code, "%s: cannot be opened: %s", file->path, strerror(code));
    if (fstat(file->descriptor, &about) < 0)
        return crn_error_set(error, -errno, "%s: cannot be read: %s", file->path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return crn_error_set(error, -EINVAL, "%s: is %s, not a regular file; remove it", file->path,
                             crn_file_kind(about.st_mode));
    if (flock(file->descriptor, LOCK_EX | LOCK_NB) < 0)
        return crn_error_set(error, -errno,
                             "%s: another line writes it; give each line a state.dir of its own",
                             file->path);
    return 0;
}

static int follow_chain(crn_change_file *file, bool tell)
{
    crn_change_chain chain;
    int copy = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
    FILE *stream = copy < 0 ? NULL : fdopen(copy, "r");
    if (!stream) {
        int code = errno;
        if (copy >= 0)
            close(copy);
        return -code;
    }
    int r = crn_change_chain_read(stream, NULL, NULL, &chain);
    fclose(stream);
    if (r < 0)
        return r;
    file->last = chain.last;
    file->lacks_line_end = chain.lacks_line_end;
    file->is_empty = chain.lines == 0;
    memcpy(file->cut, chain.cut, sizeof file->cut);
    if (tell && chain.fault_line)
        crn_log(CRN_LOG_ERROR,
                "changes: %s:%" PRIu64
                ": %s; who may write there? (cernitactl changes --verify --dir)",
                file->path, chain.fault_line, chain.fault);
    if (tell && chain.cut[0])
        crn_log(CRN_LOG_WARNING,
                "changes: %s:%" PRIu64 ": the entry was cut, as by a loss of power", file->path,
                chain.lines);
    return 0;
}

static bool has_texts(const char *dir)
{
    char path[PATH_MAX];
    bool found = false;
    struct dirent *entry;
    snprintf(path, sizeof path, "%s/" CRN_SETTINGS_FOLDER, dir);
    DIR *folder = opendir(path);
    while (folder && !found && (entry = readdir(folder)) != NULL)
        found = entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return found;
}

int crn_change_file_open(const char *dir, bool tell, crn_change_file **ret_file, crn_error *error)
{
    crn_change_file *file = calloc(1, sizeof *file);
    if (!file)
        return crn_error_set(error, -ENOMEM, "no memory");
    file->descriptor = -1;
    int r = 0;
    if (snprintf(file->path, sizeof file->path, "%s/" CRN_CHANGES_FILE, dir) >=
        (int)sizeof file->path)
        r = crn_error_set(error, -ENAMETOOLONG, "%s: is too long a path", dir);
    if (r == 0)
        r = open_descriptor(file, error);
    if (r == 0) {
        r = follow_chain(file, tell);
        if (r == 0 && file->last.number == 0)
            r = crn_folder_sync(dir); /* the name is on the disk, too */
        if (r == 0 && tell && file->is_empty && has_texts(dir))
            crn_log(CRN_LOG_WARNING,
                    "changes: %s was not there, although " CRN_SETTINGS_FOLDER
                    "/ has texts: the log was moved or removed; a new one begins",
                    file->path);
        if (r < 0)
            crn_error_set(error, r, "%s: cannot be read: %s", file->path, strerror(-r));
    }
    if (r < 0)
        crn_change_file_close(&file);
    *ret_file = file;
    return r;
}

/* --- appending --- */

/* One write, so that no line end is there without its entry unless the power fails just then. What
 * the disk took in part is taken back. */
static int write_line(const crn_change_file *file, const char *line, size_t size, crn_error *error)
{
    struct stat before;
    if (fstat(file->descriptor, &before) < 0)
        return crn_error_set(error, -errno, "%s: cannot be read: %s", file->path, strerror(errno));
    if (before.st_size + (off_t)size > CRN_CHANGES_BYTES_MAX)
        return crn_error_set(
            error, -EFBIG,
            "%s: is full (%d MiB); move it away to where it is kept, and a new one "
            "begins",
            file->path, CRN_CHANGES_BYTES_MAX >> 20);
    ssize_t count = write(file->descriptor, line, size);
    int code = count < 0 ? errno : count < (ssize_t)size ? ENOSPC : 0;
    if (code == 0 && fdatasync(file->descriptor) < 0)
        code = errno;
    if (code == 0)
        return 0;
    if (ftruncate(file->descriptor, before.st_size) < 0) /* the next entry vouches for the rest */
        crn_log(CRN_LOG_WARNING, "changes: %s: a part of an entry stays: %s", file->path,
                strerror(errno));
    return crn_error_set(error, -code, "%s: cannot be written: %s", file->path, strerror(code));
}

static int pack(const crn_change_file *file, const crn_change *change,
                char ret_line[CRN_CHANGE_LINE_BYTES], char ret_hash[CRN_SHA256_TEXT_BYTES])
{
    return crn_change_pack(change, file->last.number + 1,
                           file->last.number ? file->last.hash : NULL, ret_line, ret_hash);
}

int crn_change_file_append(crn_change_file *file, crn_change *change, crn_error *error)
{
    char line[1 + CRN_CHANGE_LINE_BYTES], hash[CRN_SHA256_TEXT_BYTES];
    if (!change->continues)
        change->before = file->last.after;
    memcpy(change->cut, file->cut, sizeof change->cut);
    line[0] = '\n';
    int r = pack(file, change, line + 1, hash);
    if (r == -EMSGSIZE) { /* of lines that are escaped throughout */
        strcpy(change->keys, "...");
        r = pack(file, change, line + 1, hash);
    }
    if (r < 0)
        return crn_error_set(error, r, "%s: the entry cannot be made: %s", file->path,
                             strerror(-r));
    size_t length = (size_t)r;
    bool ends_line = file->lacks_line_end;
    r = write_line(file, line + !ends_line, length + ends_line, error);
    if (r < 0)
        return r;
    file->last = (crn_change_links){.number = file->last.number + 1, .after = change->after};
    memcpy(file->last.hash, hash, sizeof hash);
    file->cut[0] = '\0';
    file->lacks_line_end = false;
    return 0;
}
