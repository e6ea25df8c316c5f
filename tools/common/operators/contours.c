/* cernita-apply contours. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stages/names.h"
#include "stages/serial/contours.h"
#include "tools/common/operators/output/map.h"
#include "tools/common/operators/output/outlines.h"

static const char *const endings[] = {".json", ".png", NULL};

typedef struct apply_contours_settings {
    crn_apply apply;
    double level;
    int32_t connectivity, orientation, border;
    int32_t scale; /* 0: not given */
} apply_contours_settings;

static const crn_option options[] = {
    CRN_OPTION_AT("level", "L", apply_contours_settings, level, .required = true, .min = -1e300,
                  .max = 1e300, .help = "the contours' value, in the picture's own range"),
    CRN_OPTION_AT("connectivity", "C", apply_contours_settings, connectivity,
                  .choices = crn_connectivity_names, .initial = "low",
                  .help = "which values a saddle connects"),
    CRN_OPTION_AT("orientation", "O", apply_contours_settings, orientation,
                  .choices = crn_orientation_names, .initial = "low",
                  .help = "which values lie left of a contour's direction"),
    CRN_OPTION_AT("border", "B", apply_contours_settings, border, .choices = crn_border_names,
                  .initial = "open",
                  .help = "whether contours end at the picture's border or close along it, as if\n"
                          "the outside were 0"),
    CRN_OPTION_AT("scale", "N", apply_contours_settings, scale, .min = 1, .max = 16, .initial = "1",
                  .help = "OUT.png: pixels for one of the picture, 1 to 16"),
    {0},
};

static void check_options(void *settings, const char *out)
{
    apply_contours_settings *set = settings;
    if (set->border == CRN_BORDER_CLOSED && set->level < 0)
        crn_usage_error(&set->apply.tool,
                        "--border closed treats the outside as 0, so --level %g must "
                        "not be below it",
                        set->level);
    if (set->scale && !crn_apply_ends(out, ".png"))
        crn_usage_error(&set->apply.tool, "--scale is for OUT.png");
    set->scale = set->scale ? set->scale : 1;
}

static int check_picture(void *settings, const char *in, const char *out, const crn_picture *probed,
                         crn_error *error)
{
    const apply_contours_settings *set = settings;
    const crn_image *image = &probed->image;
    if (set->border == CRN_BORDER_OPEN && (image->width < 2 || image->height < 2))
        return crn_error_set(error, -EINVAL,
                             "%s: %dx%d pixels are too few for open contours, which need 2x2; "
                             "--border closed accepts any size",
                             in, image->width, image->height);
    int64_t around = set->border == CRN_BORDER_CLOSED ? 1 : -1;
    if (((int64_t)image->width + around) * ((int64_t)image->height + around) >=
        CRN_CONTOURS_CELLS_MAX)
        return crn_error_set(error, -EINVAL,
                             "%s: %dx%d pixels are too many for contours, whose limit is 2^30 "
                             "cells a plane (sides %s 1); crop it",
                             in, image->width, image->height, around > 0 ? "plus" : "minus");
    /* The number of points is not known yet; the serial operator's edge tables are large. */
    uint64_t more =
        set->apply.backend == CRN_BACKEND_SERIAL ? 4 * crn_apply_plane_bytes(image, CRN_F32) : 0;
    if (crn_apply_ends(out, ".png")) {
        int32_t width, height;
        int r = crn_outlines_size(out, probed, set->scale, &width, &height, error);
        if (r < 0)
            return r;
        more += (uint64_t)width * (uint64_t)height * 7; /* cairo's pixels and the file's */
        more += crn_apply_plane_bytes(image, CRN_U8) * 4;
    }
    return crn_apply_check_memory(in, probed, more, error);
}

typedef struct contours_call {
    crn_contours_params params;
    const crn_image *image;
    crn_contours *out;
} contours_call;

static int run(const crn_apply *apply, void *argument)
{
    contours_call *c = argument;
    return apply->ops->contours(apply->context, &c->params, c->image, c->out);
}

/* Allocates the given number of points, and as many contours as they can form. */
static int make_room(const char *path, uint64_t points, crn_contours *contours, crn_error *error)
{
    uint64_t count =
        points / 4; /* a contour around a single pixel has five points, an open one at least two */
    uint64_t bytes = points * sizeof(crn_point) + count * sizeof(crn_contour);
    free(contours->points);
    free(contours->contours);
    *contours =
        (crn_contours){.point_capacity = (uint32_t)points, .contour_capacity = (uint32_t)count};
    char need[CRN_BYTES_TEXT], have[CRN_BYTES_TEXT];
    uint64_t available = crn_memory_available_bytes();
    if (points <= UINT32_MAX && bytes <= available) {
        contours->points = malloc(points * sizeof *contours->points);
        contours->contours = malloc(count * sizeof *contours->contours);
    }
    if (contours->points && contours->contours)
        return 0;
    return crn_error_set(error, -ENOMEM,
                         "%s: has more than %llu contour points; storing more needs %s, but %s are "
                         "free; crop the picture or choose another level",
                         path, (unsigned long long)points / 4, crn_bytes_format(bytes, need),
                         crn_bytes_format(available, have));
}

/* Finds the contours, growing the buffer until they fit. */
static int find(apply_contours_settings *set, const char *path, const crn_image *image,
                crn_contours *contours, crn_error *error)
{
    double *levels = malloc((size_t)image->planes * sizeof *levels);
    if (!levels)
        return crn_error_set(error, -ENOMEM, "%s: no memory for its levels", path);
    for (int32_t i = 0; i < image->planes; i++)
        levels[i] = set->level;
    contours_call c = {.params = {.levels = levels,
                                  .connectivity = (crn_connectivity)set->connectivity,
                                  .orientation = (crn_orientation)set->orientation,
                                  .border = (crn_border)set->border},
                       .image = image,
                       .out = contours};
    uint64_t points = (uint64_t)image->planes * (uint64_t)image->height * (uint64_t)image->width;
    points = points / 4 < 1 << 16 ? 1 << 16 : points / 4;
    int r;
    do {
        crn_apply_forget(&set->apply);
        r = make_room(path, points, contours, error);
        if (r == 0) {
            r = crn_apply_run(&set->apply, run, &c);
            if (r < 0)
                crn_apply_refused(&set->apply, r, path, image, error);
        }
        points *= 4;
    } while (r == 0 && contours->truncated);
    free(levels);
    return r;
}

/* A level between 0 and 1 fits probabilities; in a picture
 * with larger values it selects every non-zero pixel. */
static void warn_of_level(const apply_contours_settings *set, const char *in,
                          const crn_image *image)
{
    float min, max;
    int largest = image->type == CRN_U8 ? UINT8_MAX : UINT16_MAX;
    if ((image->type != CRN_U8 && image->type != CRN_U16) || set->level <= 0 || set->level >= 1 ||
        !crn_map_range(image, &min, &max) || max <= 1)
        return;
    crn_tool_note(&set->apply.tool,
                  "%s: --level %g is in the picture's own values, 0 to %d in %s; %g is the "
                  "middle",
                  in, set->level, largest, crn_type_name(image->type), largest / 2.0);
}

static int work(void *settings, const char *in, const char *out, crn_picture *picture,
                crn_error *error)
{
    apply_contours_settings *set = settings;
    crn_contours contours = {0};
    warn_of_level(set, in, &picture->image);
    int r = find(set, in, &picture->image, &contours, error);
    if (r == 0 && crn_apply_ends(out, ".png"))
        r = crn_outlines_draw(out, picture, &contours, set->scale, error);
    else if (r == 0)
        r = crn_outlines_write_json(out, &contours, error);
    free(contours.points);
    free(contours.contours);
    return r;
}

const crn_operator crn_apply_contours = {
    .name = "contours",
    .summary = "contours at a level, as JSON or drawn over the picture",
    .about =
        "Contours of each plane at a level, as skimage's find_contours. OUT.json:\n"
        "[{\"plane\":0,\"closed\":true,\"points\":[[x,y],...]},...]; OUT.png: drawn over IN, one\n"
        "colour per plane, pages below or beside each other.",
    .options = options,
    .endings = endings,
    .function = offsetof(crn_ops, contours),
    .settings_bytes = sizeof(apply_contours_settings),
    .hooks = {check_options, NULL, check_picture, work},
};
