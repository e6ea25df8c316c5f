/* Files of /proc and /sys below the root, read without any allocation. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/monitor/resources/internal.h"

#define PATH_BYTES (3 * CRN_RESOURCE_FOLDER_BYTES)

static ssize_t read_retrying(int fd, char *bytes, size_t size)
{
    ssize_t got;
    do
        got = read(fd, bytes, size);
    while (got < 0 && errno == EINTR);
    return got;
}

bool crn_resource_read(crn_resources_reader *reader, const char *format, ...)
{
    char path[PATH_BYTES];
    int size = snprintf(path, sizeof path, "%s", reader->root);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path + size, sizeof path - (size_t)size, format, arguments);
    va_end(arguments);
    reader->text[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0 && used + 1 < sizeof reader->text) {
        got = read_retrying(fd, reader->text + used, sizeof reader->text - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    reader->text[used] = '\0';
    return used > 0;
}

bool crn_resource_find(const char *text, const char *key, uint64_t *ret_number)
{
    size_t length = strlen(key);
    for (const char *line = text; line && *line;) {
        if (strncmp(line, key, length) == 0) {
            char *end;
            const char *number = line + length + strspn(line + length, " \t");
            *ret_number = strtoull(number, &end, 10);
            if (end != number)
                return true;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return false;
}

void crn_resource_find_group(crn_resources_reader *reader)
{
    reader->group[0] = '\0';
    if (!crn_resource_read(reader, "/proc/self/cgroup"))
        return;
    char *line =
        strncmp(reader->text, "0::", 3) == 0 ? reader->text : strstr(reader->text, "\n0::");
    if (!line)
        return;
    line = strchr(line, '/');
    if (!line)
        return;
    size_t length = strcspn(line, "\n");
    /* Outside of what this process's namespace shows, or at its root. */
    if (length <= 1 || length >= sizeof reader->group || strncmp(line, "/..", 3) == 0)
        return;
    memcpy(reader->group, line, length);
    reader->group[length] = '\0';
}

bool crn_resource_group_parent(char group[CRN_RESOURCE_FOLDER_BYTES])
{
    char *slash = strrchr(group, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}
