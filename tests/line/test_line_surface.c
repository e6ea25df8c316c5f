/* A line with section geometry measures fruits: of synthetic ones the measures are known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/decoded_verdict.h"
#include "tools/common/known/known.h"

#define LINE                                                                                       \
    "classes: [{name: rot, level: 0.5}, {name: rust, level: 0.5}, {name: hail, level: 0.5}]\n"     \
    "chain: [contours]\n"                                                                          \
    "run: {backend: openmp, workers: 2, threads: 1}\n"                                             \
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"                                            \
    "log: {level: error}\n"

#define DEG (M_PI / 180)

static const crn_known_kind spheres = {.views = 4,
                                       .step_rad = 90 * DEG,
                                       .ratio_min = 1,
                                       .ratio_max = 1,
                                       .spot_min = 0.2,
                                       .spot_max = 0.4,
                                       .look = CRN_KNOWN_LOOK};

static line_fixture line;

/* How its views are sent. */
typedef struct sent_as {
    bool photographs, poses;
    int left_out; /* the view that is not sent; -1: none */
    uint8_t *instead;
} sent_as;

/* What is sent of a view, and its bytes until then. */
static float maps[CRN_KNOWN_CLASSES * (CRN_KNOWN_HEIGHT * CRN_KNOWN_WIDTH)];
static uint8_t photo[(CRN_KNOWN_HEIGHT * CRN_KNOWN_WIDTH)];

/* All of the scale that the line's file has. */
static crn_known_fruit random_fruit(crn_draws *random)
{
    crn_known_fruit fruit = crn_known_random(&spheres, random);
    double scale = 0.5 / fruit.mm_per_px;
    fruit.mm_per_px = 0.5;
    fruit.a_mm *= scale;
    fruit.c_mm *= scale;
    return fruit;
}

static crn_wire_pose pose_of(const crn_known_fruit *fruit, int view)
{
    crn_surface_pose pose = crn_known_pose(fruit, view);
    return (crn_wire_pose){(float)pose.x, (float)pose.y, (float)pose.rx, (float)pose.ry,
                           (float)pose.roll_rad};
}

static void send_view(const crn_known_fruit *fruit, uint64_t number, int view, const sent_as *as,
                      crn_draws *random)
{
    crn_view_header header = line_header(&line, number, (uint16_t)view, (uint16_t)fruit->view_count,
                                         CRN_KNOWN_HEIGHT, CRN_KNOWN_WIDTH);
    header.layout = CRN_CHW;
    if (as->poses) {
        header.flags = CRN_WIRE_FLAG_POSE;
        header.pose = pose_of(fruit, view);
    }
    crn_known_render(fruit, view, maps);
    if (as->photographs)
        crn_known_photograph(fruit, view, random, photo);
    line_send(&line, header, maps, as->instead ? as->instead : as->photographs ? photo : NULL);
}

/* Sends a fruit and returns its verdict, to be freed. */
static crn_decoded *judge(const crn_known_fruit *fruit, uint64_t number, const sent_as *as,
                          crn_draws *random)
{
    for (int view = 0; view < fruit->view_count; view++)
        if (view != as->left_out)
            send_view(fruit, number, view, as, random);
    if (as->left_out >= 0) {
        crn_line_status status;
        do /* until all that was sent is in */
            assert_int_equal(crn_line_status_get(line.line, &status), 0);
        while (status.views < (uint64_t)(fruit->view_count - 1));
        line_move_clock(&line, 60 * CRN_NS_PER_S);
    }
    return line_receive_decoded(&line);
}

/* Finite, and within what the fruit has, whatever was sent. */
static void assert_sound(const crn_decoded_surface *surface)
{
    double all = 4 * M_PI * pow(fmax(surface->diameter_mm, surface->length_mm) / 2, 2);
    assert_true(surface->is_measured && surface->coverage >= 0 && surface->coverage <= 1);
    for (uint32_t i = 0; i < surface->measure_count; i++) {
        const crn_decoded_measure *measure = &surface->measures[i];
        assert_true(measure->area_mm2 >= 0 && measure->area_mm2 <= all * (1 + 1e-9));
        assert_true(measure->largest_mm2 >= 0 && measure->largest_mm2 <= measure->area_mm2);
        assert_true(measure->longest_mm >= 0 && isfinite(measure->longest_mm));
    }
}

static void assert_sources(const crn_decoded *verdict, const char *source, const char *roll_source)
{
    assert_int_equal(verdict->surface.pose_count, verdict->views_judged);
    for (uint32_t i = 0; i < verdict->surface.pose_count; i++) {
        const crn_decoded_pose *pose = &verdict->surface.poses[i];
        assert_string_equal(pose->source, source);
        assert_string_equal(pose->roll_source, i == 0 ? "none" : roll_source);
    }
}

/* Sums over fruits of the absolute errors, and of the true areas. */
typedef struct errors {
    double of_areas, areas;
} errors;

static void compare(const crn_known_fruit *fruit, const crn_decoded_surface *surface, errors *sum)
{
    assert_sound(surface);
    assert_int_equal(surface->measure_count, CRN_KNOWN_CLASSES);
    assert_true(fabs(surface->diameter_mm / (2 * fruit->a_mm) - 1) < 0.02);
    assert_true(fabs(surface->coverage - 0.956) < 0.03);
    for (int i = 0; i < CRN_KNOWN_CLASSES; i++) {
        double truth = crn_known_class_measures(fruit, i).mm2.visible;
        sum->of_areas += fabs(surface->measures[i].area_mm2 - truth);
        sum->areas += truth;
    }
}

static void measure_fruits(const char *yaml, const sent_as *as, const char *source,
                           const char *roll_source, double error_max)
{
    enum { FRUITS = 8 };
    crn_draws random = {31, 0, 0};
    errors sum = {0};
    line_start_on(&line, yaml, NULL);
    for (uint64_t number = 0; number < FRUITS; number++) {
        crn_known_fruit fruit = random_fruit(&random);
        crn_decoded *verdict = judge(&fruit, number, as, &random);
        assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
        assert_int_equal(verdict->skipped_count, 0);
        assert_sources(verdict, source, roll_source);
        compare(&fruit, &verdict->surface, &sum);
        crn_decoded_free(&verdict);
    }
    line_stop(&line);
    if (sum.of_areas > error_max * sum.areas)
        fail_msg("areas are off by %.1f %%", 100 * sum.of_areas / sum.areas);
}

static void fruits_are_measured_by_their_photographs(void **state)
{
    (void)state;
    measure_fruits(LINE "geometry: {mm_per_px: 0.5, surface: {optional: false}}\n",
                   &(sent_as){.photographs = true, .left_out = -1}, "photo", "photo", 0.05);
}

static void a_sender_that_knows_the_pose_is_believed(void **state)
{
    (void)state;
    measure_fruits(LINE "geometry: {mm_per_px: 0.5, surface: {optional: false}}\n",
                   &(sent_as){.poses = true, .left_out = -1}, "header", "header", 0.03);
}

/* One line, fruit by fruit: what cannot be measured, and why. */
static crn_decoded *judge_one(const char *yaml, const sent_as *as)
{
    crn_draws random = {7, 0, 0};
    crn_known_fruit fruit = random_fruit(&random);
    line_start_on(&line, yaml, NULL);
    crn_decoded *verdict = judge(&fruit, 1, as, &random);
    line_stop(&line);
    return verdict;
}

static void without_photographs_nothing_is_measured(void **state)
{
    (void)state;
    crn_decoded *verdict =
        judge_one(LINE "geometry: {mm_per_px: 0.5, surface: {optional: false}}\n",
                  &(sent_as){.left_out = -1});
    assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
    assert_false(verdict->surface.is_measured);
    assert_int_equal(verdict->surface.measure_count, 0);
    assert_sources(verdict, "none", "none");
    assert_true(verdict->defect_count > 0 && verdict->defects[0].on_fruit);
    crn_decoded_free(&verdict);
}

static void a_photograph_that_shows_no_fruit_is_not_believed(void **state)
{
    (void)state;
    static uint8_t picture[(CRN_KNOWN_HEIGHT * CRN_KNOWN_WIDTH)];
    static const uint8_t greys[] = {0, 255, 128};
    crn_draws random = {3, 0, 0};
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < (CRN_KNOWN_HEIGHT * CRN_KNOWN_WIDTH); i++)
            picture[i] = kind < 3 ? greys[kind] : (uint8_t)crn_draws_between(&random, 0, 256);
        crn_decoded *verdict =
            judge_one(LINE "geometry: {mm_per_px: 0.5, surface: {optional: false}}\n",
                      &(sent_as){.instead = picture, .left_out = -1});
        assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
        assert_false(verdict->surface.is_measured);
        assert_sources(verdict, "none", "none");
        assert_true(verdict->surface.poses[0].confidence < 0.5);
        crn_decoded_free(&verdict);
    }
}

static void a_fruit_is_measured_from_the_views_that_there_are(void **state)
{
    (void)state;
    crn_decoded *verdict = judge_one(LINE "geometry: {mm_per_px: 0.5, estimate_roll: false, "
                                          "surface: {optional: false}}\n",
                                     &(sent_as){.photographs = true, .left_out = 1});
    assert_int_equal(verdict->kind, CRN_VERDICT_PARTIAL);
    assert_sources(verdict, "photo", "expected");
    assert_sound(&verdict->surface);
    assert_true(verdict->surface.coverage < 0.92);
    assert_true(fabs(verdict->surface.poses[1].roll_deg - 180) < 1e-9);
    crn_decoded_free(&verdict);
}

/* Shifts the poses so far that all defects lie beside the fruit. */
static crn_decoded *judge_beside(const char *outside)
{
    char yaml[1024];
    crn_draws random = {7, 0, 0};
    snprintf(yaml, sizeof yaml, LINE "geometry: {mm_per_px: 0.5, outside: %s}\n", outside);
    crn_known_fruit fruit = random_fruit(&random);
    line_start_on(&line, yaml, NULL);
    crn_known_fruit elsewhere = fruit;
    crn_view_header header = line_header(&line, 1, 0, 1, CRN_KNOWN_HEIGHT, CRN_KNOWN_WIDTH);
    elsewhere.x[0] += 500;
    header.layout = CRN_CHW;
    header.flags = CRN_WIRE_FLAG_POSE;
    header.pose = pose_of(&elsewhere, 0);
    crn_known_render(&fruit, 0, maps);
    line_send(&line, header, maps, NULL);
    crn_decoded *verdict = line_receive_decoded(&line);
    line_stop(&line);
    return verdict;
}

static void defects_beside_the_fruit_are_marked_or_dropped(void **state)
{
    (void)state;
    crn_decoded *verdict = judge_beside("mark");
    assert_true(verdict->defect_count > 0 && !verdict->defects[0].on_fruit);
    uint32_t all = verdict->defect_count;
    crn_decoded_free(&verdict);
    verdict = judge_beside("keep");
    assert_true(verdict->defect_count == all && verdict->defects[0].on_fruit);
    crn_decoded_free(&verdict);
    verdict = judge_beside("drop");
    assert_int_equal(verdict->defect_count, 0);
    assert_true(verdict->total_count == CRN_KNOWN_CLASSES && verdict->totals[0].count == 0);
    crn_decoded_free(&verdict);
}

static bool holds(const unsigned char *bytes, size_t size, const char *text)
{
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void without_the_section_a_verdict_has_no_new_key(void **state)
{
    (void)state;
    for (int with = 0; with < 2; with++) {
        crn_draws random = {7, 0, 0};
        crn_known_fruit fruit = random_fruit(&random);
        size_t size;
        line_start_on(&line, with ? LINE "geometry: {mm_per_px: 0.5}\n" : LINE, NULL);
        const sent_as as = {.photographs = true, .poses = true};
        fruit.view_count = 1;
        send_view(&fruit, 1, 0, &as, &random);
        unsigned char *bytes = line_receive_bytes(&line, CRN_FIXTURE_PATIENCE_MS, &size);
        assert_non_null(bytes);
        assert_true(holds(bytes, size, "\xa7surface") == with);
        assert_true(holds(bytes, size, "\xa8on_fruit") == with);
        line_stop(&line);
        free(bytes);
    }
}

static void a_reload_begins_and_ends_measuring(void **state)
{
    (void)state;
    static const char *const yaml[] = {LINE "geometry: {mm_per_px: 0.5}\n", LINE,
                                       LINE "geometry: {mm_per_px: 1}\n"};
    static const double mm_per_px[] = {0.5, 0, 1};
    crn_draws random = {7, 0, 0};
    crn_known_fruit fruit = random_fruit(&random);
    const sent_as as = {.poses = true, .left_out = -1};
    line_start_on(&line, LINE, NULL);
    for (int i = 0; i < 3; i++) {
        crn_error error;
        crn_config config, whole = line.config;
        assert_int_equal(crn_config_parse("f", yaml[i], strlen(yaml[i]), stderr, &config), 0);
        crn_config changed = whole;
        changed.geometry = config.geometry;
        assert_int_equal(crn_config_copy(&changed, &whole), 0);
        if (crn_line_change(line.line, &whole, &error) < 0)
            fail_msg("%s", error.text);
        crn_decoded *verdict = judge(&fruit, (uint64_t)i, &as, &random);
        assert_true(verdict->surface.is_measured == (mm_per_px[i] > 0));
        if (mm_per_px[i] > 0)
            assert_true(fabs(verdict->surface.diameter_mm / mm_per_px[i] -
                             2 * fruit.a_mm / fruit.mm_per_px) < 1e-3);
        crn_decoded_free(&verdict);
        crn_config_done(&config);
    }
    line_stop(&line);
}

static void a_lane_may_have_a_scale_of_its_own(void **state)
{
    (void)state;
    crn_draws random = {7, 0, 0};
    crn_known_fruit fruit = random_fruit(&random);
    fruit.view_count = 1;
    line_start_on(&line, LINE "geometry: {mm_per_px: 0.5, lanes: {2-3: {mm_per_px: 1}}}\n", NULL);
    for (uint32_t lane = 1; lane < 4; lane++) {
        crn_view_header header = line_header(&line, 1, 0, 1, CRN_KNOWN_HEIGHT, CRN_KNOWN_WIDTH);
        header.lane = lane;
        header.layout = CRN_CHW;
        header.flags = CRN_WIRE_FLAG_POSE;
        header.pose = pose_of(&fruit, 0);
        crn_known_render(&fruit, 0, maps);
        line_send(&line, header, maps, NULL);
        crn_decoded *verdict = line_receive_decoded(&line);
        double scale = lane == 1 ? 1 : 2;
        assert_true(fabs(verdict->surface.diameter_mm / (2 * scale * fruit.a_mm) - 1) < 1e-6);
        crn_decoded_free(&verdict);
    }
    line_stop(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fruits_are_measured_by_their_photographs),
        cmocka_unit_test(a_sender_that_knows_the_pose_is_believed),
        cmocka_unit_test(without_photographs_nothing_is_measured),
        cmocka_unit_test(a_photograph_that_shows_no_fruit_is_not_believed),
        cmocka_unit_test(a_fruit_is_measured_from_the_views_that_there_are),
        cmocka_unit_test(defects_beside_the_fruit_are_marked_or_dropped),
        cmocka_unit_test(without_the_section_a_verdict_has_no_new_key),
        cmocka_unit_test(a_reload_begins_and_ends_measuring),
        cmocka_unit_test(a_lane_may_have_a_scale_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
