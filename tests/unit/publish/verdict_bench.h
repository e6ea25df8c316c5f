/*
 * Fixture of the tests of verdicts: a line, a fruit with synthetic defects, and its verdict in both
 * formats. One per program.
 */
#ifndef CRN_TESTS_UNIT_VERDICT_BENCH_H
#define CRN_TESTS_UNIT_VERDICT_BENCH_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack.h>
#include <yajl/yajl_tree.h>

#include "stages/base/clock.h"
#include "src/publish/verdict.h"
#include "stages/backend.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/parts/stored.h"

#define CRN_VERDICT_VIEWS 4

static const crn_stage gaussian = {.name = "convolve", .kind = CRN_STAGE_IMAGE};
static const crn_stage opening = {.name = "morphology", .kind = CRN_STAGE_IMAGE};
static const crn_stage outlines = {.name = "contours", .kind = CRN_STAGE_CONTOURS};

typedef struct verdict_fixture {
    crn_config config;
    crn_result_store *store;
    crn_verdict *verdict;
    crn_encoder *encoders[2];
    crn_fruit_view views[CRN_VERDICT_VIEWS];
    crn_fruit fruit;
    crn_verdict_facts facts;
    msgpack_unpacked unpacked; /* of the latest verdict */
    yajl_val tree;
} verdict_fixture;

static inline int set_up(void **state)
{
    verdict_fixture *f = calloc(1, sizeof *f);
    f->config.limits.views = CRN_VERDICT_VIEWS;
    f->config.limits.defects = 16;
    f->config.limits.points = 100000;
    f->config.latency.budget_ms = 100;
    f->config.publish.viewers.format = CRN_FORMAT_JSON;
    f->config.run.backend = CRN_BACKEND_SERIAL;
    f->config.hash = 0xfeedc0ffee12;
    f->config.classes = (crn_classes){.count = 4,
                                      .name = {"background", "rot", "stem \"end\"", "caf\xc3\xa9"},
                                      .level = {NAN, 0.5, 0.25, 0.75}};
    f->config.steps = 4;
    f->config.chain[0].stage = &opening;
    f->config.chain[1].stage = &gaussian;
    f->config.chain[2].stage = &opening;
    f->config.chain[3].stage = &outlines;
    assert_int_equal(crn_result_store_create(1 << 22, &f->store), 0);
    assert_int_equal(crn_verdict_create(&f->config, &f->verdict), 0);
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++)
        assert_int_equal(crn_encoder_create(format, &f->encoders[format]), 0);
    f->fruit = (crn_fruit){
        .epoch = UINT64_MAX,
        .lot = "Hof 7",
        .fruit = 12345678901234567890u,
        .encoder = 4711,
        .captured_ns = 1763672705123456789u,
        .expected = CRN_VERDICT_VIEWS,
        .opened_ns = 4 * CRN_NS_PER_S,
        .closed_ns = 5 * CRN_NS_PER_S,
        .closed_by = CRN_CLOSE_TIME,
        .deadline_ns = 6 * CRN_NS_PER_S,
        .views = f->views,
    };
    f->facts = (crn_verdict_facts){
        .run = "18a1b2c3d4e5f607",
        .lane = 7,
        .sequence = 99,
        .published_ns = 1763672705223456789u,
        .now_ns = 5 * CRN_NS_PER_S + 31250000,
    };
    msgpack_unpacked_init(&f->unpacked);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    verdict_fixture *f = *state;
    msgpack_unpacked_destroy(&f->unpacked);
    yajl_tree_free(f->tree);
    crn_encoder_free(&f->encoders[0]);
    crn_encoder_free(&f->encoders[1]);
    crn_verdict_free(&f->verdict);
    crn_result_store_free(&f->store);
    free(f);
    return 0;
}

static inline crn_defect make_defect(int32_t channel, int32_t parent, bool closed, bool hole,
                                     double area)
{
    return (crn_defect){
        .channel = channel,
        .parent = parent,
        .closed = closed,
        .hole = hole,
        .area_px = area,
        .perimeter_px = area / 3,
        .x0 = -0.5,
        .y0 = 1.25,
        .x1 = 10 + area,
        .y1 = 1.0 / 3.0,
        .centroid_x = area * 1.1,
        .centroid_y = -area,
        .mean_probability = 0.1 + area / 1000,
    };
}

/* Marks a view judged; gives each defect `points` distinct points. */
static inline void judge(verdict_fixture *f, uint32_t view, crn_defect *defects, uint32_t count,
                         uint32_t points)
{
    float *xy = calloc((size_t)count * points * 2 + 1, sizeof *xy);
    for (uint32_t i = 0; i < count * points * 2; i++)
        xy[i] = (float)view * 1000.0f + (float)i / 7.0f - 1.0f;
    for (uint32_t i = 0; i < count; i++) {
        defects[i].first_point = i * points;
        defects[i].point_count = points;
    }
    crn_defects in = {.defects = defects,
                      .xy = xy,
                      .defect_capacity = count,
                      .point_capacity = count * points,
                      .defect_count = count,
                      .point_count = count * points};
    f->views[view].state = CRN_VIEW_JUDGED;
    f->views[view].judgement.defect_count = count;
    f->views[view].judgement.result =
        crn_store_defects(&f->config, f->store, &in, view, f->views[view].judgement.skipped);
    free(xy);
    f->fruit.received++;
    f->fruit.judged++;
}

static inline void pack_as(verdict_fixture *f, crn_format format, crn_verdict_bytes *ret_packed)
{
    int r = crn_verdict_pack(f->verdict, f->encoders[format], &f->fruit, &f->facts, f->store,
                             ret_packed);
    assert_int_equal(r, 0);
}

/* Packs in both formats and decodes both. */
static inline void pack(verdict_fixture *f)
{
    crn_verdict_bytes packed;
    pack_as(f, CRN_FORMAT_MSGPACK, &packed);
    size_t end = 0;
    assert_int_equal(
        msgpack_unpack_next(&f->unpacked, (const char *)packed.bytes, packed.size, &end),
        MSGPACK_UNPACK_SUCCESS);
    assert_int_equal(end, packed.size);
    crn_expect_verdict(&f->unpacked.data);
    pack_as(f, CRN_FORMAT_JSON, &packed);
    char *text = calloc(packed.size + 1, 1);
    memcpy(text, packed.bytes, packed.size);
    char fault[256] = "";
    yajl_tree_free(f->tree);
    f->tree = yajl_tree_parse(text, fault, sizeof fault);
    assert_string_equal(fault, "");
    assert_non_null(f->tree);
    free(text);
}

#define CRN_ON_VERDICT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
