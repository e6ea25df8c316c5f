/*
 * Fixture of the tests of an engine with devices: an engine, and views with identical content. One
 * per program.
 */
#ifndef CRN_TESTS_UNIT_ENGINE_BENCH_H
#define CRN_TESTS_UNIT_ENGINE_BENCH_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "src/engine/engine.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"
#include "tests/support/line/line_fixture.h"

#define CRN_ENGINE_CLASSES 3
#define CRN_ENGINE_VIEWS   CRN_DEVICE_VIEWS

typedef struct bench {
    crn_config config;
    crn_engine *engine;
    crn_view views[CRN_ENGINE_VIEWS];
    float *maps, *empty;
} bench;

static const char bench_classes[] =
    "classes: [{name: ground}, {name: rot, level: 0.4}, {name: rust, level: 0.6}]\n";
static const char plain_chain[] = "chain: [morphology: {size: 3}, contours: {}]\n";

/* A device may take a quarter of it. */
static int budget_ms = 60000;

static inline void start_with(bench *it, const char *chain, const char *rest, const crn_gpu *gpu,
                              crn_device_memory memory)
{
    char yaml[2048];
    memset(it, 0, sizeof *it);
    snprintf(yaml, sizeof yaml, "%s%s%slatency: {budget_ms: %d}\n", bench_classes, chain, rest,
             budget_ms);
    assert_int_equal(crn_config_parse("test", yaml, strlen(yaml), stderr, &it->config), 0);
    crn_config_resolve(&it->config, 2);
    crn_error error;
    if (crn_engine_open(&it->config, gpu, memory, NULL, &it->engine, &error) < 0)
        fail_msg("%s", error.text);
}

static inline void start(bench *it, const char *chain, const char *rest, const crn_gpu *gpu)
{
    start_with(it, chain, rest, gpu, (crn_device_memory){.start = NULL});
}

static inline void stop(bench *it)
{
    crn_engine_close(&it->engine);
    crn_config_done(&it->config);
    free(it->maps);
    free(it->empty);
}

/* Sets the maps of all views. */
static inline void show(bench *it, uint32_t height, uint32_t width)
{
    free(it->maps);
    free(it->empty);
    it->maps = line_discs(height, width, CRN_ENGINE_CLASSES);
    it->empty = calloc((size_t)height * width * CRN_ENGINE_CLASSES, sizeof *it->empty);
    assert_non_null(it->empty);
    for (uint32_t i = 0; i < CRN_ENGINE_VIEWS; i++) {
        it->views[i].slot = i;
        it->views[i].header = (crn_view_header){.fruit = i,
                                                .lane = i,
                                                .height = height,
                                                .width = width,
                                                .channels = CRN_ENGINE_CLASSES,
                                                .type = CRN_F32,
                                                .layout = CRN_HWC};
        it->views[i].maps = (unsigned char *)it->maps;
        it->views[i].deadline_ns = CRN_NEVER_NS;
        atomic_store(&it->views[i].cancelled, false);
    }
}

static inline crn_output *wait_for_one(bench *it)
{
    for (;;) {
        crn_engine_rearm(it->engine);
        crn_output *output = crn_engine_collect(it->engine);
        if (output)
            return output;
        struct pollfd polled = {.fd = crn_engine_descriptor(it->engine), .events = POLLIN};
        assert_int_equal(poll(&polled, 1, 60000), 1);
    }
}

/* Submits the first `count` views and waits for them; every judgement must equal `expected`. */
static inline void run_views(bench *it, int count, const crn_judgement *expected)
{
    uint32_t seen = 0;
    for (int i = 0; i < count; i++)
        while (crn_engine_submit(it->engine, &it->views[i]) != 0)
            crn_engine_release(it->engine, wait_for_one(it)), seen++;
    while (seen++ < (uint32_t)count) {
        crn_output *output = wait_for_one(it);
        assert_int_equal(output->status, 0);
        if (expected) {
            assert_int_equal(output->judgement.defect_count, expected->defect_count);
            assert_int_equal(output->judgement.truncated, expected->truncated);
        }
        crn_engine_release(it->engine, output);
    }
}

/* Runs single views until the device has run that many. */
static inline void run_on_device(bench *it, uint64_t views)
{
    const crn_engine_stats *stats = crn_engine_get_stats(it->engine);
    uint64_t begun = stats->device;
    while (stats->device - begun < views)
        run_views(it, 1, NULL);
}

static inline crn_judgement judgement_of(bench *it)
{
    assert_int_equal(crn_engine_submit(it->engine, &it->views[0]), 0);
    crn_output *output = wait_for_one(it);
    assert_int_equal(output->status, 0);
    crn_judgement judgement = output->judgement;
    crn_engine_release(it->engine, output);
    return judgement;
}

static inline void expect_all_given_back(void)
{
    assert_int_equal(atomic_load(&crn_fake_gpu_used.contexts), 0);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.graphs), 0);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pinned), 0);
}

#endif
