/* Checks of a view's values: the class and reason reported
 * and the text; and detection of a CNN that hangs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/fruit/values/values.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/log_capture.h"

enum { HEIGHT = 9, WIDTH = 11, CLASSES = 4, PIXELS = HEIGHT * WIDTH, ELEMENTS = PIXELS * CLASSES };

static crn_config config;
static crn_values values;
static crn_values_lane lane;
static crn_view view;
static float maps[ELEMENTS];
static unsigned char slot[sizeof maps] __attribute__((aligned(64)));
static crn_log_capture caught;

static int set_up(void **state)
{
    (void)state;
    config = (crn_config){.classes = {.count = CLASSES,
                                      .name = {"ground", "rot", "stem", "rust"},
                                      .level = {NAN, 0.5, NAN, 0.5}}};
    crn_values_init(&config, &values);
    lane = (crn_values_lane){0};
    view.header = (crn_view_header){.lane = 3,
                                    .fruit = 8,
                                    .view = 2,
                                    .height = HEIGHT,
                                    .width = WIDTH,
                                    .channels = CLASSES,
                                    .type = CRN_F32,
                                    .layout = CRN_HWC,
                                    .payload_bytes = sizeof maps};
    view.maps = slot;
    for (int i = 0; i < ELEMENTS; i++)
        maps[i] = (float)(i % 97) / 97;
    return 0;
}

/* The maps' value of a class at a pixel. */
static float *at(int c, int pixel)
{
    return &maps[view.header.layout == CRN_HWC ? pixel * CLASSES + c : c * PIXELS + pixel];
}

static const crn_value_fault *check(void)
{
    crn_values_copy_fn *copy = crn_values_copier(&values, view.header.type);
    crn_values_seen seen = copy(slot, maps, view.header.payload_bytes);
    assert_memory_equal(slot, maps, view.header.payload_bytes);
    crn_log_capture_start(&caught);
    crn_values_check(&values, &lane, &view, &seen, NULL);
    crn_log_capture_stop(&caught);
    return &view.values;
}

static void expect(crn_view_reason reason, int32_t class_index, uint64_t count)
{
    const crn_value_fault *fault = check();
    assert_int_equal(fault->reason, reason);
    assert_int_equal(fault->class_index, class_index);
    assert_int_equal(fault->count, count);
}

static void expect_told(const char *text)
{
    if (!strstr(caught.text, text))
        fail_msg("the log says '%s', not '%s'", caught.text, text);
}

static void sound_values_are_no_fault(void **state)
{
    (void)state;
    expect(CRN_REASON_NONE, -1, 0);
    *at(1, 0) = -0.001f;
    *at(3, 5) = 1.001f;
    expect(CRN_REASON_NONE, -1, 0);
    assert_string_equal(caught.text, "");
}

static void the_first_class_with_a_level_is_named(void **state)
{
    (void)state;
    for (int layout = CRN_CHW; layout <= CRN_HWC; layout++) {
        set_up(state);
        view.header.layout = (crn_layout)layout;
        *at(0, 5) = NAN;
        *at(2, 98) = 7;
        expect(CRN_REASON_NONE, -1, 0);
        *at(3, 0) = *at(3, 98) = INFINITY;
        *at(3, 4) = -INFINITY;
        expect(CRN_REASON_NOT_FINITE, 3, 3);
        expect_told("warning lane 3, fruit 8, view 2, class 'rust': not_finite: NaN or infinity (3 "
                    "values)");
        expect_told("its fruit is at best partial\n");
        *at(1, 50) = 1.5f;
        *at(1, 51) = -3;
        expect(CRN_REASON_OUT_OF_RANGE, 1, 2);
        expect_told(
            "class 'rot': out_of_range: not probabilities (2 values; the class has -3 to 1.5): "
            "is the CNN's last layer");
        /* NaN takes precedence within a class, and only NaNs are counted. */
        *at(1, 7) = NAN;
        expect(CRN_REASON_NOT_FINITE, 1, 1);
    }
}

static void bytes_as_floats_are_recognised(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENTS; i++)
        maps[i] = (float)(i % 256);
    uint64_t above = 0;
    for (int pixel = 0; pixel < PIXELS; pixel++)
        above += *at(1, pixel) > 1.001f;
    expect(CRN_REASON_OUT_OF_RANGE, 1, above);
    expect_told("divide by 255");
}

/* Logits may all be positive; taken for bytes (divided by
 * 255) they would make every fruit sound and complete. */
static void logits_are_not_taken_for_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENTS; i++)
        maps[i] = 3 + (float)(i % 64) / 64;
    expect(CRN_REASON_OUT_OF_RANGE, 1, PIXELS);
    expect_told("class 'rot': out_of_range: not probabilities (");
    expect_told(" values; the class has 0 to 3.953): is the CNN's last layer, softmax or sigmoid, "
                "missing? (only what is 0 to 255 is to be divided by 255); its fruit");
}

static void per_cent_as_floats_is_told(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENTS; i++)
        maps[i] = (float)(i % 101);
    uint64_t above = 0;
    for (int pixel = 0; pixel < PIXELS; pixel++)
        above += *at(1, pixel) > 1.001f;
    expect(CRN_REASON_OUT_OF_RANGE, 1, above);
    expect_told("missing? (only what is per cent is to be divided by 100); its fruit");
}

static void halves_are_checked_as_halves(void **state)
{
    (void)state;
    uint16_t *halves = (uint16_t *)(void *)maps;
    view.header.type = CRN_F16;
    view.header.payload_bytes = ELEMENTS * 2;
    for (int i = 0; i < ELEMENTS; i++)
        halves[i] = (uint16_t)(i % 0x3c01);
    halves[4 * CLASSES + 1] = CRN_VALUES_MAX_F16;
    halves[5 * CLASSES + 1] = CRN_VALUES_MIN_F16;
    expect(CRN_REASON_NONE, -1, 0);
    halves[6 * CLASSES + 3] = CRN_VALUES_MAX_F16 + 1;
    expect(CRN_REASON_OUT_OF_RANGE, 3, 1);
    halves[7 * CLASSES + 3] = 0x7c00;
    expect(CRN_REASON_NOT_FINITE, 3, 1);
}

static void masks_are_told_from_bytes(void **state)
{
    (void)state;
    unsigned char *bytes = (unsigned char *)maps;
    view.header.type = CRN_U8;
    view.header.payload_bytes = ELEMENTS;
    memset(bytes, 0, ELEMENTS);
    expect(CRN_REASON_NONE, -1, 0);
    bytes[0] = bytes[17] = bytes[ELEMENTS - 1] = 1;
    expect(CRN_REASON_MASK_VALUES, -1, 3);
    expect_told(
        "view 2: mask_values: a mask of zeros and ones: 255 is certainty, so multiply it by 255");
    bytes[20] = 2;
    expect(CRN_REASON_NONE, -1, 0);
}

static void rules_waive_what_they_say(void **state)
{
    (void)state;
    *at(1, 3) = NAN;
    config.ingest.values = CRN_VALUES_SMALL_U8;
    expect(CRN_REASON_NOT_FINITE, 1, 1);
    config.ingest.values = CRN_VALUES_TRUST;
    expect(CRN_REASON_NONE, -1, 0);
    view.header.type = CRN_U8;
    memset(maps, 1, sizeof maps);
    view.header.payload_bytes = ELEMENTS;
    expect(CRN_REASON_NONE, -1, 0);
    config.ingest.values = CRN_VALUES_SMALL_U8;
    expect(CRN_REASON_NONE, -1, 0);
    config.ingest.values = CRN_VALUES_CHECK;
    expect(CRN_REASON_MASK_VALUES, -1, ELEMENTS);
}

static void each_reason_is_counted_and_logged_once_a_second(void **state)
{
    (void)state;
    *at(1, 3) = NAN;
    for (int i = 0; i < 5; i++)
        check();
    assert_int_equal(values.stats.faulty[CRN_REASON_NOT_FINITE], 5);
    values.fault_gate[CRN_REASON_NOT_FINITE].next_ns = 0;
    check();
    expect_told("; 4 more like it were not logged");
    check();
    assert_string_equal(caught.text, "");
    *at(1, 3) = 2;
    check();
    expect_told("out_of_range");
    assert_int_equal(values.stats.faulty[CRN_REASON_NOT_FINITE], 7);
    assert_int_equal(values.stats.faulty[CRN_REASON_OUT_OF_RANGE], 1);
}

static void send_alike(int times)
{
    for (int i = 0; i < times; i++)
        check();
}

static void ten_views_alike_are_a_cnn_that_hangs(void **state)
{
    (void)state;
    send_alike(9);
    assert_int_equal(values.stats.frozen, 0);
    assert_string_equal(caught.text, "");
    send_alike(1);
    assert_int_equal(values.stats.frozen, 1);
    expect_told("lane 3, fruit 8, view 2: 10 views in a row hold the same values (64 were");
    send_alike(2);
    assert_int_equal(values.stats.frozen, 3);
    /* A different view ends the repetition. */
    for (int i = 0; i < ELEMENTS; i++)
        maps[i] /= 2;
    send_alike(9);
    assert_int_equal(values.stats.frozen, 3);
    send_alike(1);
    assert_int_equal(values.stats.frozen, 4);
}

static void an_empty_belt_is_not_a_cnn_that_hangs(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENTS; i++)
        maps[i] = i % CLASSES == 0 ? 1 : i % 3 == 0 ? -0.0f : 0;
    send_alike(20);
    assert_int_equal(values.stats.frozen, 0);
    unsigned char *bytes = (unsigned char *)maps;
    view.header.type = CRN_U8;
    view.header.payload_bytes = ELEMENTS;
    for (int i = 0; i < ELEMENTS; i++)
        bytes[i] = i % CLASSES == 0 ? 255 : 0;
    send_alike(20);
    assert_int_equal(values.stats.frozen, 0);
}

/* The sample covers all classes and the whole picture, in either layout. */
static void the_sample_sees_every_class_and_region(void **state)
{
    (void)state;
    for (int layout = CRN_CHW; layout <= CRN_HWC; layout++) {
        for (int c = 0; c < CLASSES; c++) {
            for (int quarter = 0; quarter < 4; quarter++) {
                set_up(state);
                view.header.layout = (crn_layout)layout;
                memset(maps, 0, sizeof maps);
                for (int p = quarter * PIXELS / 4; p < (quarter + 1) * PIXELS / 4; p++)
                    *at(c, p) = 0.5f;
                send_alike(10);
                assert_int_equal(values.stats.frozen, 1);
            }
        }
    }
}

#define WITH_VALUES(test) cmocka_unit_test_setup(test, set_up)

/* Whoever reads the maps samples them; the check itself looks at no map that is sound. */
static void a_sample_taken_before_is_what_counts(void **state)
{
    (void)state;
    crn_values_seen seen = {.max = 0.99f};
    crn_values_sample first = crn_values_take_sample(&view.header, (unsigned char *)maps);
    for (int i = 0; i < PIXELS; i++)
        maps[i * CLASSES + i % CLASSES] = 0.75f;
    crn_values_sample second = crn_values_take_sample(&view.header, (unsigned char *)maps);
    assert_true(first.hash != second.hash && first.sums.max != second.sums.max);
    view.maps = NULL;
    crn_log_capture_start(&caught);
    for (int i = 0; i < CRN_VALUES_FROZEN_VIEWS; i++)
        crn_values_check(&values, &lane, &view, &seen, i % 2 ? &first : &second);
    assert_int_equal(values.stats.frozen, 0);
    for (int i = 0; i < CRN_VALUES_FROZEN_VIEWS; i++)
        crn_values_check(&values, &lane, &view, &seen, &first);
    crn_log_capture_stop(&caught);
    assert_true(values.stats.frozen > 0);
    assert_int_equal(view.values.reason, CRN_REASON_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_VALUES(sound_values_are_no_fault),
        WITH_VALUES(the_first_class_with_a_level_is_named),
        WITH_VALUES(bytes_as_floats_are_recognised),
        WITH_VALUES(logits_are_not_taken_for_bytes),
        WITH_VALUES(per_cent_as_floats_is_told),
        WITH_VALUES(halves_are_checked_as_halves),
        WITH_VALUES(masks_are_told_from_bytes),
        WITH_VALUES(rules_waive_what_they_say),
        WITH_VALUES(each_reason_is_counted_and_logged_once_a_second),
        WITH_VALUES(ten_views_alike_are_a_cnn_that_hangs),
        WITH_VALUES(an_empty_belt_is_not_a_cnn_that_hangs),
        WITH_VALUES(the_sample_sees_every_class_and_region),
        WITH_VALUES(a_sample_taken_before_is_what_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
