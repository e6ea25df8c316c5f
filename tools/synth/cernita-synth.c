/* cernita-synth: generates a synthetic recording. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/base/process/standard.h"
#include "src/formats/recording/recording.h"
#include "src/formats/recording/format.h"
#include "stages/stage/classes.h"
#include "tools/common/options.h"
#include "tools/common/progress.h"
#include "tools/common/scene/scene.h"
#include "tools/synth/known.h"

/* 2026-01-01T00:00:00Z: the first exposure. The same seed gives the same bytes, times included. */
#define START_NS UINT64_C(1767225600000000000)
#define CNN_NS   (8 * CRN_NS_PER_MS) /* from exposure to arrival */

#define ENCODER_PER_S 10000 /* counts */

typedef struct synth_plan {
    uint64_t fruits, seed;
    int64_t views, classes, lanes;
    crn_size size;
    double rate;
    crn_type type;
    crn_layout layout;
    bool no_photograph;
    crn_synth_given known;
} synth_plan;

static const char *const types[] = {"u8", "f16", "f32", NULL};
static const char *const layouts[] = {"CHW", "HWC", NULL};

static const crn_option options[] = {
    CRN_OPTION_AT("fruits", "N", synth_plan, fruits, .min = 1, .max = INT32_MAX, .required = true,
                  .missing = ": how many fruits?", .help = "number of fruits"),
    CRN_OPTION_AT("views", "N", synth_plan, views, .min = 1, .max = 64,
                  .help = "views of each fruit, 1 to 64 (4)"),
    CRN_OPTION_AT("size", "WxH", synth_plan, size, .min = 8, .max = 4096,
                  .help = "pixels of a view, sides from 8 to 4096 (511x95)"),
    CRN_OPTION_AT("classes", "N", synth_plan, classes, .min = 1, .max = CRN_CLASSES_MAX,
                  .help = "channels, 1 to 64 (12); the first twelve are background, rot, rust,\n"
                          "fresh hail, healed hail, picking damage, transport damage, bruise,\n"
                          "mould, stem, calyx, roller; with 12 the views carry their class set"),
    CRN_OPTION_AT("seed", "S", synth_plan, seed, .max = (double)INT64_MAX,
                  .help = "the same seed gives the same bytes (1)"),
    CRN_OPTION_AT("rate", "F", synth_plan, rate, .min = 0.001, .max = 1000,
                  .help = "fruits per second on each lane, 0.001 to 1000 (10)"),
    CRN_OPTION_AT("lanes", "N", synth_plan, lanes, .min = 1, .max = 64,
                  .help = "lanes numbered from 0, 1 to 64 (1)"),
    CRN_OPTION_AT("dtype", "TYPE", synth_plan, type, .choices = types, .first = CRN_U8,
                  .initial = "f32", .help = "of the probabilities"),
    CRN_OPTION_AT("layout", "LAYOUT", synth_plan, layout, .choices = layouts, .first = CRN_CHW,
                  .initial = "HWC", .help = "on the wire, as the CNN emits them"),
    CRN_OPTION_AT("no-photograph", NULL, synth_plan, no_photograph,
                  .help = "leave the grey photographs out"),
    CRN_OPTION_AT("truth", "FILE", synth_plan, known.truth,
                  .help = "fruits whose surface is known, round and with plain spots, instead of\n"
                          "those that look real; and a file with a line of JSON for each: areas\n"
                          "in mm2, lengths, coverage, poses. The other options need this one"),
    CRN_OPTION_AT("mm-per-px", "F", synth_plan, known.mm_per_px, .min = 0.001, .max = 1000,
                  .help = "scale, 0.001 to 1000 (0.5)"),
    CRN_OPTION_AT("poses", NULL, synth_plan, known.poses, .help = "views carry their true pose"),
    CRN_OPTION_AT("ratio", "R", synth_plan, known.ratio, .min = 1, .max = 2,
                  .help = "spheroids, 1/R to R as long as wide, 1 to 2 (1)"),
    CRN_OPTION_AT("slip", "PERCENT", synth_plan, known.slip_percent, .max = 90,
                  .help = "of a step, by which each may be longer or shorter, 0 to 90 (0)"),
    CRN_OPTION_AT("wobble", "DEGREES", synth_plan, known.wobble_deg, .max = 45,
                  .help = "of the roll axis in each view, to either side, 0 to 45 (0)"),
    CRN_OPTION_AT("distance", "RADII", synth_plan, known.distance_radii, .max = 1e6,
                  .help = "of the camera from the roll axis, 3 and more; 0: far away (0)"),
    CRN_OPTION_AT("dent", "PERCENT", synth_plan, known.dent_percent, .max = 40,
                  .help = "of the radius: depth of the hollow around a stem, 0 to 40 (0)"),
    CRN_OPTION_AT("skin", "FILE", synth_plan, known.skin,
                  .help = "a photograph, whose middle is the skin's texture; else speckles"),
    CRN_OPTION_AT("light", "F", synth_plan, known.light, .max = 100,
                  .help = "exposure, 0 to 100: 0.02 is too dark, 15 too bright (1)"),
    CRN_OPTION_AT("highlight", "GREY", synth_plan, known.highlight, .max = 255,
                  .help = "brightness of the lamp's reflection, 0 to 255 (90)"),
    CRN_OPTION_AT("rollers", "PERCENT", synth_plan, known.rollers_percent, .max = 200,
                  .help = "brightness of the rollers, of the fruit's, 0 to 200 (0: none)"),
    CRN_OPTION_AT("dirt", "PERCENT", synth_plan, known.dirt_percent, .max = 100,
                  .help = "of the light, that smudges on the glass take, 0 to 100 (0)"),
    CRN_OPTION_AT("neighbour", NULL, synth_plan, known.neighbour,
                  .help = "the next fruit reaches into the picture"),
    {0},
};

static const crn_tool tool = {
    "cernita-synth",
    "OUT.tif",
    "Generates a synthetic recording: fruits that turn on a roller conveyor with defects on\n"
    "their skin, the class maps that a CNN would give, and the photographs.",
    options,
    1,
    1};

/* Only the first twelve classes have names: of more, none. */
static crn_classes name_classes(int64_t count)
{
    crn_classes classes = {.count = count <= CRN_SCENE_CLASSES ? (int32_t)count : 0};
    for (int32_t i = 0; i < classes.count; i++)
        snprintf(classes.name[i], sizeof classes.name[i], "%s", crn_scene_class_names[i]);
    return classes;
}

/* Of twelve classes; fewer may be meant as others. */
static uint64_t class_set(int64_t count)
{
    crn_classes classes = name_classes(count);
    return count == CRN_SCENE_CLASSES ? crn_classes_hash(&classes) : 0;
}

/* Converts a number from 0 to 1 to binary16, rounded half to even. */
static uint16_t to_f16(float value)
{
    /* Below 2^-14 binary16 has steps of 2^-24; above, its mantissa is the upper 10 bits. */
    if (value < 0x1p-14f)
        return (uint16_t)lrintf(value * 0x1p24f);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += 0xfff + ((bits >> 13) & 1);
    return (uint16_t)((bits - ((127u - 15u) << 23)) >> 13);
}

/* From HWC floats to the wire's type, in place (no type is larger than f32). */
static void convert(float *maps, size_t count, crn_type type)
{
    unsigned char *u8 = (unsigned char *)maps;
    for (size_t i = 0; i < count && type != CRN_F32; i++) {
        if (type == CRN_U8) {
            u8[i] = (unsigned char)lrintf(maps[i] * 255);
        } else {
            uint16_t half = to_f16(maps[i]);
            memcpy(u8 + 2 * i, &half, sizeof half);
        }
    }
}

typedef struct buffers {
    crn_scene scene;
    float *maps;
    unsigned char *planar, *photograph;
    crn_synth_known *known; /* NULL: not asked for */
} buffers;

/* Renders and writes one view; its times follow from round, view and lane. */
static int write_view(const synth_plan *p, buffers *b, crn_recording_writer *writer, uint64_t round,
                      int64_t view, int64_t lane, crn_error *error)
{
    size_t pixels = (size_t)p->size.height * (size_t)p->size.width,
           count = pixels * (size_t)p->classes;
    uint64_t fruit = round * (uint64_t)p->lanes + (uint64_t)lane;
    crn_wire_pose pose = {0};
    if (b->known)
        pose = crn_synth_known_render(b->known, fruit, (int32_t)view, b->maps, b->photograph);
    else
        crn_scene_render(&b->scene, fruit, (int32_t)view, b->maps, b->photograph);
    convert(b->maps, count, p->type);
    if (p->layout == CRN_CHW)
        crn_transpose(b->maps, b->planar, pixels, (size_t)p->classes, crn_type_bytes(p->type));

    double turns = (double)view / (double)p->views + (double)lane / (double)(p->views * p->lanes) +
                   (double)round;
    uint64_t after_ns = (uint64_t)(turns / p->rate * 1e9);
    crn_recorded_view recorded = {
        .header = {.sequence = round * (uint64_t)p->views + (uint64_t)view,
                   .epoch = START_NS + p->seed,
                   .fruit = fruit,
                   .captured_ns = START_NS + after_ns,
                   .encoder = (uint64_t)(turns / p->rate * ENCODER_PER_S),
                   .class_set = class_set(p->classes),
                   .payload_bytes = count * crn_type_bytes(p->type),
                   .lane = (uint32_t)lane,
                   .flags = (p->no_photograph ? 0 : CRN_WIRE_FLAG_INTENSITY) |
                            (p->known.poses ? CRN_WIRE_FLAG_POSE : 0),
                   .pose = p->known.poses ? pose : (crn_wire_pose){0},
                   .view = (uint16_t)view,
                   .views = (uint16_t)p->views,
                   .height = (uint32_t)p->size.height,
                   .width = (uint32_t)p->size.width,
                   .channels = (uint32_t)p->classes,
                   .type = p->type,
                   .layout = p->layout},
        .arrived_ns = START_NS + after_ns + CNN_NS,
        .maps = p->layout == CRN_CHW ? b->planar : (unsigned char *)b->maps,
        .intensity = p->no_photograph ? NULL : b->photograph};
    return crn_recording_write(writer, &recorded, error);
}

/* --- on a signal, the unfinished file is removed before the program ends --- */

static volatile sig_atomic_t stopped_by;

static void on_signal(int number)
{
    stopped_by = number;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    /* A second signal of the same kind ends the program at once. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, before;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaction(numbers[i], &action, &before);
        if (before.sa_handler == SIG_IGN) /* ignored on purpose, by nohup for example */
            sigaction(numbers[i], &before, NULL);
    }
}

static int write_fruits(const synth_plan *p, buffers *b, crn_recording_writer *writer,
                        crn_error *error)
{
    uint64_t lanes = (uint64_t)p->lanes, done = 0;
    crn_progress progress;
    crn_progress_begin(&progress, "views", p->fruits * (uint64_t)p->views);
    for (uint64_t round = 0; round * lanes < p->fruits; round++)
        for (int64_t view = 0; view < p->views; view++)
            for (int64_t lane = 0; lane < p->lanes; lane++) {
                if (round * lanes + (uint64_t)lane >= p->fruits)
                    continue;
                if (stopped_by)
                    return crn_error_set(error, -EINTR, "stopped by a signal; nothing is left");
                int r = write_view(p, b, writer, round, view, lane, error);
                if (r == 0 && b->known && view == 0)
                    r = crn_synth_known_tell(b->known, round * lanes + (uint64_t)lane,
                                             (uint64_t)lane, error);
                if (r)
                    return r;
                crn_progress_update(&progress, ++done, NULL);
            }
    crn_progress_end(&progress);
    return 0;
}

static int open_known(const synth_plan *p, crn_synth_known **ret_known, crn_error *error)
{
    const crn_known_kind kind = {.views = (int)p->views,
                                 .height = p->size.height,
                                 .width = p->size.width,
                                 .classes = (int32_t)p->classes};
    return crn_synth_known_open(&p->known, &kind, p->seed, ret_known, error);
}

/* Options that fruits of unknown surface do not have. */
static void check_known(const synth_plan *p)
{
    const crn_synth_given *given = &p->known;
    if (!given->truth && !crn_synth_is_usual(given))
        crn_usage_error(&tool, "the options of fruits whose surface is known need --truth FILE");
    if (given->truth && p->classes < 2)
        crn_usage_error(&tool, "--truth needs --classes of at least 2");
    if (given->distance_radii > 0 && given->distance_radii < 3)
        crn_usage_error(&tool, "--distance is %g; it must be 0, or at least 3",
                        given->distance_radii);
}

static int make_recording(const synth_plan *p, const char *path, crn_error *error)
{
    buffers b = {0};
    crn_recording_writer *writer = NULL;
    crn_classes classes = name_classes(p->classes);
    size_t pixels = (size_t)p->size.height * (size_t)p->size.width,
           count = pixels * (size_t)p->classes;
    int r = crn_scene_create(p->seed, p->size.height, p->size.width, (int32_t)p->classes,
                             (int32_t)p->views, &b.scene);
    b.maps = malloc(count * sizeof *b.maps);
    b.planar = malloc(count * sizeof *b.maps);
    b.photograph = malloc(pixels);
    if (r || !b.maps || !b.planar || !b.photograph)
        r = crn_error_set(error, -ENOMEM, "no memory for a view of %zu bytes",
                          count * sizeof *b.maps);
    if (!r && p->known.truth)
        r = open_known(p, &b.known, error);
    if (!r)
        r = crn_recording_create(path, true, &writer, error);
    if (!r)
        crn_recording_name_classes(writer, &classes);
    if (!r)
        r = write_fruits(p, &b, writer, error);
    if (!r)
        r = crn_recording_close(&writer, error);
    if (!r && b.known)
        r = crn_synth_known_close(&b.known, error);
    crn_synth_known_discard(&b.known);
    crn_recording_discard(&writer);
    crn_scene_free(&b.scene);
    free(b.maps);
    free(b.planar);
    free(b.photograph);
    return r;
}

int main(int argc, char **argv)
{
    crn_standard_streams("cernita-synth");
    synth_plan p = {.seed = 1,
                    .views = 4,
                    .classes = CRN_SCENE_CLASSES,
                    .lanes = 1,
                    .size = {511, 95},
                    .rate = 10,
                    .type = CRN_F32,
                    .layout = CRN_HWC,
                    .known = crn_synth_usual};
    crn_error error = {0};
    crn_options_read(&tool, argc, argv, &p);
    check_known(&p);
    catch_signals();
    if (make_recording(&p, argv[optind], &error) == 0)
        return 0;
    int status = crn_tool_fail(&tool, "%s", error.text);
    if (stopped_by) {
        signal(stopped_by, SIG_DFL);
        raise(stopped_by); /* so that the parent sees which signal ended the program */
    }
    return status;
}
