#include "tools/apply_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int crn_apply_file_open(const char *path, crn_apply_file *ret_file, crn_error *error)
{
    crn_apply_file file = {.path = strdup(path)};
    if (!file.path || asprintf(&file.beside, "%s.part-XXXXXX", path) < 0) {
        file.beside = NULL;
        crn_apply_file_discard(&file);
        return crn_error_set(error, -ENOMEM, "%s: no memory to write it", path);
    }
    int descriptor = mkstemp(file.beside);
    if (descriptor >= 0) {
        /* mkstemp's files are the owner's alone; this one is like any other. */
        mode_t mask = umask(0);
        umask(mask);
        fchmod(descriptor, 0666 & ~mask);
        file.stream = fdopen(descriptor, "w");
    }
    if (!file.stream) {
        int code = -errno;
        if (descriptor >= 0) {
            close(descriptor);
            unlink(file.beside);
        }
        crn_apply_file_discard(&file);
        return crn_error_set(error, code, "%s: cannot be written: %s", path, strerror(-code));
    }
    *ret_file = file;
    return 0;
}

int crn_apply_file_finish(crn_apply_file *file, crn_error *error)
{
    errno = 0;
    bool failed = fflush(file->stream) || ferror(file->stream);
    int code = failed ? -(errno ? errno : EIO) : 0;
    if (fclose(file->stream) && !failed)
        code = -errno;
    file->stream = NULL;
    if (!code && rename(file->beside, file->path) < 0)
        code = -errno;
    if (code) {
        crn_error_set(error, code, "%s: cannot be written: %s", file->path, strerror(-code));
        unlink(file->beside);
    }
    crn_apply_file_discard(file);
    return code;
}

void crn_apply_file_discard(crn_apply_file *file)
{
    if (file->stream) {
        fclose(file->stream);
        unlink(file->beside);
    }
    free(file->path);
    free(file->beside);
    *file = (crn_apply_file){0};
}
