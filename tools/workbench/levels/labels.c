#include "tools/workbench/levels/labels.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER            "fruit,view,class,has_defect"
#define HEADER_WITH_LANES "lane," HEADER
#define FILE_OF_FOLDER    "labels.csv"
#define LABELS_MAX        (SIZE_MAX / 2 / sizeof(crn_label))

/* --- rows ------------------------------------------------------------------------------------- */

static void cut_line_end(char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
}

bool crn_labels_are_in(const char *path)
{
    char line[64] = "";
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    cut_line_end(line);
    return strcmp(line, HEADER) == 0 || strcmp(line, HEADER_WITH_LANES) == 0;
}

static int by_place(const void *left, const void *right)
{
    const crn_label *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->fruit != b->fruit)
        return a->fruit < b->fruit ? -1 : 1;
    if (a->view != b->view)
        return a->view < b->view ? -1 : 1;
    return (a->plane > b->plane) - (a->plane < b->plane);
}

/* The next field, unquoted; NULL at the line's end. */
static char *next_field(char **rest)
{
    char *field = strsep(rest, ",");
    size_t length = field ? strlen(field) : 0;
    if (length > 1 && field[0] == '"' && field[length - 1] == '"') {
        field[length - 1] = '\0';
        field++;
    }
    return field;
}

static bool read_number(const char *text, uint64_t max, uint64_t *ret_value)
{
    char *end;
    errno = 0;
    if (!text || *text < '0' || *text > '9')
        return false;
    *ret_value = strtoull(text, &end, 10);
    return !*end && !errno && *ret_value <= max;
}

static int32_t plane_of(const crn_classes *classes, const char *name)
{
    for (int32_t i = 0; name && i < classes->count; i++)
        if (strcmp(classes->name[i], name) == 0)
            return i;
    return -1;
}

static int read_row(const crn_labels *labels, const crn_classes *classes, char *line,
                    crn_label *ret_label, const char **ret_fault)
{
    uint64_t lane = 0, view = 0, has_defect = 0;
    *ret_fault = NULL;
    if (labels->has_lanes && !read_number(next_field(&line), UINT32_MAX, &lane))
        *ret_fault = "the lane is not a number from 0";
    if (!*ret_fault && !read_number(next_field(&line), UINT64_MAX, &ret_label->fruit))
        *ret_fault = "the fruit is not a number from 0";
    if (!*ret_fault && !read_number(next_field(&line), UINT16_MAX, &view))
        *ret_fault = "the view is not a number from 0 to 65535";
    ret_label->plane = *ret_fault ? -1 : plane_of(classes, next_field(&line));
    if (!*ret_fault && ret_label->plane < 0)
        *ret_fault = "there is no class of this name";
    if (!*ret_fault && !read_number(next_field(&line), 1, &has_defect))
        *ret_fault = "has_defect is neither 0 nor 1";
    if (!*ret_fault && line)
        *ret_fault = "there are more fields than in the first line";
    ret_label->lane = (uint32_t)lane;
    ret_label->view = (uint32_t)view;
    ret_label->has_defect = has_defect;
    return *ret_fault ? -EINVAL : 0;
}

static int add(crn_labels *labels, size_t *room, const crn_label *label)
{
    if (labels->count == *room) {
        size_t wanted = *room ? *room * 2 : 1024;
        crn_label *grown =
            wanted < LABELS_MAX ? realloc(labels->at, wanted * sizeof *labels->at) : NULL;
        if (!grown)
            return -ENOMEM;
        labels->at = grown;
        *room = wanted;
    }
    labels->at[labels->count++] = *label;
    return 0;
}

/* Sorts the rows; the same place twice is one, unless they say different things. */
static int sort(const char *path, crn_labels *labels, crn_error *error)
{
    size_t kept = 0;
    if (labels->count > 0)
        qsort(labels->at, labels->count, sizeof *labels->at, by_place);
    for (size_t i = 0; i < labels->count; i++) {
        const crn_label *last = kept > 0 ? &labels->at[kept - 1] : NULL;
        if (!last || by_place(last, &labels->at[i]) != 0)
            labels->at[kept++] = labels->at[i];
        else if (last->has_defect != labels->at[i].has_defect)
            return crn_error_set(error, -EINVAL,
                                 "%s: lines %d and %d say different things of one view's class",
                                 path, last->line, labels->at[i].line);
    }
    labels->count = kept;
    return 0;
}

static int check_header(const char *path, const char *line, crn_labels *labels, crn_error *error)
{
    labels->has_lanes = strcmp(line, HEADER_WITH_LANES) == 0;
    if (labels->has_lanes || strcmp(line, HEADER) == 0)
        return 0;
    return crn_error_set(error, -EINVAL, "%s:1: is not %s, with or without lane, before it", path,
                         HEADER);
}

static int read_rows(const char *path, FILE *file, const crn_classes *classes, crn_labels *labels,
                     crn_error *error)
{
    char *line = NULL;
    size_t line_room = 0, room = 0;
    bool more = getline(&line, &line_room, file) >= 0;
    if (more)
        cut_line_end(line);
    int r = check_header(path, more ? line : "", labels, error);
    for (int32_t number = 2; r == 0 && getline(&line, &line_room, file) >= 0; number++) {
        const char *fault;
        crn_label label = {.line = number};
        cut_line_end(line);
        if (!*line)
            continue;
        if (read_row(labels, classes, line, &label, &fault) < 0)
            r = crn_error_set(error, -EINVAL, "%s:%d: %s", path, number, fault);
        else if (add(labels, &room, &label) < 0)
            r = crn_error_set(error, -ENOMEM, "%s: no memory for its rows", path);
    }
    if (r == 0 && ferror(file))
        r = crn_error_set(error, -EIO, "%s: cannot be read: %s", path, strerror(errno));
    free(line);
    return r < 0 ? r : sort(path, labels, error);
}

static int read_file(const char *path, const crn_classes *classes, crn_labels *labels,
                     crn_error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return crn_error_set(error, -errno, "%s: cannot be read: %s", path, strerror(errno));
    int r = read_rows(path, file, classes, labels, error);
    fclose(file);
    return r;
}

int crn_labels_read(const char *path, const crn_classes *classes, crn_labels *ret_labels,
                    crn_error *error)
{
    struct stat status;
    crn_labels labels = {0};
    char *file = NULL;
    int r = 0;
    if (stat(path, &status) < 0)
        return crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(status.st_mode)) {
        r = read_file(path, classes, &labels, error);
    } else if (!(labels.folder = strdup(path)) || asprintf(&file, "%s/" FILE_OF_FOLDER, path) < 0) {
        r = crn_error_set(error, -ENOMEM, "%s: no memory for labels", path);
    } else if (access(file, F_OK) == 0) {
        r = read_file(file, classes, &labels, error);
    }
    free(file);
    if (r < 0)
        crn_labels_free(&labels);
    else
        *ret_labels = labels;
    return r;
}

void crn_labels_free(crn_labels *labels)
{
    free(labels->at);
    free(labels->folder);
    *labels = (crn_labels){0};
}

crn_label *crn_labels_find(crn_labels *labels, const crn_view_header *view, int32_t plane)
{
    crn_label wanted = {.lane = labels->has_lanes ? view->lane : 0,
                        .fruit = view->fruit,
                        .view = view->view,
                        .plane = plane};
    crn_label *found = labels->count > 0 ? bsearch(&wanted, labels->at, labels->count,
                                                   sizeof *labels->at, by_place)
                                         : NULL;
    if (found)
        found->used = true;
    return found;
}

/* --- masks ------------------------------------------------------------------------------------ */

static int check_mask(const char *path, const crn_picture *mask, const crn_view_header *view,
                      int32_t classes, crn_error *error)
{
    const crn_image *image = &mask->image;
    if (image->type != CRN_U8 || image->planes != 1)
        return crn_error_set(error, -EINVAL, "%s: has %d planes of %s; a mask is one plane of u8",
                             path, image->planes, crn_type_name(image->type));
    if ((uint32_t)image->width != view->width || (uint32_t)image->height != view->height)
        return crn_error_set(error, -EINVAL, "%s: is %d x %d, but its view %u x %u", path,
                             image->width, image->height, view->width, view->height);
    for (int32_t y = 0; y < image->height; y++)
        for (int32_t x = 0; x < image->width; x++) {
            int32_t value = (int32_t)crn_image_at(image, 0, y, x);
            if (value >= classes && value != CRN_MASK_UNKNOWN)
                return crn_error_set(error, -EINVAL,
                                     "%s: has the value %d at x %d, y %d; classes are 0 to %d, and "
                                     "%d is unknown",
                                     path, value, x, y, classes - 1, CRN_MASK_UNKNOWN);
        }
    return 0;
}

bool crn_labels_are_named(const char *name)
{
    regex_t names;
    if (regcomp(&names, CRN_LABEL_NAMES, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool found = regexec(&names, name, 0, NULL, 0) == 0;
    regfree(&names);
    return found;
}

int crn_labels_read_mask(const crn_labels *labels, const crn_view_header *view, int32_t classes,
                         crn_picture *ret_mask, crn_error *error)
{
    static const char *const endings[] = {"png", "tif"};
    for (int with_lane = 1; labels->folder && with_lane >= 0; with_lane--)
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            char path[4096], lane[16] = "";
            if (with_lane)
                snprintf(lane, sizeof lane, "%u-", view->lane);
            if (snprintf(path, sizeof path, "%s/%s%" PRIu64 "-%u.%s", labels->folder, lane,
                         view->fruit, view->view, endings[i]) >= (int)sizeof path ||
                access(path, F_OK) < 0)
                continue;
            int r = crn_picture_read(path, ret_mask, error);
            if (r == 0)
                r = check_mask(path, ret_mask, view, classes, error);
            if (r < 0)
                crn_picture_free(ret_mask);
            return r < 0 ? r : 1;
        }
    return 0;
}
