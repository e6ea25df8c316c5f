#include "tools/top/sse.h"

#include <stdlib.h>
#include <string.h>

static bool append(char **buffer, size_t *size, size_t *capacity, size_t max, const char *bytes,
                   size_t count)
{
    if (count > max - *size)
        return false;
    if (count == 0)
        return true; /* there may be no buffer yet */
    if (*size + count > *capacity) {
        size_t wanted = 2 * (*size + count);
        char *larger = realloc(*buffer, wanted);
        if (!larger)
            return false;
        *buffer = larger;
        *capacity = wanted;
    }
    memcpy(*buffer + *size, bytes, count);
    *size += count;
    return true;
}

static bool append_data(crn_sse *sse, const char *bytes, size_t count)
{
    return append(&sse->data, &sse->data_size, &sse->data_capacity, sse->bytes_max, bytes, count);
}

/* A whole line, without its end. */
static bool take_line(crn_sse *sse)
{
    static const char field[] = "data:";
    const char *line = sse->line;
    size_t size = sse->line_size;
    if (size > 0 && line[size - 1] == '\r')
        size--;
    sse->line_size = 0;
    if (size == 0) {
        if (sse->data_size > 0)
            sse->event(sse->context, sse->data, sse->data_size);
        sse->data_size = 0;
        return true;
    }
    if (size < strlen(field) || memcmp(line, field, strlen(field)) != 0)
        return true; /* a comment, or another field */
    size_t at = strlen(field);
    at += at < size && line[at] == ' ';
    return (sse->data_size == 0 || append_data(sse, "\n", 1)) &&
           append_data(sse, line + at, size - at);
}

bool crn_sse_read(crn_sse *sse, const char *bytes, size_t size)
{
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t count = end ? (size_t)(end - bytes) : size;
        if (!append(&sse->line, &sse->line_size, &sse->line_capacity, sse->bytes_max, bytes, count))
            return false;
        if (!end)
            return true;
        if (!take_line(sse))
            return false;
        bytes += count + 1;
        size -= count + 1;
    }
    return true;
}

void crn_sse_restart(crn_sse *sse)
{
    sse->line_size = sse->data_size = 0;
}

void crn_sse_done(crn_sse *sse)
{
    free(sse->line);
    free(sse->data);
    sse->line = sse->data = NULL;
}
