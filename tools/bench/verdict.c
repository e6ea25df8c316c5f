/*
 * cernita-bench verdict: what a verdict costs, by its number of defects and format: the workers
 * (pack), and the line's thread (storing the views' results, joining them, copying the message).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/publish/packed_defects.h"
#include "src/publish/verdict.h"
#include "stages/base/clock.h"
#include "tools/bench/bench.h"
#include "tools/bench/print.h"
#include "tools/bench/time.h"

enum { VIEWS = 4 };

typedef struct verdict_settings {
    uint32_t defects, points;
    bool json;
} verdict_settings;

static const crn_tool tool = {
    .name = "cernita-bench verdict",
    .operands = "",
    .about = "Times the verdict of a fruit of 4 views in each format: packing its defects, which\n"
             "workers do, and what the line's thread does: storing them, joining them, copying\n"
             "the message.",
    .options =
        (const crn_option[]){
            CRN_OPTION_AT("defects", "N", verdict_settings, defects,
                          .help = "defects of the fruit; default: 16, 160, 1600, 2600 and 16000",
                          .min = 1, .max = 1000000),
            CRN_OPTION_AT("points", "N", verdict_settings, points,
                          .help = "points of each defect; default 16", .min = 2, .max = 1000),
            CRN_BENCH_JSON(verdict_settings),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

static const crn_stage outlines = {.name = "contours", .kind = CRN_STAGE_CONTOURS};

typedef struct verdict_trial {
    crn_config config;
    crn_defects defects; /* of each view */
    crn_defects_packer *packers[VIEWS];
    crn_result_store *store;
    crn_verdict *packer;
    crn_encoder *encoder;
    crn_fruit_view views[VIEWS];
    crn_fruit fruit;
    crn_verdict_bytes packed;
    unsigned char *message;
} verdict_trial;

/* What workers do. */
static int pack_views(void *argument)
{
    verdict_trial *t = argument;
    int r = 0;
    for (uint32_t view = 0; view < VIEWS && r == 0; view++)
        r = crn_defects_pack(t->packers[view], &t->defects, NULL, view, 0, NULL);
    return r;
}

static int store_views(void *argument)
{
    verdict_trial *t = argument;
    int r = 0;
    for (int view = 0; view < VIEWS && r == 0; view++) {
        crn_judgement *judgement = &t->views[view].judgement;
        crn_result_store_release(t->store, judgement->result);
        judgement->result = CRN_RESULT_NONE;
        r = crn_packed_defects_put(t->packers[view], t->store, &judgement->result);
    }
    return r;
}

static int join_verdict(void *argument)
{
    verdict_trial *t = argument;
    crn_verdict_facts facts = {.run = "18a1b2c3d4e5f607", .now_ns = CRN_NS_PER_S};
    return crn_verdict_pack(t->packer, t->encoder, &t->fruit, &facts, t->store, &t->packed);
}

static int copy_message(void *argument)
{
    verdict_trial *t = argument;
    memcpy(t->message, t->packed.bytes, t->packed.size);
    return 0;
}

/* Rings with a hole each, of coordinates as contours have them. */
static void draw_defects(crn_defects *defects, uint32_t count, uint32_t points)
{
    defects->defect_count = count;
    defects->point_count = count * points;
    for (uint32_t i = 0; i < count * points * 2; i++)
        defects->xy[i] = (float)(i % 511) + (float)(i % 97) / 97.0f;
    for (uint32_t i = 0; i < count; i++)
        defects->defects[i] = (crn_defect){
            .channel = 1,
            .parent = i % 2 ? (int32_t)i - 1 : -1,
            .closed = true,
            .hole = i % 2,
            .first_point = i * points,
            .point_count = points,
            .area_px = 12.5 + i / 7.0,
            .perimeter_px = 14.1 + i / 11.0,
            .x0 = i % 500,
            .y0 = i % 90 + 0.25,
            .x1 = i % 500 + 4.5,
            .y1 = i % 90 + 5.125,
            .centroid_x = i % 500 + 2.2,
            .centroid_y = i % 90 + 2.7,
            .mean_probability = 0.5 + (i % 100) / 201.0,
        };
}

/* Both outlets get the same format, so that only its packing is timed. */
static int set_up(verdict_trial *t, uint32_t defects, uint32_t points, crn_format format)
{
    uint32_t of_a_view = (defects + VIEWS - 1) / VIEWS;
    crn_config *config = &t->config;
    config->limits.views = VIEWS;
    config->limits.defects = of_a_view;
    config->limits.points = (int64_t)of_a_view * points;
    config->latency.budget_ms = 100;
    config->classes = (crn_classes){.count = 2, .name = {"ground", "rot"}, .level = {NAN, 0.5}};
    config->publish.grader.format = config->publish.viewers.format = (int32_t)format;
    config->steps = 1;
    config->chain[0].stage = &outlines;
    t->defects.defects = calloc(of_a_view, sizeof *t->defects.defects);
    t->defects.xy = calloc((size_t)of_a_view * points * 2, sizeof *t->defects.xy);
    if (!t->defects.defects || !t->defects.xy)
        return -ENOMEM;
    draw_defects(&t->defects, of_a_view, points);
    for (int view = 0; view < VIEWS; view++) {
        t->views[view].state = CRN_VIEW_JUDGED;
        t->views[view].judgement.result = CRN_RESULT_NONE;
    }
    t->fruit =
        (crn_fruit){.expected = VIEWS, .received = VIEWS, .judged = VIEWS, .views = t->views};
    int r = crn_result_store_create(VIEWS * crn_defects_packer_bytes(config) + 65536, &t->store);
    if (r == 0)
        r = crn_verdict_create(config, &t->packer);
    for (int view = 0; view < VIEWS && r == 0; view++)
        r = crn_defects_packer_create(config, &t->packers[view]);
    return r == 0 ? crn_encoder_create(format, &t->encoder) : r;
}

static void tear_down(verdict_trial *t)
{
    free(t->defects.defects);
    free(t->defects.xy);
    free(t->message);
    for (int view = 0; view < VIEWS; view++)
        crn_defects_packer_free(&t->packers[view]);
    crn_encoder_free(&t->encoder);
    crn_verdict_free(&t->packer);
    crn_result_store_free(&t->store);
}

typedef struct verdict_row {
    uint32_t defects, points;
    const char *format;
    size_t bytes;
    double us[4]; /* pack, store, join, copy */
} verdict_row;

static const crn_bench_column columns[] = {
    {"defects", "defects", CRN_CELL(verdict_row, defects), 8},
    {"points", "points", CRN_CELL(verdict_row, points), 7},
    {"format", " format", CRN_CELL(verdict_row, format), -8, .before = "  "},
    {"bytes", "bytes", CRN_CELL(verdict_row, bytes), 9},
    {"pack_us", "pack us", CRN_CELL(verdict_row, us[0]), 10, 1, 1},
    {"store_us", "store us", CRN_CELL(verdict_row, us[1]), 10, 1, 1},
    {"join_us", "join us", CRN_CELL(verdict_row, us[2]), 10, 1, 1},
    {"copy_us", "copy us", CRN_CELL(verdict_row, us[3]), 10, 1, 1},
    {0},
};

static int time_all(verdict_trial *t, verdict_row *row)
{
    static int (*const steps[])(void *) = {pack_views, store_views, join_verdict, copy_message};
    for (int i = 0; i < 4; i++) {
        crn_timing timing;
        if (steps[i] == copy_message && !(t->message = malloc(t->packed.size)))
            return -ENOMEM;
        int r = crn_bench_time(steps[i], t, CRN_BENCH_SECONDS, &timing);
        if (r < 0)
            return r;
        row->us[i] = timing.median_ms * 1e3;
    }
    row->bytes = t->packed.size;
    return 0;
}

static int bench_format(crn_format format, uint32_t defects, const verdict_settings *given)
{
    static const char *const names[] = {"msgpack", "json"};
    verdict_trial *t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    verdict_row row = {defects, given->points, names[format], 0, {0}};
    int r = set_up(t, defects, given->points, format);
    if (r == 0)
        r = time_all(t, &row);
    if (r == 0)
        crn_bench_print_row(columns, &row, given->json);
    tear_down(t);
    free(t);
    return r;
}

static int bench_defects(uint32_t defects, const verdict_settings *given)
{
    int r = bench_format(CRN_FORMAT_MSGPACK, defects, given);
    return r == 0 ? bench_format(CRN_FORMAT_JSON, defects, given) : r;
}

int crn_bench_verdict(int argc, char **argv)
{
    static const uint32_t sizes[] = {16, 160, 1600, 2600, 16000};
    verdict_settings given = {.points = 16};
    crn_options_read(&tool, argc, argv, &given);
    if (!given.json)
        crn_bench_print_headings(columns);
    int r = given.defects ? bench_defects(given.defects, &given) : 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !given.defects && r == 0; i++)
        r = bench_defects(sizes[i], &given);
    return r == 0 ? 0 : crn_tool_fail(&tool, "%s", strerror(-r));
}
