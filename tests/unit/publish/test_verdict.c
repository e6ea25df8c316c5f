/* The verdict's fields, order and values; MessagePack and JSON are equivalent. */
#include "tests/unit/publish/verdict_bench.h"

static void expect_head(const verdict_fixture *f)
{
    static const char *const keys[] = {"v",
                                       "run",
                                       "settings",
                                       "recipe",
                                       "lot",
                                       "lane",
                                       "epoch",
                                       "fruit",
                                       "sequence",
                                       "stale",
                                       "encoder",
                                       "captured_ns",
                                       "published_ns",
                                       "deadline_ns",
                                       "verdict",
                                       "views_expected",
                                       "views_received",
                                       "views_judged",
                                       "skipped",
                                       "truncated",
                                       "budget_ms",
                                       "latency_ms",
                                       "assembly_ms",
                                       "closed_by",
                                       "view_states",
                                       "totals",
                                       "defects"};
    const msgpack_object *v = &f->unpacked.data;
    crn_expect_keys(v, keys, sizeof keys / sizeof keys[0]);
    crn_expect_unsigned(crn_decoded_field(v, "v"), 1);
    crn_expect_text(crn_decoded_field(v, "run"), "18a1b2c3d4e5f607");
    crn_expect_text(crn_decoded_field(v, "settings"), "0000feedc0ffee12");
    crn_expect_text(crn_decoded_field(v, "recipe"), "");
    crn_expect_text(crn_decoded_field(v, "lot"), "Hof 7");
    crn_expect_unsigned(crn_decoded_field(v, "lane"), 7);
    crn_expect_unsigned(crn_decoded_field(v, "epoch"), UINT64_MAX);
    crn_expect_unsigned(crn_decoded_field(v, "fruit"), 12345678901234567890u);
    crn_expect_unsigned(crn_decoded_field(v, "sequence"), 99);
    crn_expect_bool(crn_decoded_field(v, "stale"), false);
    crn_expect_unsigned(crn_decoded_field(v, "encoder"), 4711);
    crn_expect_unsigned(crn_decoded_field(v, "captured_ns"), 1763672705123456789u);
    crn_expect_unsigned(crn_decoded_field(v, "published_ns"), 1763672705223456789u);
    /* The fruit's deadline lies 968.75 ms after publication. */
    crn_expect_unsigned(crn_decoded_field(v, "deadline_ns"), 1763672705223456789u + 968750000);
    crn_expect_unsigned(crn_decoded_field(v, "budget_ms"), 100);
    crn_expect_real(crn_decoded_field(v, "assembly_ms"), 1000);
    crn_expect_text(crn_decoded_field(v, "closed_by"), "time");
}

static void expect_views(const verdict_fixture *f, const char *verdict, uint64_t received,
                         uint64_t judged)
{
    const msgpack_object *v = &f->unpacked.data;
    crn_expect_text(crn_decoded_field(v, "verdict"), verdict);
    crn_expect_unsigned(crn_decoded_field(v, "views_expected"), CRN_VERDICT_VIEWS);
    crn_expect_unsigned(crn_decoded_field(v, "views_received"), received);
    crn_expect_unsigned(crn_decoded_field(v, "views_judged"), judged);
}

static double level_of(const verdict_fixture *f, const char *name)
{
    int32_t i = 0;
    while (strcmp(f->config.classes.name[i], name) != 0)
        i++;
    return f->config.classes.level[i];
}

static void expect_total(const verdict_fixture *f, const char *name, uint64_t count, double area_px)
{
    static const char *const keys[] = {"count", "area_px", "level"};
    const msgpack_object *total =
        crn_decoded_field(crn_decoded_field(&f->unpacked.data, "totals"), name);
    crn_expect_keys(total, keys, 3);
    crn_expect_unsigned(crn_decoded_field(total, "count"), count);
    crn_expect_real(crn_decoded_field(total, "area_px"), area_px);
    crn_expect_real(crn_decoded_field(total, "level"), level_of(f, name));
}

static void expect_defect(const verdict_fixture *f, uint32_t index, uint32_t view,
                          const crn_defect *defect, int64_t parent)
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
    verdict_fixture *f = *state;
    /* rot with a hole and a defect in the hole, an open stem; nothing; again a hole in rot */
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

static void test_a_partial_fruit(void **state)
{
    verdict_fixture *f = *state;
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
    verdict_fixture *f = *state;
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
    verdict_fixture *f = *state;
    judge(f, 0, NULL, 0, 0);
    judge(f, 1, NULL, 0, 0);
    f->views[0].judgement.skipped = 1u << 2;
    f->views[1].judgement.skipped = 1u << 0;
    f->views[2].judgement.skipped = 1u << 1; /* not judged: does not count */
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
    verdict_fixture *f = *state;
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
    f->views[0].judgement.result = crn_store_defects(&f->config, f->store, &in, 0, 0);
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
    verdict_fixture *f = *state;
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

static void test_a_verdict_of_totals_only(void **state)
{
    verdict_fixture *f = *state;
    crn_defect only[] = {make_defect(1, -1, true, false, 12)};
    judge(f, 0, only, 1, 2);
    f->facts.kind = CRN_VERDICT_PARTIAL;
    f->facts.totals_only = true;
    pack(f);
    expect_views(f, "partial", 1, 1);
    crn_expect_bool(crn_decoded_field(&f->unpacked.data, "truncated"), false);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "defects"), 0);
    expect_total(f, "rot", 1, 12);
    crn_expect_same(&f->unpacked.data, f->tree);
}

/* Readers must not take a class that was not looked for as clean. */
static void test_totals_are_of_the_classes_of_the_fruits_recipe(void **state)
{
    verdict_fixture *f = *state;
    crn_config recipe = f->config;
    recipe.classes.level[1] = NAN; /* rot: {} */
    recipe.classes.level[2] = 0.125;
    f->fruit.config = &recipe;
    judge(f, 0, NULL, 0, 0);
    pack(f);
    static const char *const classes[] = {"stem \"end\"", "caf\xc3\xa9"};
    const msgpack_object *totals = crn_decoded_field(&f->unpacked.data, "totals");
    crn_expect_keys(totals, classes, 2);
    crn_expect_real(crn_decoded_field(crn_decoded_field(totals, classes[0]), "level"), 0.125);
    crn_expect_same(&f->unpacked.data, f->tree);
}

/* `stale` is changed in place in a copy of the bytes:
 * nothing else changes, and it can be changed back. */
static void test_stale_is_turned_in_place(void **state)
{
    verdict_fixture *f = *state;
    char *copies[2];
    crn_verdict_bytes packed[2];
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++) {
        pack_as(f, format, &packed[format]);
        copies[format] = calloc(packed[format].size + 1, 1);
        memcpy(copies[format], packed[format].bytes, packed[format].size);
        unsigned char *at = (unsigned char *)copies[format] + packed[format].stale_at;
        crn_encoder_set_bool(format, at, true);
    }
    assert_int_equal(msgpack_unpack_next(&f->unpacked, copies[0], packed[0].size, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    f->tree = yajl_tree_parse(copies[1], NULL, 0);
    assert_non_null(f->tree);
    crn_expect_bool(crn_decoded_field(&f->unpacked.data, "stale"), true);
    crn_expect_same(&f->unpacked.data, f->tree);
    for (crn_format format = CRN_FORMAT_MSGPACK; format <= CRN_FORMAT_JSON; format++) {
        unsigned char *at = (unsigned char *)copies[format] + packed[format].stale_at;
        crn_encoder_set_bool(format, at, false);
        assert_memory_equal(copies[format], packed[format].bytes, packed[format].size);
        free(copies[format]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_complete_fruit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_partial_fruit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_late_fruit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_skipped_stages_and_cut_views, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_finite_is_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_verdict_without_memory_for_its_defects, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_verdict_of_totals_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_totals_are_of_the_classes_of_the_fruits_recipe, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_stale_is_turned_in_place, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
