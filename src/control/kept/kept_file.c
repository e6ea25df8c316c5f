#include "src/control/kept/kept_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/control/kept/kept_text.h"
#include "stages/base/utf8.h"

#define TEXT_BYTES (PATH_MAX + 512)

static const char head[] = "cernita %s 1\nline ", end[] = "end\n";

/* The line's file from the root on: a restart may come from another folder. */
static void absolute(const char *line_file, char ret_path[PATH_MAX])
{
    char here[PATH_MAX];
    if (line_file[0] == '/' || !getcwd(here, sizeof here) ||
        snprintf(ret_path, PATH_MAX, "%s/%s", here, line_file) >= PATH_MAX)
        snprintf(ret_path, PATH_MAX, "%s", line_file);
    crn_utf8_clean(ret_path); /* no line ends */
}

static void print(const crn_kept_file *file, const char *line_path, FILE *out)
{
    fprintf(out, head, file->name);
    fprintf(out, "%s\n", line_path);
    for (size_t i = 0; i < file->count; i++)
        fprintf(out, "%s %s\n", file->values[i].name, file->values[i].text);
    fputs(end, out);
}

static int replace(const char *path, const char *line_path, const crn_kept_file *file,
                   crn_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return crn_error_set(error, -ENOMEM, "%s: no memory for it", path);
    print(file, line_path, out);
    int r = fclose(out) == 0 ? crn_kept_text_write(path, text, error)
                             : crn_error_set(error, -ENOMEM, "%s: no memory for it", path);
    free(text);
    return r;
}

/* Empties the file, for which a full disk has room, too. It stays, also where the disk fails: a
 * folder without it is one that was never asked to keep anything. */
static void make_unreadable(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                  CRN_KEPT_MODE);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

int crn_kept_file_write(const char *dir, const char *line_file, const crn_kept_file *file,
                        crn_error *error)
{
    char line_path[PATH_MAX], path[PATH_MAX];
    absolute(line_file, line_path);
    if (snprintf(path, sizeof path, "%s/%s", dir, file->name) >= (int)sizeof path)
        return crn_error_set(error, -ENAMETOOLONG, "%s: is too long a path", dir);
    int r = replace(path, line_path, file, error);
    if (r < 0)
        make_unreadable(path);
    return r;
}

/* Reads the file into `text`. Returns 0, -ENOENT where the folder has none, or another errno. */
static int read_text(const char *dir, const char *name, char text[TEXT_BYTES])
{
    int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOENT ? -ENOTDIR : -errno; /* no folder: what it kept is not known */
    struct stat about;
    ssize_t size = -1;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int r = fd < 0 || fstat(fd, &about) < 0 ? -errno : 0;
    if (r == 0 && !S_ISREG(about.st_mode))
        r = -EINVAL;
    if (r == 0 && (size = read(fd, text, TEXT_BYTES - 1)) < 0)
        r = -errno;
    text[size > 0 ? size : 0] = '\0';
    if (r == 0 && strlen(text) != (size_t)size)
        r = -EINVAL;
    if (fd >= 0)
        close(fd);
    close(folder);
    return r;
}

/* Cuts a line off that begins with `name` and a space: what follows, or NULL. */
static char *cut_line(char **text, const char *name)
{
    size_t length = strlen(name);
    char *line_end = strchr(*text, '\n'), *value = *text + length + 1;
    if (!line_end || strncmp(*text, name, length) != 0 || (*text)[length] != ' ')
        return NULL;
    *line_end = '\0';
    *text = line_end + 1;
    return value;
}

/* Sets the values by the text, which it cuts. False: it is not such a text. */
static bool parse(char *text, const crn_kept_file *file, char **ret_path)
{
    char first[64];
    snprintf(first, sizeof first, head, file->name);
    if (strncmp(text, first, strlen(first)) != 0)
        return false;
    text = strchr(text, '\n') + 1;
    *ret_path = cut_line(&text, "line");
    for (size_t i = 0; *ret_path && i < file->count; i++) {
        const crn_kept_value *value = &file->values[i];
        const char *found = cut_line(&text, value->name);
        if (!found || strlen(found) >= value->bytes)
            return false;
        strcpy(value->text, found);
        crn_utf8_clean(value->text); /* it goes to the log, and to terminals */
    }
    if (!*ret_path || strcmp(text, end) != 0)
        return false;
    crn_utf8_clean(*ret_path);
    return true;
}

int crn_kept_file_read(const char *dir, const char *line_file, const crn_kept_file *file,
                       crn_error *error)
{
    char text[TEXT_BYTES], wanted[PATH_MAX], *path;
    absolute(line_file, wanted);
    int r = read_text(dir, file->name, text);
    if (r == -ENOENT)
        return r;
    if (r < 0 && r != -EINVAL)
        return crn_error_set(error, r, "%s/%s: cannot be read: %s", dir, file->name,
                             r == -ENOTDIR ? "there is no such folder" : strerror(-r));
    if (r < 0 || !parse(text, file, &path))
        return crn_error_set(error, -EINVAL, "%s/%s: is damaged, or not cernitad's", dir,
                             file->name);
    if (strcmp(path, wanted) != 0)
        return crn_error_set(error, -EINVAL,
                             "%s/%s: is of the line %.512s; give each line a state.dir of its own",
                             dir, file->name, path);
    return 0;
}
