/* Ten hours of a sound line, by a clock that the test moves: fruits, pauses of the belt, other
 * recipes. No condition may be raised. The maps are made, or those of a CNN: CRN_FRAME names a file
 * of them, .npy or TIFF. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/conditions/conditions.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/line/log_capture.h"
#include "tools/bench/frame.h"

enum {
    HOURS = 10,
    SECONDS = HOURS * 3600,
    EACH_S = 5,           /* a fruit on each lane */
    PAUSE_EACH_S = 1800,  /* every half hour the belt stands */
    PAUSE_S = 240,        /* for four minutes: longer than anything is remembered */
    RECIPE_EACH_S = 3600, /* other levels */
    LANES = 2,
    VIEWS = 2,
    POOL = 7, /* maps in turn, all different */
};

static const char yaml[] = "chain: [contours]\n"
                           "run: {backend: openmp, workers: 1, threads: 1}\n"
                           "latency: {budget_ms: 60000, assemble_ms: 60000}\n";

static line_fixture line;
static int height = 24, width = 40, classes = 3;
static float *pool[POOL];

/* A disc of rot whose place and softness differ, on a ground that makes the sum 1. */
static void make_maps(float *maps, int number)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float *at = &maps[(y * width + x) * classes];
            float far = (float)((x - 10 - number) * (x - 10 - number) + (y - 12) * (y - 12));
            at[1] = 0.9f / (1 + far / (20 + (float)number));
            at[2] = 0.05f;
            at[0] = 1 - at[1] - at[2];
        }
}

/* The frame, its columns moved on. */
static void move_frame(const crn_image *frame, float *maps, int number)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int from = (x + number * (width / POOL)) % width;
            for (int k = 0; k < classes; k++)
                *maps++ = ((const float *)frame->data)[k * frame->plane_stride +
                                                       y * frame->row_stride + from * frame->step];
        }
}

static void make_pool(void)
{
    const char *path = getenv("CRN_FRAME");
    crn_image frame = {0};
    crn_error error;
    if (path) {
        if (crn_frame_read(path, &frame, &error) < 0)
            fail_msg("%s", error.text);
        height = frame.height, width = frame.width, classes = frame.planes;
    }
    for (int i = 0; i < POOL; i++) {
        pool[i] = malloc((size_t)(height * width * classes) * sizeof *pool[i]);
        assert_non_null(pool[i]);
        if (path)
            move_frame(&frame, pool[i], i);
        else
            make_maps(pool[i], i);
    }
    free(frame.data);
}

/* The section classes: a level for all but the background. */
static void print_yaml(char *text, size_t size)
{
    int used = snprintf(text, size, "%sclasses: [{name: background}", yaml);
    for (int i = 1; i < classes; i++)
        used += snprintf(text + used, size - (size_t)used, ", {name: class%d, level: 0.5}", i);
    snprintf(text + used, size - (size_t)used, "]\n");
}

static void judge_fruit(uint64_t fruit)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint16_t view = 0; view < VIEWS; view++) {
            crn_view_header header =
                line_header(&line, fruit, view, VIEWS, (uint32_t)height, (uint32_t)width);
            header.lane = lane;
            header.epoch = 7 + lane;
            line.sequence = fruit * VIEWS + view; /* each lane has its own numbers */
            line_send(&line, header, pool[(fruit + lane + 3 * view) % POOL], NULL);
        }
    for (int lane = 0; lane < LANES; lane++) {
        seen_verdict verdict;
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_string_equal(verdict.verdict, "complete");
    }
}

/* Fruits from now on are judged by another level. */
static void change_recipe(int which)
{
    crn_config config;
    crn_error error;
    int r;
    assert_int_equal(crn_config_copy(&line.config, &config), 0);
    config.classes.level[1] = which % 2 ? 0.4f : 0.5f;
    config.hash += (uint64_t)which;
    while ((r = crn_line_change(line.line, &config, &error)) == -EBUSY)
        sched_yield();
    if (r < 0)
        fail_msg("%s", error.text);
    crn_line_tidy(line.line);
}

static void assert_nothing_was_raised(const char *log)
{
    char mark[64];
    assert_true(strlen(log) < sizeof(((crn_log_capture *)NULL)->text) - 1); /* nothing was cut */
    for (int32_t i = 0; i < crn_condition_row_count; i++) {
        snprintf(mark, sizeof mark, "[%s", crn_condition_rows[i]->id);
        const char *at = strstr(log, mark);
        if (at)
            fail_msg("%s was raised: %.200s", crn_condition_rows[i]->id, at);
    }
}

static void ten_sound_hours_raise_nothing(void **state)
{
    (void)state;
    crn_log_capture caught;
    uint64_t fruit = 0;
    char text[2048];
    make_pool();
    print_yaml(text, sizeof text);
    line_configure(&line, text);
    crn_log_set_level(CRN_LOG_WARNING); /* before any thread that logs exists */
    line_run(&line, NULL);
    crn_log_capture_start(&caught);
    for (int second = 0; second < SECONDS; second++) {
        bool stands = second % PAUSE_EACH_S >= PAUSE_EACH_S - PAUSE_S;
        if (!stands && second % EACH_S == 0)
            judge_fruit(fruit++);
        if (second % RECIPE_EACH_S == RECIPE_EACH_S / 2)
            change_recipe(second / RECIPE_EACH_S + 1);
        line_move_clock(&line, CRN_NS_PER_S);
    }
    line_stop(&line);
    assert_nothing_was_raised(crn_log_capture_stop(&caught));
    assert_int_equal(line.metrics.fruits.complete, LANES * fruit);
    for (int i = 0; i < POOL; i++)
        free(pool[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ten_sound_hours_raise_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
