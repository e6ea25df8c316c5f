#include "tools/common/known/seen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUTLINES_MAX = 256, POINTS_MAX = 16384 };

static const char line_file[] = "classes: [{name: rot, level: 0.5}, {name: rust, level: 0.5},\n"
                                "          {name: hail, level: 0.5}]\n"
                                "chain: [contours]\n";

/* A chain has its settings from a file, which it does not need any more afterwards. */
static int open_chain(crn_known_seen *seen, crn_error *error)
{
    char path[] = "/tmp/cernita-known-XXXXXX";
    int file = mkstemp(path), r = 0;
    if (file < 0)
        return crn_error_set(error, -errno, "%s: %m", path);
    if (write(file, line_file, sizeof line_file - 1) != (ssize_t)sizeof line_file - 1)
        r = crn_error_set(error, -EIO, "%s cannot be written; is the disk full?", path);
    close(file);
    if (r == 0 && (r = crn_chain_open(seen->context, path, &seen->chain)) < 0)
        crn_error_set(error, r, "%s", crn_context_error(seen->context));
    unlink(path);
    return r;
}

int crn_known_seen_open(crn_known_seen *ret_seen, size_t pixels, crn_error *error)
{
    *ret_seen = (crn_known_seen){.pixels = pixels};
    for (int i = 0; i < CRN_SEEN_VIEWS; i++) {
        ret_seen->maps[i] = malloc(pixels * CRN_KNOWN_CLASSES * sizeof(float));
        ret_seen->defects[i].defects = malloc(OUTLINES_MAX * sizeof(crn_defect));
        ret_seen->defects[i].xy = malloc(2 * POINTS_MAX * sizeof(float));
        if (!ret_seen->maps[i] || !ret_seen->defects[i].defects || !ret_seen->defects[i].xy)
            return crn_error_set(error, -ENOMEM, "no memory for the views of a fruit");
    }
    if (crn_context_open(NULL, &ret_seen->context) < 0)
        return crn_error_set(error, -ENOMEM, "no memory for a context");
    return open_chain(ret_seen, error);
}

void crn_known_seen_close(crn_known_seen *seen)
{
    for (int i = 0; i < CRN_SEEN_VIEWS; i++) {
        free(seen->maps[i]);
        free(seen->defects[i].defects);
        free(seen->defects[i].xy);
    }
    crn_chain_free(&seen->chain);
    crn_context_free(&seen->context);
    *seen = (crn_known_seen){0};
}

/* The chain's result lasts until its next call. */
static int keep(const crn_defects *found, crn_defects *kept, crn_error *error)
{
    if (found->defect_count > OUTLINES_MAX || found->point_count > POINTS_MAX)
        return crn_error_set(error, -E2BIG, "a view has %u outlines of %u points; at most %d of %d",
                             found->defect_count, found->point_count, OUTLINES_MAX, POINTS_MAX);
    memcpy(kept->defects, found->defects, found->defect_count * sizeof *found->defects);
    memcpy(kept->xy, found->xy, 2 * found->point_count * sizeof *found->xy);
    kept->defect_count = found->defect_count;
    kept->point_count = found->point_count;
    return 0;
}

int crn_known_look_at(crn_known_seen *seen, const crn_known_fruit *fruit, crn_error *error)
{
    int r = 0;
    if (fruit->view_count > CRN_SEEN_VIEWS || fruit->classes != CRN_KNOWN_CLASSES ||
        (size_t)fruit->height * (size_t)fruit->width > seen->pixels)
        return crn_error_set(error, -EINVAL, "a fruit of %d views and %d classes is not looked at",
                             fruit->view_count, (int)fruit->classes);
    seen->view_count = fruit->view_count;
    for (int i = 0; i < fruit->view_count && r == 0; i++) {
        const crn_defects *found;
        crn_known_render(fruit, i, seen->maps[i]);
        crn_image maps = crn_image_dense(seen->maps[i], CRN_F32, CRN_CHW, CRN_KNOWN_CLASSES,
                                         fruit->height, fruit->width);
        r = crn_chain_judge(seen->chain, &maps, NULL, &found);
        if (r < 0)
            return crn_error_set(error, r, "%s", crn_context_error(seen->context));
        r = keep(found, &seen->defects[i], error);
        seen->views[i] = (crn_surface_view){
            .pose = crn_known_pose(fruit, i),
            .mm_per_px = fruit->mm_per_px,
            .height = fruit->height,
            .width = fruit->width,
            .defects = &seen->defects[i],
        };
    }
    return r;
}

crn_surface_settings crn_known_settings(double distance_mm)
{
    return (crn_surface_settings){
        .distance_mm = distance_mm,
        .classes = CRN_KNOWN_CLASSES,
        .views = CRN_SEEN_VIEWS,
        .defects = CRN_SEEN_VIEWS * OUTLINES_MAX,
        .points = CRN_SEEN_VIEWS * POINTS_MAX,
    };
}
