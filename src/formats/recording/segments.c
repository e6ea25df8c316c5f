#include "src/formats/recording/segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/recording/unfinished.h"
#include "stages/base/clock.h"
#include "stages/base/buffer/array.h"

#define NAME_START    "cernita-"
#define NAME_END      ".tif"
#define PART_END      ".part"
#define NUMBER_DIGITS 4
#define DIGITS_MAX    20
#define NAME_BYTES    64 /* more than the longest name, with its end */

/* A file server's clock may differ by less. */
#define AHEAD_NS (60 * CRN_NS_PER_S)

typedef struct segment_file {
    char name[NAME_BYTES];
    uint64_t bytes;
    int64_t written_ns; /* CLOCK_REALTIME */
    bool ahead;         /* written while the clock was wrong: it has been set back since */
} segment_file;

typedef struct segment_files {
    segment_file *items;
    size_t count;
    uint64_t bytes;
} segment_files;

/* --- names --- */

void crn_segment_path(char *path, size_t size, const char *dir, const char *start, uint64_t number)
{
    snprintf(path, size, "%s/" NAME_START "%s-%0*" PRIu64 NAME_END, dir, start, NUMBER_DIGITS,
             number);
}

/* Skips exactly `count` digits and the character `end`. */
static bool skip_digits(const char **at, size_t count, char end)
{
    if (strspn(*at, "0123456789") != count || (*at)[count] != end)
        return false;
    *at += count + 1;
    return true;
}

/* `end`: what follows the number. */
static bool is_name(const char *name, const char *end)
{
    if (strncmp(name, NAME_START, strlen(NAME_START)) != 0)
        return false;
    const char *at = name + strlen(NAME_START);
    if (!skip_digits(&at, 8, 'T') || !skip_digits(&at, 6, 'Z') || *at++ != '-')
        return false;
    size_t digits = strspn(at, "0123456789");
    bool padded = digits > NUMBER_DIGITS && at[0] == '0';
    return digits >= NUMBER_DIGITS && digits <= DIGITS_MAX && !padded &&
           strcmp(at + digits, end) == 0;
}

bool crn_segment_is_name(const char *name)
{
    return is_name(name, NAME_END);
}

static bool is_part_name(const char *name)
{
    return is_name(name, NAME_END PART_END);
}

/* --- the folder --- */

/* A segment whose time lies ahead was written before the clock was corrected, so it counts as older
 * than all others; if it counted as the youngest, each new segment would be removed at once. */
static int by_age(const void *left, const void *right)
{
    const segment_file *a = left, *b = right;
    if (a->ahead != b->ahead)
        return a->ahead ? -1 : 1;
    if (a->written_ns != b->written_ns)
        return a->written_ns < b->written_ns ? -1 : 1;
    return strverscmp(a->name, b->name);
}

static int add(segment_files *all, const char *name, const struct stat *about, int64_t now_ns)
{
    if (crn_array_grow(&all->items, all->count, sizeof *all->items) < 0)
        return -ENOMEM;
    segment_file *one = &all->items[all->count++];
    memcpy(one->name, name, strlen(name) + 1); /* fits: is_name */
    one->bytes = (uint64_t)about->st_size;
    one->written_ns = about->st_mtim.tv_sec * CRN_NS_PER_S + about->st_mtim.tv_nsec;
    one->ahead = one->written_ns - AHEAD_NS > now_ns;
    all->bytes += one->bytes;
    return 0;
}

/* A finished segment, or what a killed recorder left and nobody can finish. */
static bool is_segment(DIR *folder, const char *name)
{
    return crn_segment_is_name(name) ||
           (is_part_name(name) && crn_recording_part_is_left(dirfd(folder), name));
}

/* Lists the segments, oldest first. 0 or a negative errno. */
static int list(DIR *folder, int64_t now_ns, segment_files *ret_all)
{
    struct dirent *entry;
    int r = 0;
    while (!r && (errno = 0, entry = readdir(folder))) {
        struct stat about;
        /* fstatat fails if the file was removed meanwhile. */
        if (is_segment(folder, entry->d_name) &&
            !fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) &&
            S_ISREG(about.st_mode))
            r = add(ret_all, entry->d_name, &about, now_ns);
    }
    if (!r)
        r = -errno; /* readdir's */
    if (!r && ret_all->count)
        qsort(ret_all->items, ret_all->count, sizeof *ret_all->items, by_age);
    return r;
}

void crn_segments_adopt(const char *dir, uint64_t *adopted, uint64_t *bytes)
{
    struct dirent *entry;
    DIR *folder = opendir(dir);
    while (folder && (entry = readdir(folder))) {
        char path[PATH_MAX];
        struct stat about;
        if (!is_part_name(entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%.*s", dir, (int)(strlen(entry->d_name) - strlen(PART_END)),
                 entry->d_name);
        if (crn_recording_part_adopt(path) <= 0)
            continue;
        *adopted += 1;
        *bytes += lstat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
    }
    if (folder)
        closedir(folder);
}

/* --- removal --- */

static bool is_too_many(const crn_segment_limits *limits, uint64_t bytes, uint64_t coming_bytes)
{
    return limits->keep_bytes && bytes + coming_bytes > limits->keep_bytes;
}

static bool is_too_old(const crn_segment_limits *limits, const segment_file *one, int64_t now_ns)
{
    return limits->keep_ns && now_ns - one->written_ns > limits->keep_ns;
}

static int unlink_one(int folder, const char *name)
{
    if (is_part_name(name))
        return crn_recording_part_remove_left(folder, name);
    return unlinkat(folder, name, 0) < 0 ? -errno : 0;
}

/* Removes one; the first failure is told in *error. */
static int remove_one(DIR *folder, const char *dir, const segment_file *one,
                      crn_segments_removed *removed, crn_error *error)
{
    int r = unlink_one(dirfd(folder), one->name);
    if (r == -EBUSY)
        return 0; /* one that has just been made: its writer had not locked it yet */
    if (r && r != -ENOENT)
        return crn_error_set(error, r, "%s/%s: cannot be removed: %s", dir, one->name,
                             strerror(-r));
    removed->removed++;
    removed->removed_bytes += one->bytes;
    removed->left--;
    removed->left_bytes -= one->bytes;
    return 0;
}

int crn_segments_remove(const char *dir, const crn_segment_limits *limits, uint64_t coming_bytes,
                        crn_segments_removed *ret_removed, crn_error *error)
{
    segment_files all = {0};
    *ret_removed = (crn_segments_removed){0};
    int64_t now_ns = crn_realtime_ns();
    DIR *folder = opendir(dir);
    int r = folder ? list(folder, now_ns, &all) : -errno;
    if (r)
        crn_error_set(error, r, "%s: cannot list this folder: %s", dir, strerror(-r));
    ret_removed->left = all.count;
    ret_removed->left_bytes = all.bytes;
    int failed = 0;
    for (size_t i = 0; i < all.count && !r; i++) {
        crn_error why;
        bool goes = is_too_old(limits, &all.items[i], now_ns) ||
                    is_too_many(limits, ret_removed->left_bytes, coming_bytes);
        int fault = goes ? remove_one(folder, dir, &all.items[i], ret_removed, &why) : 0;
        if (fault && !failed)
            failed = crn_error_set(error, fault, "%s", why.text);
    }
    if (folder)
        closedir(folder);
    free(all.items);
    return r ? r : failed;
}
