/*
 * A dead CNN, and maps of another scale: values that are all valid and in which no defect is found.
 * Through a whole line their fruits are never complete where the values of a pixel have to sum to
 * 1; sound ones always are, and so are all after sigmoids.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/peers/decode.h"
#include "tests/support/peers/http.h"
#include "tests/support/random.h"

enum { HEIGHT = 24, WIDTH = 37, CLASSES = 4, PIXELS = HEIGHT * WIDTH, VIEWS = 64 };

#define WITH_BACKGROUND                                                                            \
    "classes: [{name: Background}, {name: rot, level: 0.5}, {name: stem}, {name: rust, level: "    \
    "0.4}]\n"
#define WITHOUT                                                                                    \
    "classes: [{name: skin}, {name: rot, level: 0.5}, {name: stem}, {name: rust, level: 0.4}]\n"

typedef struct scale_fixture {
    line_fixture line;
    crn_random random;
    crn_type type;
    crn_layout layout;
    unsigned char bytes[PIXELS * CLASSES * sizeof(float)];
} scale_fixture;

static scale_fixture fixture;

static void start_line(const char *classes, crn_sum_rule sum, const char *more)
{
    char yaml[1000];
    memset(&fixture, 0, sizeof fixture);
    fixture.random = (crn_random){7};
    fixture.type = CRN_F32;
    fixture.layout = CRN_HWC;
    snprintf(yaml, sizeof yaml,
             "%schain: [contours]\nrun: {backend: openmp, workers: 1, threads: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n%s",
             classes, more);
    line_configure(&fixture.line, yaml);
    fixture.line.config.ingest.sum = sum;
    crn_log_set_level(CRN_LOG_WARNING); /* before any thread that logs exists */
    line_run(&fixture.line, NULL);
}

/* --- maps --- */

static void put(int pixel, int c, float value)
{
    int at = fixture.layout == CRN_HWC ? pixel * CLASSES + c : c * PIXELS + pixel;
    if (fixture.type == CRN_U8)
        fixture.bytes[at] = (unsigned char)value;
    else
        memcpy(fixture.bytes + (size_t)at * sizeof value, &value, sizeof value);
}

/* Makes maps from the classes' logits, softmax or sigmoids; `one` is certainty. Faint: no class
 * is above the others by much. */
static void make_maps(bool softmax, float one, float contrast)
{
    for (int pixel = 0; pixel < PIXELS; pixel++) {
        double power[CLASSES], sum = 0;
        for (int c = 0; c < CLASSES; c++)
            sum += power[c] = exp((double)contrast * (crn_random_unit(&fixture.random) - 0.5));
        for (int c = 0; c < CLASSES; c++) {
            double value = softmax ? power[c] / sum : power[c] / (1 + power[c]);
            put(pixel, c, (float)value * one);
        }
    }
}

static void fill_with(float (*value)(int pixel, int c))
{
    for (int pixel = 0; pixel < PIXELS; pixel++)
        for (int c = 0; c < CLASSES; c++)
            put(pixel, c, value(pixel, c));
}

static float zero(int pixel, int c)
{
    (void)pixel;
    (void)c;
    return 0;
}

static float label(int pixel, int c)
{
    (void)c;
    return (float)(pixel / 37 % 4);
}

static float mask_of_two(int pixel, int c)
{
    return pixel / 100 % CLASSES == c ? 2 : 0;
}

static void make_zeros(void)
{
    fixture.type = CRN_F32;
    fill_with(zero);
}

static void make_divided(void)
{
    fixture.type = CRN_F32;
    make_maps(true, 1 / 255.0f, 8);
}

static void make_labels(void)
{
    fixture.type = CRN_U8;
    fill_with(label);
}

static void make_per_cent(void)
{
    fixture.type = CRN_U8;
    make_maps(true, 100, 8);
}

static void make_masks(void)
{
    fixture.type = CRN_U8;
    fill_with(mask_of_two);
}

static const struct {
    void (*make)(void);
    const char *reason, *told;
} mistakes[] = {
    {make_zeros, "all_zero", "the CNN is dead"},
    {make_divided, "divided_by_255", "divided by 255 once too often"},
    {make_labels, "labels", "255 is certainty"},
    {make_per_cent, "per_cent", "multiply them by 2.55"},
    {make_masks, "labels", "255 is certainty"},
};

#define MISTAKES (sizeof mistakes / sizeof *mistakes)

/* --- verdicts --- */

/* Sends the maps as a fruit of one view, and compares its verdict; reason "": complete. */
static void expect(const char *reason, const char *what)
{
    crn_view_header header = line_header(&fixture.line, fixture.line.sequence, 0, 1, HEIGHT, WIDTH);
    header.channels = CLASSES;
    header.type = fixture.type;
    header.layout = fixture.layout;
    line_send(&fixture.line, header, fixture.bytes, NULL);
    size_t size;
    unsigned char *bytes = line_receive_bytes(&fixture.line, CRN_FIXTURE_PATIENCE_MS, &size);
    assert_non_null(bytes);
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    assert_int_equal(msgpack_unpack_next(&unpacked, (const char *)bytes, size, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    const msgpack_object *views = crn_decoded_field(&unpacked.data, "view_states");
    const msgpack_object *view = crn_decoded_item(views, 0);
    const msgpack_object *said = crn_decoded_field(view, "reason");
    if (said->via.str.size != strlen(reason) || memcmp(said->via.str.ptr, reason, strlen(reason)))
        fail_msg("%s, %s, layout %d: the reason is '%.*s', not '%s'", what,
                 crn_type_name(fixture.type), fixture.layout, (int)said->via.str.size,
                 said->via.str.ptr, reason);
    crn_expect_text(crn_decoded_field(&unpacked.data, "verdict"), *reason ? "partial" : "complete");
    msgpack_unpacked_destroy(&unpacked);
    free(bytes);
}

static void send_sound(int views, bool softmax, float contrast)
{
    for (int i = 0; i < views; i++) {
        make_maps(softmax, fixture.type == CRN_U8 ? 255 : 1, contrast);
        expect("", softmax ? "softmax" : "sigmoids");
    }
}

static void expect_told(const char *told, const char *wanted)
{
    if (!strstr(told, wanted))
        fail_msg("the log says '%s', not '%s'", told, wanted);
}

/* --- tests --- */

static void no_mistake_is_complete_from_the_first_view_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < MISTAKES; i++) {
        crn_log_capture caught;
        start_line(WITH_BACKGROUND, CRN_SUM_AUTO, "");
        crn_log_capture_start(&caught);
        for (int round = 0; round < 4; round++) {
            fixture.layout = round % 2 ? CRN_CHW : CRN_HWC;
            mistakes[i].make();
            expect(mistakes[i].reason, "first views");
        }
        const char *told = crn_log_capture_stop(&caught);
        expect_told(told, mistakes[i].reason);
        expect_told(told, mistakes[i].told);
        /* Sound views between, faint ones, and then the mistake again. */
        send_sound(3, true, 8);
        send_sound(3, true, 0.1f);
        mistakes[i].make();
        expect(mistakes[i].reason, "after sound views");
        line_stop(&fixture.line);
    }
}

static void views_that_sum_to_one_decide(void **state)
{
    (void)state;
    start_line(WITHOUT, CRN_SUM_AUTO, "");
    for (size_t i = 0; i < MISTAKES; i++) {
        mistakes[i].make();
        expect("", "before it is decided");
    }
    send_sound(VIEWS / 2, true, 8);
    fixture.type = CRN_U8;
    fixture.layout = CRN_CHW;
    send_sound(VIEWS / 2, true, 0.2f);
    for (size_t i = 0; i < MISTAKES; i++) {
        mistakes[i].make();
        expect(mistakes[i].reason, "once decided");
    }
    send_sound(1, true, 8);
    line_stop(&fixture.line);
}

/* Even where a class is named background. */
static void sigmoids_are_never_partial(void **state)
{
    (void)state;
    static const char *const classes[] = {WITH_BACKGROUND, WITHOUT};
    for (size_t i = 0; i < 2; i++) {
        start_line(classes[i], CRN_SUM_AUTO, "");
        send_sound(VIEWS + 10, false, 10);
        make_zeros(); /* a sound fruit */
        expect("", "sigmoids");
        fixture.type = CRN_U8;
        send_sound(10, false, 4);
        line_stop(&fixture.line);
    }
}

static void a_dead_cnn_hangs(void **state)
{
    (void)state;
    start_line(WITH_BACKGROUND, CRN_SUM_AUTO, "");
    for (int i = 0; i < 12; i++) {
        make_zeros();
        expect("all_zero", "twelve in a row");
    }
    line_stop(&fixture.line);
    assert_int_equal(fixture.line.metrics.values.frozen, 3);
}

#define WITH_PAGES "monitor: {http: '127.0.0.1:0'}\n"

/* Waits until the page says so, or does not. */
static void wait_for_health(const char *wanted, bool is_there)
{
    int64_t end_ns = crn_now_ns() + CRN_FIXTURE_PATIENCE_MS * CRN_NS_PER_MS;
    while (crn_now_ns() < end_ns) {
        int code;
        char *text = http_get(crn_line_http(fixture.line.line), "/healthz", &code);
        bool found = strstr(text, wanted);
        free(text);
        if (found == is_there)
            return;
        usleep(20000);
    }
    fail_msg("the page never did as expected with '%s'", wanted);
}

/* Without a background nothing but the greatest value tells, and changes no verdict. */
static void views_without_any_large_value_are_a_condition(void **state)
{
    (void)state;
    crn_log_capture caught;
    start_line(WITHOUT, CRN_SUM_AUTO, WITH_PAGES);
    crn_log_capture_start(&caught);
    for (int i = 0; i < VIEWS; i++) {
        make_zeros();
        expect("", "unproven");
    }
    wait_for_health("Lane 0: the CNN finds nothing at all", true);
    send_sound(1, false, 20);
    wait_for_health("finds nothing", false);
    expect_told(crn_log_capture_stop(&caught), "64 views in a row have no value of 0.5 or more");
    line_stop(&fixture.line);
}

static void a_mistake_is_a_condition(void **state)
{
    (void)state;
    start_line(WITH_BACKGROUND, CRN_SUM_AUTO, WITH_PAGES);
    make_per_cent();
    expect("per_cent", "condition");
    wait_for_health("{\"id\":\"wrong_scale\",", true);
    line_stop(&fixture.line);
}

static void the_rule_can_be_set(void **state)
{
    (void)state;
    start_line(WITHOUT, CRN_SUM_ONE, "");
    send_sound(2, true, 8);
    for (size_t i = 0; i < MISTAKES; i++) {
        mistakes[i].make();
        expect(mistakes[i].reason, "sum: 1");
    }
    fixture.type = CRN_F32;
    make_maps(false, 1, 8);
    expect("wrong_sum", "sum: 1");
    line_stop(&fixture.line);
    start_line(WITH_BACKGROUND, CRN_SUM_NONE, "");
    for (size_t i = 0; i < MISTAKES; i++) {
        mistakes[i].make();
        expect("", "sum: none");
    }
    line_stop(&fixture.line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_mistake_is_complete_from_the_first_view_on),
        cmocka_unit_test(views_that_sum_to_one_decide),
        cmocka_unit_test(sigmoids_are_never_partial),
        cmocka_unit_test(a_dead_cnn_hangs),
        cmocka_unit_test(views_without_any_large_value_are_a_condition),
        cmocka_unit_test(a_mistake_is_a_condition),
        cmocka_unit_test(the_rule_can_be_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
