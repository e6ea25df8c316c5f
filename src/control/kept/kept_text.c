#include "src/control/kept/kept_text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "stages/base/file/new_file.h"

int crn_kept_text_write(const char *path, const char *text, crn_error *error)
{
    crn_new_file file;
    int r = crn_new_file_open_stream(path, &file, error);
    if (r < 0)
        return r;
    if (fchmod(file.fd, CRN_KEPT_MODE) == 0) {
        fputs(text, file.stream);
        return crn_new_file_finish_synced(&file, error);
    }
    r = crn_error_set(error, -errno, "%s: cannot be written: %s", path, strerror(errno));
    crn_new_file_drop(&file);
    return r;
}
