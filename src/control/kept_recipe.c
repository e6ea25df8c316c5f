#include "src/control/kept_recipe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/new_file.h"
#include "stages/base/log.h"
#include "stages/base/utf8.h"

#define NAME "recipe"
#define MODE 0640

#define TEXT_BYTES (PATH_MAX + 128)

static const char form[] = "cernita recipe 1\nline %s\nrecipe %s\nend\n",
                  head[] = "cernita recipe 1\nline ", middle[] = "\nrecipe ", tail[] = "\nend\n";

/* The line's file from the root on: a restart may come from another folder. */
static void absolute(const char *line_file, char ret_path[PATH_MAX])
{
    char here[PATH_MAX];
    if (line_file[0] == '/' || !getcwd(here, sizeof here) ||
        snprintf(ret_path, PATH_MAX, "%s/%s", here, line_file) >= PATH_MAX)
        snprintf(ret_path, PATH_MAX, "%s", line_file);
    crn_utf8_clean(ret_path); /* no line ends */
}

static int replace(const char *path, const char *text, crn_error *error)
{
    crn_new_file file;
    int r = crn_new_file_open_stream(path, &file, error);
    if (r < 0)
        return r;
    if (fchmod(file.fd, MODE) == 0) {
        fputs(text, file.stream);
        return crn_new_file_finish_synced(&file, error);
    }
    r = crn_error_set(error, -errno, "%s: cannot be written: %s", path, strerror(errno));
    crn_new_file_drop(&file);
    return r;
}

/* Empties the file, for which a full disk has room, too. It stays, also where the disk fails: a
 * folder without it is one that was never asked to keep a recipe. */
static void make_unreadable(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, MODE);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

int crn_kept_recipe_write(const char *dir, const char *line_file, const char *recipe,
                          crn_error *error)
{
    char line_path[PATH_MAX], text[TEXT_BYTES], path[PATH_MAX];
    absolute(line_file, line_path);
    snprintf(text, sizeof text, form, line_path, recipe);
    if (snprintf(path, sizeof path, "%s/" NAME, dir) >= (int)sizeof path)
        return crn_error_set(error, -ENAMETOOLONG, "%s: is too long a path", dir);
    int r = replace(path, text, error);
    if (r < 0)
        make_unreadable(path);
    return r;
}

/* Reads the file into `text`. Returns 0, -ENOENT where the folder has none, or another errno. */
static int read_text(const char *dir, char text[TEXT_BYTES])
{
    int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOENT ? -ENOTDIR : -errno; /* no folder: what it kept is not known */
    struct stat about;
    ssize_t size = -1;
    int fd = openat(folder, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
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

/* Cuts the text into its two values. False: it is not such a text. */
static bool parse(char *text, char **ret_path, char **ret_recipe)
{
    if (strncmp(text, head, strlen(head)) != 0)
        return false;
    *ret_path = text + strlen(head);
    char *second = strstr(*ret_path, middle);
    if (!second || strcspn(*ret_path, "\n") != (size_t)(second - *ret_path))
        return false;
    *second = '\0';
    *ret_recipe = second + strlen(middle);
    size_t length = strcspn(*ret_recipe, "\n");
    if (length >= CRN_RECIPE_NAME_BYTES || strcmp(*ret_recipe + length, tail) != 0)
        return false;
    (*ret_recipe)[length] = '\0';
    crn_utf8_clean(*ret_recipe); /* it goes to the log, and to terminals */
    crn_utf8_clean(*ret_path);
    return true;
}

int crn_kept_recipe_read(const char *dir, const char *line_file,
                         char ret_recipe[CRN_RECIPE_NAME_BYTES], crn_error *error)
{
    char text[TEXT_BYTES], wanted[PATH_MAX], *path, *recipe;
    ret_recipe[0] = '\0';
    absolute(line_file, wanted);
    int r = read_text(dir, text);
    if (r == -ENOENT)
        return r;
    if (r < 0 && r != -EINVAL)
        return crn_error_set(error, r, "%s/" NAME ": cannot be read: %s", dir,
                             r == -ENOTDIR ? "there is no such folder" : strerror(-r));
    if (r < 0 || !parse(text, &path, &recipe))
        return crn_error_set(error, -EINVAL, "%s/" NAME ": is damaged, or not cernitad's", dir);
    snprintf(ret_recipe, CRN_RECIPE_NAME_BYTES, "%s", recipe);
    if (strcmp(path, wanted) != 0)
        return crn_error_set(error, -EINVAL,
                             "%s/" NAME ": is of the line %.512s; give each line a state.dir of "
                             "its own",
                             dir, path);
    return 0;
}

/* --- the start --- */

static void lose(crn_config *resumed, const char *recipe, const char *why)
{
    snprintf(resumed->lost_recipe, sizeof resumed->lost_recipe, "%s", recipe[0] ? recipe : "?");
    crn_log(CRN_LOG_ERROR,
            "recipe: what was in force before the start is not certain: %s; choose it again "
            "(cernitactl recipe NAME, or --none for the file's own settings)",
            why);
}

/* The hash is that of the settings as loaded: the same as of a switch while the line runs. */
static int use(const crn_config *config, const crn_config *file, const char *recipe,
               crn_config *ret_resumed, crn_error *error)
{
    crn_config loaded;
    uint64_t hash = 0;
    int r = crn_config_use_recipe(file, recipe, &loaded);
    if (r == 0) {
        r = crn_config_hash(&loaded, &hash, error);
        crn_config_done(&loaded);
    } else if (r != -ENOENT) {
        crn_error_set(error, r, "no memory for the settings");
    }
    if (r == 0 && (r = crn_config_use_recipe(config, recipe, ret_resumed)) < 0)
        crn_error_set(error, r, "no memory for the settings");
    if (r == 0)
        ret_resumed->hash = hash;
    return r;
}

/* Says where a later recipe will not be kept. A file that is there can be made unreadable when the
 * disk is full, so one is made where the line has recipes. */
static void look_ahead(const crn_config *config, int kept)
{
    crn_error error;
    const char *dir = config->state.dir;
    if (!config->recipes)
        return;
    if (!dir[0])
        crn_log(CRN_LOG_INFO, "recipe: a restart forgets the one in force, as state.dir is empty "
                              "and systemd gave no folder (StateDirectory=)");
    else if (kept == -ENOENT && crn_kept_recipe_write(dir, config->file, "", &error) < 0)
        crn_log(CRN_LOG_WARNING, "recipe: a restart will forget the one in force: %s", error.text);
}

int crn_kept_recipe_resume(const crn_config *config, const crn_config *file,
                           crn_config *ret_resumed, crn_error *error)
{
    char recipe[CRN_RECIPE_NAME_BYTES] = "";
    const char *dir = config->state.dir;
    crn_error why = {""};
    *ret_resumed = (crn_config){.steps = 0};
    int kept = dir[0] ? crn_kept_recipe_read(dir, config->file, recipe, &why) : -ENOENT;
    int r = use(config, file, kept == 0 ? recipe : "", ret_resumed, error);
    if (r == -ENOENT) {
        kept = crn_error_set(&why, -ESTALE, "the file has no recipe '%s' any more", recipe);
        r = use(config, file, "", ret_resumed, error);
    } else if (kept == 0 && faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) < 0) {
        kept = crn_error_set(&why, -errno,
                             "%s cannot be written to (%s), so the recipe kept there may be an "
                             "old one",
                             dir, strerror(errno));
    }
    if (r < 0)
        return r;
    if (kept == -ENOTDIR && !config->recipes)
        crn_log(CRN_LOG_WARNING,
                "state.dir: %s is not there: what the line keeps over restarts is "
                "lost; make the folder, or name another",
                dir);
    else if (why.text[0])
        lose(ret_resumed, recipe, why.text);
    if (ret_resumed->recipe[0])
        crn_log(CRN_LOG_INFO, "recipe: '%s' is in force, as before the start", recipe);
    look_ahead(config, kept);
    return 0;
}
