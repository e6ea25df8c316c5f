/*
 * Views packed one by one and joined are, byte for byte, what one encoder writes for all of them.
 * Totals, time limit, sizes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/fields.h"
#include "src/publish/packed_defects.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tests/support/parts/stored.h"

enum { VIEWS = 6, DEFECTS_MAX = 300, POINTS_MAX = 3000, TEXTURES = 2 };

static uint32_t two(const void *settings)
{
    (void)settings;
    return TEXTURES;
}

static const crn_stage outlines = {.name = "contours", .kind = CRN_STAGE_CONTOURS};
static const crn_stage surface = {.name = "ranklet", .kind = CRN_STAGE_FEATURE, .textures = two};

static crn_config config;
static crn_defects views[VIEWS];
static crn_result_store *store;

static int set_up(void **state)
{
    (void)state;
    config = (crn_config){.steps = 2, .chain = {{.stage = &outlines}, {.stage = &surface}}};
    config.limits.defects = DEFECTS_MAX;
    config.limits.points = POINTS_MAX;
    config.publish.viewers.format = CRN_FORMAT_JSON;
    config.classes = (crn_classes){.count = 3,
                                   .name = {"background", "stem \"end\"", "caf\xc3\xa9"},
                                   .level = {NAN, 0.5, 0.1}};
    for (int v = 0; v < VIEWS; v++) {
        views[v].defects = calloc(DEFECTS_MAX, sizeof *views[v].defects);
        views[v].xy = calloc(2 * POINTS_MAX, sizeof *views[v].xy);
        views[v].textures = calloc(TEXTURES * DEFECTS_MAX, sizeof *views[v].textures);
        assert_true(views[v].defects && views[v].xy && views[v].textures);
    }
    return crn_result_store_create(8 << 20, &store);
}

static int tear_down(void **state)
{
    (void)state;
    for (int v = 0; v < VIEWS; v++) {
        free(views[v].defects);
        free(views[v].xy);
        free(views[v].textures);
        views[v] = (crn_defects){.defects = NULL};
    }
    crn_result_store_free(&store);
    return 0;
}

/* Anything from 0.1 to 1e300, whole numbers, and what is not finite. */
static double random_number(crn_random *random)
{
    static const double odd[] = {0, -0.5, 1.0 / 3, 1e300, 123456789, INFINITY, NAN, -1e-9};
    if (crn_random_once_in(random, 4))
        return odd[crn_random_below(random, sizeof odd / sizeof *odd)];
    return crn_random_unit(random) * 1000;
}

static void draw_view(crn_random *random, crn_defects *view, uint32_t count)
{
    view->defect_count = count;
    view->point_count = view->texture_count = 0;
    view->truncated = crn_random_once_in(random, 3);
    for (uint32_t i = 0; i < count; i++) {
        crn_defect *defect = &view->defects[i];
        uint32_t points = crn_random_below(random, POINTS_MAX / DEFECTS_MAX);
        *defect = (crn_defect){.channel = crn_random_between(random, 1, 2),
                               .parent = crn_random_between(random, -1, (int32_t)count - 1),
                               .closed = crn_random_once_in(random, 2),
                               .hole = crn_random_once_in(random, 2),
                               .first_point = view->point_count,
                               .point_count = points,
                               .area_px = random_number(random),
                               .perimeter_px = random_number(random),
                               .x0 = random_number(random),
                               .centroid_x = random_number(random),
                               .first_texture = view->texture_count,
                               .texture_count = crn_random_below(random, TEXTURES + 1),
                               .mean_probability = random_number(random)};
        for (uint32_t k = 0; k < 2 * points; k++)
            view->xy[2 * view->point_count + k] = (float)random_number(random);
        view->point_count += points;
        for (uint32_t k = 0; k < defect->texture_count; k++)
            view->textures[view->texture_count++] =
                (crn_texture){.width = 8, .height = 16, .vertical = (float)random_number(random)};
    }
}

static void write_reals(crn_encoder *e, const char *key, const double *values, uint32_t count)
{
    crn_encoder_text(e, key);
    crn_encoder_array(e, count);
    for (uint32_t i = 0; i < count; i++)
        crn_encoder_real(e, values[i]);
    crn_encoder_array_end(e);
}

static void write_textures(crn_encoder *e, const crn_defects *view, const crn_defect *defect)
{
    crn_encoder_text(e, "ranklet");
    crn_encoder_array(e, defect->texture_count);
    for (uint32_t i = 0; i < defect->texture_count; i++) {
        const crn_texture *texture = &view->textures[defect->first_texture + i];
        crn_encoder_map(e, 4);
        crn_encoder_text(e, "window");
        crn_encoder_array(e, 2);
        crn_encoder_integer(e, texture->width);
        crn_encoder_integer(e, texture->height);
        crn_encoder_array_end(e);
        crn_encoder_pair_real(e, "vertical", texture->vertical);
        crn_encoder_pair_real(e, "horizontal", texture->horizontal);
        crn_encoder_pair_real(e, "diagonal", texture->diagonal);
        crn_encoder_map_end(e);
    }
    crn_encoder_array_end(e);
}

/* A defect as a verdict has it, its parent known. */
static void write_defect(crn_encoder *e, const crn_defects *view, const crn_defect *d,
                         uint32_t index, int64_t before, bool textures)
{
    crn_encoder_map(e, textures ? 13 : 12);
    crn_encoder_pair_unsigned(e, "view", index);
    crn_encoder_pair_text(e, "class", config.classes.name[d->channel]);
    crn_encoder_pair_real(e, "level", config.classes.level[d->channel]);
    crn_encoder_pair_bool(e, "closed", d->closed);
    crn_encoder_pair_bool(e, "hole", d->hole);
    crn_encoder_text(e, "parent");
    crn_encoder_integer(e, d->parent < 0 ? -1 : d->parent + before);
    crn_encoder_pair_real(e, "area_px", d->area_px);
    crn_encoder_pair_real(e, "perimeter_px", d->perimeter_px);
    write_reals(e, "bbox", (double[]){d->x0, d->y0, d->x1, d->y1}, 4);
    write_reals(e, "centroid", (double[]){d->centroid_x, d->centroid_y}, 2);
    crn_encoder_pair_real(e, "mean_probability", d->mean_probability);
    crn_encoder_text(e, "xy");
    crn_encoder_points(e, view->xy + 2 * (size_t)d->first_point, d->point_count);
    if (textures)
        write_textures(e, view, d);
    crn_encoder_map_end(e);
}

/* All defects by one encoder; the array is the value of a map, as in a verdict. */
static void write_all(crn_encoder *e, uint32_t total, uint32_t skipped)
{
    int64_t before = 0;
    crn_encoder_begin(e);
    crn_encoder_map(e, 2);
    crn_encoder_text(e, "defects");
    crn_encoder_array(e, total);
    for (uint32_t v = 0; v < VIEWS; v++) {
        for (uint32_t i = 0; i < views[v].defect_count; i++)
            write_defect(e, &views[v], &views[v].defects[i], v, before, !(skipped & 2));
        before += views[v].defect_count;
    }
    crn_encoder_array_end(e);
    crn_encoder_pair_bool(e, "after", true);
    crn_encoder_map_end(e);
}

static void join_all(crn_encoder *e, uint32_t total, const uint32_t handles[VIEWS])
{
    uint64_t before = 0;
    crn_encoder_begin(e);
    crn_encoder_map(e, 2);
    crn_encoder_text(e, "defects");
    crn_encoder_array(e, total);
    for (int v = 0; v < VIEWS; v++) {
        static crn_packed_defects packed;
        crn_packed_defects_open(store, handles[v], &packed);
        assert_int_equal(packed.count, views[v].defect_count);
        assert_int_equal(packed.truncated, views[v].truncated);
        crn_packed_defects_join(&packed, before, e);
        before += packed.count;
    }
    crn_encoder_array_end(e);
    crn_encoder_pair_bool(e, "after", true);
    crn_encoder_map_end(e);
}

static void expect_same_bytes(crn_format format, uint32_t total, uint32_t skipped,
                              const uint32_t handles[VIEWS])
{
    crn_encoder *whole, *joined;
    const unsigned char *expected, *bytes;
    size_t expected_size, size;
    assert_int_equal(crn_encoder_create(format, &whole), 0);
    assert_int_equal(crn_encoder_create(format, &joined), 0);
    write_all(whole, total, skipped);
    join_all(joined, total, handles);
    assert_int_equal(crn_encoder_end(whole, &expected, &expected_size), 0);
    assert_int_equal(crn_encoder_end(joined, &bytes, &size), 0);
    assert_int_equal(size, expected_size);
    assert_memory_equal(bytes, expected, size);
    crn_encoder_free(&whole);
    crn_encoder_free(&joined);
}

static void joined_views_are_what_one_encoder_writes(void **state)
{
    (void)state;
    /* 15, 16: the array's header in MessagePack grows; 300: so does a parent's number */
    static const uint32_t counts[] = {0, 0, 1, 2, 15, 16, 40, DEFECTS_MAX};
    crn_random random = {crn_random_seed()};
    size_t free_blocks = crn_result_store_blocks_free(store);
    for (uint32_t round = 0; round < crn_random_cases(200); round++) {
        uint32_t handles[VIEWS], total = 0, skipped = crn_random_below(&random, 4);
        for (uint32_t v = 0; v < VIEWS; v++) {
            draw_view(&random, &views[v], counts[crn_random_below(&random, 8)]);
            handles[v] = crn_store_defects(&config, store, &views[v], v, skipped);
            total += views[v].defect_count;
        }
        expect_same_bytes(CRN_FORMAT_MSGPACK, total, skipped, handles);
        expect_same_bytes(CRN_FORMAT_JSON, total, skipped, handles);
        for (uint32_t v = 0; v < VIEWS; v++)
            crn_result_store_release(store, handles[v]);
        assert_int_equal(crn_result_store_blocks_free(store), free_blocks);
    }
}

static void totals_are_of_the_classes_that_have_defects(void **state)
{
    (void)state;
    crn_random random = {1};
    draw_view(&random, &views[0], 3);
    static const double areas[] = {10, 3, 0.25};
    for (int i = 0; i < 3; i++) {
        views[0].defects[i].channel = 2;
        views[0].defects[i].hole = i == 1;
        views[0].defects[i].area_px = areas[i];
    }
    crn_packed_defects packed;
    crn_packed_defects_open(store, crn_store_defects(&config, store, &views[0], 0, 0), &packed);
    assert_int_equal(packed.total_count, 1);
    assert_int_equal(packed.totals[0].class_index, 2);
    assert_int_equal(packed.totals[0].count, 2);
    assert_true(packed.totals[0].area_px == 7.25);
}

static void nothing_takes_no_block(void **state)
{
    (void)state;
    views[0].defect_count = 0;
    views[0].truncated = false;
    assert_int_equal(crn_store_defects(&config, store, &views[0], 0, 0), CRN_RESULT_NONE);
    views[0].truncated = true;
    uint32_t handle = crn_store_defects(&config, store, &views[0], 0, 0);
    assert_int_not_equal(handle, CRN_RESULT_NONE);
    crn_packed_defects packed;
    crn_packed_defects_open(store, handle, &packed);
    assert_int_equal(packed.count, 0);
    assert_true(packed.truncated);
    crn_packed_defects_open(store, CRN_RESULT_NONE, &packed);
    assert_int_equal(packed.count, 0);
    assert_false(packed.truncated);
}

static void packing_ends_with_the_views_time(void **state)
{
    (void)state;
    crn_random random = {2};
    crn_defects_packer *packer;
    crn_view view = {.deadline_ns = CRN_NEVER_NS};
    draw_view(&random, &views[0], DEFECTS_MAX);
    assert_int_equal(crn_defects_packer_create(&config, &packer), 0);
    assert_int_equal(crn_defects_pack(packer, &views[0], NULL, 0, 0, &view), 0);
    view.deadline_ns = crn_now_ns();
    assert_int_equal(crn_defects_pack(packer, &views[0], NULL, 0, 0, &view), -ETIME);
    view.deadline_ns = CRN_NEVER_NS;
    atomic_store(&view.cancelled, true);
    assert_int_equal(crn_defects_pack(packer, &views[0], NULL, 0, 0, &view), -ETIME);
    crn_defects_packer_free(&packer);
}

static void a_format_that_no_outlet_has_is_not_packed(void **state)
{
    (void)state;
    crn_random random = {3};
    draw_view(&random, &views[0], 100);
    crn_packed_defects packed;
    size_t both = crn_defects_packer_bytes(&config);
    config.publish.viewers.format = CRN_FORMAT_MSGPACK;
    assert_true(crn_defects_packer_bytes(&config) < both / 2);
    crn_packed_defects_open(store, crn_store_defects(&config, store, &views[0], 0, 0), &packed);
    assert_int_equal(packed.bytes[CRN_FORMAT_JSON], 0);
    assert_true(packed.bytes[CRN_FORMAT_MSGPACK] > 0);
}

/* Numbers with as many characters as they can have. */
static void what_it_takes_at_most_is_told(void **state)
{
    (void)state;
    crn_defects *view = &views[0];
    view->defect_count = DEFECTS_MAX;
    view->point_count = POINTS_MAX;
    view->texture_count = TEXTURES * DEFECTS_MAX;
    for (uint32_t i = 0; i < 2 * POINTS_MAX; i++)
        view->xy[i] = -1.23456789e-30f;
    for (uint32_t i = 0; i < view->texture_count; i++)
        view->textures[i] = (crn_texture){INT32_MIN, INT32_MIN, -1.23456789e-30f, -1.23456789e-30f,
                                          -1.23456789e-30f};
    double widest = -1.2345678901234567e-300;
    for (uint32_t i = 0; i < DEFECTS_MAX; i++)
        view->defects[i] = (crn_defect){.channel = 1,
                                        .parent = INT32_MAX,
                                        .point_count = POINTS_MAX / DEFECTS_MAX,
                                        .first_point = i * (POINTS_MAX / DEFECTS_MAX),
                                        .area_px = widest,
                                        .perimeter_px = widest,
                                        .x0 = widest,
                                        .y0 = widest,
                                        .x1 = widest,
                                        .y1 = widest,
                                        .centroid_x = widest,
                                        .centroid_y = widest,
                                        .mean_probability = widest,
                                        .first_texture = TEXTURES * i,
                                        .texture_count = TEXTURES};
    config.classes.level[1] = widest;
    for (crn_format format = 0; format < CRN_FORMATS; format++) {
        config.publish.grader.format = config.publish.viewers.format = (int32_t)format;
        size_t before = crn_result_store_used_bytes(store);
        crn_store_defects(&config, store, view, 63, 0);
        assert_true(crn_result_store_used_bytes(store) - before <=
                    crn_defects_packer_bytes(&config));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(joined_views_are_what_one_encoder_writes),
        TEST(totals_are_of_the_classes_that_have_defects),
        TEST(nothing_takes_no_block),
        TEST(packing_ends_with_the_views_time),
        TEST(a_format_that_no_outlet_has_is_not_packed),
        TEST(what_it_takes_at_most_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
