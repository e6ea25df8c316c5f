/*
 * cernita-bench values: what the check of probabilities adds to copying a view into its slot, or to
 * the chain on a view that is not copied. The same maps are taken by each variant in
 * turn, in a different order every round, and compared round by round, so that load on a shared
 * machine affects all alike.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "src/fruit/values/values.h"
#include "stages/backend.h"
#include "stages/chain/chain.h"
#include "tools/bench/line/defects.h"
#include "tools/bench/bench.h"
#include "tools/bench/cases.h"
#include "tools/bench/frame.h"
#include "tools/bench/print.h"
#include "tools/bench/time.h"

typedef struct values_settings {
    const char *frame, *chain;
    int32_t rounds;
    bool json;
} values_settings;

enum { MAPS_MAX = 16, ALIGNMENT = 4096, OFFSET = 33, WARM_UP = 5 };

static const crn_tool tool = {
    .name = "cernita-bench values",
    .operands = "",
    .about =
        "Times copying a view's maps with the check of their values, minus memcpy alone, paired:\n"
        "one buffer repeatedly, and 16 in rotation; aligned, and at an offset of 33 bytes.\n"
        "With --chain: running that chain on them, minus that alone.",
    .options =
        (const crn_option[]){
            CRN_OPTION_AT("frame", "FILE.npy", values_settings, frame,
                          .help = "float32 maps, H x W x C, at most 64 classes; default: random, "
                                  "95 x 511 x 12"),
            CRN_OPTION_AT("rounds", "N", values_settings, rounds,
                          .help = "copies per variant; default 1000", .min = 1, .max = 100000),
            CRN_OPTION_AT("chain", "LINE.yaml", values_settings, chain,
                          .help =
                              "times the check of views in slots instead, as workers do it: while "
                              "the\n"
                              "chain of this file reads the maps, else after it; and always after "
                              "it;\n"
                              "on one thread"),
            CRN_BENCH_JSON(values_settings),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

/* memcpy alone, the check by each target, and what the line does: the best target's check and the
 * comparison with the lane's earlier views. Then the chain alone, with the check as its first step
 * reads, and with a pass after it. */
enum variant {
    MEMCPY,
    FIRST_TARGET,
    LINE = FIRST_TARGET + CRN_TARGETS,
    CHAIN,
    WATCHED,
    PASS,
    VARIANTS
};

static const crn_values_kernels *const kernels[CRN_TARGETS] = {
    &crn_values_kernels_baseline, &crn_values_kernels_avx2, &crn_values_kernels_avx512};

typedef struct values_trial {
    crn_view_header header;
    int32_t maps, offset;
    unsigned char *from[MAPS_MAX], *to[MAPS_MAX]; /* from: base of `offset` */
    int32_t rounds;
    enum variant first, last;
    double *us[VARIANTS]; /* by round */
    crn_chain *chain;
    crn_defects defects;
} values_trial;

static crn_config config;
static crn_values values;
static crn_values_lane lane;

static crn_values_seen copy_only(void *restrict to, const void *restrict from, size_t bytes)
{
    memcpy(to, from, bytes);
    return (crn_values_seen){0};
}

static crn_values_copy_fn *copier(int variant, crn_type type)
{
    if (variant == MEMCPY)
        return copy_only;
    if (variant == LINE)
        return crn_values_copier(&values, type);
    return crn_values_copy_of(kernels[variant - FIRST_TARGET], type);
}

static double run_chain_us(const values_trial *t, int variant, int32_t map)
{
    const crn_view_header *header = &t->header;
    unsigned char *maps = t->from[map];
    crn_values_watch watch = {.data = maps};
    crn_defects defects = t->defects;
    crn_judgement judgement;
    const crn_chain_input input = {
        .maps = crn_image_dense(maps, header->type, CRN_HWC, (int32_t)header->channels,
                                (int32_t)header->height, (int32_t)header->width),
        .deadline_ns = CRN_NEVER_NS,
        .watch = variant == WATCHED ? &watch : NULL,
    };
    int64_t start_ns = crn_now_ns();
    crn_chain_run(t->chain, &input, &defects, &judgement);
    if (variant != CHAIN && !watch.is_seen)
        watch.seen = copier(LINE, header->type)(NULL, maps, header->payload_bytes);
    return (double)(crn_now_ns() - start_ns) / 1e3;
}

static double run_us(const values_trial *t, int variant, int32_t map)
{
    if (variant >= CHAIN)
        return run_chain_us(t, variant, map);
    crn_values_copy_fn *copy = copier(variant, t->header.type);
    crn_view view = {.header = t->header, .maps = t->to[map]};
    int64_t start_ns = crn_now_ns();
    crn_values_seen seen = copy(view.maps, t->from[map] + t->offset, t->header.payload_bytes);
    if (variant == LINE)
        crn_values_check(&values, &lane, &view, &seen, NULL);
    return (double)(crn_now_ns() - start_ns) / 1e3;
}

/* False for variants that this processor lacks. */
static bool can_run(int variant)
{
    return variant == MEMCPY || variant >= LINE || variant - FIRST_TARGET <= (int)crn_target_best();
}

static void run_rounds(values_trial *t)
{
    int32_t map = 0;
    for (int32_t round = -WARM_UP; round < t->rounds; round++) {
        int variants = t->last - t->first + 1;
        for (int i = 0; i < variants; i++) {
            int variant = (int)t->first + (i + round + WARM_UP) % variants;
            if (!can_run(variant))
                continue;
            map = (map + 1) % t->maps;
            double us = run_us(t, variant, map);
            if (round >= 0)
                t->us[variant][round] = us;
        }
    }
}

/* Median of a variant's times, or of their differences from another's. */
static double median_us(const values_trial *t, int variant, int less)
{
    static double us[100000];
    for (int32_t i = 0; i < t->rounds; i++)
        us[i] = t->us[variant][i] - (less < 0 ? 0 : t->us[less][i]);
    crn_bench_sort(us, (size_t)t->rounds);
    return us[t->rounds / 2];
}

typedef struct values_row {
    const char *type;
    int32_t maps, offset;
    double us[VARIANTS];
} values_row;

static const crn_bench_column columns[] = {
    {"type", "type", CRN_CELL(values_row, type), -5},
    {"maps", "maps", CRN_CELL(values_row, maps), 5},
    {"offset_bytes", "offset", CRN_CELL(values_row, offset), 7},
    {"memcpy_us", "memcpy us", CRN_CELL(values_row, us[MEMCPY]), 10, 1, 2},
    {"plain_us", "sse2", CRN_CELL(values_row, us[1]), 8, 1, 2, true, .missing = "-"},
    {"avx2_us", "avx2", CRN_CELL(values_row, us[2]), 8, 1, 2, true, .missing = "-"},
    {"avx512_us", "avx512", CRN_CELL(values_row, us[3]), 8, 1, 2, true, .missing = "-"},
    {"line_us", "line", CRN_CELL(values_row, us[LINE]), 8, 1, 2, true, .missing = "-"},
    {.heading = "  minus memcpy, us"},
    {0},
};

static const crn_bench_column chain_columns[] = {
    {"type", "type", CRN_CELL(values_row, type), -5},
    {"maps", "maps", CRN_CELL(values_row, maps), 5},
    {"chain_us", "chain us", CRN_CELL(values_row, us[CHAIN]), 12, 1, 2},
    {"watched_us", "as they read", CRN_CELL(values_row, us[WATCHED]), 13, 1, 2, true},
    {"pass_us", "a pass", CRN_CELL(values_row, us[PASS]), 8, 1, 2, true},
    {.heading = "  minus chain, us"},
    {0},
};

static const crn_bench_column *columns_of(const values_trial *t)
{
    return t->first == CHAIN ? chain_columns : columns;
}

static void print_trial(const values_trial *t, bool json)
{
    values_row row = {.type = crn_type_name(t->header.type), .maps = t->maps, .offset = t->offset};
    int first = (int)t->first;
    for (int variant = first; variant <= (int)t->last; variant++)
        row.us[variant] =
            can_run(variant) ? median_us(t, variant, variant == first ? -1 : first) : NAN;
    crn_bench_print_row(columns_of(t), &row, json);
}

/* Truncates; zero below 2^-14. */
static uint16_t half_of(float probability)
{
    uint32_t bits;
    memcpy(&bits, &probability, sizeof bits);
    return probability < 0x1p-14f ? 0 : (uint16_t)((bits - (112u << 23)) >> 13);
}

/* The frame in the trial's type, slightly fainter with every map so that no two are equal. */
static void write_map(const values_trial *t, const crn_image *frame, int32_t map)
{
    unsigned char *to = t->from[map] + t->offset;
    const float *from = frame->data;
    for (size_t i = 0; i < crn_image_elements(frame); i++) {
        float value = from[i] * (1 - (float)map / 64);
        uint16_t half = half_of(value);
        if (t->header.type == CRN_U8)
            to[i] = (unsigned char)(value * 255);
        else if (t->header.type == CRN_F16)
            memcpy(to + 2 * i, &half, sizeof half);
        else
            memcpy(to + 4 * i, &value, sizeof value);
    }
}

static void bench_shape(values_trial *t, const crn_image *frame, crn_type type, bool json)
{
    t->header = (crn_view_header){
        .height = (uint32_t)frame->height,
        .width = (uint32_t)frame->width,
        .channels = (uint32_t)frame->planes,
        .type = type,
        .layout = CRN_HWC,
        .payload_bytes = crn_image_elements(frame) * crn_type_bytes(type),
    };
    for (t->maps = 1; t->maps <= MAPS_MAX; t->maps *= MAPS_MAX) {
        /* Slots are aligned. */
        int32_t offset_max = t->first == CHAIN ? 0 : OFFSET;
        for (t->offset = 0; t->offset <= offset_max; t->offset += OFFSET) {
            for (int32_t map = 0; map < t->maps; map++)
                write_map(t, frame, map);
            run_rounds(t);
            print_trial(t, json);
        }
    }
}

static int create_trial(values_trial *t, const crn_image *frame)
{
    size_t bytes = crn_image_elements(frame) * sizeof(float) + ALIGNMENT;
    bytes = (bytes + OFFSET + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    bool complete = true;
    for (int32_t i = 0; i < MAPS_MAX; i++) {
        t->from[i] = aligned_alloc(ALIGNMENT, bytes);
        t->to[i] = aligned_alloc(ALIGNMENT, bytes);
        complete = complete && t->from[i] && t->to[i];
    }
    for (int variant = 0; variant < VARIANTS; variant++) {
        t->us[variant] = calloc((size_t)t->rounds, sizeof *t->us[variant]);
        complete = complete && t->us[variant];
    }
    return complete ? 0 : -1;
}

/* On one thread, of the settings that were read. */
static int create_chain(values_trial *t)
{
    const char *why;
    config.run.threads = 1;
    int r = crn_chain_create(&config, crn_backend_ops(CRN_BACKEND_OPENMP, &why), &t->chain);
    return r < 0 ? r : crn_bench_defects_create(&config, &t->defects);
}

static void free_trial(values_trial *t)
{
    crn_chain_free(&t->chain);
    crn_bench_defects_free(&t->defects);
    for (int32_t i = 0; i < MAPS_MAX; i++) {
        free(t->from[i]);
        free(t->to[i]);
    }
    for (int variant = 0; variant < VARIANTS; variant++)
        free(t->us[variant]);
}

static int bench_frame(const crn_image *frame, const values_settings *given)
{
    values_trial t = {.rounds = given->rounds,
                      .first = given->chain ? CHAIN : MEMCPY,
                      .last = given->chain ? PASS : LINE};
    int r = create_trial(&t, frame);
    if (r == 0 && given->chain)
        r = create_chain(&t);
    if (r == 0) {
        crn_log_set_level(CRN_LOG_ERROR); /* silence the alarm about a repeated map */
        if (!given->chain)
            config.classes.count = frame->planes;
        crn_values_init(&config, &values);
        if (!given->json)
            crn_bench_print_headings(columns_of(&t));
        static const crn_type types[] = {CRN_F32, CRN_F16, CRN_U8};
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            bench_shape(&t, frame, types[i], given->json);
    }
    free_trial(&t);
    return r;
}

int crn_bench_values(int argc, char **argv)
{
    values_settings given = {.rounds = 1000};
    crn_options_read(&tool, argc, argv, &given);
    const char *path = given.frame;
    if (given.chain && crn_config_load(given.chain, stderr, &config) < 0)
        return CRN_EXIT_FAILED;
    crn_image frame;
    crn_error error;
    if (path && crn_frame_read(path, &frame, &error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    /* Random maps: for the check one valid frame is as good as another. */
    static const crn_bench_case noise = {.picture = {0, 1, CRN_F32, 12, 95, 511}};
    crn_bench_inputs inputs;
    if (!path && crn_bench_inputs_create(&noise, NULL, &inputs) < 0)
        return crn_tool_fail(&tool, "out of memory");
    if (!path)
        frame = inputs.picture;
    if (frame.planes > CRN_CLASSES_MAX) {
        free(frame.data);
        return crn_tool_fail(&tool, "%s: %d classes, but a line has at most %d", path, frame.planes,
                             CRN_CLASSES_MAX);
    }
    if (given.chain && frame.planes != config.classes.count) {
        free(frame.data);
        return crn_tool_fail(&tool, "%s has %d classes, the maps have %d channels", given.chain,
                             config.classes.count, frame.planes);
    }
    int r = bench_frame(&frame, &given);
    free(frame.data);
    return r == 0 ? 0 : crn_tool_fail(&tool, "out of memory");
}
