/* What a pose, a roll, a union and a fruit take on one thread. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/surface/measurement.h"
#include "tools/bench/print.h"
#include "tools/bench/surface/surface.h"
#include "tools/bench/time.h"

enum { FRUITS = 8, VIEWS = 4, OUTLINES = 40, HEIGHT = 95, WIDTH = 511, TRIES = 1000 };

#define ROUNDS_MAX 4000

/* One fruit after the other, so that neither branches nor caches learn one. */
typedef struct surface_work {
    crn_surface *surface;
    crn_surface_photograph photos[FRUITS][VIEWS];
    crn_surface_view views[FRUITS][VIEWS];
    crn_surface_skin skins[FRUITS][VIEWS];
    int32_t at;
} surface_work;

typedef struct surface_time {
    const char *name;
    double target_ms, median_ms, p99_ms;
    const char *met;
} surface_time;

static const crn_bench_column columns[] = {
    {"time", "processor time on one thread, ms", CRN_CELL(surface_time, name), -44},
    {"median_ms", "p50", CRN_CELL(surface_time, median_ms), 8, 4, 5},
    {"p99_ms", "p99", CRN_CELL(surface_time, p99_ms), 8, 4, 5},
    {"target_ms", "target", CRN_CELL(surface_time, target_ms), 8, 2, 3},
    {"met", NULL, CRN_CELL(surface_time, met)},
    {0},
};

static int find_pose(surface_work *work, int fruit)
{
    crn_surface_pose pose;
    return crn_surface_find_pose(work->surface, &work->photos[fruit][work->at % VIEWS].image,
                                 &pose);
}

static int take_skin(surface_work *work, int fruit)
{
    int view = work->at % VIEWS;
    return crn_surface_take_skin(work->surface, "photograph", &work->photos[fruit][view],
                                 &work->skins[fruit][view]);
}

static int match_skins(surface_work *work, int fruit)
{
    crn_surface_roll roll;
    int view = work->at % (VIEWS - 1);
    return crn_surface_match_skins(work->surface, &work->skins[fruit][view],
                                   &work->skins[fruit][view + 1], M_PI / 2,
                                   CRN_UNION_ROLL_RANGE_RAD, &roll);
}

/* As where the roll is not sure. */
static int match_turns(surface_work *work, int fruit)
{
    crn_surface_pose poses[2] = {{.x = 0}, {.x = 0}};
    int view = work->at % (VIEWS - 1);
    crn_surface_turning views[2] = {
        {.skin = &work->skins[fruit][view], .pose = &poses[0]},
        {&work->skins[fruit][view + 1], M_PI / 2, {M_PI / 2, 0.01}, &poses[1]}};
    crn_surface_find_turns(work->surface, views, 2, CRN_UNION_ROLL_RANGE_RAD);
    return 0;
}

static int measure(surface_work *work, int fruit)
{
    const crn_surface_fruit *found;
    return crn_surface_measure(work->surface, work->views[fruit], VIEWS, &found);
}

/* All of a rotation: poses, skins, rolls, union. */
static int rotate(surface_work *work, int fruit)
{
    crn_surface_pose poses[VIEWS];
    crn_surface_turning views[VIEWS] = {{.skin = NULL}};
    int r = 0;
    for (int i = 0; i < VIEWS && r == 0; i++) {
        crn_surface_skin *skin = &work->skins[fruit][i];
        r = crn_surface_find_pose(work->surface, &work->photos[fruit][i].image, &poses[i]);
        if (r == 0)
            r = crn_surface_take_skin(work->surface, "photograph", &work->photos[fruit][i], skin);
        views[i] = (crn_surface_turning){
            .skin = skin, .expected_rad = 2 * M_PI / VIEWS, .pose = &poses[i]};
    }
    if (r < 0)
        return r;
    crn_surface_find_turns(work->surface, views, VIEWS, CRN_UNION_ROLL_RANGE_RAD);
    return measure(work, fruit);
}

static const struct {
    const char *name;
    double target_ms;
    int (*run)(surface_work *work, int fruit);
} timed[] = {
    {"pose of a view of 511 x 95", 0.08, find_pose},
    {"skin of a view", 0, take_skin},
    {"roll between two skins", 0, match_skins},
    {"three angles between two skins", 0, match_turns},
    {"union of 4 views with 40 outlines", 0.05, measure},
    {"a rotation of 4 views", 0.4, rotate},
};

static int (*running)(surface_work *work, int fruit);

/* The processor's time, in which other programs do not count. */
static double thread_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int time_once(void *argument, double *ret_ms)
{
    surface_work *work = argument;
    int fruit = work->at++ % FRUITS;
    double begin_ms = thread_ms();
    int r = running(work, fruit);
    *ret_ms = thread_ms() - begin_ms;
    return r;
}

/* A fruit whose views have as many outlines as the target says. */
static int make_fruit(surface_work *work, crn_surface_bench *bench, int number, crn_draws *random,
                      crn_error *error)
{
    const crn_known_kind kind = {.views = VIEWS,
                                 .step_rad = 2 * M_PI / VIEWS,
                                 .height = HEIGHT,
                                 .width = WIDTH,
                                 .ratio_min = 0.8,
                                 .ratio_max = 1.25,
                                 .spot_min = 0.04,
                                 .spot_max = 0.2,
                                 .spots = 18,
                                 .look = CRN_KNOWN_LOOK};
    for (int tries = 0; tries < TRIES; tries++) {
        crn_known_fruit fruit = crn_known_random(&kind, random);
        uint32_t outlines = 0;
        int r = crn_known_look_at(&bench->seen, &fruit, error);
        if (r < 0)
            return r;
        for (int i = 0; i < VIEWS; i++)
            outlines += bench->seen.defects[i].defect_count;
        if (outlines != OUTLINES)
            continue;
        for (int i = 0; i < VIEWS; i++) {
            crn_known_photograph(&fruit, i, random, bench->photographs[i]);
            work->views[number][i] = bench->seen.views[i];
            work->photos[number][i] = (crn_surface_photograph){
                crn_image_dense(bench->photographs[i], CRN_U8, CRN_CHW, 1, HEIGHT, WIDTH),
                bench->seen.views[i].pose, fruit.mm_per_px};
        }
        return 0;
    }
    return crn_error_set(error, -EINVAL, "no fruit has %d outlines", (int)OUTLINES);
}

static int time_all(surface_work *work, bool json, crn_error *error)
{
    const crn_bench_rounds rounds = {
        .warm_up = 50, .least = 200, .most = ROUNDS_MAX, .seconds = 0.5};
    double *ms = malloc(ROUNDS_MAX * sizeof *ms);
    int r = ms ? 0 : crn_error_set(error, -ENOMEM, "no memory for the times");
    if (r == 0 && !json)
        crn_bench_print_headings(columns);
    for (size_t i = 0; i < sizeof timed / sizeof *timed && r >= 0; i++) {
        running = timed[i].run;
        r = crn_bench_repeat(time_once, work, &rounds, ms);
        if (r < 0) {
            crn_error_set(error, r, "'%s' failed", timed[i].name);
            continue;
        }
        surface_time row = {timed[i].name, NAN, crn_bench_median(ms, (size_t)r),
                            crn_bench_p99(ms, (size_t)r), NULL};
        if (timed[i].target_ms > 0) {
            row.target_ms = timed[i].target_ms;
            row.met = row.median_ms <= row.target_ms ? "true" : "false";
        }
        crn_bench_print_row(columns, &row, json);
    }
    free(ms);
    return r < 0 ? r : 0;
}

int crn_surface_print_times(uint64_t seed, bool json, crn_error *error)
{
    crn_surface_bench benches[FRUITS] = {0};
    surface_work *work = calloc(1, sizeof *work);
    crn_surface_settings settings = crn_known_settings(0);
    crn_draws random = {seed, 0, 0};
    int r = work ? 0 : crn_error_set(error, -ENOMEM, "no memory for fruits");
    settings.roll_error_rad = CRN_UNION_ROLL_ERROR_RAD;
    for (int i = 0; i < FRUITS && r == 0; i++) {
        r = crn_surface_bench_open(&benches[i], HEIGHT * WIDTH, error);
        if (r == 0)
            r = make_fruit(work, &benches[i], i, &random, error);
    }
    if (r == 0 && crn_surface_open(benches[0].seen.context, &settings, &work->surface) < 0)
        r = crn_error_set(error, -EINVAL, "%s", crn_context_error(benches[0].seen.context));
    if (r == 0)
        r = time_all(work, json, error);
    if (work)
        crn_surface_free(&work->surface);
    for (int i = 0; i < FRUITS; i++)
        crn_surface_bench_close(&benches[i]);
    free(work);
    return r;
}
