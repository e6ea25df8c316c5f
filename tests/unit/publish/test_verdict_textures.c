/* Textures in a verdict: listed with their defects, and present only if a stage made them. */
#include <stdlib.h>
#include <string.h>

#include <msgpack.h>
#include <yajl/yajl_tree.h>

#include "src/publish/verdict.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/parts/stored.h"

static uint32_t two(const void *settings)
{
    (void)settings;
    return 2;
}

static const crn_stage outlines = {.name = "contours", .kind = CRN_STAGE_CONTOURS};
static const crn_stage surface = {.name = "ranklet", .kind = CRN_STAGE_FEATURE, .textures = two};

typedef struct verdict_textures_fixture {
    crn_config config;
    crn_result_store *store;
    crn_verdict *verdict;
    crn_encoder *encoders[2];
    crn_fruit_view views[3];
    crn_fruit fruit;
    msgpack_unpacked unpacked; /* of the latest verdict */
    const msgpack_object *defects;
} verdict_textures_fixture;

static int set_up(void **state)
{
    verdict_textures_fixture *f = *state = calloc(1, sizeof *f);
    f->config.limits.views = 3;
    f->config.limits.defects = 8;
    f->config.limits.points = 16;
    f->config.publish.viewers.format = CRN_FORMAT_JSON;
    f->config.classes = (crn_classes){.count = 1, .name = {"rot"}, .level = {0.5}};
    f->config.steps = 2;
    f->config.chain[0].stage = &outlines;
    f->config.chain[1].stage = &surface;
    assert_int_equal(crn_result_store_create(1 << 20, &f->store), 0);
    assert_int_equal(crn_verdict_create(&f->config, &f->verdict), 0);
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++)
        assert_int_equal(crn_encoder_create(format, &f->encoders[format]), 0);
    f->fruit = (crn_fruit){.expected = 3, .views = f->views};
    msgpack_unpacked_init(&f->unpacked);
    return 0;
}

static int tear_down(void **state)
{
    verdict_textures_fixture *f = *state;
    msgpack_unpacked_destroy(&f->unpacked);
    crn_encoder_free(&f->encoders[0]);
    crn_encoder_free(&f->encoders[1]);
    crn_verdict_free(&f->verdict);
    crn_result_store_free(&f->store);
    free(f);
    return 0;
}

/* Marks a view judged; gives its defects that many textures each, numbered from `first`. */
static void judge(verdict_textures_fixture *f, uint32_t view, const uint32_t *counts,
                  uint32_t defects, int first)
{
    crn_defect defect[8];
    crn_texture textures[16];
    float xy[16] = {0};
    crn_defects in = {.defects = defect, .xy = xy, .textures = textures};
    for (uint32_t i = 0; i < defects; i++) {
        defect[i] = (crn_defect){.parent = -1,
                                 .first_point = i,
                                 .point_count = 1,
                                 .first_texture = in.texture_count,
                                 .texture_count = counts[i]};
        for (uint32_t k = 0; k < counts[i]; k++, first++)
            textures[in.texture_count++] = (crn_texture){.width = 2 * first,
                                                         .height = 4 * first,
                                                         .vertical = (float)first / 7,
                                                         .horizontal = -(float)first / 7,
                                                         .diagonal = (float)first / 100};
    }
    in.defect_count = in.point_count = defects;
    f->views[view].state = CRN_VIEW_JUDGED;
    f->views[view].judgement.result =
        crn_store_defects(&f->config, f->store, &in, view, f->views[view].judgement.skipped);
    f->fruit.received++;
    f->fruit.judged++;
}

static void pack(verdict_textures_fixture *f)
{
    crn_verdict_facts facts = {.run = "r", .kind = CRN_VERDICT_COMPLETE};
    crn_verdict_bytes packed;
    assert_int_equal(crn_verdict_pack(f->verdict, f->encoders[CRN_FORMAT_MSGPACK], &f->fruit,
                                      &facts, f->store, &packed),
                     0);
    assert_int_equal(
        msgpack_unpack_next(&f->unpacked, (const char *)packed.bytes, packed.size, NULL),
        MSGPACK_UNPACK_SUCCESS);
    crn_expect_verdict(&f->unpacked.data);
    assert_int_equal(crn_verdict_pack(f->verdict, f->encoders[CRN_FORMAT_JSON], &f->fruit, &facts,
                                      f->store, &packed),
                     0);
    char *text = calloc(packed.size + 1, 1);
    memcpy(text, packed.bytes, packed.size);
    yajl_val tree = yajl_tree_parse(text, NULL, 0);
    assert_non_null(tree);
    crn_expect_same(&f->unpacked.data, tree);
    yajl_tree_free(tree);
    free(text);
    f->defects = crn_decoded_field(&f->unpacked.data, "defects");
}

static const char *const keys[] = {
    "view",         "class", "level",    "closed",           "hole", "parent", "area_px",
    "perimeter_px", "bbox",  "centroid", "mean_probability", "xy",   "ranklet"};

/* Expects the defect of that index to have these textures. */
static void expect_textures(const verdict_textures_fixture *f, uint32_t index, uint32_t count,
                            int first)
{
    static const char *const texture_keys[] = {"window", "vertical", "horizontal", "diagonal"};
    const msgpack_object *defect = crn_decoded_item(f->defects, index);
    crn_expect_keys(defect, keys, 13);
    const msgpack_object *list = crn_decoded_field(defect, "ranklet");
    crn_expect_items(list, count);
    for (uint32_t i = 0; i < count; i++, first++) {
        const msgpack_object *texture = crn_decoded_item(list, i);
        crn_expect_keys(texture, texture_keys, 4);
        const msgpack_object *window = crn_decoded_field(texture, "window");
        crn_expect_items(window, 2);
        crn_expect_integer(crn_decoded_item(window, 0), 2 * first);
        crn_expect_integer(crn_decoded_item(window, 1), 4 * first);
        crn_expect_real(crn_decoded_field(texture, "vertical"), (double)((float)first / 7));
        crn_expect_real(crn_decoded_field(texture, "horizontal"), (double)(-(float)first / 7));
        crn_expect_real(crn_decoded_field(texture, "diagonal"), (double)((float)first / 100));
    }
}

static void test_textures_stand_with_their_defects(void **state)
{
    verdict_textures_fixture *f = *state;
    judge(f, 0, (uint32_t[]){2, 2}, 2, 1);
    judge(f, 2, (uint32_t[]){2}, 1, 5);
    pack(f);
    crn_expect_items(f->defects, 3);
    expect_textures(f, 0, 2, 1);
    expect_textures(f, 1, 2, 3);
    expect_textures(f, 2, 2, 5);
}

/* All windows may have been larger than the map. */
static void test_a_stage_that_ran_leaves_a_list(void **state)
{
    verdict_textures_fixture *f = *state;
    judge(f, 1, (uint32_t[]){0, 1, 0}, 3, 1);
    pack(f);
    expect_textures(f, 0, 0, 0);
    expect_textures(f, 1, 1, 1);
    expect_textures(f, 2, 0, 0);
}

static void test_a_skipped_stage_leaves_none(void **state)
{
    verdict_textures_fixture *f = *state;
    f->views[0].judgement.skipped = 1u << 1;
    f->views[1].judgement.skipped = 1u << 0; /* another stage */
    judge(f, 0, (uint32_t[]){0}, 1, 0);
    judge(f, 1, (uint32_t[]){2}, 1, 1);
    pack(f);
    crn_expect_keys(crn_decoded_item(f->defects, 0), keys, 12);
    expect_textures(f, 1, 2, 1);
}

static void test_a_chain_without_the_stage_has_none(void **state)
{
    verdict_textures_fixture *f = *state;
    f->config.steps = 1;
    judge(f, 0, (uint32_t[]){0, 0}, 2, 0);
    pack(f);
    crn_expect_keys(crn_decoded_item(f->defects, 0), keys, 12);
    crn_expect_keys(crn_decoded_item(f->defects, 1), keys, 12);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_textures_stand_with_their_defects),
        TEST(test_a_stage_that_ran_leaves_a_list),
        TEST(test_a_skipped_stage_leaves_none),
        TEST(test_a_chain_without_the_stage_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
