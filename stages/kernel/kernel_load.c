#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/regular_file.h"
#include "stages/kernel/kernel.h"
#include "stages/kernel/plane_load.h"

#define MARK           "\xef\xbb\xbf" /* byte order mark of UTF-8, which spreadsheets prepend */
#define TEXT_BYTES_MAX (4 << 20)      /* far more than CRN_KERNEL_TAPS_MAX numbers need */

#define WORD_BYTES 40 /* of a word quoted in an error message */

/* --- text --- */

typedef struct text_position {
    const char *path;
    int32_t line;
    crn_error *error;
} text_position;

/* What separates the numbers of a row, as far as it is read. Columns count from 1; 0: none. */
typedef struct separators {
    bool blanks, spaced_commas; /* blanks alone; commas beside blanks */
    int32_t comma, tight_comma; /* columns of the first comma, and of the first between digits */
} separators;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *skip_space(const char *c)
{
    while (is_space(*c))
        c++;
    return c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Advances *c past what separates the number before it from the next, and notes it. */
static int take_separator(const text_position *at, const char *row, const char **c,
                          separators *seen)
{
    const char *start = *c, *comma = skip_space(start);
    *c = comma;
    if (*comma != ',') {
        seen->blanks = seen->blanks || *comma;
        return 0;
    }
    *c = skip_space(comma + 1);
    if (!**c)
        return crn_error_set(at->error, -EINVAL,
                             "%s:%" PRId32 ": a number is missing behind the last comma", at->path,
                             at->line);
    int32_t column = (int32_t)(comma - row) + 1;
    bool tight = comma == start && *c == comma + 1;
    seen->spaced_commas = seen->spaced_commas || !tight;
    if (!seen->comma)
        seen->comma = column;
    if (!seen->tight_comma && tight && is_digit(comma[-1]) && is_digit(comma[1]))
        seen->tight_comma = column;
    return 0;
}

/* Beside other separators a comma may be a decimal one. */
static int check_separators(const text_position *at, const separators *seen)
{
    int32_t column = seen->blanks ? seen->comma : seen->spaced_commas ? seen->tight_comma : 0;
    if (!column)
        return 0;
    return crn_error_set(at->error, -EINVAL,
                         "%s:%" PRId32 ":%" PRId32 ": a decimal comma? %s separate numbers in this "
                         "row, too; write 0.5 for 0,5, or separate all numbers alike",
                         at->path, at->line, column,
                         seen->blanks ? "blanks" : "commas with blanks");
}

/* Parses the number at *c and advances *c past it. */
static int take_number(const text_position *at, const char **c, float *ret_value)
{
    char *end, word[WORD_BYTES];
    size_t length = strcspn(*c, " \t\r\n,");
    snprintf(word, sizeof word, "%.*s", (int)(length < WORD_BYTES ? length : WORD_BYTES), *c);
    for (char *w = word; *w; w++)
        *w = (unsigned char)*w < ' ' || *w == 0x7f ? ' ' : *w;
    float value = strtof(*c, &end);
    if (end != *c + length || !length)
        return crn_error_set(at->error, -EINVAL, "%s:%" PRId32 ": '%s' is not a number%s", at->path,
                             at->line, word,
                             strchr(word, ';') ? "; blanks or commas separate numbers" : "");
    if (!isfinite(value))
        return crn_error_set(at->error, -EINVAL,
                             "%s:%" PRId32 ": %s is not finite, or not within a float's range",
                             at->path, at->line, word);
    *c = end;
    *ret_value = value;
    return 0;
}

/* Appends the numbers of a line as a row. Lines without numbers are skipped. */
static int take_row(const text_position *at, char *line, crn_kernel *kernel)
{
    line[strcspn(line, "#")] = '\0';
    const char *c = skip_space(line);
    int32_t width = 0, used = kernel->size.width * kernel->size.height;
    separators seen = {0};
    if (!*c)
        return 0;
    for (; *c; width++) {
        float value = 0;
        int r = take_number(at, &c, &value);
        if (!r)
            r = take_separator(at, line, &c, &seen);
        if (r)
            return r;
        if (used + width == CRN_KERNEL_TAPS_MAX)
            return crn_error_set(at->error, -EINVAL,
                                 "%s:%" PRId32 ": a kernel has at most %d weights", at->path,
                                 at->line, CRN_KERNEL_TAPS_MAX);
        kernel->weights[used + width] = value;
    }
    int r = check_separators(at, &seen);
    if (r)
        return r;
    if (kernel->size.height && width != kernel->size.width)
        return crn_error_set(at->error, -EINVAL,
                             "%s:%" PRId32 ": has %" PRId32
                             " numbers, the rows before have %" PRId32
                             "; all rows must be equally long",
                             at->path, at->line, width, kernel->size.width);
    kernel->size.width = width;
    kernel->size.height++;
    return 0;
}

static int load_text(const char *path, FILE *file, crn_kernel *kernel, crn_error *error)
{
    text_position at = {path, 0, error};
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int r = 0;
    kernel->size = (crn_size){0, 0};
    errno = 0;
    while (!r && (length = getline(&line, &room, file)) >= 0) {
        at.line++;
        if (strlen(line) != (size_t)length)
            r = crn_error_set(error, -EINVAL, "%s:%" PRId32 ": is not text, nor TIFF, nor PNG",
                              path, at.line);
        else
            r = take_row(&at, line + (at.line == 1 && !strncmp(line, MARK, 3) ? 3 : 0), kernel);
    }
    if (!r && !feof(file)) /* nor is it if there was no memory for a line */
        r = crn_error_set(error, errno == ENOMEM ? -ENOMEM : -EIO, "%s: cannot be read: %s", path,
                          strerror(errno));
    if (!r && !kernel->size.height)
        r = crn_error_set(error, -EINVAL, "%s: has no numbers; a kernel is rows of them", path);
    free(line);
    return r;
}

/* --- files of either kind --- */

static bool is_picture(FILE *file)
{
    unsigned char magic[4] = {0};
    bool is = fread(magic, 1, sizeof magic, file) == sizeof magic &&
              (!memcmp(magic, "\x89PNG", 4) ||
               ((!memcmp(magic, "II", 2) || !memcmp(magic, "MM", 2)) && (!magic[2] || !magic[3])));
    rewind(file);
    return is;
}

static int load_file(const char *path, crn_kernel *kernel, crn_error *error)
{
    static const crn_plane_use use = {"a kernel", "weights", 0};
    int fd = crn_regular_open(path, error);
    if (fd < 0)
        return fd;
    FILE *file = fdopen(fd, "r");
    int r = 0;
    struct stat status;
    if (!file || fstat(fd, &status) < 0)
        r = crn_error_set(error, -errno, "%s: cannot be read: %s", path, strerror(errno));
    else if (is_picture(file))
        r = crn_plane_load(path, &use, kernel->weights, &kernel->size, error);
    else if (status.st_size > TEXT_BYTES_MAX)
        r = crn_error_set(error, -EINVAL, "%s: is too large for the text of a kernel (%d MiB)",
                          path, TEXT_BYTES_MAX >> 20);
    else
        r = load_text(path, file, kernel, error);
    if (file)
        fclose(file);
    else
        close(fd);
    return r;
}

int crn_kernel_load(const char *text, crn_size size, crn_kernel *ret_kernel, crn_error *error)
{
    crn_kernel kernel;
    crn_error named = {0};
    int r = crn_kernel_make(text, size, &kernel, &named);
    if (r == -ENOENT && !access(text, F_OK))
        r = load_file(text, &kernel, error);
    else if (r == -ENOENT)
        crn_error_set(error, r, "%.700s, and there is no such file", named.text);
    else if (r)
        crn_error_set(error, r, "%s", named.text);
    if (!r)
        *ret_kernel = kernel;
    return r;
}
