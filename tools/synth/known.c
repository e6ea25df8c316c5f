#include "tools/synth/known.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/common/scene/scene.h"

#define PER_RAD (180 / M_PI)

/* Of a probability: what a CNN that is sure leaves to the other classes. */
#define UNSURE 0.002f

/* Channels of spots: background is 0, and nothing on the skin is stem, calyx or roller. */
enum { FIRST_CLASS = 1, LAST_CLASS = 8 };

/* Photographs are of another random stream than fruits. */
#define PHOTOGRAPHS UINT64_C(0x70686f746f)

const crn_synth_given crn_synth_usual = {.mm_per_px = 0.5, .ratio = 1, .light = 1, .highlight = 90};

bool crn_synth_is_usual(const crn_synth_given *given)
{
    const crn_synth_given *usual = &crn_synth_usual;
    return !given->skin && given->mm_per_px == usual->mm_per_px && given->ratio == usual->ratio &&
           given->slip_percent == usual->slip_percent && given->wobble_deg == usual->wobble_deg &&
           given->distance_radii == usual->distance_radii &&
           given->dent_percent == usual->dent_percent && given->light == usual->light &&
           given->highlight == usual->highlight &&
           given->rollers_percent == usual->rollers_percent &&
           given->dirt_percent == usual->dirt_percent && !given->neighbour && !given->poses;
}

struct crn_synth_known {
    crn_known_kind kind;
    crn_known_skin skin;
    int32_t classes; /* of the maps */
    uint64_t seed;
    bool poses;
    const char *path;
    FILE *file;
    float *planes;
};

static crn_known_kind kind_of(const crn_synth_given *given, const crn_known_kind *recorded,
                              const crn_known_skin *skin)
{
    crn_known_kind kind = *recorded;
    int32_t last = recorded->classes - 1 < LAST_CLASS ? recorded->classes - 1 : LAST_CLASS;
    kind.first_class = FIRST_CLASS;
    kind.classes = last - FIRST_CLASS + 1;
    kind.step_rad = 2 * M_PI / kind.views;
    kind.mm_per_px = given->mm_per_px;
    kind.ratio_min = 1 / given->ratio;
    kind.ratio_max = given->ratio;
    kind.slip = given->slip_percent / 100;
    kind.wobble_rad = given->wobble_deg / PER_RAD;
    kind.distance_radii = given->distance_radii;
    kind.dent = given->dent_percent / 100;
    kind.spot_min = 0.08;
    kind.spot_max = 0.42;
    kind.along = true;
    kind.look = (crn_known_look){.light = given->light,
                                 .speckle = 0.35,
                                 .highlight = given->highlight,
                                 .rollers = given->rollers_percent / 100,
                                 .dirt = given->dirt_percent / 100,
                                 .neighbour = given->neighbour ? 2.2 : 0,
                                 .skin = skin->value ? skin : NULL};
    return kind;
}

int crn_synth_known_open(const crn_synth_given *given, const crn_known_kind *kind, uint64_t seed,
                         crn_synth_known **ret_known, crn_error *error)
{
    size_t pixels = (size_t)kind->height * (size_t)kind->width;
    crn_synth_known *known = calloc(1, sizeof *known);
    if (!known)
        return crn_error_set(error, -ENOMEM, "no memory for fruits");
    int r = given->skin ? crn_known_skin_read(given->skin, &known->skin, error) : 0;
    known->kind = kind_of(given, kind, &known->skin);
    known->classes = kind->classes;
    known->seed = seed;
    known->planes =
        malloc(pixels * (size_t)(FIRST_CLASS + known->kind.classes) * sizeof *known->planes);
    if (r == 0 && !known->planes)
        r = crn_error_set(error, -ENOMEM, "no memory for the maps of a view");
    if (r == 0 && !(known->file = fopen(given->truth, "w")))
        r = crn_error_set(error, -errno, "%s: %m", given->truth);
    known->path = given->truth;
    if (r < 0)
        crn_synth_known_discard(&known);
    else
        *ret_known = known;
    return r;
}

void crn_synth_known_discard(crn_synth_known **known)
{
    if (!*known)
        return;
    if ((*known)->file) {
        fclose((*known)->file);
        unlink((*known)->path);
    }
    crn_known_skin_free(&(*known)->skin);
    free((*known)->planes);
    free(*known);
    *known = NULL;
}

int crn_synth_known_close(crn_synth_known **known, crn_error *error)
{
    FILE *file = (*known)->file;
    int r = 0;
    if (ferror(file) | fclose(file)) {
        unlink((*known)->path);
        r = crn_error_set(error, -EIO, "%s cannot be written; is the disk full?", (*known)->path);
    }
    (*known)->file = NULL;
    crn_synth_known_discard(known);
    return r;
}

static crn_known_fruit make(const crn_synth_known *known, uint64_t number)
{
    crn_draws random = {known->seed, number, 0};
    return crn_known_random(&known->kind, &random);
}

crn_wire_pose crn_synth_known_render(crn_synth_known *known, uint64_t number, int32_t view,
                                     float *ret_maps, unsigned char *ret_photograph)
{
    crn_known_fruit fruit = make(known, number);
    crn_draws random = {known->seed ^ PHOTOGRAPHS, number * CRN_KNOWN_VIEWS + (uint64_t)view, 0};
    crn_surface_pose pose = crn_known_pose(&fruit, view);
    size_t pixels = (size_t)fruit.height * (size_t)fruit.width;
    float share = UNSURE / (float)known->classes;
    crn_known_render(&fruit, view, known->planes);
    for (size_t i = 0; i < pixels; i++, ret_maps += known->classes) {
        float rest = 1;
        for (int32_t c = FIRST_CLASS; c < known->classes; c++) {
            float covered = c < fruit.classes ? known->planes[(size_t)c * pixels + i] : 0;
            ret_maps[c] = (1 - UNSURE) * covered + share;
            rest -= covered;
        }
        ret_maps[0] = (1 - UNSURE) * (rest > 0 ? rest : 0) + share;
    }
    crn_known_photograph(&fruit, view, &random, ret_photograph);
    return (crn_wire_pose){(float)pose.x, (float)pose.y, (float)pose.rx, (float)pose.ry,
                           (float)(fruit.roll[view] - fruit.roll[0])};
}

/* --- the file --------------------------------------------------------------------------------- */

/* Degrees from the first view on, as verdicts have them. */
static double lambda_deg(const crn_known_fruit *fruit, crn_known_vector middle)
{
    return remainder(atan2(middle.x, middle.z) + fruit->roll[0], 2 * M_PI) * PER_RAD;
}

static void tell_classes(const crn_known_fruit *fruit, FILE *file)
{
    fprintf(file, "\"classes\":{");
    for (int32_t c = FIRST_CLASS; c < fruit->classes; c++) {
        crn_known_class class = crn_known_class_measures(fruit, c);
        double longest = 0;
        for (int i = 0; i < fruit->spot_count; i++)
            if (fruit->spots[i].channel == c)
                longest = fmax(longest, crn_known_length_mm(fruit, &fruit->spots[i]));
        fprintf(file,
                "%s\"%s\":{\"count\":%d,\"area_mm2\":%.4f,\"visible_mm2\":%.4f,\"seen_mm2\":%.4f,"
                "\"longest_mm\":%.4f}",
                c > FIRST_CLASS ? "," : "", crn_scene_class_names[c], class.all, class.mm2.all,
                class.mm2.visible, class.mm2.seen, longest);
    }
    fprintf(file, "}");
}

static void tell_patches(const crn_known_fruit *fruit, FILE *file)
{
    fprintf(file, "\"patches\":[");
    for (int i = 0; i < fruit->spot_count; i++) {
        const crn_known_spot *spot = &fruit->spots[i];
        crn_known_areas mm2 = crn_known_spot_areas(fruit, spot);
        crn_known_vector middle = crn_known_middle(spot);
        fprintf(file,
                "%s{\"class\":\"%s\",\"channel\":%d,\"area_mm2\":%.4f,\"visible_mm2\":%.4f,"
                "\"seen_mm2\":%.4f,\"length_mm\":%.4f,\"lambda_deg\":%.4f,\"v\":%.6f}",
                i > 0 ? "," : "", crn_scene_class_names[spot->channel], spot->channel, mm2.all,
                mm2.visible, mm2.seen, crn_known_length_mm(fruit, spot), lambda_deg(fruit, middle),
                middle.y);
    }
    fprintf(file, "]");
}

static void tell_views(const crn_known_fruit *fruit, FILE *file)
{
    fprintf(file, "\"views\":[");
    for (int i = 0; i < fruit->view_count; i++) {
        crn_surface_pose pose = crn_known_pose(fruit, i);
        fprintf(file,
                "%s{\"view\":%d,\"x\":%.4f,\"y\":%.4f,\"rx\":%.4f,\"ry\":%.4f,\"tilt_deg\":%.4f,"
                "\"pitch_deg\":%.4f,\"roll_deg\":%.4f}",
                i > 0 ? "," : "", i, pose.x, pose.y, pose.rx, pose.ry, fruit->tilt[i] * PER_RAD,
                fruit->pitch[i] * PER_RAD, (fruit->roll[i] - fruit->roll[0]) * PER_RAD);
    }
    fprintf(file, "]");
}

int crn_synth_known_tell(crn_synth_known *known, uint64_t number, uint64_t lane, crn_error *error)
{
    crn_known_fruit fruit = make(known, number);
    double surface = crn_known_surface_mm2(&fruit), coverage = crn_known_coverage(&fruit);
    FILE *file = known->file;
    fprintf(file,
            "{\"fruit\":%llu,\"lane\":%llu,\"mm_per_px\":%g,\"distance_mm\":%.4f,"
            "\"diameter_mm\":%.4f,\"length_mm\":%.4f,\"surface_mm2\":%.4f,\"seen_mm2\":%.4f,"
            "\"coverage\":%.5f,",
            (unsigned long long)number, (unsigned long long)lane, fruit.mm_per_px,
            fruit.distance_mm, 2 * fruit.a_mm, 2 * fruit.c_mm, surface, coverage * surface,
            coverage);
    tell_classes(&fruit, file);
    fprintf(file, ",");
    tell_patches(&fruit, file);
    fprintf(file, ",");
    tell_views(&fruit, file);
    fprintf(file, "}\n");
    if (ferror(file))
        return crn_error_set(error, -EIO, "%s cannot be written; is the disk full?", known->path);
    return 0;
}
