/* The verdict's fields, order and values, and that MessagePack and JSON say the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <msgpack.h>
#include <yajl/yajl_tree.h>

#include "src/base/clock.h"
#include "src/verdict.h"
#include "tests/support/decode.h"

#define VIEWS 4

/* --- a line, a fruit and its results -------------------------------------------------------- */

static const crn_stage gaussian = {.name = "convolve", .kind = CRN_STAGE_IMAGE};
static const crn_stage opening = {.name = "morphology", .kind = CRN_STAGE_IMAGE};
static const crn_stage outlines = {.name = "contours", .kind = CRN_STAGE_CONTOURS};

typedef struct fixture {
    crn_config config;
    crn_store *store;
    crn_verdict *verdict;
    crn_emit *emits[2];
    crn_fruit_view views[VIEWS];
    crn_fruit fruit;
    crn_verdict_facts facts;
    msgpack_unpacked unpacked; /* of the verdict packed last */
    yajl_val tree;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->config.limits.views = VIEWS;
    f->config.limits.defects = 16;
    f->config.limits.points = 100000;
    f->config.latency.budget_ms = 100;
    f->config.classes = (crn_classes){.count = 4,
                                      .name = {"background", "rot", "stem \"end\"", "caf\xc3\xa9"},
                                      .level = {NAN, 0.5, 0.25, 0.75}};
    f->config.steps = 4;
    f->config.chain[0].stage = &opening;
    f->config.chain[1].stage = &gaussian;
    f->config.chain[2].stage = &opening;
    f->config.chain[3].stage = &outlines;
    assert_int_equal(crn_store_create(1 << 22, &f->store), 0);
    assert_int_equal(crn_verdict_create(&f->config, &f->verdict), 0);
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++)
        assert_int_equal(crn_emit_create(format, &f->emits[format]), 0);
    f->fruit = (crn_fruit){
        .epoch = UINT64_MAX,
        .fruit = 12345678901234567890u,
        .encoder = 4711,
        .captured_ns = 1763672705123456789u,
        .expected = VIEWS,
        .closed_ns = 5 * CRN_NS_PER_S,
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

static int tear_down(void **state)
{
    fixture *f = *state;
    msgpack_unpacked_destroy(&f->unpacked);
    yajl_tree_free(f->tree);
    crn_emit_free(&f->emits[0]);
    crn_emit_free(&f->emits[1]);
    crn_verdict_free(&f->verdict);
    crn_store_free(&f->store);
    free(f);
    return 0;
}

static crn_defect make_defect(int32_t channel, int32_t parent, bool closed, bool hole, double area)
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

/* Judges a view; `points` for each of its defects, all different. */
static void judge(fixture *f, uint32_t view, crn_defect *defects, uint32_t count, uint32_t points)
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
    assert_int_equal(crn_store_put(f->store, &in, &f->views[view].judgement.result), 0);
    free(xy);
    f->fruit.received++;
    f->fruit.judged++;
}

static void pack_as(fixture *f, crn_format format, crn_verdict_bytes *ret_packed)
{
    int r =
        crn_verdict_pack(f->verdict, f->emits[format], &f->fruit, &f->facts, f->store, ret_packed);
    assert_int_equal(r, 0);
}

/* Packs in both formats and decodes both. */
static void pack(fixture *f)
{
    crn_verdict_bytes packed;
    pack_as(f, CRN_FORMAT_MSGPACK, &packed);
    size_t end = 0;
    assert_int_equal(
        msgpack_unpack_next(&f->unpacked, (const char *)packed.bytes, packed.size, &end),
        MSGPACK_UNPACK_SUCCESS);
    assert_int_equal(end, packed.size);
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

/* --- the tests ------------------------------------------------------------------------------- */

static void expect_head(const fixture *f)
{
    static const char *const keys[] = {"v",
                                       "run",
                                       "lane",
                                       "epoch",
                                       "fruit",
                                       "sequence",
                                       "stale",
                                       "encoder",
                                       "captured_ns",
                                       "published_ns",
                                       "verdict",
                                       "views_expected",
                                       "views_received",
                                       "views_judged",
                                       "skipped",
                                       "truncated",
                                       "budget_ms",
                                       "latency_ms",
                                       "totals",
                                       "defects"};
    const msgpack_object *v = &f->unpacked.data;
    crn_expect_keys(v, keys, sizeof keys / sizeof keys[0]);
    crn_expect_unsigned(crn_decoded_field(v, "v"), 1);
    crn_expect_text(crn_decoded_field(v, "run"), "18a1b2c3d4e5f607");
    crn_expect_unsigned(crn_decoded_field(v, "lane"), 7);
    crn_expect_unsigned(crn_decoded_field(v, "epoch"), UINT64_MAX);
    crn_expect_unsigned(crn_decoded_field(v, "fruit"), 12345678901234567890u);
    crn_expect_unsigned(crn_decoded_field(v, "sequence"), 99);
    crn_expect_bool(crn_decoded_field(v, "stale"), false);
    crn_expect_unsigned(crn_decoded_field(v, "encoder"), 4711);
    crn_expect_unsigned(crn_decoded_field(v, "captured_ns"), 1763672705123456789u);
    crn_expect_unsigned(crn_decoded_field(v, "published_ns"), 1763672705223456789u);
    crn_expect_unsigned(crn_decoded_field(v, "budget_ms"), 100);
}

static void expect_views(const fixture *f, const char *verdict, uint64_t received, uint64_t judged)
{
    const msgpack_object *v = &f->unpacked.data;
    crn_expect_text(crn_decoded_field(v, "verdict"), verdict);
    crn_expect_unsigned(crn_decoded_field(v, "views_expected"), VIEWS);
    crn_expect_unsigned(crn_decoded_field(v, "views_received"), received);
    crn_expect_unsigned(crn_decoded_field(v, "views_judged"), judged);
}

static void expect_total(const fixture *f, const char *name, uint64_t count, double area_px)
{
    static const char *const keys[] = {"count", "area_px"};
    const msgpack_object *total =
        crn_decoded_field(crn_decoded_field(&f->unpacked.data, "totals"), name);
    crn_expect_keys(total, keys, 2);
    crn_expect_unsigned(crn_decoded_field(total, "count"), count);
    crn_expect_real(crn_decoded_field(total, "area_px"), area_px);
}

static void expect_defect(const fixture *f, uint32_t index, uint32_t view, const crn_defect *defect,
                          int64_t parent)
{
    static const char *const keys[] = {
        "view",         "class", "level",    "closed",           "hole", "parent", "area_px",
        "perimeter_px", "bbox",  "centroid", "mean_probability", "xy"};
    const msgpack_object *d =
        crn_decoded_item(crn_decoded_field(&f->unpacked.data, "defects"), index);
    crn_expect_keys(d, keys, sizeof keys / sizeof keys[0]);
    crn_expect_unsigned(crn_decoded_field(d, "view"), view);
    crn_expect_text(crn_decoded_field(d, "class"), f->config.classes.name[defect->channel]);
    crn_expect_real(crn_decoded_field(d, "level"), f->config.classes.level[defect->channel]);
    crn_expect_bool(crn_decoded_field(d, "closed"), defect->closed);
    crn_expect_bool(crn_decoded_field(d, "hole"), defect->hole);
    crn_expect_integer(crn_decoded_field(d, "parent"), parent);
    crn_expect_real(crn_decoded_field(d, "area_px"), defect->area_px);
    crn_expect_real(crn_decoded_field(d, "perimeter_px"), defect->perimeter_px);
    crn_expect_reals(crn_decoded_field(d, "bbox"),
                     (double[]){defect->x0, defect->y0, defect->x1, defect->y1}, 4);
    crn_expect_reals(crn_decoded_field(d, "centroid"),
                     (double[]){defect->centroid_x, defect->centroid_y}, 2);
    crn_expect_real(crn_decoded_field(d, "mean_probability"), defect->mean_probability);
    const msgpack_object *xy = crn_decoded_field(d, "xy");
    assert_int_equal(xy->type, MSGPACK_OBJECT_BIN);
    assert_int_equal(xy->via.bin.size, defect->point_count * 2 * sizeof(float));
    for (uint32_t i = 0; i < defect->point_count * 2; i++) {
        uint32_t place = defect->first_point * 2 + i;
        float expected = (float)view * 1000.0f + (float)place / 7.0f - 1.0f;
        float read;
        memcpy(&read, xy->via.bin.ptr + i * sizeof read, sizeof read);
        assert_true(read == expected);
    }
}

static void test_a_complete_fruit(void **state)
{
    fixture *f = *state;
    /* rot with a hole and what lies in the hole, an open stem; nothing; a hole in rot again */
    crn_defect first[] = {make_defect(1, -1, true, false, 100), make_defect(1, 0, true, true, 30),
                          make_defect(1, 1, true, false, 4), make_defect(2, -1, false, false, 7.5)};
    crn_defect third[] = {make_defect(1, -1, true, false, 50), make_defect(1, 0, true, true, 0.5),
                          make_defect(2, 0, true, false, 3)};
    judge(f, 0, first, 4, 3);
    judge(f, 1, NULL, 0, 0);
    judge(f, 2, third, 3, 5);
    judge(f, 3, NULL, 0, 0);
    f->facts.kind = CRN_VERDICT_COMPLETE;
    pack(f);
    expect_head(f);
    expect_views(f, "complete", 4, 4);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "skipped"), 0);
    crn_expect_bool(crn_decoded_field(&f->unpacked.data, "truncated"), false);
    expect_total(f, "rot", 3, 100 - 30.0 + 4 + 50 - 0.5);
    expect_total(f, "stem \"end\"", 2, 10.5);
    expect_total(f, "caf\xc3\xa9", 0, 0);
    static const char *const classes[] = {"rot", "stem \"end\"", "caf\xc3\xa9"};
    crn_expect_keys(crn_decoded_field(&f->unpacked.data, "totals"), classes, 3);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "defects"), 7);
    static const int64_t parents[] = {-1, 0, 1, -1, -1, 4, 4};
    for (uint32_t i = 0; i < 7; i++)
        expect_defect(f, i, i < 4 ? 0 : 2, i < 4 ? &first[i] : &third[i - 4], parents[i]);
    crn_expect_same(&f->unpacked.data, f->tree);
}

static void test_latencies_are_the_slowest_views(void **state)
{
    fixture *f = *state;
    judge(f, 0, NULL, 0, 0);
    judge(f, 2, NULL, 0, 0);
    f->views[0].judgement.queue_ns = 1500000;
    f->views[2].judgement.queue_ns = 250000;
    f->views[1].judgement.queue_ns = 9 * CRN_NS_PER_S; /* was not judged: does not count */
    static const int64_t slow_ns[2][4] = {{4000000, 1, 0, 7}, {3000000, 123456, 0, 8}};
    memcpy(f->views[0].judgement.stage_ns, slow_ns[0], sizeof slow_ns[0]);
    memcpy(f->views[2].judgement.stage_ns, slow_ns[1], sizeof slow_ns[1]);
    pack(f);
    const msgpack_object *latency = crn_decoded_field(&f->unpacked.data, "latency_ms");
    static const char *const keys[] = {"queue",        "morphology", "convolve",
                                       "morphology_2", "contours",   "total"};
    crn_expect_keys(latency, keys, 6);
    crn_expect_real(crn_decoded_field(latency, "queue"), 1.5);
    crn_expect_real(crn_decoded_field(latency, "morphology"), 4);
    crn_expect_real(crn_decoded_field(latency, "convolve"), 0.123456);
    crn_expect_real(crn_decoded_field(latency, "morphology_2"), 0);
    crn_expect_real(crn_decoded_field(latency, "contours"), 0.000008);
    crn_expect_real(crn_decoded_field(latency, "total"), 31.25);
    crn_expect_same(&f->unpacked.data, f->tree);

    f->fruit.closed_ns = CRN_NEVER_NS; /* judged before it closed */
    pack(f);
    crn_expect_real(crn_decoded_field(crn_decoded_field(&f->unpacked.data, "latency_ms"), "total"),
                    0);
}

static void test_a_partial_fruit(void **state)
{
    fixture *f = *state;
    crn_defect only[] = {make_defect(3, -1, true, false, 12)};
    f->views[0].state = CRN_VIEW_LOST;
    f->views[1].state = CRN_VIEW_RUNNING;
    f->fruit.received = 2;
    judge(f, 3, only, 1, 2);
    f->facts.kind = CRN_VERDICT_PARTIAL;
    pack(f);
    expect_head(f);
    expect_views(f, "partial", 3, 1);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "defects"), 1);
    expect_defect(f, 0, 3, only, -1);
    crn_expect_same(&f->unpacked.data, f->tree);
}

static void test_a_late_fruit(void **state)
{
    fixture *f = *state;
    f->views[0].state = CRN_VIEW_RUNNING;
    f->fruit.received = 1;
    f->facts.kind = CRN_VERDICT_LATE;
    pack(f);
    expect_head(f);
    expect_views(f, "late", 1, 0);
    expect_total(f, "rot", 0, 0);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "defects"), 0);
    crn_expect_real(crn_decoded_field(crn_decoded_field(&f->unpacked.data, "latency_ms"), "queue"),
                    0);
    crn_expect_same(&f->unpacked.data, f->tree);
}

static void test_skipped_stages_and_cut_views(void **state)
{
    fixture *f = *state;
    judge(f, 0, NULL, 0, 0);
    judge(f, 1, NULL, 0, 0);
    f->views[0].judgement.skipped = 1u << 2;
    f->views[1].judgement.skipped = 1u << 0;
    f->views[2].judgement.skipped = 1u << 1; /* was not judged: does not count */
    pack(f);
    const msgpack_object *skipped = crn_decoded_field(&f->unpacked.data, "skipped");
    crn_expect_items(skipped, 2);
    crn_expect_text(crn_decoded_item(skipped, 0), "morphology");
    crn_expect_text(crn_decoded_item(skipped, 1), "morphology_2");
    crn_expect_bool(crn_decoded_field(&f->unpacked.data, "truncated"), false);
    crn_expect_same(&f->unpacked.data, f->tree);

    f->views[1].judgement.truncated = true;
    pack(f);
    crn_expect_bool(crn_decoded_field(&f->unpacked.data, "truncated"), true);
    crn_expect_same(&f->unpacked.data, f->tree);
}

static void test_what_is_not_finite_is_null(void **state)
{
    fixture *f = *state;
    crn_defect only[] = {make_defect(1, -1, true, false, 12)};
    only[0].mean_probability = NAN;
    only[0].x1 = INFINITY;
    only[0].first_point = 0;
    only[0].point_count = 2;
    float xy[] = {1.5f, NAN, -INFINITY, 0.1f};
    crn_defects in = {.defects = only,
                      .xy = xy,
                      .defect_capacity = 1,
                      .point_capacity = 2,
                      .defect_count = 1,
                      .point_count = 2};
    f->views[0].state = CRN_VIEW_JUDGED;
    assert_int_equal(crn_store_put(f->store, &in, &f->views[0].judgement.result), 0);
    pack(f);
    const msgpack_object *d = crn_decoded_item(crn_decoded_field(&f->unpacked.data, "defects"), 0);
    assert_int_equal(crn_decoded_field(d, "mean_probability")->type, MSGPACK_OBJECT_NIL);
    assert_int_equal(crn_decoded_item(crn_decoded_field(d, "bbox"), 2)->type, MSGPACK_OBJECT_NIL);
    crn_expect_real(crn_decoded_item(crn_decoded_field(d, "bbox"), 0), -0.5);
    assert_memory_equal(crn_decoded_field(d, "xy")->via.bin.ptr, xy, sizeof xy);
    crn_expect_same(&f->unpacked.data, f->tree);
}

static void test_a_verdict_without_memory_for_its_defects(void **state)
{
    fixture *f = *state;
    crn_defect only[] = {make_defect(1, -1, true, false, 12)};
    judge(f, 0, only, 1, 2);
    f->facts.kind = CRN_VERDICT_COMPLETE;
    f->facts.without_defects = true;
    pack(f);
    expect_views(f, "partial", 1, 1);
    crn_expect_bool(crn_decoded_field(&f->unpacked.data, "truncated"), true);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "defects"), 0);
    expect_total(f, "rot", 0, 0);
    crn_expect_same(&f->unpacked.data, f->tree);
    f->facts.kind = CRN_VERDICT_LATE;
    pack(f);
    expect_views(f, "late", 1, 1);
}

/* `stale` is turned in a copy of the bytes: nothing else changes, and it can be turned back. */
static void test_stale_is_turned_in_place(void **state)
{
    fixture *f = *state;
    char *copies[2];
    crn_verdict_bytes packed[2];
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++) {
        pack_as(f, format, &packed[format]);
        copies[format] = calloc(packed[format].size + 1, 1);
        memcpy(copies[format], packed[format].bytes, packed[format].size);
        unsigned char *at = (unsigned char *)copies[format] + packed[format].stale_at;
        crn_emit_set_bool(format, at, true);
    }
    assert_int_equal(msgpack_unpack_next(&f->unpacked, copies[0], packed[0].size, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    f->tree = yajl_tree_parse(copies[1], NULL, 0);
    assert_non_null(f->tree);
    crn_expect_bool(crn_decoded_field(&f->unpacked.data, "stale"), true);
    crn_expect_same(&f->unpacked.data, f->tree);
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++) {
        unsigned char *at = (unsigned char *)copies[format] + packed[format].stale_at;
        crn_emit_set_bool(format, at, false);
        assert_memory_equal(copies[format], packed[format].bytes, packed[format].size);
        free(copies[format]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_complete_fruit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_latencies_are_the_slowest_views, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_partial_fruit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_late_fruit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_skipped_stages_and_cut_views, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_finite_is_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_verdict_without_memory_for_its_defects, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_stale_is_turned_in_place, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
