#include "src/formats/verdict_log/archived.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/verdict_log/format.h"
#include "stages/base/file/new_file.h"
#include "stages/base/file/regular_file.h"

#define NAME       "archived"
#define TEXT_BYTES 32 /* a number and its line end */

uint64_t crn_verdict_log_get_archived(const char *dir)
{
    char path[PATH_MAX], text[TEXT_BYTES];
    crn_error ignored;
    snprintf(path, sizeof path, "%s/" NAME, dir);
    int fd = crn_regular_open(path, &ignored);
    if (fd < 0)
        return UINT64_MAX;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    size_t digits = strspn(text, "0123456789");
    uint64_t number = strtoull(text, NULL, 10);
    bool is_good = digits > 0 && strcmp(text + digits, "\n") == 0 && number > 0 &&
                   number <= CRN_VERDICT_LOG_NUMBER_MAX;
    return is_good ? number : UINT64_MAX;
}

int crn_verdict_log_set_archived(const char *dir, uint64_t number, crn_error *error)
{
    char path[PATH_MAX];
    crn_new_file file = {0};
    snprintf(path, sizeof path, "%s/" NAME, dir);
    int r = crn_new_file_open_stream(path, &file, error);
    if (r < 0)
        return r;
    fprintf(file.stream, "%" PRIu64 "\n", number);
    r = crn_new_file_finish_synced(&file, error);
    crn_new_file_drop(&file);
    return r;
}
