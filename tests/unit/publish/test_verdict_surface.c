/* A fruit's measures in its verdict, in both formats: every field, what is not known, what was not
 * measured; and `on_fruit` of its defects. */
#include "src/surface/packed_surface.h"
#include "tests/unit/publish/verdict_bench.h"

#define DEG (M_PI / 180)

static void measure(verdict_fixture *f)
{
    f->config.geometry.mm_per_px.count = 1;
}

static const msgpack_object *surface_of(const verdict_fixture *f)
{
    return crn_decoded_field(&f->unpacked.data, "surface");
}

/* --- the map `surface` --- */

/* Two views of which one was not found: sources and numbers that differ in every field. */
static const crn_measurement two_views = {
    .view_count = 2,
    .views = {{.view = 1,
               .found = {.source = CRN_POSE_PHOTO,
                         .pose = {.x = 250.25,
                                  .y = 47,
                                  .rx = 40,
                                  .ry = 36.5,
                                  .tilt_rad = 3 * DEG,
                                  .roll_rad = 0,
                                  .confidence = 0.875}},
               .before = 0,
               .from_rad = -M_PI,
               .to_rad = M_PI / 2},
              {.view = 3,
               .found = {.source = CRN_POSE_NONE, .pose = {.confidence = 0.125}},
               .roll_source = CRN_POSE_EXPECTED,
               .roll_confidence = 0.0625,
               .before = 5,
               .from_rad = NAN,
               .to_rad = NAN}}};

static const crn_surface_total totals[CRN_CLASSES_MAX] = {
    [1] = {.count = 1, .area_mm2 = 51.5, .largest_mm2 = 51.5, .longest_mm = 12}};

static const crn_surface_part parts[] = {{.view = 0, .defect = 2}, {.view = 1, .defect = 4}};

static const crn_surface_defect defects[] = {{.channel = 1,
                                              .area_mm2 = 51.5,
                                              .length_mm = 12,
                                              .width_mm = 6,
                                              .lambda_rad = -M_PI / 2,
                                              .v = -0.25,
                                              .views = 3,
                                              .first_part = 0,
                                              .part_count = 2}};

static const crn_surface_fruit fruit = {.diameter_mm = 64,
                                        .length_mm = 60.5,
                                        .surface_mm2 = 12000,
                                        .seen_mm2 = 11000,
                                        .coverage = 0.9375,
                                        .totals = totals,
                                        .defects = defects,
                                        .parts = parts,
                                        .defect_count = 1,
                                        .part_count = 2};

/* Packs `of`, or that nothing was measured, and the verdict with it. */
static void pack_measured(verdict_fixture *f, const crn_surface_fruit *of)
{
    crn_surface_packer packer = {{NULL}};
    crn_measurement measurement = two_views;
    measurement.config = &f->config;
    measure(f);
    assert_int_equal(crn_surface_packer_init(&f->config, &packer), 0);
    assert_int_equal(crn_surface_pack(&packer, of, &measurement), 0);
    f->fruit.surface = &measurement.packed;
    pack(f);
    crn_expect_same(&f->unpacked.data, f->tree);
    f->fruit.surface = NULL;
    crn_surface_packer_done(&packer);
}

static void expect_reals(const msgpack_object *map, const char *const *keys, const double *values,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        crn_expect_real(crn_decoded_field(map, keys[i]), values[i]);
}

static void expect_null(const msgpack_object *object)
{
    assert_int_equal(object->type, MSGPACK_OBJECT_NIL);
}

static void expect_poses(const msgpack_object *poses)
{
    static const char *const known[] = {"x",        "y",          "rx",       "ry",
                                        "roll_deg", "confidence", "from_deg", "to_deg"};
    const msgpack_object *first = crn_decoded_item(poses, 0), *second = crn_decoded_item(poses, 1);
    crn_expect_items(poses, 2);
    crn_expect_unsigned(crn_decoded_field(first, "view"), 1);
    expect_reals(first, known, (double[]){250.25, 47, 40, 36.5, 0, 0.875, -180, 90}, 8);
    assert_true(fabs(crn_decoded_field(first, "tilt_deg")->via.f64 - 3) < 1e-12);
    crn_expect_text(crn_decoded_field(first, "source"), "photo");
    crn_expect_text(crn_decoded_field(first, "roll_source"), "none");
    crn_expect_unsigned(crn_decoded_field(second, "view"), 3);
    for (int i = 0; i < 8; i++)
        if (i != 5)
            expect_null(crn_decoded_field(second, known[i]));
    crn_expect_text(crn_decoded_field(second, "source"), "none");
    crn_expect_real(crn_decoded_field(second, "confidence"), 0.125);
    crn_expect_text(crn_decoded_field(second, "roll_source"), "expected");
    crn_expect_real(crn_decoded_field(second, "roll_confidence"), 0.0625);
}

static void every_measure_is_in_both_formats(void **state)
{
    verdict_fixture *f = *state;
    static const char *const of_fruit[] = {"diameter_mm", "length_mm", "coverage", "seen_mm2"};
    static const char *const of_class[] = {"area_mm2", "largest_mm2", "longest_mm"};
    static const char *const of_spot[] = {"area_mm2", "length_mm", "width_mm", "lambda_deg", "v"};
    static const char *const classes[] = {"rot", "stem \"end\"", "caf\xc3\xa9"};
    pack_measured(f, &fruit);
    const msgpack_object *surface = surface_of(f);
    expect_reals(surface, of_fruit, (double[]){64, 60.5, 0.9375, 11000}, 4);
    crn_expect_text(crn_decoded_field(surface, "roll_axis"), "y");
    expect_poses(crn_decoded_field(surface, "pose"));
    const msgpack_object *measures = crn_decoded_field(surface, "classes");
    crn_expect_keys(measures, classes, 3); /* those that are looked for */
    const msgpack_object *rot = crn_decoded_field(measures, "rot");
    crn_expect_unsigned(crn_decoded_field(rot, "count"), 1);
    expect_reals(rot, of_class, (double[]){51.5, 51.5, 12}, 3);
    crn_expect_unsigned(crn_decoded_field(crn_decoded_field(measures, classes[1]), "count"), 0);
    const msgpack_object *spots = crn_decoded_field(surface, "defects");
    crn_expect_items(spots, 1);
    const msgpack_object *spot = crn_decoded_item(spots, 0);
    crn_expect_text(crn_decoded_field(spot, "class"), "rot");
    expect_reals(spot, of_spot, (double[]){51.5, 12, 6, -90, -0.25}, 5);
    /* Views by their own indices, parts by those in the verdict's defects. */
    static const uint64_t views[] = {1, 3}, indices[] = {2, 9};
    for (uint32_t i = 0; i < 2; i++) {
        crn_expect_unsigned(crn_decoded_item(crn_decoded_field(spot, "views"), i), views[i]);
        crn_expect_unsigned(crn_decoded_item(crn_decoded_field(spot, "parts"), i), indices[i]);
    }
}

static void what_was_not_measured_is_null_beside_the_poses(void **state)
{
    verdict_fixture *f = *state;
    pack_measured(f, NULL);
    const msgpack_object *surface = surface_of(f);
    expect_null(crn_decoded_field(surface, "diameter_mm"));
    expect_null(crn_decoded_field(surface, "length_mm"));
    expect_null(crn_decoded_field(surface, "coverage"));
    expect_null(crn_decoded_field(surface, "seen_mm2"));
    expect_poses(crn_decoded_field(surface, "pose"));
    crn_expect_keys(crn_decoded_field(surface, "classes"), NULL, 0);
    crn_expect_items(crn_decoded_field(surface, "defects"), 0);
}

static void measures_that_were_skipped_are_reported(void **state)
{
    verdict_fixture *f = *state;
    measure(f);
    f->fruit.surface_skipped = true;
    f->views[0].state = CRN_VIEW_JUDGED;
    f->views[0].judgement = (crn_judgement){.skipped = 1u << 1, .result = CRN_RESULT_NONE};
    pack(f);
    expect_null(surface_of(f));
    const msgpack_object *skipped = crn_decoded_field(&f->unpacked.data, "skipped");
    crn_expect_items(skipped, 2);
    crn_expect_text(crn_decoded_item(skipped, 0), "convolve");
    crn_expect_text(crn_decoded_item(skipped, 1), "surface");
    crn_expect_same(&f->unpacked.data, f->tree);
}

/* --- where the time went --- */

static void pose_and_surface_have_their_times(void **state)
{
    verdict_fixture *f = *state;
    static const char *const keys[] = {"queue",    "morphology", "convolve", "morphology_2",
                                       "contours", "pose",       "surface",  "total"};
    const int64_t ms = CRN_NS_PER_MS;
    crn_fruit_surface surface = {.took_ns = 7 * ms};
    measure(f);
    f->fruit.surface = &surface;
    f->views[0] = (crn_fruit_view){.state = CRN_VIEW_JUDGED,
                                   .received_ns = f->fruit.closed_ns,
                                   .judgement = {.queue_ns = 2 * ms,
                                                 .run_ns = 9 * ms,
                                                 .pose_ns = 3 * ms,
                                                 .stage_ns = {[3] = 5 * ms},
                                                 .result = CRN_RESULT_NONE}};
    pack(f);
    const msgpack_object *latency = crn_decoded_field(&f->unpacked.data, "latency_ms");
    crn_expect_keys(latency, keys, 8);
    expect_reals(latency, keys, (double[]){2, 0, 0, 0, 5, 3, 7, 31.25}, 8);
    crn_expect_latency_parts(&f->unpacked.data);
    /* The fruit closed while the pose was looked for. */
    f->views[0].received_ns -= 10 * ms;
    pack(f);
    latency = crn_decoded_field(&f->unpacked.data, "latency_ms");
    expect_reals(latency, keys, (double[]){0, 0, 0, 0, 0, 1, 7, 31.25}, 8);
}

/* --- on_fruit --- */

static void on_fruit_is_yes_no_or_unknown(void **state)
{
    verdict_fixture *f = *state;
    static const crn_on_fruit places[] = {CRN_ON_FRUIT, CRN_BESIDE_FRUIT, CRN_ON_FRUIT_UNKNOWN};
    crn_defect three[] = {make_defect(1, -1, true, false, 3), make_defect(1, -1, true, false, 4),
                          make_defect(2, -1, false, false, 5)};
    crn_defects view = {.defects = three, .defect_count = 3};
    crn_defects_packer *packer = NULL;
    measure(f);
    assert_int_equal(crn_defects_packer_create(&f->config, &packer), 0);
    for (int told = 0; told < 2; told++) {
        uint32_t handle;
        assert_int_equal(crn_defects_pack(packer, &view, told ? places : NULL, 2, 0, NULL), 0);
        assert_int_equal(crn_packed_defects_put(packer, f->store, &handle), 0);
        f->views[2] = (crn_fruit_view){.state = CRN_VIEW_JUDGED,
                                       .judgement = {.defect_count = 3, .result = handle}};
        pack(f);
        crn_expect_same(&f->unpacked.data, f->tree);
        const msgpack_object *list = crn_decoded_field(&f->unpacked.data, "defects");
        crn_expect_items(list, 3);
        for (uint32_t i = 0; told && i < 3; i++) {
            const msgpack_object *said = crn_decoded_field(crn_decoded_item(list, i), "on_fruit");
            if (places[i] == CRN_ON_FRUIT_UNKNOWN)
                expect_null(said);
            else
                crn_expect_bool(said, places[i] == CRN_ON_FRUIT);
        }
        crn_result_store_release(f->store, handle);
    }
    crn_defects_packer_free(&packer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRN_ON_VERDICT(every_measure_is_in_both_formats),
        CRN_ON_VERDICT(what_was_not_measured_is_null_beside_the_poses),
        CRN_ON_VERDICT(measures_that_were_skipped_are_reported),
        CRN_ON_VERDICT(pose_and_surface_have_their_times),
        CRN_ON_VERDICT(on_fruit_is_yes_no_or_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
